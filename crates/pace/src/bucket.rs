//! A token bucket whose waits have a bound.

use std::time::Duration;

use crate::{Limiter, Moment};

/// The longest time between two tokens: it keeps every sum below within range.
const LONGEST_INTERVAL: Duration = Duration::from_secs(365 * 24 * 3600);

/// A token bucket: `rate` tokens a second, up to `burst` saved up. It starts full.
///
/// [`reserve`](Self::reserve) takes a token that may come only later and says how long to wait for it.
/// Reservations are bounded: the debt never grows beyond the longest wait, so an unrelated caller waits at
/// most that long, whatever was asked before (client-go's bucket makes the 10,000th of a burst wait 16
/// minutes, and every item after it too). The price is that a flood beyond the bound is let through
/// faster than `rate`.
///
/// ```
/// use std::time::Duration;
/// use evenkeel_pace::{Moment, TokenBucket};
///
/// let mut bucket = TokenBucket::new(10.0, 2);
/// let now = Moment::ORIGIN;
/// assert!(bucket.try_take(now) && bucket.try_take(now) && !bucket.try_take(now));
/// assert_eq!(bucket.reserve(now), Duration::from_millis(100));
/// assert_eq!(bucket.reserve(now), Duration::from_millis(200));
/// assert_eq!(bucket.try_reserve(now, Duration::from_millis(250)), None);
/// ```
#[derive(Clone, Debug)]
pub struct TokenBucket {
    /// The time in which one token comes in.
    interval: Duration,
    /// The time in which an empty bucket fills.
    fill: Duration,
    longest_wait: Duration,
    /// When the bucket will be full again if nothing more is taken.
    full_at: Moment,
}

impl TokenBucket {
    /// The longest wait of a bucket that was not told otherwise.
    pub const DEFAULT_LONGEST_WAIT: Duration = Duration::from_secs(60);

    /// A full bucket. A rate that is not positive counts as one token a year, an infinite one as no limit,
    /// a burst of 0 as 1.
    #[must_use]
    pub fn new(rate: f64, burst: u32) -> Self {
        let interval = if rate > 0.0 {
            Duration::try_from_secs_f64(rate.recip())
        } else {
            Ok(LONGEST_INTERVAL)
        };
        let interval = interval.map_or(LONGEST_INTERVAL, |interval| interval.min(LONGEST_INTERVAL));
        Self {
            interval,
            fill: interval.saturating_mul(burst.max(1)),
            longest_wait: Self::DEFAULT_LONGEST_WAIT,
            full_at: Moment::ORIGIN,
        }
    }

    /// Bounds what [`reserve`](Self::reserve) answers. Default: [`DEFAULT_LONGEST_WAIT`](Self::DEFAULT_LONGEST_WAIT).
    #[must_use]
    pub fn longest_wait(mut self, longest: Duration) -> Self {
        self.longest_wait = longest;
        self
    }

    /// Takes a token if there is one now.
    pub fn try_take(&mut self, now: Moment) -> bool {
        self.try_reserve(now, Duration::ZERO).is_some()
    }

    /// Takes a token and says how long to wait for it: never more than the longest wait.
    pub fn reserve(&mut self, now: Moment) -> Duration {
        let full_at = self.full_at.max(now) + self.interval;
        self.full_at = full_at.min(now + self.fill + self.longest_wait);
        self.full_at - (now + self.fill)
    }

    /// As [`reserve`](Self::reserve), but takes nothing and answers `None` if the wait would be over `longest`:
    /// for a caller with a deadline, which then fails early.
    pub fn try_reserve(&mut self, now: Moment, longest: Duration) -> Option<Duration> {
        let full_at = self.full_at.max(now) + self.interval;
        let wait = full_at - (now + self.fill);
        if wait > longest {
            return None;
        }
        self.full_at = full_at;
        Some(wait)
    }

    /// Gives back a token that was reserved and will not be used.
    pub fn give_back(&mut self) {
        self.full_at = self.full_at.saturating_sub(self.interval);
    }
}

/// One bucket over all keys: it spaces retries and knows nothing of any key.
impl<K: ?Sized> Limiter<K> for TokenBucket {
    fn when(&mut self, _key: &K, now: Moment) -> Duration {
        self.reserve(now)
    }

    fn forget(&mut self, _key: &K) {}

    fn failures(&self, _key: &K) -> u32 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment::ORIGIN;

    #[test]
    fn client_go_rl3_reserves_beyond_the_burst() {
        let mut bucket = TokenBucket::new(10.0, 100).longest_wait(Duration::MAX);
        let waits: Vec<_> = (0..10_000).map(|_| bucket.reserve(NOW)).collect();
        assert_eq!(waits[99], Duration::ZERO);
        assert_eq!(waits[100], Duration::from_millis(100));
        assert_eq!(
            waits[9_999],
            Duration::from_secs(990),
            "client-go's 16 min 30 s, when nothing bounds it"
        );
    }

    #[test]
    fn client_go_b23_ten_thousand_at_once_wait_no_longer_than_the_bound() {
        let mut bucket = TokenBucket::new(10.0, 100).longest_wait(Duration::from_secs(30));
        let longest = (0..10_000).map(|_| bucket.reserve(NOW)).max();
        assert_eq!(longest, Some(Duration::from_secs(30)));
        // An unrelated caller afterwards, and one after the bound has passed.
        assert_eq!(bucket.reserve(NOW), Duration::from_secs(30));
        assert_eq!(
            bucket.reserve(NOW + Duration::from_secs(30)),
            Duration::from_millis(100)
        );
    }

    #[test]
    fn client_go_rt3_starts_full_takes_passively_and_fails_early() {
        let mut bucket = TokenBucket::new(2.0, 3);
        assert_eq!((0..5).filter(|_| bucket.try_take(NOW)).count(), 3);
        assert_eq!(bucket.try_reserve(NOW, Duration::from_millis(400)), None);
        assert_eq!(
            bucket.try_reserve(NOW, Duration::from_millis(500)),
            Some(Duration::from_millis(500))
        );
        assert!(!bucket.try_take(NOW + Duration::from_millis(999)));
        assert!(bucket.try_take(NOW + Duration::from_millis(1000)));
    }

    #[test]
    fn refills_to_the_burst_and_no_further() {
        let mut bucket = TokenBucket::new(10.0, 5);
        let later = NOW + Duration::from_secs(3600);
        assert_eq!((0..20).filter(|_| bucket.try_take(later)).count(), 5);
    }

    #[test]
    fn a_returned_token_can_be_taken_again() {
        let mut bucket = TokenBucket::new(1.0, 1);
        assert!(bucket.try_take(NOW) && !bucket.try_take(NOW));
        bucket.give_back();
        assert!(bucket.try_take(NOW));
    }

    #[test]
    fn odd_rates_do_not_panic() {
        let mut none = TokenBucket::new(f64::NAN, 0);
        assert!(none.try_take(NOW) && !none.try_take(NOW));
        assert_eq!(none.reserve(NOW), TokenBucket::DEFAULT_LONGEST_WAIT);
        let mut unlimited = TokenBucket::new(f64::INFINITY, 1);
        assert!((0..1000).all(|_| unlimited.try_take(NOW)));
        let mut slow = TokenBucket::new(f64::MIN_POSITIVE, u32::MAX);
        assert!(slow.try_take(Moment::MAX) && slow.try_take(NOW));
    }
}
