//! Aggregated discovery: everything in two documents.

use serde_json::{Value, json};

use super::plain::{kind_of, verbs};
use crate::http::{Content, Reply};
use crate::resources::{Registry, Resource, Subresource, Version};

/// `/api` or `/apis` as an `APIGroupDiscoveryList`.
pub(super) fn groups(registry: &Registry, core: bool, api_version: &'static str) -> Reply {
    let items: Vec<Value> = registry
        .groups()
        .iter()
        .filter(|group| group.name.is_empty() == core)
        .map(|group| {
            let metadata = if core {
                json!({})
            } else {
                json!({"name": group.name})
            };
            let versions: Vec<Value> = group
                .versions
                .iter()
                .map(|version| describe(&group.name, version))
                .collect();
            json!({"metadata": metadata, "versions": versions})
        })
        .collect();
    let list = json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": format!("apidiscovery.k8s.io/{api_version}"),
        "metadata": {},
        "items": items,
    });
    Reply {
        code: 200,
        // Clients recognize the document by its media type.
        content: Content::Discovery(api_version, list.to_string().into()),
        warnings: Vec::new(),
    }
}

fn describe(group: &str, version: &Version) -> Value {
    let resources: Vec<Value> = version
        .resources
        .iter()
        .map(|resource| describe_resource(group, resource))
        .collect();
    json!({"version": version.name, "resources": resources, "freshness": "Current"})
}

fn describe_resource(group: &str, resource: &Resource) -> Value {
    let subresources: Vec<Value> = resource
        .subresources
        .iter()
        .map(|&sub| describe_subresource(resource, sub))
        .collect();
    let mut value = json!({
        "resource": resource.api.plural,
        "responseKind": {"group": group, "version": resource.api.version, "kind": resource.api.kind},
        "scope": if resource.namespaced() { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular,
        "verbs": verbs(resource),
    });
    for (name, list) in [
        ("shortNames", &resource.short_names),
        ("categories", &resource.categories),
    ] {
        if !list.is_empty() {
            value[name] = json!(list);
        }
    }
    if !subresources.is_empty() {
        value["subresources"] = subresources.into();
    }
    value
}

fn describe_subresource(resource: &Resource, subresource: Subresource) -> Value {
    let (group, version, kind) = kind_of(resource, subresource);
    json!({
        "subresource": subresource.name(),
        "responseKind": {"group": group, "version": version, "kind": kind},
        "verbs": subresource.verbs(),
    })
}
