//! The rules of definitions, and the status that says that they are served.

use evenkeel_meta::{StatusCause, Timestamp};
use serde_json::{Value, json};

use super::Definition;
use crate::object::{as_map, entry, field, text};

/// Fills in the names that follow from others and reports the definition as established:
/// it is served by the time that the answer is sent.
pub(crate) fn prepare(object: &mut Value, old: Option<&Value>, now: Timestamp) {
    let definition = Definition(object);
    let (singular, list_kind) = (definition.singular(), definition.list_kind());
    let names = entry(entry(as_map(object), "spec"), "names");
    names.insert("singular".into(), singular.into());
    names.insert("listKind".into(), list_kind.into());
    let accepted = names.clone();
    let stored = stored_versions(object, old);
    let condition = |kind: &str, reason: &str, message: &str| {
        let old = old.and_then(|old| condition_of(old, kind));
        let changed = match old {
            Some(old) if text(old, &["status"]) == Some("True") => {
                old["lastTransitionTime"].clone()
            }
            _ => now.to_string().into(),
        };
        json!({
            "type": kind,
            "status": "True",
            "reason": reason,
            "message": message,
            "lastTransitionTime": changed,
        })
    };
    let conditions = vec![
        condition("NamesAccepted", "NoConflicts", "no conflicts found"),
        condition(
            "Established",
            "InitialNamesAccepted",
            "the initial names have been accepted",
        ),
    ];
    let status = json!({
        "acceptedNames": accepted,
        "conditions": conditions,
        "storedVersions": stored,
    });
    as_map(object).insert("status".into(), status);
}

/// The status of a definition that was created and not looked at yet.
pub(crate) fn no_status(object: &Value) -> Value {
    json!({
        "acceptedNames": {"kind": "", "plural": ""},
        "conditions": [],
        "storedVersions": stored_versions(object, None),
    })
}

/// Every version that objects may have been stored in.
fn stored_versions(object: &Value, old: Option<&Value>) -> Vec<Value> {
    let kept = old
        .and_then(|old| field(old, &["status", "storedVersions"]))
        .and_then(Value::as_array);
    let mut versions = kept.cloned().unwrap_or_default();
    let storage = Definition(object)
        .versions()
        .iter()
        .find(|version| version["storage"] == Value::Bool(true));
    if let Some(name) = storage.map(|version| version["name"].clone())
        && !versions.contains(&name)
    {
        versions.push(name);
    }
    versions
}

pub(super) fn condition_of<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = field(object, &["status", "conditions"])?.as_array()?;
    conditions
        .iter()
        .find(|condition| text(condition, &["type"]) == Some(kind))
}

/// The faults of a definition.
pub(crate) fn causes(object: &Value) -> Vec<StatusCause> {
    let definition = Definition(object);
    let mut causes = Vec::new();
    let mut require = |path: &str, value: &str| {
        if value.is_empty() {
            causes.push(cause("FieldValueRequired", path, "Required value"));
        }
    };
    require("spec.group", definition.group());
    require("spec.scope", definition.spec("scope"));
    require("spec.names.plural", definition.plural());
    require("spec.names.kind", definition.kind());
    let name = text(object, &["metadata", "name"]).unwrap_or_default();
    let expected = format!("{}.{}", definition.plural(), definition.group());
    if name != expected && !definition.plural().is_empty() && !definition.group().is_empty() {
        let why = format!("Invalid value: \"{name}\": must be spec.names.plural+\".\"+spec.group");
        causes.push(cause("FieldValueInvalid", "metadata.name", &why));
    }
    let versions = definition.versions();
    let stored = versions
        .iter()
        .filter(|version| version["storage"] == Value::Bool(true))
        .count();
    if stored != 1 {
        let why = "Invalid value: must have exactly one version marked as storage version";
        causes.push(cause("FieldValueInvalid", "spec.versions", why));
    }
    for (at, version) in versions.iter().enumerate() {
        if field(version, &["schema", "openAPIV3Schema"]).is_none() {
            let path = format!("spec.versions[{at}].schema.openAPIV3Schema");
            causes.push(cause(
                "FieldValueRequired",
                &path,
                "Required value: schemas are required",
            ));
        }
    }
    causes
}

fn cause(reason: &str, field: &str, message: &str) -> StatusCause {
    StatusCause {
        reason: reason.into(),
        message: message.into(),
        field: field.into(),
    }
}
