//! Seeded randomness.

use std::ops::Range;
use std::time::Duration;

/// A small seeded generator for jitter and sampling. Not for secrets.
///
/// Each machine that needs randomness owns one (see [`fork`](Self::fork)), so that one more draw in one
/// place does not change the delays of another and a test replays from a seed.
///
/// ```
/// use evenkeel_pace::Rng;
///
/// let (mut a, mut b) = (Rng::seeded(42), Rng::seeded(42));
/// assert_eq!(a.below(1000), b.below(1000));
/// ```
#[derive(Clone, Debug)]
pub struct Rng(fastrand::Rng);

impl Rng {
    /// A generator whose draws follow from `seed` alone.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    /// A generator with a seed from the environment: for drivers, where two processes must not draw alike.
    #[must_use]
    pub fn from_entropy() -> Self {
        Self(fastrand::Rng::new())
    }

    /// A new generator that follows from this one's state and draws on its own from then on.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self(self.0.fork())
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.u64(..)
    }

    /// A number in `[0, bound)`, or 0 if the bound is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.0.u64(..bound) }
    }

    /// A number in `[0, 1)`.
    pub fn fraction(&mut self) -> f64 {
        self.0.f64()
    }

    /// True with the given probability; values outside `[0, 1]` mean never and always.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.fraction() < probability
    }

    /// A duration in `[range.start, range.end)`, or the start if the range is empty.
    pub fn between(&mut self, range: Range<Duration>) -> Duration {
        let width = range.end.saturating_sub(range.start);
        let nanos = u64::try_from(width.as_nanos()).unwrap_or(u64::MAX);
        range
            .start
            .saturating_add(Duration::from_nanos(self.below(nanos)))
    }

    /// A duration in `[base, base * (1 + fraction))`. A fraction that is not positive means `base` itself.
    ///
    /// This is the jitter of client-go: it only ever makes a wait longer.
    pub fn jittered(&mut self, base: Duration, fraction: f64) -> Duration {
        if fraction.is_nan() || fraction <= 0.0 {
            return base;
        }
        let width = base.as_secs_f64() * fraction;
        let width = Duration::try_from_secs_f64(width).unwrap_or(Duration::MAX);
        self.between(base..base.saturating_add(width))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_stay_in_their_ranges() {
        let mut rng = Rng::seeded(1);
        let base = Duration::from_millis(10);
        for _ in 0..1000 {
            let jittered = rng.jittered(base, 0.1);
            assert!(
                jittered >= base && jittered < Duration::from_millis(11),
                "{jittered:?}"
            );
            assert!(rng.below(3) < 3);
        }
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.jittered(base, 0.0), base);
        assert_eq!(rng.jittered(base, f64::NAN), base);
        assert!(rng.jittered(Duration::MAX, f64::INFINITY) <= Duration::MAX);
        assert_eq!(rng.between(base..base), base);
    }

    #[test]
    fn a_fork_is_reproducible_and_leaves_its_parent_alone() {
        let (mut a, mut b) = (Rng::seeded(9), Rng::seeded(9));
        let mut fork = a.fork();
        let _ = b.fork();
        fork.next_u64();
        fork.next_u64();
        assert_eq!(a.next_u64(), b.next_u64());
    }
}
