//! The three patch formats that change a document by instruction. Server-side apply, the fourth,
//! is in [`apply`](crate::apply).

mod directives;
mod json;
mod merge;
mod order;
mod strategic;

#[cfg(test)]
mod tests;

use evenkeel_meta::{GroupVersionKind, Status, StatusCause};
use serde_json::Value;

pub(crate) use self::json::json;
pub(crate) use self::merge::merge;
pub(crate) use self::strategic::strategic;
use crate::validation::Fault;

/// The answer when the patched document cannot be read as its kind.
///
/// `shown` is what the answer quotes: the patched document, or for a strategic patch the
/// [patch](quoted_patch).
pub(crate) fn invalid(fault: &Fault, shown: &str) -> Status {
    let cause = StatusCause {
        reason: "FieldValueInvalid".to_owned(),
        message: format!("Invalid value: {shown:?}: {fault}"),
        field: "patch".to_owned(),
    };
    let unnamed = GroupVersionKind {
        group: "".into(),
        version: "".into(),
        kind: "".into(),
    };
    Status::invalid(&unnamed, "", vec![cause])
}

/// A strategic patch as the real server quotes it: in Go's notation for maps.
pub(crate) fn quoted_patch(patch: &Value) -> String {
    match patch {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => patch.to_string(),
        Value::Array(items) => format!(
            "[{}]",
            items.iter().map(quoted_patch).collect::<Vec<_>>().join(" ")
        ),
        Value::Object(map) => {
            let mut entries: Vec<String> = map
                .iter()
                .map(|(key, value)| format!("{key}:{}", quoted_patch(value)))
                .collect();
            entries.sort();
            format!("map[{}]", entries.join(" "))
        }
    }
}
