use evenkeel_meta::{ApiResource, MetaView, Object, Resource};
use serde::{Deserialize, Serialize};

/// What an event is about (`core/v1` `ObjectReference`).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectReference {
    /// The kind, such as `Pod`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Empty for cluster-scoped objects.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The UID: events of an object that was made anew do not mix with the old one's.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Group and version, such as `apps/v1`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// The state that the event is about.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    /// A part of the object, such as `spec.containers{app}`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field_path: String,
}

impl ObjectReference {
    /// An object of a kind that is known at run time.
    #[must_use]
    pub fn new(resource: &ApiResource, metadata: &impl MetaView) -> Self {
        Self {
            kind: resource.kind.clone().into_owned(),
            api_version: resource.api_version().into_owned(),
            namespace: metadata.namespace().unwrap_or_default().to_owned(),
            name: metadata.name().to_owned(),
            uid: metadata.uid().unwrap_or_default().to_owned(),
            resource_version: metadata
                .resource_version()
                .map(|version| version.to_string())
                .unwrap_or_default(),
            field_path: String::new(),
        }
    }

    /// An object of a kind that is known when the program is compiled.
    #[must_use]
    pub fn of<K: Resource>(object: &K) -> Self {
        Self::new(&K::api_resource(), Object::metadata(object))
    }

    /// A part of the object.
    #[must_use]
    pub fn field(mut self, path: impl Into<String>) -> Self {
        self.field_path = path.into();
        self
    }
}
