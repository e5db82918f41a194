use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// A map that forgets what was not used for longest. Every operation is O(log n).
#[derive(Debug)]
pub(super) struct Lru<K, V> {
    capacity: usize,
    entries: HashMap<K, (u64, V)>,
    /// From the least recently used to the most.
    order: BTreeMap<u64, K>,
    clock: u64,
}

impl<K: Clone + Eq + Hash, V> Lru<K, V> {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            entries: HashMap::new(),
            order: BTreeMap::new(),
            clock: 0,
        }
    }

    /// A use, that makes room if there is none.
    pub(super) fn get_or_insert_with(&mut self, key: &K, make: impl FnOnce() -> V) -> &mut V {
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
