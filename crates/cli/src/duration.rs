//! Durations as they are said to people.

use std::time::Duration;

/// `1s`, `500ms`, `0s`.
pub(crate) fn display(duration: Duration) -> String {
    if duration.is_zero() {
        return "0s".to_owned();
    }
    format!("{duration:?}")
}
