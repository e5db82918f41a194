//! The client that reconcilers are given, with typed, dynamic and metadata-only objects, against the
//! embedded API server.

#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

mod apply;
mod intercept;
mod mapping;
mod objects;
mod options;
mod subresources;

use evenkeel::client::Client;
use evenkeel::meta::{ApiResource, DynamicObject, Scope};
use evenkeel_apiserver::Server;
use serde_json::{Value, json};

const MAPS: ApiResource =
    ApiResource::new_static("", "v1", "ConfigMap", "configmaps", Scope::Namespaced);
const NODES: ApiResource = ApiResource::new_static("", "v1", "Node", "nodes", Scope::Cluster);
const PODS: ApiResource = ApiResource::new_static("", "v1", "Pod", "pods", Scope::Namespaced);
const DEPLOYMENTS: ApiResource =
    ApiResource::new_static("apps", "v1", "Deployment", "deployments", Scope::Namespaced);

/// A server that remembers requests, and a client of it that is named `tests`.
fn world() -> (Server, Client) {
    let server = Server::builder().log_requests(1000).build();
    let client = Client::from_service(server.clone()).with_field_manager("tests");
    (server, client)
}

fn dynamic(object: Value) -> DynamicObject {
    serde_json::from_value(object).unwrap()
}

fn map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

fn pod(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "i"}]}})
}

fn deployment(name: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": name}},
        "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
    }})
}

/// A custom resource `things.example.com` in these versions, the first one stored; `spec.size` is a
/// number.
fn definition(versions: &[&str]) -> DynamicObject {
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    }});
    let versions = versions.iter().enumerate().map(|(at, name)| {
        json!({"name": name, "served": true, "storage": at == 0, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": schema}})
    });
    let versions: Vec<Value> = versions.collect();
    dynamic(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "versions": versions,
            "names": {"plural": "things", "kind": "Thing"},
        },
    }))
}
