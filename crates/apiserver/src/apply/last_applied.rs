//! The annotation in which client-side apply keeps what it applied last.

use serde_json::Value;

use super::compare::compare;
use super::enumerate::fields_of;
use super::set::FieldSet;
use crate::schema::Schema;

/// The only manager that the annotation is honoured and kept up for.
pub(super) const MANAGER: &str = "kubectl";
const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// An annotation beyond this is not written.
const MAX_BYTES: usize = 256 * 1024;

/// The fields that client-side apply set and nobody changed since: the same user may take them over.
pub(super) fn unchanged_fields(schema: &Schema, live: &Value) -> FieldSet {
    let Some(text) = annotation(live) else {
        return FieldSet::default();
    };
    let Ok(applied) = serde_json::from_str::<Value>(text) else {
        return FieldSet::default();
    };
    let kind = schema.kind();
    if applied.get("apiVersion").and_then(Value::as_str) != Some(&*kind.api_version()) {
        return FieldSet::default();
    }
    let (written, removed) = compare(schema.root(), &applied, live).into_written_and_removed();
    fields_of(schema.root(), &applied)
        .difference(&written)
        .difference(&removed)
}

/// Keeps the annotation of an object that has one up to date with what is applied now.
pub(super) fn refresh(object: &mut Value, config: &Value) {
    if annotation(object).is_none() {
        return;
    }
    let mut config = config.clone();
    if let Some(Value::Object(annotations)) = config.pointer_mut("/metadata/annotations") {
        annotations.remove(ANNOTATION);
    }
    let text = format!("{config}\n");
    if let Some(Value::Object(annotations)) = object.pointer_mut("/metadata/annotations") {
        let text = if text.len() > MAX_BYTES {
            String::new()
        } else {
            text
        };
        annotations.insert(ANNOTATION.to_owned(), Value::String(text));
    }
}

fn annotation(object: &Value) -> Option<&str> {
    let annotations = object.pointer("/metadata/annotations")?;
    annotations
        .get(ANNOTATION)?
        .as_str()
        .filter(|text| !text.is_empty())
}
