use evenkeel_meta::{GroupVersionKind, StatusCause};
use serde_json::Value;

/// Names, labels and annotations of a whole object.
pub(super) fn check(_kind: &GroupVersionKind, _new: &Value, _old: Option<&Value>, _causes: &mut Vec<StatusCause>) {}
