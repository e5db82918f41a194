//! Keys as small integers.

use std::hash::{BuildHasher, Hash};

use hashbrown::{DefaultHashBuilder, HashTable};

/// Above this many slots, memory is given back when the last key is gone.
const KEPT_SLOTS: usize = 1024;
/// How many idle keys are forgotten at a time. Each is somewhere else in memory: several at once wait for it
/// together. And a key that is needed again soon is still there.
const BATCH: usize = 64;
/// The key is idle, and will be forgotten with the others of its batch.
const RETIRED: u8 = 1 << 7;

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

/// Gives each known key a number and keeps a state beside it. A key that is not known takes no memory, apart from a
/// few that were known just now; a known one is stored once.
#[derive(Debug)]
pub(crate) struct Interner<K> {
    table: HashTable<Id>,
    hasher: DefaultHashBuilder,
    slots: Vec<Slot<K>>,
    free: Vec<Id>,
    /// Keys that were idle; some may have been asked for again since.
    retired: Vec<Id>,
    /// How many keys are idle.
    idle: usize,
    /// The key that was asked for last: events for one object come in bursts, and those need no hashing.
    recent: Id,
}

#[derive(Debug)]
struct Slot<K> {
    key: Option<K>,
    state: State,
}

/// What is known of a key: eight bytes, since a million keys have a million of them. New keys start with zeros.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct State {
    pub(crate) flags: u8,
    hash: ShortHash,
    /// How urgent the work is that makes the key dirty.
    pub(crate) priority: i32,
}

/// As much of a key's hash as fits. It is kept so that neither growing nor forgetting reads the key again: that is
/// somewhere else in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ShortHash([u8; 3]);

impl ShortHash {
    fn of(key: &impl Hash, hasher: &DefaultHashBuilder) -> Self {
        let [first, second, third, ..] = hasher.hash_one(key).to_le_bytes();
        Self([first, second, third])
    }

    /// Spread over 64 bits: the table uses the lowest for the place and the highest to tell neighbours apart.
    fn spread(self) -> u64 {
        let Self([first, second, third]) = self;
        let short = u32::from_le_bytes([first, second, third, 0]);
        // 2^64 divided by the golden ratio.
        u64::from(short).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }
}

impl<K: Eq + Hash> Interner<K> {
    pub(crate) fn new() -> Self {
        Self {
            table: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            slots: Vec::new(),
            free: Vec::new(),
            retired: Vec::new(),
            idle: 0,
            recent: Id(0),
        }
    }

    /// How many keys are known and not retired.
    pub(crate) fn len(&self) -> usize {
        self.table.len() - self.idle
    }

    pub(crate) fn find(&self, key: &K) -> Option<Id> {
        self.find_hashed(ShortHash::of(key, &self.hasher), key)
    }

    /// The number of `key`, which is stored if it is new.
    pub(crate) fn intern(&mut self, key: K) -> Id {
        if !self.is_recent(&key) {
            let hash = ShortHash::of(&key, &self.hasher);
            self.recent = match self.find_hashed(hash, &key) {
                Some(id) => id,
                None => self.insert(hash, key),
            };
        }
        self.revive(self.recent)
    }

    /// As [`intern`](Self::intern), but clones the key only if it is new.
    pub(crate) fn intern_ref(&mut self, key: &K) -> Id
    where
        K: Clone,
    {
        if !self.is_recent(key) {
            let hash = ShortHash::of(key, &self.hasher);
            self.recent = match self.find_hashed(hash, key) {
                Some(id) => id,
                None => self.insert(hash, key.clone()),
            };
        }
        self.revive(self.recent)
    }

    pub(crate) fn key(&self, id: Id) -> &K {
        let Some(key) = &self.slots[id.index()].key else {
            unreachable!("an id outlived its key")
        };
        key
    }

    pub(crate) fn state(&self, id: Id) -> &State {
        &self.slots[id.index()].state
    }

    pub(crate) fn state_mut(&mut self, id: Id) -> &mut State {
        &mut self.slots[id.index()].state
    }

    /// Every known key's number.
    pub(crate) fn ids(&self) -> impl Iterator<Item = Id> {
        let ids = self.table.iter().copied();
        ids.filter(|id| self.state(*id).flags != RETIRED)
    }

    /// Forgets a key whose flags are all unset, now or soon; then its number is used again.
    pub(crate) fn retire(&mut self, id: Id) {
        self.slots[id.index()].state.flags = RETIRED;
        self.idle += 1;
        self.retired.push(id);
        if self.retired.len() >= BATCH || self.len() == 0 {
            self.forget_retired();
        }
    }

    fn forget_retired(&mut self) {
        let mut retired = std::mem::take(&mut self.retired);
        // One that was retired twice is here twice, and leaves once.
        retired.retain(|id| self.leave_table(*id));
        for id in retired.drain(..) {
            self.free.push(id);
            // A key is foreign code: it is dropped when nothing here is half done.
            self.slots[id.index()].key = None;
        }
        self.retired = retired;
        if self.table.is_empty() && self.slots.len() > KEPT_SLOTS {
            self.table = HashTable::new();
            self.slots = Vec::new();
            self.free = Vec::new();
        }
    }

    /// Says whether the key was still retired. It stays in its slot: places in the table are far from each other
    /// in memory, and while nothing else is done many of them are fetched together.
    fn leave_table(&mut self, id: Id) -> bool {
        let state = &mut self.slots[id.index()].state;
        if state.flags != RETIRED {
            return false;
        }
        let hash = std::mem::take(state).hash.spread();
        if let Ok(entry) = self.table.find_entry(hash, |found| *found == id) {
            entry.remove();
        }
        self.idle -= 1;
        true
    }

    /// A key that was retired is needed after all.
    fn revive(&mut self, id: Id) -> Id {
        let state = &mut self.slots[id.index()].state;
        if state.flags == RETIRED {
            state.flags = 0;
            self.idle -= 1;
        }
        id
    }

    fn is_recent(&self, key: &K) -> bool {
        let slot = self.slots.get(self.recent.index());
        slot.is_some_and(|slot| slot.key.as_ref() == Some(key))
    }

    fn find_hashed(&self, hash: ShortHash, key: &K) -> Option<Id> {
        self.table
            .find(hash.spread(), |id| {
                self.slots[id.index()].key.as_ref() == Some(key)
            })
            .copied()
    }

    fn insert(&mut self, hash: ShortHash, key: K) -> Id {
        let slot = Slot {
            key: Some(key),
            state: State {
                hash,
                ..State::default()
            },
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
        let Self { table, slots, .. } = self;
        let rehash = |id: &Id| slots[id.index()].state.hash.spread();
        table.insert_unique(hash.spread(), id, rehash);
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_stored_once_and_its_number_used_again() {
        let mut interner = Interner::<String>::new();
        let a = interner.intern("a".into());
        assert_eq!(interner.intern_ref(&"a".into()), a);
        assert_eq!(interner.find(&"b".into()), None);
        interner.state_mut(a).priority = 7;
        interner.retire(a);
        assert_eq!((interner.len(), interner.find(&"a".into())), (0, None));
        let c = interner.intern("c".into());
        assert_eq!(
            (c, interner.state(c).priority),
            (a, 0),
            "the slot is used again, without its old state"
        );
        let b = interner.intern("b".into());
        assert_ne!(b, c);
        assert_eq!(
            (interner.key(b).as_str(), interner.find(&"c".into())),
            ("b", Some(c))
        );
    }

    #[test]
    fn retired_keys_go_in_batches_or_come_back() {
        let mut interner = Interner::<usize>::new();
        let ids: Vec<_> = (0..=BATCH).map(|key| interner.intern(key)).collect();
        for id in &ids[1..BATCH] {
            interner.retire(*id);
        }
        assert_eq!((interner.len(), interner.table.len()), (2, BATCH + 1));
        assert_eq!(interner.intern(1), ids[1]);
        assert_eq!((interner.len(), interner.state(ids[1]).flags), (3, 0));
        interner.state_mut(ids[1]).flags = 1;
        interner.retire(ids[BATCH]);
        assert_eq!(
            (interner.len(), interner.table.len()),
            (2, 2),
            "0 and 1 are left"
        );
        assert_eq!((interner.find(&1), interner.find(&2)), (Some(ids[1]), None));
        assert_eq!(interner.ids().count(), 2);
        // Twice retired, it is forgotten once.
        interner.retire(ids[1]);
        assert_eq!(interner.intern_ref(&1), ids[1]);
        interner.retire(ids[1]);
        interner.retire(ids[0]);
        assert_eq!(
            (interner.len(), interner.idle, interner.table.len()),
            (0, 0, 0)
        );
        assert_eq!(interner.free.len(), BATCH + 1);
        assert!(interner.retired.is_empty());
    }

    #[test]
    fn many_keys_come_and_go_and_memory_is_given_back() {
        let mut interner = Interner::<u64>::new();
        let ids: Vec<_> = (0..10_000).map(|key| interner.intern(key)).collect();
        for (key, id) in (0..10_000).zip(&ids) {
            assert_eq!(interner.find(&key), Some(*id));
        }
        for id in ids {
            interner.retire(id);
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

        // A thousand or so are kept room for.
        let mut interner = Interner::<usize>::new();
        let ids: Vec<_> = (0..KEPT_SLOTS).map(|key| interner.intern(key)).collect();
        for id in ids {
            interner.retire(id);
        }
        assert_eq!((interner.len(), interner.slots.len()), (0, KEPT_SLOTS));
    }
}
