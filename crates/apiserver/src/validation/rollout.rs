//! How a workload replaces its pods.

use serde_json::Value;

use super::read::{get, text};
use super::report::{Path, Report};
use super::workloads::internal;

pub(super) fn deployment(at: &Path<'_>, strategy: &Value, report: &mut Report) {
    let rolling = get(strategy, "rollingUpdate");
    let at_rolling = at.field("rollingUpdate");
    match text(strategy, "type") {
        "Recreate" if rolling.is_object() => {
            report.forbidden(
                &at_rolling,
                "may not be specified when strategy `type` is 'Recreate'",
            );
        }
        "Recreate" => {}
        "RollingUpdate" => {
            let (surge, unavailable) = (get(rolling, "maxSurge"), get(rolling, "maxUnavailable"));
            let at_unavailable = at_rolling.field("maxUnavailable");
            portion(&at_unavailable, unavailable, false, report);
            portion(&at_rolling.field("maxSurge"), surge, false, report);
            if is_zero(unavailable) && is_zero(surge) {
                report.invalid(
                    &at_unavailable,
                    unavailable,
                    "may not be 0 when `maxSurge` is 0",
                );
            }
            not_above_all(&at_unavailable, unavailable, report);
        }
        _ => {
            let shown = internal(
                strategy,
                &[("type", "Type"), ("rollingUpdate", "RollingUpdate")],
            );
            report.not_supported(at, shown, &["Recreate", "RollingUpdate"]);
        }
    }
}

pub(super) fn daemon_set(at: &Path<'_>, strategy: &Value, report: &mut Report) {
    let at_rolling = at.field("rollingUpdate");
    match text(strategy, "type") {
        "OnDelete" => {}
        "RollingUpdate" => {
            let rolling = get(strategy, "rollingUpdate");
            let (surge, unavailable) = (get(rolling, "maxSurge"), get(rolling, "maxUnavailable"));
            portion(
                &at_rolling.field("maxUnavailable"),
                unavailable,
                true,
                report,
            );
            portion(&at_rolling.field("maxSurge"), surge, true, report);
            match (is_zero(surge), is_zero(unavailable)) {
                (true, true) => {
                    report.required(
                        &at_rolling.field("maxUnavailable"),
                        "cannot be 0 when maxSurge is 0",
                    );
                }
                (false, false) => report.invalid(
                    &at_rolling.field("maxSurge"),
                    surge,
                    "may not be set when maxUnavailable is non-zero",
                ),
                _ => {}
            }
        }
        _ => {
            let shown = internal(
                strategy,
                &[("type", "Type"), ("rollingUpdate", "RollingUpdate")],
            );
            report.not_supported(at, shown, &["RollingUpdate", "OnDelete"]);
        }
    }
}

/// A number that is not negative, or a percentage.
pub(super) fn portion(at: &Path<'_>, value: &Value, at_most_all: bool, report: &mut Report) {
    match value {
        Value::String(text) if percentage(text).is_none() => report.invalid(
            at,
            text.as_str(),
            "a valid percent string must be a numeric string followed by an ending '%' \
             (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
        ),
        Value::Number(number) => report.not_negative(at, number.as_i64()),
        _ => {}
    }
    if at_most_all {
        not_above_all(at, value, report);
    }
}

fn not_above_all(at: &Path<'_>, value: &Value, report: &mut Report) {
    if let Some(text) = value.as_str()
        && percentage(text).is_some_and(|percent| percent > 100)
    {
        report.invalid(at, text, "must not be greater than 100%");
    }
}

fn percentage(text: &str) -> Option<u64> {
    let digits = text.strip_suffix('%')?;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(digits.parse().unwrap_or(u64::MAX))
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::String(text) => percentage(text) == Some(0),
        Value::Number(number) => number.as_i64() == Some(0),
        _ => true,
    }
}
