//! Seeded randomness.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
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
pub struct Rng {
    state: u64,
}

impl Rng {
    /// A generator whose draws follow from `seed` alone.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self { state: seed }
    }

    /// A generator with a seed from the environment: for drivers, where two processes must not draw alike.
    #[must_use]
    pub fn from_entropy() -> Self {
        // The standard library keys its hashers from the system's randomness.
        Self::seeded(RandomState::new().hash_one(0u8))
    }

    /// A new generator that follows from this one's state and draws on its own from then on.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self::seeded(self.next_u64())
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        // SplitMix64 (Steele, Lea, Flood 2014): a counter and a mixer. It passes the usual batteries of tests.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number in `[0, bound)`, or 0 if the bound is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The high half of the product is the draw. The low half tells the draws of which there would be one
        // too many: then draw again.
        let surplus = bound.wrapping_neg().checked_rem(bound).unwrap_or(0);
        loop {
            let product = u128::from(self.next_u64()) * u128::from(bound);
            if product as u64 >= surplus {
                return (product >> 64) as u64;
            }
        }
    }

    /// A number in `[0, 1)`.
    pub fn fraction(&mut self) -> f64 {
        // As many bits as the mantissa holds: rounding never reaches 1.
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
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
    fn draws_follow_the_published_sequence_and_are_spread_evenly() {
        // The reference implementation's first values for this seed.
        let mut rng = Rng::seeded(1_234_567);
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!([rng.next_u64(), rng.next_u64(), rng.next_u64()], expected);
        let mut seen = [0u32; 6];
        for _ in 0..60_000 {
            seen[rng.below(6) as usize] += 1;
        }
        assert!(
            seen.iter().all(|count| (9_500..10_500).contains(count)),
            "{seen:?}"
        );
        let mean = (0..10_000).map(|_| rng.fraction()).sum::<f64>() / 10_000.0;
        assert!((0.48..0.52).contains(&mean), "{mean}");
        assert!(rng.below(u64::MAX) < u64::MAX);
        assert!(rng.chance(1.0) && !rng.chance(0.0) && !rng.chance(f64::NAN));
    }

    #[test]
    fn entropy_differs_from_one_to_the_next() {
        assert_ne!(
            Rng::from_entropy().next_u64(),
            Rng::from_entropy().next_u64()
        );
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
