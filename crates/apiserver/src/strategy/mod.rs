//! What each type sets or keeps on a create or update, beyond what the client sent.

mod daemon_set;
mod job;
mod service;

use serde_json::{Map, Value, json};

use crate::crd;
use crate::fields;
use crate::namespaces;
use crate::object::{as_map, metadata_mut, restore};
use crate::resources::{Resource, Subresource};
use crate::server::State;

pub(crate) use self::service::Allocator;

/// Prepares a new object: its status is the server's business.
pub(crate) fn prepare_create(state: &State, resource: &Resource, object: &mut Value) {
    // Kubelets register themselves with a status.
    if resource.has(Subresource::Status) && !resource.is("", "nodes") {
        reset_status(resource, as_map(object));
    }
    match (resource.api.group.as_ref(), resource.api.plural.as_ref()) {
        ("", "namespaces") => namespaces::prepare(object),
        ("", "pods") => {
            let status = json!({"phase": "Pending", "qosClass": qos_class(object)});
            as_map(object).insert("status".into(), status);
        }
        ("", "persistentvolumes" | "persistentvolumeclaims") => {
            as_map(object).insert("status".into(), json!({"phase": "Pending"}));
        }
        ("", "services") => state.allocator.complete(&resource.shard, object),
        ("batch", "jobs") => job::prepare_create(object),
        (crd::GROUP, crd::PLURAL) => {
            let now = state.clock.now();
            crd::prepare(object, None, now);
            fields::track_own_status(resource, &crd::no_status(object), object, now);
        }
        _ => {}
    }
}

/// What the type's encoding shows for a status in which nothing is set.
fn reset_status(resource: &Resource, object: &mut Map<String, Value>) {
    restore(object, resource.schema.zero().as_object(), "status");
}

/// Restores what this kind of update does not touch, then counts the generation.
pub(crate) fn prepare_update(
    state: &State,
    resource: &Resource,
    subresource: Option<Subresource>,
    live: &Value,
    new: &mut Value,
) {
    let (group, plural) = (resource.api.group.as_ref(), resource.api.plural.as_ref());
    match (group, plural, subresource) {
        (.., Some(Subresource::Status)) => keep_all_but_status(resource, live, new),
        (crd::GROUP, crd::PLURAL, _) => {
            let now = state.clock.now();
            crd::prepare(new, Some(live), now);
            fields::track_own_status(resource, &live["status"], new, now);
        }
        _ if resource.has(Subresource::Status) => restore(as_map(new), live.as_object(), "status"),
        _ => {}
    }
    match (group, plural, subresource) {
        // Only /finalize lets a namespace go.
        ("", "namespaces", None) => restore(as_map(new), live.as_object(), "spec"),
        ("", "services", None) => state.allocator.carry_over(&resource.shard, live, new),
        ("apps", "daemonsets", _) => daemon_set::carry_over(live, new),
        _ => {}
    }
    let counts =
        resource.rules.counts_generation && matches!(subresource, None | Some(Subresource::Scale));
    if counts && desired_state_changed(resource, live, new) {
        let metadata = metadata_mut(new);
        let generation = metadata
            .get("generation")
            .and_then(Value::as_i64)
            .unwrap_or(0);
        metadata.insert("generation".into(), (generation + 1).into());
    }
}

fn keep_all_but_status(resource: &Resource, live: &Value, new: &mut Value) {
    let (Some(live), new) = (live.as_object(), as_map(new)) else {
        return;
    };
    let status = new.remove("status");
    let metadata = new.remove("metadata");
    // Most of it is what a patch left alone: comparing is cheaper than copying.
    new.retain(|name, _| live.contains_key(name));
    for (name, value) in live {
        if !matches!(name.as_str(), "status" | "metadata") && new.get(name) != Some(value) {
            new.insert(name.clone(), value.clone());
        }
    }
    if let Some(status) = status {
        new.insert("status".into(), status);
    }
    // A custom object's metadata does not go through its status endpoint, but for its
    // managers; that of a built-in one does, but for a few fields.
    let Some(Value::Object(mut metadata)) = metadata else {
        restore(new, Some(live), "metadata");
        return;
    };
    let old = live.get("metadata").and_then(Value::as_object);
    if resource.custom {
        let managers = metadata.remove("managedFields");
        metadata = old.cloned().unwrap_or_default();
        match managers {
            Some(managers) => metadata.insert("managedFields".into(), managers),
            None => metadata.remove("managedFields"),
        };
    }
    match (resource.api.group.as_ref(), resource.api.plural.as_ref()) {
        ("apps", "deployments") => restore(&mut metadata, old, "labels"),
        ("", "pods") => restore(&mut metadata, old, "ownerReferences"),
        _ => {}
    }
    new.insert("metadata".into(), Value::Object(metadata));
}

/// Everything but metadata and status is desired state; for two types a part of the
/// metadata is too.
fn desired_state_changed(resource: &Resource, live: &Value, new: &Value) -> bool {
    let also = match (resource.api.group.as_ref(), resource.api.plural.as_ref()) {
        ("apps", "deployments") => Some("annotations"),
        ("discovery.k8s.io", "endpointslices") => Some("labels"),
        _ => None,
    };
    let part = |object: &'_ Value| also.and_then(|name| object["metadata"].get(name).cloned());
    !desired(live).eq(desired(new)) || part(live) != part(new)
}

fn desired(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let fields = object.as_object().into_iter().flatten();
    fields.filter(|(name, _)| !matches!(name.as_str(), "metadata" | "status"))
}

/// Guaranteed: limits equal requests everywhere. BestEffort: neither anywhere.
fn qos_class(pod: &Value) -> &'static str {
    let spec = pod.get("spec");
    let containers = ["containers", "initContainers"]
        .into_iter()
        .filter_map(|name| {
            spec.and_then(|spec| spec.get(name))
                .and_then(Value::as_array)
        })
        .flatten();
    let (mut any, mut guaranteed) = (false, true);
    for container in containers {
        let resources = container.get("resources");
        let amounts = |name: &str| {
            resources
                .and_then(|resources| resources.get(name))
                .and_then(Value::as_object)
        };
        let (limits, requests) = (amounts("limits"), amounts("requests"));
        any |= limits.is_some_and(|limits| !limits.is_empty())
            || requests.is_some_and(|requests| !requests.is_empty());
        for name in ["cpu", "memory"] {
            let limit = limits.and_then(|limits| limits.get(name));
            let request = requests.and_then(|requests| requests.get(name)).or(limit);
            guaranteed &= limit.is_some() && limit == request;
        }
    }
    match (any, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}
