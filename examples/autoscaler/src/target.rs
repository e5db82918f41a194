use evenkeel::meta::{Meta, Object};
use serde::Deserialize;

/// A Deployment, of which nothing is kept but who it is and how many pods it is told to have.
#[derive(Debug, Deserialize)]
pub(crate) struct Target {
    #[serde(default)]
    metadata: Meta,
    #[serde(default)]
    spec: Spec,
}

#[derive(Debug, Default, Deserialize)]
struct Spec {
    replicas: Option<i32>,
}

impl Target {
    pub(crate) fn replicas(&self) -> i32 {
        self.spec.replicas.unwrap_or(1)
    }
}

impl Object for Target {
    type Meta = Meta;

    fn metadata(&self) -> &Meta {
        &self.metadata
    }
}
