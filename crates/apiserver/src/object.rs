//! Reading and writing the common parts of an object's value.

use serde_json::{Map, Value};

/// The metadata, created if absent. Anything that is not an object is replaced by one.
pub(crate) fn metadata_mut(object: &mut Value) -> &mut Map<String, Value> {
    entry(as_map(object), "metadata")
}

/// The sub-object `name`, created if absent or of another type.
pub(crate) fn entry<'a>(map: &'a mut Map<String, Value>, name: &str) -> &'a mut Map<String, Value> {
    as_map(map.entry(name).or_insert_with(|| Value::Object(Map::new())))
}

/// The value as an object; anything else is replaced by an empty one.
pub(crate) fn as_map(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("it was made an object above"),
    }
}

/// A text field of the metadata; empty counts as absent.
pub(crate) fn meta_text<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    object
        .get("metadata")?
        .get(name)?
        .as_str()
        .filter(|text| !text.is_empty())
}

/// A field by its path.
pub(crate) fn field<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter()
        .try_fold(object, |value, part| value.get(part))
        .filter(|value| !value.is_null())
}

/// A text field by its path.
pub(crate) fn text<'a>(object: &'a Value, path: &[&str]) -> Option<&'a str> {
    field(object, path)?.as_str()
}

/// An integer field by its path.
pub(crate) fn integer(object: &Value, path: &[&str]) -> Option<i64> {
    field(object, path)?.as_i64()
}

/// Makes `field` of `to` what it is in `from`, absent included.
pub(crate) fn restore(to: &mut Map<String, Value>, from: Option<&Map<String, Value>>, field: &str) {
    match from.and_then(|from| from.get(field)) {
        Some(value) => to.insert(field.to_owned(), value.clone()),
        None => to.remove(field),
    };
}
