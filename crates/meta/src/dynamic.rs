use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Complete, Meta, Object, TypeMeta};

/// An object of any kind, whole: metadata typed, everything else as JSON.
///
/// Reading and writing one back loses nothing, so it is [`Complete`]. It costs several
/// times the memory of a typed object; stores that only need a few fields use a projection.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct DynamicObject {
    /// `apiVersion` and `kind`.
    pub types: TypeMeta,
    /// The metadata without `managedFields`.
    pub metadata: Meta,
    /// `metadata.managedFields` as the server sent it.
    pub managed_fields: Option<Value>,
    /// Everything but `apiVersion`, `kind` and `metadata`.
    pub data: Map<String, Value>,
}

impl Object for DynamicObject {
    type Meta = Meta;

    const MANAGED_FIELDS: bool = true;

    fn metadata(&self) -> &Meta {
        &self.metadata
    }
}

impl Complete for DynamicObject {}

impl<'de> Deserialize<'de> for DynamicObject {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Wire {
            #[serde(default)]
            api_version: String,
            #[serde(default)]
            kind: String,
            #[serde(default)]
            metadata: WireMeta,
            #[serde(flatten)]
            data: Map<String, Value>,
        }
        #[derive(Deserialize, Default)]
        #[serde(rename_all = "camelCase", default)]
        struct WireMeta {
            #[serde(flatten)]
            meta: Meta,
            managed_fields: Option<Value>,
        }
        let wire = Wire::deserialize(deserializer)?;
        Ok(Self {
            types: TypeMeta {
                api_version: wire.api_version,
                kind: wire.kind,
            },
            metadata: wire.metadata.meta,
            managed_fields: wire.metadata.managed_fields,
            data: wire.data,
        })
    }
}

impl Serialize for DynamicObject {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct WireMeta<'a> {
            #[serde(flatten)]
            meta: &'a Meta,
            #[serde(skip_serializing_if = "Option::is_none")]
            managed_fields: &'a Option<Value>,
        }
        let mut map = serializer.serialize_map(None)?;
        if !self.types.api_version.is_empty() {
            map.serialize_entry("apiVersion", &self.types.api_version)?;
        }
        if !self.types.kind.is_empty() {
            map.serialize_entry("kind", &self.types.kind)?;
        }
        map.serialize_entry(
            "metadata",
            &WireMeta {
                meta: &self.metadata,
                managed_fields: &self.managed_fields,
            },
        )?;
        for (key, value) in &self.data {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_loses_nothing() {
        let json = serde_json::json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "ns", "uid": "1", "resourceVersion": "7",
                "labels": {"a": "b"}, "managedFields": [{"manager": "x", "fieldsV1": {"f:spec": {}}}]},
            "spec": {"replicas": 3}, "status": {}, "data": null
        });
        let object: DynamicObject = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(object.metadata.name, "web");
        assert_eq!(serde_json::to_value(&object).unwrap(), json);
    }
}
