use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    MetaView, Object, OwnerReference, OwnerView, PackedMeta, ResourceVersion, Timestamp, Uid,
};

/// Object metadata without `managedFields`.
///
/// What projections store, unless they are so many that [`PackedMeta`] is worth its while. Fields
/// that a client never sets are left out when serialized.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Meta {
    /// Unique within the namespace and resource.
    #[serde(
        skip_serializing_if = "String::is_empty",
        deserialize_with = "null::text"
    )]
    pub name: String,
    /// Prefix from which the server makes a name on creation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generate_name: Option<String>,
    /// `None` for cluster-scoped objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Set by the server on creation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<Uid>,
    /// Set by the server on every write; on an update "only if it is still this one".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<ResourceVersion>,
    /// Counts changes of the desired state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// Set by the server on creation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creation_timestamp: Option<Timestamp>,
    /// Set by the server when a deletion has begun and something is left to wait for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<Timestamp>,
    /// Seconds between the deletion and the object's end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_grace_period_seconds: Option<i64>,
    /// Identifying attributes, what selectors match.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "null::map"
    )]
    pub labels: BTreeMap<String, String>,
    /// Attributes that nothing selects by.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "null::map"
    )]
    pub annotations: BTreeMap<String, String>,
    /// Who must act before a deleted object goes.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "null::list")]
    pub finalizers: Vec<String>,
    /// What the object depends on.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "null::list")]
    pub owner_references: Vec<OwnerReference>,
}

/// Go writers send `null` for an empty map, list or string; it reads as empty.
mod null {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer};

    pub(super) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
        Ok(Option::deserialize(deserializer)?.unwrap_or_default())
    }

    pub(super) fn map<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<String, String>, D::Error> {
        Ok(Option::deserialize(deserializer)?.unwrap_or_default())
    }

    pub(super) fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
        deserializer: D,
    ) -> Result<Vec<T>, D::Error> {
        Ok(Option::deserialize(deserializer)?.unwrap_or_default())
    }
}

impl MetaView for Meta {
    const WHOLE: bool = true;

    fn name(&self) -> &str {
        &self.name
    }

    fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    fn uid(&self) -> Option<&str> {
        self.uid.as_ref().map(Uid::as_str)
    }

    fn resource_version(&self) -> Option<ResourceVersion> {
        self.resource_version.clone()
    }

    fn generation(&self) -> Option<i64> {
        self.generation
    }

    fn creation_timestamp(&self) -> Option<Timestamp> {
        self.creation_timestamp
    }

    fn deletion_timestamp(&self) -> Option<Timestamp> {
        self.deletion_timestamp
    }

    fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.labels.iter().map(|(k, v)| (k.as_str(), v.as_str()))
    }

    fn annotations(&self) -> impl Iterator<Item = (&str, &str)> {
        self.annotations
            .iter()
            .map(|(k, v)| (k.as_str(), v.as_str()))
    }

    fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key).map(String::as_str)
    }

    fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.get(key).map(String::as_str)
    }

    fn finalizers(&self) -> impl Iterator<Item = &str> {
        self.finalizers.iter().map(String::as_str)
    }

    fn owners(&self) -> impl Iterator<Item = OwnerView<'_>> {
        self.owner_references.iter().map(OwnerReference::view)
    }
}

/// `apiVersion` and `kind`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TypeMeta {
    /// `group/version`, or `version` for the core group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// The kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
}

/// An object of which only the metadata was asked for (`PartialObjectMetadata`).
///
/// The kind that a metadata-only answer names is the wrapper's, so it is not kept: the one
/// who asked knows what the objects are. Caches hold these by the hundred thousand, so the
/// metadata is packed; it cannot be changed in place.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Metadata {
    /// The metadata.
    pub metadata: PackedMeta,
}

impl Object for Metadata {
    type Meta = PackedMeta;

    fn metadata(&self) -> &PackedMeta {
        &self.metadata
    }

    fn packed_mut(&mut self) -> Option<&mut PackedMeta> {
        Some(&mut self.metadata)
    }
}

impl From<Meta> for Metadata {
    fn from(metadata: Meta) -> Self {
        Self {
            metadata: metadata.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_and_absent_read_as_empty() {
        let meta: Meta = serde_json::from_str(
            r#"{"name":null,"labels":null,"finalizers":null,"ownerReferences":null,"creationTimestamp":null}"#,
        )
        .unwrap();
        assert_eq!(meta, Meta::default());
        assert_eq!(serde_json::to_string(&meta).unwrap(), "{}");
    }

    #[test]
    fn controller_is_the_reference_that_says_so() {
        let meta: Meta = serde_json::from_str(
            r#"{"name":"p","namespace":"ns","ownerReferences":[
                {"apiVersion":"v1","kind":"A","name":"a","uid":"1"},
                {"apiVersion":"apps/v1","kind":"B","name":"b","uid":"2","controller":true}]}"#,
        )
        .unwrap();
        assert_eq!(meta.controller().unwrap().uid, "2");
        assert_eq!(meta.key().to_string(), "ns/p");
        assert!(!meta.is_terminating());
    }
}
