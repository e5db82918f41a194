//! Durations as kubectl shows them: two units at most, coarser the longer it was.

use evenkeel_meta::Timestamp;
use serde_json::Value;

/// How long ago a timestamp is; `<unknown>` without one.
pub(super) fn since(time: Option<&Value>, now: Timestamp) -> String {
    let parsed = time
        .and_then(Value::as_str)
        .and_then(|text| text.parse::<Timestamp>().ok());
    match parsed {
        Some(time) => human(now.as_second() - time.as_second()),
        None => "<unknown>".to_owned(),
    }
}

/// A number of seconds. A little less than none is none: clocks differ.
pub(super) fn human(seconds: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    const YEAR: i64 = 365 * DAY;
    let pair = |unit: i64, name: &str, sub: i64, sub_name: &str| match seconds % unit / sub {
        0 => format!("{}{name}", seconds / unit),
        rest => format!("{}{name}{rest}{sub_name}", seconds / unit),
    };
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1..0 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        120..600 => pair(MINUTE, "m", 1, "s"),
        600..10_800 => format!("{}m", seconds / MINUTE),
        10_800..28_800 => pair(HOUR, "h", MINUTE, "m"),
        28_800..172_800 => format!("{}h", seconds / HOUR),
        172_800..691_200 => pair(DAY, "d", HOUR, "h"),
        691_200..63_072_000 => format!("{}d", seconds / DAY),
        63_072_000..252_288_000 => pair(YEAR, "y", DAY, "d"),
        _ => format!("{}y", seconds / YEAR),
    }
}

#[cfg(test)]
mod tests {
    use super::human;

    #[test]
    fn two_units_at_most() {
        let cases = [
            (-5, "<invalid>"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (600, "10m"),
            (10_800, "3h"),
            (11_000, "3h3m"),
            (100_000, "27h"),
            (180_000, "2d2h"),
            (900_000, "10d"),
            (70_000_000, "2y80d"),
            (300_000_000, "9y"),
        ];
        for (seconds, text) in cases {
            assert_eq!(human(seconds), text, "{seconds}");
        }
    }
}
