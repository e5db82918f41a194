//! Pods as a node sees them.

use evenkeel_meta::{ApiResource, Meta, Object, Resource, Scope};
use serde::Deserialize;

/// A pod, reduced to what it takes to run it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Pod {
    metadata: Meta,
    pub(crate) spec: Spec,
    pub(crate) status: Status,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Spec {
    pub(crate) node_name: Option<String>,
    pub(crate) containers: Vec<Container>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Container {
    pub(crate) name: String,
    pub(crate) image: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Status {
    phase: String,
}

impl Pod {
    /// The node that it was bound to.
    pub(crate) fn node(&self) -> Option<&str> {
        self.spec
            .node_name
            .as_deref()
            .filter(|node| !node.is_empty())
    }

    /// Whether nobody has started it yet.
    pub(crate) fn is_pending(&self) -> bool {
        matches!(self.status.phase.as_str(), "" | "Pending")
    }
}

impl Object for Pod {
    type Meta = Meta;

    fn metadata(&self) -> &Meta {
        &self.metadata
    }
}

impl Resource for Pod {
    fn api_resource() -> ApiResource {
        ApiResource::new_static("", "v1", "Pod", "pods", Scope::Namespaced)
    }
}
