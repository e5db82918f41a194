use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A point in wall-clock time as Kubernetes writes it: RFC 3339 in UTC.
///
/// Printed and serialized in whole seconds, as `metav1.Time` is; what was read with a
/// fraction keeps it for comparisons. Where six digits are wanted (`metav1.MicroTime`, as
/// in Leases) see [`MicroTime`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(jiff::Timestamp);

/// A [`Timestamp`] with microseconds on the wire (`metav1.MicroTime`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MicroTime(pub Timestamp);

/// The text is no RFC 3339 time, or the number is out of range.
#[derive(Debug, Clone, thiserror::Error)]
#[error("invalid time: {0}")]
pub struct ParseTimeError(#[from] jiff::Error);

impl Timestamp {
    /// From whole seconds since 1970; clamped to the years that RFC 3339 can write.
    #[must_use]
    pub fn from_second(second: i64) -> Self {
        Self(
            jiff::Timestamp::from_second(second).unwrap_or(if second < 0 {
                jiff::Timestamp::MIN
            } else {
                jiff::Timestamp::MAX
            }),
        )
    }

    /// From microseconds since 1970; clamped to the years that RFC 3339 can write.
    #[must_use]
    pub fn from_microsecond(microsecond: i64) -> Self {
        Self(
            jiff::Timestamp::from_microsecond(microsecond).unwrap_or(if microsecond < 0 {
                jiff::Timestamp::MIN
            } else {
                jiff::Timestamp::MAX
            }),
        )
    }

    /// The wall clock's reading. Only drivers call this; state machines are given the time.
    #[must_use]
    pub fn now() -> Self {
        Self(jiff::Timestamp::now())
    }

    /// Whole seconds since 1970.
    #[must_use]
    pub fn as_second(self) -> i64 {
        self.0.as_second()
    }

    /// Microseconds since 1970.
    #[must_use]
    pub fn as_microsecond(self) -> i64 {
        self.0.as_microsecond()
    }

    /// How much later this is than `earlier`; zero when it is not later.
    #[must_use]
    pub fn saturating_since(self, earlier: Self) -> std::time::Duration {
        std::time::Duration::try_from(self.0.duration_since(earlier.0)).unwrap_or_default()
    }

    /// This time plus `delay`, clamped to the last representable time.
    #[must_use]
    pub fn saturating_add(self, delay: std::time::Duration) -> Self {
        Self(self.0.saturating_add(delay).unwrap_or(jiff::Timestamp::MAX))
    }
}

impl From<jiff::Timestamp> for Timestamp {
    fn from(time: jiff::Timestamp) -> Self {
        Self(time)
    }
}

impl From<Timestamp> for jiff::Timestamp {
    fn from(time: Timestamp) -> Self {
        time.0
    }
}

impl FromStr for Timestamp {
    type Err = ParseTimeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.parse()?))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0}", self.0)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Display for MicroTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6}", self.0.0)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for MicroTime {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Timestamp;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an RFC 3339 time")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Timestamp, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

impl<'de> Deserialize<'de> for MicroTime {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Timestamp::deserialize(deserializer).map(MicroTime)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_has_seconds_and_micro_time_has_six_digits() {
        let time: Timestamp = "2026-11-29T19:22:07.1234567Z".parse().unwrap();
        assert_eq!(time.to_string(), "2026-11-29T19:22:07Z");
        assert_eq!(MicroTime(time).to_string(), "2026-11-29T19:22:07.123456Z");
        let whole = Timestamp::from_second(0);
        assert_eq!(MicroTime(whole).to_string(), "1970-01-01T00:00:00.000000Z");
        assert_eq!(whole.to_string(), "1970-01-01T00:00:00Z");
    }

    #[test]
    fn out_of_range_is_clamped_not_a_panic() {
        let _ = Timestamp::from_second(i64::MAX).saturating_add(std::time::Duration::MAX);
        let _ = Timestamp::from_microsecond(i64::MIN);
        assert!("yesterday".parse::<Timestamp>().is_err());
    }
}
