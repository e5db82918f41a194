//! The objects that scenarios start from.

use evenkeel_meta::{ApiResource, Scope};
use serde_json::{Value, json};

/// Pods.
pub const PODS: ApiResource = namespaced("", "v1", "Pod", "pods");
/// ReplicaSets.
pub const REPLICA_SETS: ApiResource = namespaced("apps", "v1", "ReplicaSet", "replicasets");
/// Deployments.
pub const DEPLOYMENTS: ApiResource = namespaced("apps", "v1", "Deployment", "deployments");
/// ConfigMaps.
pub const CONFIG_MAPS: ApiResource = namespaced("", "v1", "ConfigMap", "configmaps");
/// Leases.
pub const LEASES: ApiResource = namespaced("coordination.k8s.io", "v1", "Lease", "leases");
/// Definitions of kinds.
pub const DEFINITIONS: ApiResource = ApiResource::new_static(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    Scope::Cluster,
);
/// Namespaces.
pub const NAMESPACES: ApiResource =
    ApiResource::new_static("", "v1", "Namespace", "namespaces", Scope::Cluster);
/// Nodes.
pub const NODES: ApiResource = ApiResource::new_static("", "v1", "Node", "nodes", Scope::Cluster);

const fn namespaced(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
) -> ApiResource {
    ApiResource::new_static(group, version, kind, plural, Scope::Namespaced)
}

/// A Deployment whose pods are labelled `app: <name>`.
#[must_use]
pub fn deployment(name: &str, replicas: u32, image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {
                    "terminationGracePeriodSeconds": 1,
                    "containers": [{"name": "main", "image": image}]
                }
            }
        }
    })
}
