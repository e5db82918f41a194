use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// A map that forgets what was not used for longest. Every operation is O(log n).
#[derive(Debug)]
pub(crate) struct Lru<K, V> {
    capacity: usize,
    entries: HashMap<K, (u64, V)>,
    /// From the least recently used to the most.
    order: BTreeMap<u64, K>,
    clock: u64,
}

impl<K: Clone + Eq + Hash, V> Lru<K, V> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            entries: HashMap::new(),
            order: BTreeMap::new(),
            clock: 0,
        }
    }

    /// A use, that makes room if there is none.
    pub(crate) fn get_or_insert_with(&mut self, key: &K, make: impl FnOnce() -> V) -> &mut V {
        if self.entries.len() >= self.capacity
            && !self.entries.contains_key(key)
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.entries.remove(&oldest);
        }
        self.clock += 1;
        let now = self.clock;
        let (used, value) = self
            .entries
            .entry(key.clone())
            .or_insert_with(|| (now, make()));
        self.order.remove(used);
        self.order.insert(now, key.clone());
        *used = now;
        value
    }
}

impl<K: Clone + Eq + Hash, V> Lru<K, V> {
    /// A use, if it is there.
    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let (used, value) = self.entries.get_mut(key)?;
        self.clock += 1;
        self.order.remove(used);
        self.order.insert(self.clock, key.clone());
        *used = self.clock;
        Some(value)
    }

    /// Takes what is not there yet; gives out what had to make room.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        let oldest = if self.entries.len() >= self.capacity {
            self.order.pop_first().map(|(_, oldest)| oldest)
        } else {
            None
        };
        let forgotten = oldest.and_then(|oldest| self.entries.remove(&oldest));
        self.clock += 1;
        self.order.insert(self.clock, key.clone());
        self.entries.insert(key, (self.clock, value));
        forgotten.map(|(_, value)| value)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.values().map(|(_, value)| value)
    }

    /// Takes out what is done with.
    pub(crate) fn remove_if(&mut self, is_done: impl Fn(&V) -> bool) -> Vec<V> {
        let done = self.entries.iter().filter(|(_, (_, value))| is_done(value));
        let keys: Vec<K> = done.map(|(key, _)| key.clone()).collect();
        let taken = keys.iter().filter_map(|key| self.entries.remove(key));
        let (used, values): (Vec<u64>, Vec<V>) = taken.unzip();
        for used in used {
            self.order.remove(&used);
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_goes_first() {
        let mut lru = Lru::new(2);
        let mut use_it = |key, new| *lru.get_or_insert_with(&key, || new);
        use_it("a", 1);
        use_it("b", 2);
        assert_eq!(use_it("a", 0), 1);
        use_it("c", 3);
        assert_eq!(use_it("a", 0), 1);
        assert_eq!(use_it("b", 0), 0, "forgotten");
        assert_eq!((lru.entries.len(), lru.order.len()), (2, 2));
    }
}
