//! Exponential backoff for one thing that fails.

use std::time::Duration;

use crate::{Moment, Rng};

/// Exponential backoff with jitter: `init`, `init * factor`, ... up to `cap`.
///
/// Each delay is drawn from `[d, d * (1 + jitter))`; with jitter 1 the steady state lies between the cap and
/// twice the cap, as in client-go's reflector.
///
/// The sequence starts again after [`reset`](Self::reset), or by itself after a quiet time: call
/// [`next_at`](Self::next_at) and the steps start again once `quiet` has passed without a failure. (client-go
/// counts from its last reset instead, and so falls back to short delays in the middle of an outage.)
///
/// ```
/// use std::time::Duration;
/// use evenkeel_pace::{Backoff, Moment, Rng};
///
/// let mut rng = Rng::seeded(1);
/// let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(4)).quiet(Duration::from_secs(60));
/// let at = |seconds| Moment::from(Duration::from_secs(seconds));
/// assert_eq!(backoff.next_at(at(0), &mut rng), Duration::from_secs(1));
/// assert_eq!(backoff.next_at(at(1), &mut rng), Duration::from_secs(2));
/// assert_eq!(backoff.next_at(at(3), &mut rng), Duration::from_secs(4));
/// assert_eq!(backoff.next_at(at(7), &mut rng), Duration::from_secs(4));
/// // The last wait ended at 11 s and nothing failed until 80 s.
/// assert_eq!(backoff.next_at(at(80), &mut rng), Duration::from_secs(1));
/// ```
#[derive(Clone, Debug)]
pub struct Backoff {
    init: Duration,
    factor: f64,
    cap: Duration,
    jitter: f64,
    quiet: Option<Duration>,
    /// The delay of the next step, before jitter.
    step: Duration,
    steps: u32,
    /// When the wait that follows the last failure told of ends.
    quiet_from: Option<Moment>,
}

impl Backoff {
    /// A backoff that doubles from `init` to `cap`, without jitter, and that only [`reset`](Self::reset) restarts.
    #[must_use]
    pub fn new(init: Duration, cap: Duration) -> Self {
        let step = init.min(cap);
        Self {
            init: step,
            factor: 2.0,
            cap,
            jitter: 0.0,
            quiet: None,
            step,
            steps: 0,
            quiet_from: None,
        }
    }

    /// What each delay is multiplied by to get the next. Values below 1 count as 1. Default: 2.
    #[must_use]
    pub fn factor(mut self, factor: f64) -> Self {
        self.factor = if factor >= 1.0 { factor } else { 1.0 };
        self
    }

    /// How much may be added to each delay, as a fraction of it. Values below 0 count as 0. Default: 0.
    #[must_use]
    pub fn jitter(mut self, fraction: f64) -> Self {
        self.jitter = if fraction > 0.0 { fraction } else { 0.0 };
        self
    }

    /// How long after the end of a wait nothing may fail for the sequence to start again.
    #[must_use]
    pub fn quiet(mut self, quiet: Duration) -> Self {
        self.quiet = Some(quiet);
        self
    }

    /// The next delay, for a caller that resets by itself.
    pub fn next(&mut self, rng: &mut Rng) -> Duration {
        let delay = self.step;
        let grown = delay.as_secs_f64() * self.factor;
        self.step = Duration::try_from_secs_f64(grown).map_or(self.cap, |next| next.min(self.cap));
        self.steps = self.steps.saturating_add(1);
        let delay = rng.jittered(delay, self.jitter);
        if let Some(quiet_from) = &mut self.quiet_from {
            *quiet_from += delay;
        }
        delay
    }

    /// The next delay for a failure at `now`; starts the sequence again first if the time before was quiet.
    pub fn next_at(&mut self, now: Moment, rng: &mut Rng) -> Duration {
        self.reset_after_quiet(now);
        self.next(rng)
    }

    /// Starts the sequence again.
    pub fn reset(&mut self) {
        self.step = self.init;
        self.steps = 0;
        self.quiet_from = None;
    }

    /// Tells of a failure at `now`, before the call of [`next`](Self::next): starts the sequence again if the
    /// quiet time has passed since the wait after the last failure told of ended. Says whether it did.
    pub fn reset_after_quiet(&mut self, now: Moment) -> bool {
        let was_quiet = match (self.quiet, self.quiet_from) {
            (Some(quiet), Some(from)) => now >= from + quiet,
            _ => false,
        };
        if was_quiet {
            self.reset();
        }
        self.quiet_from = Some(now);
        was_quiet
    }

    /// How many delays were given since the sequence started.
    #[must_use]
    pub fn steps(&self) -> u32 {
        self.steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reflector() -> Backoff {
        Backoff::new(Duration::from_millis(800), Duration::from_secs(30))
            .jitter(1.0)
            .quiet(Duration::from_secs(120))
    }

    #[test]
    fn client_go_r2_delays_are_uniform_in_d_to_two_d() {
        let mut rng = Rng::seeded(3);
        for _ in 0..200 {
            let mut backoff = reflector();
            for d in [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0, 30.0] {
                let delay = backoff.next(&mut rng).as_secs_f64();
                assert!(delay >= d - 1e-9 && delay < 2.0 * d, "{delay} for step {d}");
            }
        }
    }

    #[test]
    fn client_go_r3_resets_only_after_two_minutes_without_a_failure() {
        let mut rng = Rng::seeded(3);
        let mut backoff = reflector();
        let mut now = Moment::ORIGIN;
        // An outage of an hour, failing at once after each wait: the steps never start again.
        while now < Moment::from(Duration::from_secs(3600)) {
            now += backoff.next_at(now, &mut rng);
        }
        assert!(backoff.next_at(now, &mut rng) >= Duration::from_secs(30));
        let recovered = now + Duration::from_secs(60) + Duration::from_secs(120);
        assert!(backoff.next_at(recovered, &mut rng) < Duration::from_millis(1600));
    }

    #[test]
    fn reset_starts_the_sequence_again() {
        let mut rng = Rng::seeded(3);
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(9)).factor(3.0);
        assert_eq!(backoff.next(&mut rng), Duration::from_secs(1));
        assert_eq!(backoff.next(&mut rng), Duration::from_secs(3));
        assert_eq!(backoff.steps(), 2);
        backoff.reset();
        assert_eq!(
            (backoff.steps(), backoff.next(&mut rng)),
            (0, Duration::from_secs(1))
        );
    }

    #[test]
    fn odd_parameters_do_not_panic() {
        let mut rng = Rng::seeded(3);
        let mut backoff = Backoff::new(Duration::MAX, Duration::MAX)
            .factor(f64::INFINITY)
            .jitter(f64::NAN);
        assert_eq!(backoff.next(&mut rng), Duration::MAX);
        assert_eq!(backoff.next(&mut rng), Duration::MAX);
        let mut backoff = Backoff::new(Duration::ZERO, Duration::ZERO)
            .factor(f64::NAN)
            .jitter(-1.0);
        assert_eq!(backoff.next(&mut rng), Duration::ZERO);
        assert_eq!(backoff.next(&mut rng), Duration::ZERO);
    }
}
