//! A persistent hash map: cloning it is free, and a write copies only what a clone still shares.
//!
//! The map is a radix tree over the bits of a key's hash, eight ways a level, with leaves of a few
//! entries: a write that follows a publication copies one leaf and one branch a level, while the memory
//! around an entry stays near ten bytes. A reader touches the branches, of which the upper ones are in the
//! processor's cache, and the entry.

mod cursor;
mod diff;
mod iter;
mod leaf;
#[cfg(test)]
mod tests;

pub(crate) use self::cursor::Cursor;
pub(crate) use self::diff::Difference;

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use foldhash::quality::FixedState;

use self::leaf::{Entry, LEAF_MAX, Leaf, tag};

/// Children of a branch: three bits of the hash choose one.
const FAN_OUT: usize = 8;
const BITS: u32 = 3;
/// Levels that the hash can tell apart; below them a leaf takes any number of entries.
const MAX_LEVEL: u32 = u64::BITS / BITS;
/// A branch whose leaves hold no more than this becomes a leaf again. Half of `LEAF_MAX`, so
/// that a key that comes and goes does not split and fold each time.
const FOLD_AT: usize = LEAF_MAX / 2;

pub(crate) struct Trie<K, V> {
    root: Option<Node<K, V>>,
    len: usize,
    hasher: FixedState,
}

enum Node<K, V> {
    Branch(Arc<Branch<K, V>>),
    Leaf(Leaf<K, V>),
}

type Branch<K, V> = [Option<Node<K, V>>; FAN_OUT];

impl<K, V> Trie<K, V> {
    /// An empty map. The seed keys the hash, so that nobody who chooses names can make them collide.
    pub(crate) fn with_seed(seed: u64) -> Self {
        Self {
            root: None,
            len: 0,
            hasher: FixedState::with_seed(seed),
        }
    }

    /// An empty map that hashes as this one does.
    pub(crate) fn fresh<K2, V2>(&self) -> Trie<K2, V2> {
        Trie {
            root: None,
            len: 0,
            hasher: self.hasher.clone(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether nothing was written to either since one was cloned from the other.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (&self.root, &other.root) {
            (None, None) => true,
            (Some(Node::Branch(a)), Some(Node::Branch(b))) => Arc::ptr_eq(a, b),
            (Some(Node::Leaf(a)), Some(Node::Leaf(b))) => a.is_same(b),
            _ => false,
        }
    }
}

impl<K: Hash + Eq, V> Trie<K, V> {
    pub(crate) fn get<Q>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.find(key).map(|entry| &entry.value)
    }

    /// The stored key too: the one whose allocation is shared.
    pub(crate) fn get_key_value<Q>(&self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.find(key).map(|entry| (&entry.key, &entry.value))
    }

    pub(crate) fn contains_key<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.find(key).is_some()
    }

    /// Stamps the entry of `key` as seen by a sweep, in every clone that shares it.
    pub(crate) fn mark<Q>(&self, key: &Q, stamp: u32)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        if let Some(entry) = self.find(key) {
            entry.stamp.store(stamp, Ordering::Relaxed);
        }
    }

    fn find<Q>(&self, key: &Q) -> Option<&Entry<K, V>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.root.as_ref()?.find(self.hasher.hash_one(key), 0, key)
    }
}

impl<K: Hash + Eq + Clone, V: Clone> Trie<K, V> {
    /// Puts a value in place and returns the one that was there. The key that is given is the one
    /// that is kept.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.insert_marked(key, value, 0)
    }

    /// As `insert`, with the entry stamped as seen by a sweep.
    pub(crate) fn insert_marked(&mut self, key: K, value: V, stamp: u32) -> Option<V> {
        let hash = self.hasher.hash_one(&key);
        let stamp = AtomicU32::new(stamp);
        let entry = Entry { key, value, stamp };
        let old = insert_at(&mut self.root, &self.hasher, hash, 0, entry);
        self.len += usize::from(old.is_none());
        old
    }

    pub(crate) fn remove<Q>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        // Looking first keeps a miss from copying the path.
        self.find(key)?;
        let hash = self.hasher.hash_one(key);
        let removed = remove_at(&mut self.root, hash, 0, key)?;
        self.len -= 1;
        Some(removed)
    }

    /// The value of `key` for writing in place.
    pub(crate) fn get_mut<Q>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.find(key)?;
        let hash = self.hasher.hash_one(key);
        let mut slot = self.root.as_mut();
        let mut level = 0;
        loop {
            match slot? {
                Node::Branch(branch) => {
                    slot = Arc::make_mut(branch)[child_of(hash, level)].as_mut();
                    level += 1;
                }
                Node::Leaf(leaf) => {
                    let at = leaf.position(tag(hash), key)?;
                    return leaf.value_mut(at);
                }
            }
        }
    }

    /// The keys that the sweep `stamp` did not mark.
    pub(crate) fn unmarked(&self, stamp: u32) -> Vec<K> {
        self.entries()
            .filter(|entry| entry.stamp.load(Ordering::Relaxed) != stamp)
            .map(|entry| entry.key.clone())
            .collect()
    }
}

impl<K: Hash + Eq, V> Node<K, V> {
    fn find<Q>(&self, hash: u64, level: u32, key: &Q) -> Option<&Entry<K, V>>
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let (mut node, mut level) = (self, level);
        loop {
            match node {
                Self::Branch(branch) => {
                    node = branch[child_of(hash, level)].as_ref()?;
                    level += 1;
                }
                Self::Leaf(leaf) => return leaf.find(tag(hash), key),
            }
        }
    }
}

fn insert_at<K: Hash + Eq + Clone, V: Clone>(
    slot: &mut Option<Node<K, V>>,
    hasher: &FixedState,
    hash: u64,
    level: u32,
    entry: Entry<K, V>,
) -> Option<V> {
    match slot {
        None => {
            *slot = Some(Node::Leaf(Leaf::of(tag(hash), entry)));
            None
        }
        Some(Node::Branch(branch)) => {
            let child = &mut Arc::make_mut(branch)[child_of(hash, level)];
            insert_at(child, hasher, hash, level + 1, entry)
        }
        Some(Node::Leaf(leaf)) => {
            if let Some(at) = leaf.position(tag(hash), &entry.key) {
                return leaf.replace(at, entry);
            }
            if leaf.len() < LEAF_MAX || level >= MAX_LEVEL {
                leaf.push(tag(hash), entry);
                return None;
            }
            let Some(Node::Leaf(full)) = slot.take() else {
                return None;
            };
            *slot = Some(Node::Branch(split(full, hasher, level)));
            insert_at(slot, hasher, hash, level, entry)
        }
    }
}

fn split<K: Hash + Eq + Clone, V: Clone>(
    full: Leaf<K, V>,
    hasher: &FixedState,
    level: u32,
) -> Arc<Branch<K, V>> {
    let mut parts: [Vec<(u8, Entry<K, V>)>; FAN_OUT] = Default::default();
    for (tag, entry) in full.into_tagged() {
        let at = child_of(hasher.hash_one(&entry.key), level);
        parts[at].push((tag, entry));
    }
    Arc::new(parts.map(|part| (!part.is_empty()).then(|| Node::Leaf(Leaf::from_tagged(part)))))
}

fn remove_at<K, V, Q>(slot: &mut Option<Node<K, V>>, hash: u64, level: u32, key: &Q) -> Option<V>
where
    K: Hash + Eq + Clone + Borrow<Q>,
    V: Clone,
    Q: Eq + ?Sized,
{
    let removed = match slot.as_mut()? {
        Node::Leaf(leaf) => {
            let at = leaf.position(tag(hash), key)?;
            leaf.remove(at)?
        }
        Node::Branch(branch) => {
            let child = &mut Arc::make_mut(branch)[child_of(hash, level)];
            remove_at(child, hash, level + 1, key)?
        }
    };
    fold(slot);
    Some(removed)
}

/// Gives back what a removal left over: empty leaves, and branches that fit one leaf.
fn fold<K: Clone, V: Clone>(slot: &mut Option<Node<K, V>>) {
    match slot {
        Some(Node::Leaf(leaf)) if leaf.is_empty() => *slot = None,
        Some(Node::Branch(branch)) if entries_in_leaves(branch).is_some_and(|n| n <= FOLD_AT) => {
            let mut merged = Vec::new();
            for child in Arc::make_mut(branch) {
                if let Some(Node::Leaf(leaf)) = child.take() {
                    merged.extend(leaf.into_tagged());
                }
            }
            *slot = (!merged.is_empty()).then(|| Node::Leaf(Leaf::from_tagged(merged)));
        }
        _ => {}
    }
}

/// How many entries the branch holds, unless a branch is below it.
fn entries_in_leaves<K, V>(branch: &Branch<K, V>) -> Option<usize> {
    branch
        .iter()
        .flatten()
        .try_fold(0, |sum, child| match child {
            Node::Leaf(leaf) => Some(sum + leaf.len()),
            Node::Branch(_) => None,
        })
}

fn child_of(hash: u64, level: u32) -> usize {
    let shift = u64::BITS.saturating_sub(BITS * (level + 1));
    (hash >> shift) as usize % FAN_OUT
}

impl<K, V> Clone for Trie<K, V> {
    fn clone(&self) -> Self {
        Self {
            root: self.root.clone(),
            len: self.len,
            hasher: self.hasher.clone(),
        }
    }
}

impl<K, V> Clone for Node<K, V> {
    fn clone(&self) -> Self {
        match self {
            Self::Branch(branch) => Self::Branch(Arc::clone(branch)),
            Self::Leaf(leaf) => Self::Leaf(leaf.clone()),
        }
    }
}
