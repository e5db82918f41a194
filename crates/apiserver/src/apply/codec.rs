//! `fieldsV1`: a field set as JSON. A key is `f:` and a field's name, `k:` and the key fields of a
//! list's item, `v:` and the item of a set, or `i:` and an index; `.` says that the path so far is
//! in the set itself.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::element::Element;
use super::set::FieldSet;

const SELF: &str = ".";

/// A key that is no path element.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid path element {0:?}")]
pub(super) struct CodecError(String);

pub(super) fn encode(set: &FieldSet) -> Value {
    encode_level(set, false)
}

fn encode_level(set: &FieldSet, member: bool) -> Value {
    let mut map = Map::new();
    if member && !set.is_empty() {
        map.insert(SELF.to_owned(), Value::Object(Map::new()));
    }
    for entry in set.entries() {
        map.insert(
            encode_element(&entry.element),
            encode_level(&entry.children, entry.member),
        );
    }
    Value::Object(map)
}

pub(super) fn encode_element(element: &Element) -> String {
    match element {
        Element::Field(name) => ["f:", name].concat(),
        Element::Key(keys) => {
            let mut text = String::from("k:{");
            for (index, (name, value)) in keys.iter().enumerate() {
                let comma = if index == 0 { "" } else { "," };
                let _ = write!(text, "{comma}\"{name}\":{value}");
            }
            text.push('}');
            text
        }
        Element::Value(value) => format!("v:{value}"),
        Element::Index(index) => format!("i:{index}"),
    }
}

pub(super) fn decode(fields: &Value) -> Result<FieldSet, CodecError> {
    let mut set = FieldSet::default();
    let Value::Object(map) = fields else {
        return Ok(set);
    };
    for (key, inner) in map.iter().filter(|(key, _)| *key != SELF) {
        let children = decode(inner)?;
        // An element without any paths beyond is in the set without saying so.
        let member = children.is_empty() || inner.get(SELF).is_some();
        set.push(decode_element(key)?, member, children);
    }
    Ok(set)
}

fn decode_element(text: &str) -> Result<Element, CodecError> {
    let broken = || CodecError(text.to_owned());
    let (kind, rest) = text.split_once(':').ok_or_else(broken)?;
    Ok(match kind {
        "f" => Element::Field(rest.into()),
        "v" => Element::Value(serde_json::from_str(rest).map_err(|_| broken())?),
        "i" => Element::Index(rest.parse().map_err(|_| broken())?),
        "k" => {
            let keys: Map<String, Value> = serde_json::from_str(rest).map_err(|_| broken())?;
            let mut keys: Vec<_> = keys
                .into_iter()
                .map(|(name, value)| (name.into(), value))
                .collect();
            keys.sort_by(|(left, _): &(std::sync::Arc<str>, _), (right, _)| left.cmp(right));
            Element::Key(keys.into())
        }
        _ => return Err(broken()),
    })
}
