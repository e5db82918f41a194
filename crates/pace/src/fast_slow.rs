//! A few quick tries, then slow ones.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use crate::{Limiter, Moment};

/// The first failures of a key wait `fast`, later ones `slow`.
///
/// Counts last until they are forgotten.
#[derive(Clone, Debug)]
pub struct FastSlow<K> {
    fast: Duration,
    slow: Duration,
    fast_tries: u32,
    failures: HashMap<K, u32>,
}

impl<K> FastSlow<K> {
    /// `fast_tries` delays of `fast`, then `slow` for ever.
    #[must_use]
    pub fn new(fast: Duration, slow: Duration, fast_tries: u32) -> Self {
        Self {
            fast,
            slow,
            fast_tries,
            failures: HashMap::new(),
        }
    }
}

impl<K: Clone + Eq + Hash> Limiter<K> for FastSlow<K> {
    fn when(&mut self, key: &K, _now: Moment) -> Duration {
        let failures = match self.failures.get_mut(key) {
            Some(failures) => failures,
            None => self.failures.entry(key.clone()).or_default(),
        };
        *failures = failures.saturating_add(1);
        if *failures <= self.fast_tries {
            self.fast
        } else {
            self.slow
        }
    }

    fn forget(&mut self, key: &K) {
        self.failures.remove(key);
    }

    fn failures(&self, key: &K) -> u32 {
        self.failures.get(key).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_go_rl4_ts66_fast_for_the_first_failures_then_slow() {
        let mut limiter = FastSlow::new(Duration::from_millis(5), Duration::from_secs(10), 2);
        let now = Moment::ORIGIN;
        let mut delays = || limiter.when(&"a", now).as_millis();
        assert_eq!(
            [delays(), delays(), delays(), delays()],
            [5, 5, 10_000, 10_000]
        );
        assert_eq!(limiter.failures(&"a"), 4);
        limiter.forget(&"a");
        assert_eq!(limiter.when(&"a", now), Duration::from_millis(5));
    }
}
