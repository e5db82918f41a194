//! What each type sets or keeps on a create or update, beyond what the client sent.

use evenkeel_meta::Status;
use serde_json::{Map, Value, json};

use crate::crd;
use crate::namespaces;
use crate::object::{as_map, restore};
use crate::resources::{Resource, Subresource};
use crate::server::State;

/// Prepares a new object: its status is the server's business.
pub(crate) fn prepare_create(
    state: &State,
    resource: &Resource,
    object: &mut Value,
) -> Result<(), Status> {
    // Kubelets register themselves with a status.
    if resource.has(Subresource::Status) && !resource.is("", "nodes") {
        as_map(object).remove("status");
    }
    let plural = resource.api.plural.as_ref();
    let status = match (resource.api.group.as_ref(), plural) {
        ("", "namespaces") => {
            namespaces::prepare(object);
            None
        }
        ("", "pods") => Some(json!({"phase": "Pending", "qosClass": qos_class(object)})),
        ("", "persistentvolumes" | "persistentvolumeclaims") => Some(json!({"phase": "Pending"})),
        ("", "services") => Some(json!({"loadBalancer": {}})),
        _ => None,
    };
    if resource.is(crd::GROUP, crd::PLURAL) {
        crd::prepare(object, None, state.clock.now());
    }
    if let Some(status) = status {
        as_map(object).insert("status".into(), status);
    }
    Ok(())
}

/// Restores what this kind of update does not touch, then counts the generation.
pub(crate) fn prepare_update(
    state: &State,
    resource: &Resource,
    subresource: Option<Subresource>,
    live: &Value,
    new: &mut Value,
) {
    if subresource.is_none() && resource.is(crd::GROUP, crd::PLURAL) {
        crd::prepare(new, Some(live), state.clock.now());
    }
    let Some(live) = live.as_object() else { return };
    let new = as_map(new);
    match subresource {
        Some(Subresource::Status) => keep_all_but_status(resource, live, new),
        // The scheduler's decision comes with its condition.
        Some(Subresource::Binding) => {}
        _ if resource.is(crd::GROUP, crd::PLURAL) => {}
        _ if resource.has(Subresource::Status) => restore(new, Some(live), "status"),
        _ => {}
    }
    if subresource.is_none() && resource.is("", "namespaces") {
        // Only /finalize lets a namespace go.
        restore(new, Some(live), "spec");
    }
    let counts = resource.rules.counts_generation && matches!(subresource, None | Some(Subresource::Scale));
    if counts && desired_state_changed(resource, live, new) {
        let metadata = new.get_mut("metadata").map(as_map);
        if let Some(metadata) = metadata {
            let generation = metadata
                .get("generation")
                .and_then(Value::as_i64)
                .unwrap_or(0);
            metadata.insert("generation".into(), (generation + 1).into());
        }
    }
}

fn keep_all_but_status(
    resource: &Resource,
    live: &Map<String, Value>,
    new: &mut Map<String, Value>,
) {
    let status = new.remove("status");
    let metadata = new.remove("metadata");
    *new = live.clone();
    match status {
        Some(status) => new.insert("status".into(), status),
        None => new.remove("status"),
    };
    // A custom object's metadata does not go through its status endpoint; that of a
    // built-in one does, but for a few fields.
    let Some(Value::Object(mut metadata)) = metadata.filter(|_| !resource.custom) else {
        return;
    };
    let old = live.get("metadata").and_then(Value::as_object);
    match (resource.api.group.as_ref(), resource.api.plural.as_ref()) {
        ("apps", "deployments") => restore(&mut metadata, old, "labels"),
        ("", "pods") => restore(&mut metadata, old, "ownerReferences"),
        _ => {}
    }
    new.insert("metadata".into(), Value::Object(metadata));
}

/// Everything but metadata and status is desired state; for Deployments annotations too.
fn desired_state_changed(
    resource: &Resource,
    live: &Map<String, Value>,
    new: &Map<String, Value>,
) -> bool {
    fn desired(object: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
        object
            .iter()
            .filter(|(name, _)| !matches!(name.as_str(), "metadata" | "status"))
    }
    fn annotations(object: &Map<String, Value>) -> Option<&Value> {
        object
            .get("metadata")
            .and_then(|meta| meta.get("annotations"))
    }
    !desired(live).eq(desired(new))
        || (resource.is("apps", "deployments") && annotations(live) != annotations(new))
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
