//! Exponential backoff for each key on its own.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use crate::{Limiter, Moment, Rng};

/// The size below which nobody looks for entries to drop.
const SWEEP_FLOOR: usize = 64;

/// Each key waits `base * 2^failures`, up to `cap`.
///
/// The default is 5 ms up to 1000 s, as controllers in Go use it. [`forget`](Limiter::forget) starts a key
/// again. So does a long rest: a key whose last delay ended more than twice the cap ago counts as new, and its entry
/// is dropped some time after, so that keys that are gone for good do not add up.
///
/// ```
/// use std::time::Duration;
/// use evenkeel_pace::{ItemBackoff, Limiter, Moment};
///
/// let mut limiter = ItemBackoff::new(Duration::from_secs(1), Duration::from_secs(30));
/// let delays: Vec<_> = (0..7).map(|_| limiter.when(&"a", Moment::ORIGIN).as_secs()).collect();
/// assert_eq!(delays, [1, 2, 4, 8, 16, 30, 30]);
/// assert_eq!(limiter.failures(&"a"), 7);
/// ```
#[derive(Clone, Debug)]
pub struct ItemBackoff<K> {
    base: Duration,
    cap: Duration,
    jitter: Option<(f64, Rng)>,
    failing: HashMap<K, Failing>,
    /// The size at which the map is next searched for entries to drop.
    sweep_at: usize,
}

#[derive(Clone, Copy, Debug)]
struct Failing {
    failures: u32,
    wait_ends: Moment,
}

impl<K> ItemBackoff<K> {
    /// Delays from `base` to `cap`, exact.
    #[must_use]
    pub fn new(base: Duration, cap: Duration) -> Self {
        Self {
            base,
            cap,
            jitter: None,
            failing: HashMap::new(),
            sweep_at: SWEEP_FLOOR,
        }
    }

    /// Draws each delay from `[d, d * (1 + fraction))`, so that keys that failed together are not all
    /// tried together again. The cap still holds.
    #[must_use]
    pub fn jitter(mut self, fraction: f64, rng: Rng) -> Self {
        self.jitter = Some((fraction, rng));
        self
    }

    /// How many keys have failures on record.
    #[must_use]
    pub fn tracked(&self) -> usize {
        self.failing.len()
    }

    /// `base * 2^failures`, at most the cap.
    fn delay(&self, failures: u32) -> Duration {
        const NANOS: u128 = 1_000_000_000;
        let base = self.base.as_nanos();
        if base == 0 {
            return Duration::ZERO;
        }
        let grown = if base.leading_zeros() > failures {
            base << failures
        } else {
            u128::MAX
        };
        if grown >= self.cap.as_nanos() {
            return self.cap;
        }
        Duration::new((grown / NANOS) as u64, (grown % NANOS) as u32)
    }

    /// After this long without a try, a key counts as new.
    fn rest(&self) -> Duration {
        self.cap.saturating_mul(2)
    }
}

impl<K: Eq + Hash> ItemBackoff<K> {
    fn sweep(&mut self, now: Moment) {
        if self.failing.len() < self.sweep_at {
            return;
        }
        let rest = self.rest();
        self.failing
            .retain(|_, failing| now <= failing.wait_ends + rest);
        if self.failing.len() < self.failing.capacity() / 4 {
            self.failing.shrink_to(self.failing.len() * 2);
        }
        // Each sweep is paid for by the entries added since the last.
        self.sweep_at = (self.failing.len() * 2).max(SWEEP_FLOOR);
    }
}

impl<K> Default for ItemBackoff<K> {
    fn default() -> Self {
        Self::new(Duration::from_millis(5), Duration::from_secs(1000))
    }
}

impl<K: Clone + Eq + Hash> Limiter<K> for ItemBackoff<K> {
    fn when(&mut self, key: &K, now: Moment) -> Duration {
        let rest = self.rest();
        let known = self
            .failing
            .get(key)
            .copied()
            .filter(|failing| now <= failing.wait_ends + rest);
        let failures = known.map_or(0, |failing| failing.failures);
        let mut delay = self.delay(failures);
        if let Some((fraction, rng)) = &mut self.jitter {
            delay = rng.jittered(delay, *fraction).min(self.cap);
        }
        let failing = Failing {
            failures: failures.saturating_add(1),
            wait_ends: now + delay,
        };
        match self.failing.get_mut(key) {
            Some(entry) => *entry = failing,
            None => {
                self.sweep(now);
                self.failing.insert(key.clone(), failing);
            }
        }
        delay
    }

    fn forget(&mut self, key: &K) {
        // Success is the common case: most keys never failed.
        if !self.failing.is_empty() {
            self.failing.remove(key);
        }
    }

    /// Counts failures until they are forgotten, or until the next failure after a long rest.
    fn failures(&self, key: &K) -> u32 {
        self.failing.get(key).map_or(0, |failing| failing.failures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment::ORIGIN;

    #[test]
    fn client_go_rl1_ts66_doubles_to_the_cap_without_overflow() {
        let mut limiter = ItemBackoff::new(Duration::from_millis(1), Duration::from_secs(1000));
        let delays: Vec<_> = (0..40).map(|_| limiter.when(&"a", NOW)).collect();
        assert_eq!(delays[..4], [1, 2, 4, 8].map(Duration::from_millis));
        assert!(
            delays[20..]
                .iter()
                .all(|delay| *delay == Duration::from_secs(1000))
        );
        for _ in 0..1000 {
            assert_eq!(limiter.when(&"a", NOW), Duration::from_secs(1000));
        }
        assert_eq!(
            limiter.when(&"b", NOW),
            Duration::from_millis(1),
            "keys are independent"
        );
        limiter.forget(&"a");
        assert_eq!(
            (limiter.failures(&"a"), limiter.when(&"a", NOW)),
            (0, Duration::from_millis(1))
        );
    }

    #[test]
    fn controller_runtime_c18_default_delays() {
        let mut limiter = ItemBackoff::default();
        let delays: Vec<_> = (0..20).map(|_| limiter.when(&"a", NOW)).collect();
        assert_eq!(delays[0], Duration::from_millis(5));
        assert_eq!(delays[17], Duration::from_millis(655_360));
        assert_eq!(delays[18..], [Duration::from_secs(1000); 2]);
    }

    #[test]
    fn client_go_rt3_a_key_that_rested_twice_the_cap_starts_again() {
        let mut limiter = ItemBackoff::new(Duration::from_secs(1), Duration::from_secs(8));
        for _ in 0..6 {
            limiter.when(&"a", NOW);
        }
        let due = NOW + Duration::from_secs(8);
        assert_eq!(
            limiter.clone().when(&"a", due + Duration::from_secs(16)),
            Duration::from_secs(8)
        );
        assert_eq!(
            limiter.when(&"a", due + Duration::from_millis(16_001)),
            Duration::from_secs(1)
        );
    }

    #[test]
    fn client_go_b24_keys_that_never_come_back_do_not_add_up() {
        let mut limiter = ItemBackoff::new(Duration::from_secs(1), Duration::from_secs(8));
        for round in 0..1_000u64 {
            let now = NOW + Duration::from_secs(round);
            for key in 0..10 {
                limiter.when(&(round, key), now);
            }
        }
        // Of 10,000 keys, those of the last 17 s still count.
        assert!(limiter.tracked() <= 2 * 180, "{}", limiter.tracked());
    }

    #[test]
    fn jitter_spreads_and_respects_the_cap() {
        let mut limiter = ItemBackoff::new(Duration::from_secs(1), Duration::from_secs(3))
            .jitter(0.5, Rng::seeded(1));
        for key in 0..100 {
            let (first, second, third) = (
                limiter.when(&key, NOW),
                limiter.when(&key, NOW),
                limiter.when(&key, NOW),
            );
            assert!(first >= Duration::from_secs(1) && first < Duration::from_millis(1500));
            assert!(second >= Duration::from_secs(2) && second < Duration::from_secs(3));
            assert_eq!(third, Duration::from_secs(3));
        }
    }

    #[test]
    fn odd_parameters_do_not_panic() {
        let mut zero = ItemBackoff::new(Duration::ZERO, Duration::from_secs(1));
        let mut most = ItemBackoff::new(Duration::MAX, Duration::MAX);
        for _ in 0..200 {
            assert_eq!(zero.when(&1, NOW), Duration::ZERO);
            assert_eq!(most.when(&1, NOW), Duration::MAX);
        }
    }
}
