//! The keys of a strategic merge patch that are instructions rather than fields.

use serde_json::{Map, Value};

use super::strategic::PatchError;

pub(super) const PATCH: &str = "$patch";
pub(super) const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM_PRIMITIVE_LIST: &str = "$deleteFromPrimitiveList";
const SET_ELEMENT_ORDER: &str = "$setElementOrder";

/// A patch object taken apart.
pub(super) struct Directives<'a> {
    pub(super) fields: Vec<(&'a str, &'a Value)>,
    pub(super) retain_keys: Option<Vec<&'a str>>,
    /// Field and the order of its items.
    pub(super) orders: Vec<(&'a str, &'a [Value])>,
    /// Field and the scalars to delete from it.
    pub(super) deletions: Vec<(&'a str, &'a [Value])>,
}

impl<'a> Directives<'a> {
    pub(super) fn of(patch: &'a Map<String, Value>) -> Result<Self, PatchError> {
        let mut found = Self {
            fields: Vec::new(),
            retain_keys: None,
            orders: Vec::new(),
            deletions: Vec::new(),
        };
        for (key, value) in patch {
            if key == PATCH {
                continue;
            }
            if key == RETAIN_KEYS {
                let keys = value.as_array().ok_or(PatchError::RetainKeys)?;
                found.retain_keys = Some(keys.iter().filter_map(Value::as_str).collect());
            } else if key.starts_with(SET_ELEMENT_ORDER) {
                let field = field_of(key, SET_ELEMENT_ORDER).ok_or(PatchError::SetElementOrder)?;
                let order = value.as_array().ok_or(PatchError::SetElementOrder)?;
                found.orders.push((field, order));
            } else if key.starts_with(DELETE_FROM_PRIMITIVE_LIST) {
                let field =
                    field_of(key, DELETE_FROM_PRIMITIVE_LIST).ok_or(PatchError::PrimitiveList)?;
                // Anything but a list deletes nothing.
                found
                    .deletions
                    .push((field, value.as_array().map_or(&[], Vec::as_slice)));
            } else {
                found.fields.push((key, value));
            }
        }
        if let Some(keys) = &found.retain_keys
            && found
                .fields
                .iter()
                .any(|(key, value)| !value.is_null() && !keys.contains(key))
        {
            return Err(PatchError::RetainKeys);
        }
        Ok(found)
    }
}

fn field_of<'a>(key: &'a str, directive: &str) -> Option<&'a str> {
    key.strip_prefix(directive)?.strip_prefix('/')
}

/// A part of a patch that meets nothing to merge with: what it sets, without its instructions.
///
/// `None` when it is an instruction itself.
pub(super) fn without(value: &Value) -> Option<Value> {
    Some(match value {
        Value::Object(map) => {
            if map.contains_key(PATCH) {
                return None;
            }
            let kept = map
                .iter()
                .filter(|(key, value)| !value.is_null() && !key.starts_with('$'));
            Value::Object(
                kept.filter_map(|(key, value)| Some((key.clone(), without(value)?)))
                    .collect(),
            )
        }
        Value::Array(items) => Value::Array(items.iter().filter_map(without).collect()),
        other => other.clone(),
    })
}
