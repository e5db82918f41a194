use bytes::Bytes;
use evenkeel_meta::{MetaView, Object, PatchKind};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::error::{EncodeError, RequestError};

/// A change to send: the kind and the encoded body.
///
/// Encoding happens when the patch is made; a body that does not encode is reported when the
/// patch is sent.
///
/// ```
/// use evenkeel_client::Patch;
///
/// let scale = Patch::merge(&serde_json::json!({"spec": {"replicas": 3}}));
/// # assert_eq!(scale.kind(), evenkeel_meta::PatchKind::Merge);
/// ```
#[derive(Clone, Debug)]
pub struct Patch {
    kind: PatchKind,
    body: Result<Bytes, EncodeError>,
}

impl Patch {
    /// A patch of any kind.
    pub fn new(kind: PatchKind, body: &(impl Serialize + ?Sized)) -> Self {
        Self {
            kind,
            body: encode(body),
        }
    }

    /// RFC 7386: fields to set, `null` to remove; lists are replaced whole.
    pub fn merge(body: &(impl Serialize + ?Sized)) -> Self {
        Self::new(PatchKind::Merge, body)
    }

    /// The merge patch that makes `before` into `after`; `None` if they are the same.
    ///
    /// Only what differs is sent, so what others wrote into other fields stays, and fields that
    /// the type does not know are left alone. It holds for the state `before`: with its resource
    /// version and UID, if it has them, the server answers with a conflict to any other one.
    ///
    /// # Errors
    ///
    /// When one of the two does not serialize.
    pub fn between<T: Object + Serialize>(
        before: &T,
        after: &T,
    ) -> Result<Option<Self>, EncodeError> {
        let patch = difference(&value(before)?, &value(after)?);
        Ok(patch.map(|patch| Self::holding_for(before.metadata(), patch)))
    }

    /// The merge patch that makes the status of `before` into that of `after`, and nothing else;
    /// `None` if they are the same.
    ///
    /// For [`Api::patch_status`](crate::Api::patch_status). It holds for the state `before`, as
    /// [`between`](Self::between) says.
    ///
    /// # Errors
    ///
    /// When one of the two does not serialize.
    pub fn between_statuses<T: Object + Serialize>(
        before: &T,
        after: &T,
    ) -> Result<Option<Self>, EncodeError> {
        let status = |object| Ok(json!({"status": value(object)?.get("status")}));
        let patch = difference(&status(before)?, &status(after)?);
        Ok(patch.map(|patch| Self::holding_for(before.metadata(), patch)))
    }

    fn holding_for(meta: &impl MetaView, mut patch: Value) -> Self {
        if let Some(version) = meta.resource_version() {
            patch["metadata"]["resourceVersion"] = json!(version);
        }
        if let Some(uid) = meta.uid() {
            patch["metadata"]["uid"] = json!(uid);
        }
        Self::merge(&patch)
    }

    /// RFC 6902: a list of operations.
    pub fn json(operations: &(impl Serialize + ?Sized)) -> Self {
        Self::new(PatchKind::Json, operations)
    }

    /// Kubernetes' merge that knows list keys; built-in types only.
    pub fn strategic(body: &(impl Serialize + ?Sized)) -> Self {
        Self::new(PatchKind::Strategic, body)
    }

    /// Server-side apply: exactly the fields that the field manager wants.
    pub fn apply(configuration: &(impl Serialize + ?Sized)) -> Self {
        Self::new(PatchKind::Apply, configuration)
    }

    /// The kind.
    #[must_use]
    pub fn kind(&self) -> PatchKind {
        self.kind
    }

    pub(crate) fn body(&self) -> Result<Bytes, EncodeError> {
        self.body.clone()
    }

    /// Refuses an apply that the server would, or that would do what nobody means.
    pub(crate) fn check(&self, manager: Option<&str>) -> Result<(), RequestError> {
        if self.kind != PatchKind::Apply {
            return Ok(());
        }
        if manager.is_none() {
            return Err(RequestError::FieldManagerRequired);
        }
        match &self.body {
            Ok(body) if has_managed_fields(body) => Err(RequestError::ManagedFieldsApplied),
            _ => Ok(()),
        }
    }
}

fn has_managed_fields(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Object {
        metadata: Meta,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Meta {
        managed_fields: Option<IgnoredAny>,
    }
    serde_json::from_slice::<Object>(body)
        .is_ok_and(|object| object.metadata.managed_fields.is_some())
}

pub(crate) fn encode(body: &(impl Serialize + ?Sized)) -> Result<Bytes, EncodeError> {
    serde_json::to_vec(body)
        .map(Bytes::from)
        .map_err(|error| EncodeError::new(&error))
}

fn value<T: Serialize>(object: &T) -> Result<Value, EncodeError> {
    serde_json::to_value(object).map_err(|error| EncodeError::new(&error))
}

/// The JSON merge patch from one value to the other; `None` if they are the same.
fn difference(before: &Value, after: &Value) -> Option<Value> {
    let (Value::Object(from), Value::Object(to)) = (before, after) else {
        return (before != after).then(|| after.clone());
    };
    let mut patch = Map::new();
    for key in from.keys().filter(|key| !to.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    for (key, new) in to {
        let changed = match from.get(key) {
            Some(old) => difference(old, new),
            // A merge patch cannot say so, and what is not there is null already.
            None if new.is_null() => None,
            None => Some(new.clone()),
        };
        patch.extend(changed.map(|value| (key.clone(), value)));
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

#[cfg(test)]
mod tests {
    use evenkeel_meta::DynamicObject;

    use super::*;

    fn object(value: Value) -> DynamicObject {
        serde_json::from_value(value).unwrap()
    }

    fn between(before: Value, after: Value) -> Option<Value> {
        let patch = Patch::between(&object(before), &object(after)).unwrap()?;
        assert_eq!(patch.kind(), PatchKind::Merge);
        Some(serde_json::from_slice(&patch.body().unwrap()).unwrap())
    }

    #[test]
    fn what_differs_is_sent_for_the_state_that_was_read() {
        let before = json!({
            "metadata": {"name": "a", "uid": "u1", "resourceVersion": "7", "labels": {"x": "1", "y": "2"}},
            "spec": {"list": [1], "same": {"deep": true}, "gone": 3},
        });
        assert_eq!(between(before.clone(), before.clone()), None);
        let mut after = before.clone();
        after["metadata"]["labels"] = json!({"x": "1", "z": "3"});
        after["spec"] = json!({"list": [1, 2], "same": {"deep": true}, "new": {}});
        assert_eq!(
            between(before, after),
            Some(json!({
                "metadata": {"uid": "u1", "resourceVersion": "7", "labels": {"y": null, "z": "3"}},
                "spec": {"list": [1, 2], "gone": null, "new": {}},
            }))
        );
    }

    #[test]
    fn null_where_nothing_is_makes_no_difference() {
        let before = json!({"metadata": {"name": "a"}, "spec": {"there": 1}});
        let mut after = before.clone();
        after["spec"]["gone"] = Value::Null;
        after["other"] = Value::Null;
        assert_eq!(between(before.clone(), after.clone()), None);
        after["spec"]["there"] = Value::Null;
        let patch = json!({"spec": {"there": null}});
        assert_eq!(between(before, after), Some(patch));
    }

    #[test]
    fn without_a_version_it_holds_for_any_state() {
        let before = json!({"metadata": {"name": "a"}, "data": {"k": "1"}});
        let after = json!({"metadata": {"name": "a"}, "data": {"k": "2"}});
        assert_eq!(between(before, after), Some(json!({"data": {"k": "2"}})));
    }

    #[test]
    fn of_statuses_nothing_else_is_sent() {
        let before = json!({
            "metadata": {"name": "a", "uid": "u1", "resourceVersion": "7"},
            "spec": {"n": 1}, "status": {"ready": 1, "old": true},
        });
        let mut after = before.clone();
        after["metadata"]["labels"] = json!({"x": "1"});
        after["spec"]["n"] = json!(2);
        let status = |before: &Value, after: &Value| {
            let (before, after) = (object(before.clone()), object(after.clone()));
            let patch = Patch::between_statuses(&before, &after).unwrap()?;
            Some(serde_json::from_slice::<Value>(&patch.body().unwrap()).unwrap())
        };
        assert_eq!(status(&before, &after), None);
        after["status"] = json!({"ready": 2});
        let of_this_state = json!({"uid": "u1", "resourceVersion": "7"});
        assert_eq!(
            status(&before, &after),
            Some(json!({"metadata": of_this_state, "status": {"ready": 2, "old": null}}))
        );
        let none = json!({"metadata": {"name": "a", "uid": "u1", "resourceVersion": "7"}});
        assert_eq!(
            status(&none, &before),
            Some(json!({"metadata": of_this_state, "status": {"ready": 1, "old": true}}))
        );
    }
}
