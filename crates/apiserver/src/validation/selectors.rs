use serde_json::Value;

use super::metadata;
use super::names;
use super::read::{get, list, text};
use super::report::{Path, Report};

/// The form of a label selector.
pub(super) fn check(at: &Path<'_>, selector: &Value, report: &mut Report) {
    metadata::labels(
        &at.field("matchLabels"),
        get(selector, "matchLabels"),
        report,
    );
    for (index, requirement) in list(selector, "matchExpressions").iter().enumerate() {
        let expressions = at.field("matchExpressions");
        let at = expressions.index(index);
        let values = list(requirement, "values");
        match text(requirement, "operator") {
            "In" | "NotIn" if values.is_empty() => {
                report.required(
                    &at.field("values"),
                    "must be specified when `operator` is 'In' or 'NotIn'",
                );
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                report.forbidden(
                    &at.field("values"),
                    "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                );
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => report.invalid(
                &at.field("operator"),
                other,
                "not a valid selector operator",
            ),
        }
        let key = text(requirement, "key");
        report.complaints(&at.field("key"), key, &names::qualified(key));
        for (index, value) in values.iter().enumerate() {
            let value = value.as_str().unwrap_or_default();
            let values = at.field("values");
            report.complaints(&values.index(index), value, &names::label_value(value));
        }
    }
}

/// Whether a selector, known to be sound, selects these labels. One that says nothing selects all.
pub(super) fn matches(selector: &Value, labels: &Value) -> bool {
    let label = |key: &str| labels.get(key).and_then(Value::as_str);
    let equal = get(selector, "matchLabels")
        .as_object()
        .into_iter()
        .flatten();
    let mut equal = equal.map(|(key, value)| label(key) == value.as_str());
    equal.all(|holds| holds)
        && list(selector, "matchExpressions")
            .iter()
            .all(|requirement| {
                let found = label(text(requirement, "key"));
                let among = found.is_some_and(|found| {
                    list(requirement, "values")
                        .iter()
                        .any(|value| value == found)
                });
                match text(requirement, "operator") {
                    "In" => among,
                    "NotIn" => !among,
                    "Exists" => found.is_some(),
                    "DoesNotExist" => found.is_none(),
                    _ => false,
                }
            })
}

pub(super) fn is_empty(selector: &Value) -> bool {
    list(selector, "matchExpressions").is_empty()
        && get(selector, "matchLabels")
            .as_object()
            .is_none_or(serde_json::Map::is_empty)
}
