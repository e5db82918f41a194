//! Fields of decoded objects.

use serde_json::{Map, Value};

/// The value under `key`; null where there is none.
pub(super) fn get<'a>(object: &'a Value, key: &str) -> &'a Value {
    object.get(key).unwrap_or(&Value::Null)
}

/// The text under `key`; empty where there is none.
pub(super) fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    optional_text(object, key).unwrap_or_default()
}

pub(super) fn optional_text<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get(key)?.as_str()
}

pub(super) fn number(object: &Value, key: &str) -> Option<i64> {
    object.get(key)?.as_i64()
}

pub(super) fn flag(object: &Value, key: &str) -> bool {
    object.get(key) == Some(&Value::Bool(true))
}

pub(super) fn list<'a>(object: &'a Value, key: &str) -> &'a [Value] {
    object
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The entries under `key`, of an object with keys of the user's.
pub(super) fn entries<'a>(
    object: &'a Value,
    key: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    map(object, key).into_iter().flatten()
}

pub(super) fn map<'a>(object: &'a Value, key: &str) -> Option<&'a Map<String, Value>> {
    object.get(key)?.as_object()
}
