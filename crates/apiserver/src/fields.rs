//! The field rules of the types, as the verbs ask for them.

use evenkeel_meta::{PatchKind, Status, Timestamp};
use serde_json::Value;

use crate::resources::{Resource, Subresource};

/// How a write changes fields, for `managedFields`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Update,
    Apply,
}

/// Who writes, and when.
#[derive(Debug, Clone)]
pub(crate) struct Author {
    pub(crate) manager: String,
    pub(crate) subresource: Option<Subresource>,
    pub(crate) now: Timestamp,
}

/// Unknown and mistyped fields of a request; returns the warnings.
pub(crate) fn check(
    _resource: &Resource,
    _object: &mut Value,
    _validation: &str,
) -> Result<Vec<String>, Status> {
    Ok(Vec::new())
}

pub(crate) fn default(_resource: &Resource, _object: &mut Value) {}

pub(crate) fn validate(
    _resource: &Resource,
    _object: &Value,
    _old: Option<&Value>,
) -> Result<(), Status> {
    Ok(())
}

pub(crate) fn patch(
    _resource: &Resource,
    kind: PatchKind,
    live: &Value,
    patch: &Value,
) -> Result<Value, Status> {
    match kind {
        PatchKind::Json => Err(Status::internal("JSON patch is not there yet")),
        _ => {
            let mut merged = live.clone();
            merge(&mut merged, patch);
            Ok(merged)
        }
    }
}

pub(crate) fn apply(
    _resource: &Resource,
    live: Option<&Value>,
    config: &Value,
    _author: &Author,
    _force: bool,
) -> Result<Value, Status> {
    let mut merged = live.cloned().unwrap_or(Value::Null);
    merge(&mut merged, config);
    Ok(merged)
}

pub(crate) fn track(
    _resource: &Resource,
    _live: Option<&Value>,
    _new: &mut Value,
    _author: &Author,
) {
}

fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *target = patch.clone();
        return;
    };
    let fields = crate::object::as_map(target);
    for (name, change) in changes {
        if change.is_null() {
            fields.remove(name);
        } else {
            merge(fields.entry(name.clone()).or_insert(Value::Null), change);
        }
    }
}
