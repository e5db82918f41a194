//! Durations as Go programs spell them: `15s`, `1m30s`, `1.5h`, `100ms`, `0`.

use std::time::Duration;

/// Why a text is no duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidDuration {
    /// There is no number where one should be.
    #[error("expected a duration such as 15s, 1m30s or 500ms")]
    NoNumber,
    /// A number has no unit.
    #[error("missing unit: expected a duration such as {0}s")]
    NoUnit(String),
    /// A unit is none that Go knows.
    #[error("unknown unit {0:?}: expected ns, us, ms, s, m or h")]
    UnknownUnit(String),
    /// It has a minus sign.
    #[error("a duration cannot be negative here")]
    Negative,
    /// More nanoseconds than Go can count: 292 years.
    #[error("too long")]
    TooLong,
}

const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// Reads a duration as Go's `time.ParseDuration` does: `15s`, `1m30s`, `1.5h`, `100ms`, `0`.
/// Negative ones are refused, since no setting here has a use for them.
///
/// # Errors
///
/// What is wrong with the text.
pub fn parse_duration(text: &str) -> Result<Duration, InvalidDuration> {
    let unsigned = text.strip_prefix('+').unwrap_or(text);
    if unsigned == "0" {
        return Ok(Duration::ZERO);
    }
    if unsigned.starts_with('-') {
        return Err(InvalidDuration::Negative);
    }
    if unsigned.is_empty() {
        return Err(InvalidDuration::NoNumber);
    }
    let mut rest = unsigned;
    let mut nanos: u128 = 0;
    while !rest.is_empty() {
        let number = leading(rest, |c| c.is_ascii_digit() || c == '.');
        rest = &rest[number.len()..];
        let unit = leading(rest, |c| !c.is_ascii_digit() && c != '.');
        rest = &rest[unit.len()..];
        let part = part(number, unit)?;
        nanos = nanos.checked_add(part).ok_or(InvalidDuration::TooLong)?;
    }
    let seconds = u64::try_from(nanos / NANOS_PER_SECOND).map_err(|_| InvalidDuration::TooLong)?;
    // Go counts nanoseconds in 63 bits; what it cannot say is surely a mistake.
    if nanos > i64::MAX as u128 {
        return Err(InvalidDuration::TooLong);
    }
    Ok(Duration::new(seconds, (nanos % NANOS_PER_SECOND) as u32))
}

fn leading(text: &str, belongs: impl Fn(char) -> bool) -> &str {
    let end = text.find(|c| !belongs(c)).unwrap_or(text.len());
    &text[..end]
}

/// Nanoseconds of one number with its unit.
fn part(number: &str, unit: &str) -> Result<u128, InvalidDuration> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return Err(InvalidDuration::NoNumber);
    }
    let scale: u128 = match unit {
        "ns" => 1,
        // The micro sign and the Greek letter look alike.
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => NANOS_PER_SECOND,
        "m" => 60 * NANOS_PER_SECOND,
        "h" => 3_600 * NANOS_PER_SECOND,
        "" => return Err(InvalidDuration::NoUnit(number.to_owned())),
        other => return Err(InvalidDuration::UnknownUnit(other.to_owned())),
    };
    let digits = |text: &str| match text {
        "" => Ok(0),
        text => text.parse::<u128>().map_err(|_| InvalidDuration::TooLong),
    };
    // More digits than a nanosecond has in an hour add nothing.
    let fraction = &fraction[..fraction.len().min(18)];
    let below = digits(fraction)? * scale / 10_u128.pow(fraction.len() as u32);
    let above = digits(whole)?.checked_mul(scale);
    above
        .and_then(|above| above.checked_add(below))
        .ok_or(InvalidDuration::TooLong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_spelled_as_in_go() {
        for (text, millis) in [
            ("15s", 15_000),
            ("1m30s", 90_000),
            ("1.5h", 5_400_000),
            ("100ms", 100),
            ("2h45m0.5s", 9_900_500),
            ("+5s", 5_000),
            (".5s", 500),
            ("5.s", 5_000),
            ("0", 0),
            ("0s", 0),
        ] {
            assert_eq!(
                parse_duration(text),
                Ok(Duration::from_millis(millis)),
                "{text}"
            );
        }
        assert_eq!(parse_duration("3us7ns"), Ok(Duration::from_nanos(3_007)));
        assert_eq!(parse_duration("3\u{b5}s"), Ok(Duration::from_micros(3)));
    }

    #[test]
    fn what_is_no_duration_is_refused_with_a_reason() {
        for (text, expected) in [
            ("", "expected a duration"),
            ("15", "missing unit: expected a duration such as 15s"),
            ("s", "expected a duration"),
            (".s", "expected a duration"),
            ("1.2.3s", "expected a duration"),
            ("1d", "unknown unit \"d\""),
            ("1m30", "missing unit"),
            ("-1s", "cannot be negative"),
            ("99999999999999h", "too long"),
            ("999999999999999999999999999999999999999999h", "too long"),
        ] {
            let error = parse_duration(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
