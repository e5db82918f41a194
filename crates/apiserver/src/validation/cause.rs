//! The single faults of an invalid object, in the real server's words.

use evenkeel_meta::StatusCause;
use serde_json::Value;

pub(super) fn required(field: impl Into<String>, detail: &str) -> StatusCause {
    cause(field, "FieldValueRequired", join("Required value", detail))
}

pub(super) fn invalid(field: impl Into<String>, value: &Value, detail: &str) -> StatusCause {
    cause(field, "FieldValueInvalid", join(&format!("Invalid value: {}", shown(value)), detail))
}

pub(super) fn not_supported(field: impl Into<String>, value: &str, supported: &[&str]) -> StatusCause {
    let supported: Vec<String> = supported.iter().map(|value| format!("{value:?}")).collect();
    let message = format!("Unsupported value: {value:?}: supported values: {}", supported.join(", "));
    cause(field, "FieldValueNotSupported", message)
}

pub(super) fn duplicate(field: impl Into<String>, value: &Value) -> StatusCause {
    cause(field, "FieldValueDuplicate", format!("Duplicate value: {}", shown(value)))
}

pub(super) fn forbidden(field: impl Into<String>, detail: &str) -> StatusCause {
    cause(field, "FieldValueForbidden", join("Forbidden", detail))
}

pub(super) fn too_long(field: impl Into<String>, limit: usize) -> StatusCause {
    cause(field, "FieldValueTooLong", format!("Too long: may not be more than {limit} bytes"))
}

pub(super) fn not_found(field: impl Into<String>, value: &Value) -> StatusCause {
    cause(field, "FieldValueNotFound", format!("Not found: {}", shown(value)))
}

fn cause(field: impl Into<String>, reason: &str, message: String) -> StatusCause {
    StatusCause { reason: reason.to_owned(), message, field: field.into() }
}

fn join(start: &str, detail: &str) -> String {
    if detail.is_empty() { start.to_owned() } else { format!("{start}: {detail}") }
}

fn shown(value: &Value) -> String {
    value.to_string()
}
