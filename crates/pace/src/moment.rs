//! Time as a value that the caller passes in.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

/// A point on a monotonic time line, counted from an origin that the driver chooses.
///
/// State machines take moments and never ask for one. A driver on tokio keeps an origin and converts:
///
/// ```
/// # use std::time::Duration;
/// use evenkeel_pace::Moment;
///
/// // In a driver: `Moment::from(origin.elapsed())`, with `origin` a `tokio::time::Instant`.
/// let now = Moment::from(Duration::from_secs(3));
/// let later = now + Duration::from_millis(500);
/// assert_eq!(later - now, Duration::from_millis(500));
/// assert_eq!(now - later, Duration::ZERO);
/// ```
///
/// The resolution is a nanosecond and the range about 584 years. All arithmetic saturates.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Moment(u64);

impl Moment {
    /// The driver's origin.
    pub const ORIGIN: Self = Self(0);

    /// The last moment that can be told: a deadline that never comes.
    pub const MAX: Self = Self(u64::MAX);

    /// The moment `since_origin` after the origin.
    #[must_use]
    pub const fn new(since_origin: Duration) -> Self {
        let nanos = since_origin.as_nanos();
        if nanos > u64::MAX as u128 {
            Self::MAX
        } else {
            Self(nanos as u64)
        }
    }

    /// How long after the origin this is.
    #[must_use]
    pub const fn since_origin(self) -> Duration {
        Duration::from_nanos(self.0)
    }

    /// How long after `earlier` this is; zero if it is not after it.
    #[must_use]
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// How long after `earlier` this is, or `None` if it is before it.
    #[must_use]
    pub const fn checked_since(self, earlier: Self) -> Option<Duration> {
        match self.0.checked_sub(earlier.0) {
            Some(nanos) => Some(Duration::from_nanos(nanos)),
            None => None,
        }
    }

    /// The moment `duration` later, or `None` past the end of the range.
    #[must_use]
    pub fn checked_add(self, duration: Duration) -> Option<Self> {
        let nanos = u64::try_from(duration.as_nanos()).ok()?;
        self.0.checked_add(nanos).map(Self)
    }

    /// The moment `duration` earlier, or `None` before the origin.
    #[must_use]
    pub fn checked_sub(self, duration: Duration) -> Option<Self> {
        let nanos = u64::try_from(duration.as_nanos()).ok()?;
        self.0.checked_sub(nanos).map(Self)
    }

    /// The moment `duration` earlier, the origin at the earliest.
    #[must_use]
    pub const fn saturating_sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(Self::new(duration).0))
    }
}

impl From<Duration> for Moment {
    fn from(since_origin: Duration) -> Self {
        Self::new(since_origin)
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(Self::new(duration).0))
    }
}

impl AddAssign<Duration> for Moment {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Sub for Moment {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        self.saturating_since(earlier)
    }
}

impl fmt::Debug for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "+{:?}", self.since_origin())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        let one = Moment::from(Duration::from_secs(1));
        assert_eq!(Moment::ORIGIN - one, Duration::ZERO);
        assert_eq!(Moment::MAX + Duration::from_secs(1), Moment::MAX);
        assert_eq!(one + Duration::MAX, Moment::MAX);
        assert_eq!(Moment::from(Duration::MAX), Moment::MAX);
        assert_eq!(one.saturating_sub(Duration::MAX), Moment::ORIGIN);
    }

    #[test]
    fn checked_operations_report_the_ends() {
        let one = Moment::from(Duration::from_secs(1));
        assert_eq!(one.checked_add(Duration::MAX), None);
        assert_eq!(one.checked_sub(Duration::from_secs(2)), None);
        assert_eq!(Moment::ORIGIN.checked_since(one), None);
        assert_eq!(
            one.checked_since(Moment::ORIGIN),
            Some(Duration::from_secs(1))
        );
        assert_eq!(
            one.checked_sub(Duration::from_secs(1)),
            Some(Moment::ORIGIN)
        );
    }
}
