//! Keys as small integers.

use std::hash::{BuildHasher, Hash};

use hashbrown::{DefaultHashBuilder, HashTable};

/// Above this many slots, memory is given back when the last key is gone.
const KEPT_SLOTS: usize = 1024;

/// The number that stands for a key as long as a queue knows it.
///
/// Numbers are dense and used again: they fit as indices into a `Vec`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(pub(crate) u32);

impl Id {
    /// The number as an index.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Gives each known key a number and keeps a state of type `S` beside it. A key that is not known takes
/// no memory; a known one is stored once.
#[derive(Debug)]
pub(crate) struct Interner<K, S> {
    table: HashTable<Id>,
    hasher: DefaultHashBuilder,
    slots: Vec<Slot<K, S>>,
    free: Vec<Id>,
}

#[derive(Debug)]
struct Slot<K, S> {
    key: Option<K>,
    state: S,
}

impl<K: Eq + Hash, S: Default> Interner<K, S> {
    pub(crate) fn new() -> Self {
        Self {
            table: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            slots: Vec::new(),
            free: Vec::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    pub(crate) fn find(&self, key: &K) -> Option<Id> {
        self.find_hashed(self.hasher.hash_one(key), key)
    }

    /// The number of `key`, which is stored if it is new.
    pub(crate) fn intern(&mut self, key: K) -> Id {
        let hash = self.hasher.hash_one(&key);
        match self.find_hashed(hash, &key) {
            Some(id) => id,
            None => self.insert(hash, key),
        }
    }

    /// As [`intern`](Self::intern), but clones the key only if it is new.
    pub(crate) fn intern_ref(&mut self, key: &K) -> Id
    where
        K: Clone,
    {
        let hash = self.hasher.hash_one(key);
        match self.find_hashed(hash, key) {
            Some(id) => id,
            None => self.insert(hash, key.clone()),
        }
    }

    pub(crate) fn key(&self, id: Id) -> &K {
        let Some(key) = &self.slots[id.index()].key else {
            unreachable!("an id outlived its key")
        };
        key
    }

    pub(crate) fn state(&self, id: Id) -> &S {
        &self.slots[id.index()].state
    }

    pub(crate) fn state_mut(&mut self, id: Id) -> &mut S {
        &mut self.slots[id.index()].state
    }

    /// Every known key's number.
    pub(crate) fn ids(&self) -> impl Iterator<Item = Id> {
        self.table.iter().copied()
    }

    /// Forgets a key; its number is used again.
    pub(crate) fn remove(&mut self, id: Id) {
        let slot = &mut self.slots[id.index()];
        slot.state = S::default();
        let Some(key) = slot.key.take() else { return };
        if let Ok(entry) = self
            .table
            .find_entry(self.hasher.hash_one(&key), |found| *found == id)
        {
            entry.remove();
        }
        self.free.push(id);
        if self.table.is_empty() && self.slots.len() > KEPT_SLOTS {
            self.table = HashTable::new();
            self.slots = Vec::new();
            self.free = Vec::new();
        }
    }

    fn find_hashed(&self, hash: u64, key: &K) -> Option<Id> {
        self.table
            .find(hash, |id| self.slots[id.index()].key.as_ref() == Some(key))
            .copied()
    }

    fn insert(&mut self, hash: u64, key: K) -> Id {
        let slot = Slot {
            key: Some(key),
            state: S::default(),
        };
        let id = match self.free.pop() {
            Some(id) => {
                self.slots[id.index()] = slot;
                id
            }
            None => {
                let Ok(number) = u32::try_from(self.slots.len()) else {
                    unreachable!("four thousand million keys do not fit in memory")
                };
                self.slots.push(slot);
                Id(number)
            }
        };
        let Self {
            table,
            hasher,
            slots,
            ..
        } = self;
        let rehash = |id: &Id| {
            slots[id.index()]
                .key
                .as_ref()
                .map_or(0, |key| hasher.hash_one(key))
        };
        table.insert_unique(hash, id, rehash);
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_stored_once_and_its_number_used_again() {
        let mut interner = Interner::<String, u8>::new();
        let a = interner.intern("a".into());
        assert_eq!(interner.intern_ref(&"a".into()), a);
        let b = interner.intern("b".into());
        assert_ne!(a, b);
        *interner.state_mut(a) = 7;
        interner.remove(a);
        assert_eq!((interner.len(), interner.find(&"a".into())), (1, None));
        let c = interner.intern("c".into());
        assert_eq!(
            (c, *interner.state(c)),
            (a, 0),
            "the slot is used again, without its old state"
        );
        assert_eq!(
            (interner.key(b).as_str(), interner.find(&"c".into())),
            ("b", Some(c))
        );
    }

    #[test]
    fn many_keys_come_and_go_and_memory_is_given_back() {
        let mut interner = Interner::<u64, ()>::new();
        let ids: Vec<_> = (0..10_000).map(|key| interner.intern(key)).collect();
        for (key, id) in (0..10_000).zip(&ids) {
            assert_eq!(interner.find(&key), Some(*id));
        }
        for id in ids {
            interner.remove(id);
        }
        assert_eq!(
            (
                interner.len(),
                interner.slots.capacity(),
                interner.free.capacity()
            ),
            (0, 0, 0)
        );
        assert_eq!(interner.intern(5), Id(0));
    }
}
