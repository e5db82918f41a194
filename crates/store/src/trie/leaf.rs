use std::borrow::Borrow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A leaf with more entries becomes a branch, while their hashes differ.
///
/// A write that follows a publication copies one leaf, and each leaf costs some forty bytes: fifteen is
/// a trade. It is odd because the tags of fifteen, and what says that it is a leaf, are sixteen bytes.
pub(super) const LEAF_MAX: usize = 15;

/// A few entries in one allocation, and a byte of the hash of each, which lies where the leaf is pointed
/// to: a reader finds the entry it wants before it touches any.
pub(super) struct Leaf<K, V> {
    tags: [u8; LEAF_MAX],
    /// Never `None`, except in the moment before the allocation goes: so entries can be moved out.
    entries: Arc<[Option<Entry<K, V>>]>,
}

pub(super) struct Entry<K, V> {
    pub(super) key: K,
    pub(super) value: V,
    /// The last sweep that saw the entry. Interior mutability lets a sweep mark entries that
    /// published snapshots share, without copying them; no reader looks at it.
    pub(super) stamp: AtomicU32,
}

/// The byte of a hash that tells the entries of a leaf apart. It is the same for all entries of a leaf
/// at the deepest level, where a leaf takes any number of entries: there the path has used these bits.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the low bits are what is wanted"
)]
pub(super) fn tag(hash: u64) -> u8 {
    (hash >> 1) as u8
}

/// The tag of the entry at this place; beyond the last tag all are the same.
fn tag_at(tags: &[u8; LEAF_MAX], at: usize) -> u8 {
    tags[at.min(LEAF_MAX - 1)]
}

impl<K, V> Leaf<K, V> {
    pub(super) fn of(tag: u8, entry: Entry<K, V>) -> Self {
        Self::from_tagged(vec![(tag, entry)])
    }

    pub(super) fn from_tagged(tagged: Vec<(u8, Entry<K, V>)>) -> Self {
        let mut tags = [0; LEAF_MAX];
        for (place, (tag, _)) in tags.iter_mut().zip(&tagged) {
            *place = *tag;
        }
        let entries = tagged.into_iter().map(|(_, entry)| Some(entry)).collect();
        Self { tags, entries }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether nothing was written to either since one was cloned from the other.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.entries, &other.entries)
    }

    pub(super) fn get(&self, at: usize) -> Option<&Entry<K, V>> {
        self.entries.get(at)?.as_ref()
    }

    pub(super) fn iter(&self) -> Iter<'_, K, V> {
        self.entries.iter().flatten()
    }

    /// The entries with their tags.
    pub(super) fn tagged(&self) -> impl Iterator<Item = (u8, &Entry<K, V>)> {
        self.iter()
            .enumerate()
            .map(|(at, entry)| (self.tag_of(at), entry))
    }

    fn tag_of(&self, at: usize) -> u8 {
        tag_at(&self.tags, at)
    }
}

pub(super) type Iter<'a, K, V> = std::iter::Flatten<std::slice::Iter<'a, Option<Entry<K, V>>>>;

impl<K, V> Leaf<K, V> {
    pub(super) fn find<Q>(&self, tag: u8, key: &Q) -> Option<&Entry<K, V>>
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        self.get(self.position(tag, key)?)
    }

    pub(super) fn position<Q>(&self, tag: u8, key: &Q) -> Option<usize>
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let is = |at: usize| self.get(at).is_some_and(|entry| entry.key.borrow() == key);
        // All tags are compared before any entry is looked at: without a branch for each, and the entries
        // of others are not loaded. Places without an entry may seem to match, and have none.
        let mut candidates = 0_u32;
        for (at, there) in self.tags.iter().enumerate() {
            candidates |= u32::from(*there == tag) << at;
        }
        while candidates != 0 {
            let at = candidates.trailing_zeros() as usize;
            if is(at) {
                return Some(at);
            }
            candidates &= candidates - 1;
        }
        (LEAF_MAX..self.len()).find(|at| is(*at))
    }
}

impl<K: Clone, V: Clone> Leaf<K, V> {
    /// The value at this place, for writing.
    pub(super) fn value_mut(&mut self, at: usize) -> Option<&mut V> {
        let entry = Arc::make_mut(&mut self.entries).get_mut(at)?.as_mut()?;
        Some(&mut entry.value)
    }

    /// Puts an entry of the same key in place, and answers the value that was there.
    pub(super) fn replace(&mut self, at: usize, entry: Entry<K, V>) -> Option<V> {
        let place = Arc::make_mut(&mut self.entries).get_mut(at)?;
        place.replace(entry).map(|old| old.value)
    }

    pub(super) fn push(&mut self, tag: u8, entry: Entry<K, V>) {
        if let Some(place) = self.tags.get_mut(self.entries.len()) {
            *place = tag;
        }
        // Leaves are many and small: room to grow would waste more than the moves cost.
        let new = std::iter::once(Some(entry));
        self.entries = match Arc::get_mut(&mut self.entries) {
            Some(own) => own.iter_mut().map(Option::take).chain(new).collect(),
            None => self.entries.iter().cloned().chain(new).collect(),
        };
    }

    /// Takes out an entry; the last one takes its place.
    pub(super) fn remove(&mut self, at: usize) -> Option<V> {
        let last = self.entries.len().checked_sub(1)?;
        let own = Arc::make_mut(&mut self.entries);
        own.swap(at, last);
        let removed = own[last].take()?;
        self.entries = own[..last].iter_mut().map(Option::take).collect();
        let tag = self.tag_of(last);
        if let Some(place) = self.tags.get_mut(at) {
            *place = tag;
        }
        Some(removed.value)
    }

    /// The entries with their tags: moved if nobody shares them.
    pub(super) fn into_tagged(mut self) -> Vec<(u8, Entry<K, V>)> {
        let tags = self.tags;
        let tagged = |(at, entry): (usize, Option<Entry<K, V>>)| Some((tag_at(&tags, at), entry?));
        match Arc::get_mut(&mut self.entries) {
            Some(own) => {
                let moved = own.iter_mut().map(Option::take);
                moved.enumerate().filter_map(tagged).collect()
            }
            None => {
                let copied = self.entries.iter().cloned();
                copied.enumerate().filter_map(tagged).collect()
            }
        }
    }
}

impl<K, V> Clone for Leaf<K, V> {
    fn clone(&self) -> Self {
        Self {
            tags: self.tags,
            entries: Arc::clone(&self.entries),
        }
    }
}

impl<K: Clone, V: Clone> Clone for Entry<K, V> {
    fn clone(&self) -> Self {
        Self {
            key: self.key.clone(),
            value: self.value.clone(),
            stamp: AtomicU32::new(self.stamp.load(Ordering::Relaxed)),
        }
    }
}
