//! JSON merge patch (RFC 7386).

use evenkeel_meta::Status;
use serde_json::{Map, Value};

use crate::validation::Misfit;

/// The document after the patch, which must be an object.
pub(crate) fn merge(document: &Value, patch: &Value) -> Result<Value, Status> {
    let Value::Object(patch) = patch else {
        let misfit = Misfit::unmarshal(patch, "map[string]interface {}");
        return Err(Status::bad_request(format!(
            "error decoding patch: {misfit}"
        )));
    };
    let mut patched = document.clone();
    merge_into(&mut patched, patch);
    Ok(patched)
}

fn merge_into(target: &mut Value, patch: &Map<String, Value>) {
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(target) = target else {
        return;
    };
    for (key, value) in patch {
        match value {
            Value::Null => {
                target.remove(key);
            }
            Value::Object(patch) => {
                merge_into(target.entry(key.as_str()).or_insert(Value::Null), patch);
            }
            value => {
                target.insert(key.clone(), value.clone());
            }
        }
    }
}
