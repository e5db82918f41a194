//! Discovery as it always was: one document a group version.

use evenkeel_meta::Status;
use serde_json::{Value, json};

use super::not_found;
use crate::http::Reply;
use crate::resources::{Group, Registry, Resource, Subresource};
use crate::verbs::unknown_path;

/// `/api`
pub(super) fn core_versions() -> Reply {
    Reply::value(
        200,
        &json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}),
    )
}

/// `/apis`
pub(super) fn groups(registry: &Registry) -> Reply {
    let groups: Vec<Value> = registry
        .groups()
        .iter()
        .filter(|group| !group.name.is_empty())
        .map(describe_group)
        .collect();
    Reply::value(
        200,
        &json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}),
    )
}

/// `/apis/{group}`
pub(super) fn group(registry: &Registry, name: &str) -> Reply {
    let Some(group) = registry.group(name).filter(|_| !name.is_empty()) else {
        return not_found();
    };
    let mut value = describe_group(group);
    value["kind"] = "APIGroup".into();
    value["apiVersion"] = "v1".into();
    Reply::value(200, &value)
}

/// `/api/v1`, `/apis/{group}/{version}`
pub(super) fn resources(registry: &Registry, group: &str, version: &str) -> Result<Reply, Status> {
    let found = registry.version(group, version).ok_or_else(unknown_path)?;
    let group_version = if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    };
    let resources: Vec<Value> = found
        .resources
        .iter()
        .flat_map(|resource| {
            let subresources = resource
                .subresources
                .iter()
                .map(|&sub| describe_subresource(resource, sub));
            std::iter::once(describe(resource)).chain(subresources)
        })
        .collect();
    Ok(Reply::value(
        200,
        &json!({
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": group_version,
            "resources": resources,
        }),
    ))
}

fn describe_group(group: &Group) -> Value {
    let versions: Vec<Value> = group
        .versions
        .iter()
        .map(|version| json!({"groupVersion": format!("{}/{}", group.name, version.name), "version": version.name}))
        .collect();
    json!({"name": group.name, "preferredVersion": versions.first(), "versions": versions})
}

fn describe(resource: &Resource) -> Value {
    let mut value = json!({
        "name": resource.api.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced(),
        "kind": resource.api.kind,
        "verbs": verbs(resource),
    });
    if !resource.short_names.is_empty() {
        value["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        value["categories"] = json!(resource.categories);
    }
    value
}

fn describe_subresource(resource: &Resource, subresource: Subresource) -> Value {
    let (group, version, kind) = kind_of(resource, subresource);
    let mut value = json!({
        "name": format!("{}/{}", resource.api.plural, subresource.name()),
        "singularName": "",
        "namespaced": resource.namespaced(),
        "kind": kind,
        "verbs": subresource.verbs(),
    });
    if (group, version) != (&*resource.api.group, &*resource.api.version) {
        value["group"] = group.into();
        value["version"] = version.into();
    }
    value
}

/// The verbs that a resource allows.
pub(super) fn verbs(resource: &Resource) -> Vec<&'static str> {
    let all = [
        "create",
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "update",
        "watch",
    ];
    all.into_iter()
        .filter(|verb| match *verb {
            "create" => true,
            "deletecollection" if !resource.rules.deletable_as_collection => false,
            _ => !resource.rules.is_question,
        })
        .collect()
}

/// What a subresource takes and answers.
pub(super) fn kind_of(resource: &Resource, subresource: Subresource) -> (&str, &str, &str) {
    match subresource {
        Subresource::Status | Subresource::Finalize => (
            &resource.api.group,
            &resource.api.version,
            &resource.api.kind,
        ),
        Subresource::Scale => ("autoscaling", "v1", "Scale"),
        Subresource::Binding => ("", "v1", "Binding"),
        Subresource::Eviction => ("policy", "v1", "Eviction"),
        Subresource::Token => ("authentication.k8s.io", "v1", "TokenRequest"),
    }
}
