//! Namespaces: the initial ones, and what may be created in a terminating one.

use std::sync::Arc;

use evenkeel_meta::{GroupResource, Status, StatusCause};
use serde_json::{Value, json};

use crate::fields::{self, Author};
use crate::object::{as_map, entry, metadata_mut, text};
use crate::resources::Resource;
use crate::server::State;
use crate::storage::object_key;

const INITIAL: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];
/// The namespaces that no client may delete.
const PROTECTED: [&str; 3] = ["default", "kube-public", "kube-system"];

/// Creates the namespaces that every cluster has.
pub(crate) fn create_initial(state: &Arc<State>) {
    let registry = Arc::clone(&state.registry.read());
    let Some(resource) = registry.find("", "v1", "namespaces") else {
        return;
    };
    for name in INITIAL {
        let now = state.clock.now();
        let mut object = json!({
            "kind": "Namespace",
            "apiVersion": "v1",
            "metadata": {
                "name": name,
                "uid": state.random.uid(),
                "creationTimestamp": now,
                "labels": {"kubernetes.io/metadata.name": name},
            },
        });
        fields::track(resource, None, &mut object, &Author::server(None, now));
        prepare(&mut object);
        if let Ok(draft) = resource.encode(&object) {
            // Nobody else writes yet.
            let _ = resource.shard.put(&object_key(None, name), None, draft);
        }
    }
}

/// Whether objects of `resource` may be created in `namespace`: it must exist and not be
/// on its way out.
pub(crate) fn admit(
    state: &State,
    resource: &Resource,
    namespace: &str,
    name: &str,
) -> Result<(), Status> {
    let Some(live) = state.namespaces.get(namespace) else {
        let namespaces = GroupResource {
            group: "".into(),
            resource: "namespaces".into(),
        };
        return Err(Status::not_found(&namespaces, namespace));
    };
    if live.meta().deletion_timestamp.is_none() {
        return Ok(());
    }
    let why = format!(
        "unable to create new content in namespace {namespace} because it is being terminated"
    );
    let status = Status::forbidden(&resource.group_resource(), name, why);
    Err(status.with_cause(StatusCause {
        reason: "NamespaceTerminating".into(),
        message: format!("namespace {namespace} is being terminated"),
        field: "metadata.namespace".into(),
    }))
}

/// Refuses the deletion of a protected namespace.
pub(crate) fn admit_deletion(resource: &Resource, name: &str) -> Result<(), Status> {
    if PROTECTED.contains(&name) {
        return Err(Status::forbidden(
            &resource.group_resource(),
            name,
            "this namespace may not be deleted",
        ));
    }
    Ok(())
}

/// Whether the namespace controller has emptied the namespace.
pub(crate) fn is_finalized(object: &Value) -> bool {
    let finalizers = object.get("spec").and_then(|spec| spec.get("finalizers"));
    finalizers
        .and_then(Value::as_array)
        .is_none_or(Vec::is_empty)
}

/// What a namespace gets when it is created.
pub(crate) fn prepare(object: &mut Value) {
    let name = text(object, &["metadata", "name"])
        .unwrap_or_default()
        .to_owned();
    let metadata = metadata_mut(object);
    entry(metadata, "labels").insert("kubernetes.io/metadata.name".into(), name.into());
    let fields = as_map(object);
    fields.insert("status".into(), json!({"phase": "Active"}));
    let finalizers = entry(fields, "spec")
        .entry("finalizers")
        .or_insert_with(|| Value::Array(Vec::new()));
    if let Some(finalizers) = finalizers.as_array_mut()
        && !finalizers.iter().any(|finalizer| finalizer == "kubernetes")
    {
        finalizers.push("kubernetes".into());
    }
}
