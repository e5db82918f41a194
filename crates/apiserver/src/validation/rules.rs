//! The rules of each built-in kind.

use evenkeel_meta::{GroupVersionKind, Status, StatusCause};
use serde_json::Value;

use super::metadata;

/// Refuses (422) an object that breaks a rule of its kind; `old` is the object that it replaces.
pub(crate) fn validate(kind: &GroupVersionKind, new: &Value, old: Option<&Value>) -> Result<(), Status> {
    let causes = causes(kind, new, old);
    if causes.is_empty() {
        return Ok(());
    }
    let name = new.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    Err(Status::invalid(kind, name, causes))
}

/// Each rule that an object breaks, in the order of the real server's answer.
pub(crate) fn causes(kind: &GroupVersionKind, new: &Value, old: Option<&Value>) -> Vec<StatusCause> {
    let mut causes = Vec::new();
    metadata::check(kind, new, old, &mut causes);
    causes
}
