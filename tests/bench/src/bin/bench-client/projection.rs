//! A projection: ten fields of a pod.

use evenkeel_meta::{Object, PackedMeta};
use serde::Deserialize;

/// The metadata (name, namespace, UID, version, labels, owner) and six fields more.
#[derive(Deserialize)]
#[expect(dead_code, reason = "it is measured what they cost")]
pub(crate) struct Pod {
    metadata: PackedMeta,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    node_name: Option<Box<str>>,
    service_account_name: Option<Box<str>>,
    priority: Option<i32>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    phase: Option<Box<str>>,
    #[serde(rename = "podIP")]
    pod_ip: Option<Box<str>>,
    qos_class: Option<Box<str>>,
}

impl Object for Pod {
    type Meta = PackedMeta;

    fn metadata(&self) -> &PackedMeta {
        &self.metadata
    }

    fn packed_mut(&mut self) -> Option<&mut PackedMeta> {
        Some(&mut self.metadata)
    }
}
