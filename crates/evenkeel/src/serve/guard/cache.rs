use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

use tokio::time::Instant;

/// What is known until a moment, of a bounded number of things. Whoever sends tokens of his own
/// making only drives out the ones that are to be forgotten first.
pub(super) struct Cache<K, V> {
    known: HashMap<K, (V, Instant)>,
    capacity: usize,
}

impl<K: Eq + Hash + Clone, V: Clone> Cache<K, V> {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            known: HashMap::new(),
            capacity,
        }
    }

    pub(super) fn get<Q>(&self, key: &Q, now: Instant) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let (value, until) = self.known.get(key)?;
        (now < *until).then(|| value.clone())
    }

    pub(super) fn put(&mut self, key: K, value: V, until: Instant) {
        if self.known.len() >= self.capacity && !self.known.contains_key(&key) {
            let first = self.known.iter().min_by_key(|(_, (_, until))| *until);
            if let Some(first) = first.map(|(key, _)| key.clone()) {
                self.known.remove(&first);
            }
        }
        self.known.insert(key, (value, until));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_is_forgotten_first_makes_room() {
        let now = Instant::now();
        let after = |seconds| now + Duration::from_secs(seconds);
        let mut cache = Cache::new(2);
        cache.put("a", 1, after(9));
        cache.put("b", 2, after(3));
        cache.put("a", 3, after(9));
        assert_eq!(cache.get("b", after(2)), Some(2));
        assert_eq!(cache.get("b", after(3)), None);
        cache.put("c", 4, after(5));
        assert_eq!(cache.get("b", now), None);
        assert_eq!(
            (cache.get("a", now), cache.get("c", now)),
            (Some(3), Some(4))
        );
    }
}
