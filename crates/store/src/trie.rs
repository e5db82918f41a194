//! A persistent hash map: cloning it is free, and a write copies only what a clone still shares.
//!
//! The map is a radix tree over the bits of a key's hash, eight ways a level, with leaves of up
//! to sixteen entries. Sixteen is a trade: a write that follows a publication copies one leaf
//! and one short branch a level, while the memory around an entry stays near ten bytes.

mod cursor;
mod diff;
mod iter;
#[cfg(test)]
mod tests;

pub(crate) use self::cursor::Cursor;
pub(crate) use self::diff::Difference;

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use foldhash::quality::FixedState;

/// Children of a branch: three bits of the hash choose one.
const FAN_OUT: usize = 8;
const BITS: u32 = 3;
/// Levels that the hash can tell apart; below them a leaf takes any number of entries.
const MAX_LEVEL: u32 = u64::BITS / BITS;
/// A leaf with more entries becomes a branch.
const LEAF_MAX: usize = 16;
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
    Leaf(Arc<Leaf<K, V>>),
}

type Branch<K, V> = [Option<Node<K, V>>; FAN_OUT];
type Leaf<K, V> = Vec<Entry<K, V>>;

struct Entry<K, V> {
    key: K,
    value: V,
    /// The low half of the hash; the path through the tree uses the high bits.
    tag: u32,
    /// The last sweep that saw the entry. Interior mutability lets a sweep mark entries that
    /// published snapshots share, without copying them; no reader looks at it.
    stamp: AtomicU32,
}

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
            (Some(Node::Leaf(a)), Some(Node::Leaf(b))) => Arc::ptr_eq(a, b),
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
        let entry = Entry {
            key,
            value,
            tag: tag(hash),
            stamp: AtomicU32::new(stamp),
        };
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
                    let at = position(leaf, tag(hash), key)?;
                    return Some(&mut Arc::make_mut(leaf)[at].value);
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
                Self::Leaf(leaf) => return position(leaf, tag(hash), key).map(|at| &leaf[at]),
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
            *slot = Some(Node::Leaf(Arc::new(vec![entry])));
            None
        }
        Some(Node::Branch(branch)) => {
            let child = &mut Arc::make_mut(branch)[child_of(hash, level)];
            insert_at(child, hasher, hash, level + 1, entry)
        }
        Some(Node::Leaf(leaf)) => {
            let entries = Arc::make_mut(leaf);
            if let Some(at) = position(entries, entry.tag, &entry.key) {
                let there = &mut entries[at];
                return Some(std::mem::replace(there, entry).value);
            }
            if entries.len() < LEAF_MAX || level >= MAX_LEVEL {
                push_tightly(entries, entry);
                return None;
            }
            let full = std::mem::take(entries);
            *slot = Some(Node::Branch(split(full, hasher, level)));
            insert_at(slot, hasher, hash, level, entry)
        }
    }
}

fn split<K: Hash + Eq, V>(
    entries: Leaf<K, V>,
    hasher: &FixedState,
    level: u32,
) -> Arc<Branch<K, V>> {
    let mut leaves: [Leaf<K, V>; FAN_OUT] = Default::default();
    for entry in entries {
        let at = child_of(hasher.hash_one(&entry.key), level);
        push_tightly(&mut leaves[at], entry);
    }
    Arc::new(leaves.map(|leaf| (!leaf.is_empty()).then(|| Node::Leaf(Arc::new(leaf)))))
}

fn remove_at<K, V, Q>(slot: &mut Option<Node<K, V>>, hash: u64, level: u32, key: &Q) -> Option<V>
where
    K: Hash + Eq + Clone + Borrow<Q>,
    V: Clone,
    Q: Eq + ?Sized,
{
    let removed = match slot.as_mut()? {
        Node::Leaf(leaf) => {
            let at = position(leaf, tag(hash), key)?;
            Arc::make_mut(leaf).swap_remove(at).value
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
                    merged.extend(Arc::unwrap_or_clone(leaf));
                }
            }
            merged.shrink_to_fit();
            *slot = (!merged.is_empty()).then(|| Node::Leaf(Arc::new(merged)));
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

/// Leaves are many and small: room to grow would waste more than the copies cost.
fn push_tightly<T>(leaf: &mut Vec<T>, entry: T) {
    leaf.reserve_exact(1);
    leaf.push(entry);
}

fn position<K, V, Q>(leaf: &Leaf<K, V>, tag: u32, key: &Q) -> Option<usize>
where
    K: Borrow<Q>,
    Q: Eq + ?Sized,
{
    leaf.iter()
        .position(|entry| entry.tag == tag && entry.key.borrow() == key)
}

fn child_of(hash: u64, level: u32) -> usize {
    let shift = u64::BITS.saturating_sub(BITS * (level + 1));
    (hash >> shift) as usize % FAN_OUT
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the low half is what is wanted"
)]
fn tag(hash: u64) -> u32 {
    hash as u32
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
            Self::Leaf(leaf) => Self::Leaf(Arc::clone(leaf)),
        }
    }
}

impl<K: Clone, V: Clone> Clone for Entry<K, V> {
    fn clone(&self) -> Self {
        Self {
            key: self.key.clone(),
            value: self.value.clone(),
            tag: self.tag,
            stamp: AtomicU32::new(self.stamp.load(Ordering::Relaxed)),
        }
    }
}
