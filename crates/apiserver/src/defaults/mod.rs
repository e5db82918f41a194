//! What the server fills in: the values that a kind's fields have when nobody sets them.
//!
//! Defaults come after [decoding](crate::validation::check_fields), which fills in those that the
//! schema declares itself, and before admission. Values that depend on more than the object
//! (addresses, generated selectors) are not defaults.

mod apps;
mod batch;
mod pod;
mod policy;
mod service;
mod storage;

#[cfg(test)]
mod tests;

pub(crate) use self::apps::TEMPLATE_GENERATION;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use evenkeel_meta::GroupVersionKind;
use serde_json::{Map, Value};

/// Fills in what a decoded object of a built-in kind leaves open; other kinds stay as they are.
pub(crate) fn apply(kind: &GroupVersionKind, object: &mut Value) {
    let Value::Object(object) = object else {
        return;
    };
    match (&*kind.group, &*kind.version, &*kind.kind) {
        ("", "v1", "Pod") => pod::pod(object),
        ("", "v1", "PodTemplate") => pod::template(object, "template"),
        ("", "v1", "ReplicationController") => apps::replication_controller(object),
        ("", "v1", "Service") => service::service(object),
        ("", "v1", "Secret") => secret(object),
        ("", "v1", "Namespace") => namespace(object),
        ("", "v1", "PersistentVolume") => storage::persistent_volume(object),
        ("", "v1", "PersistentVolumeClaim") => storage::persistent_volume_claim(object),
        ("", "v1", "Endpoints") => service::endpoints(object),
        ("", "v1", "LimitRange") => policy::limit_range(object),
        ("", "v1", "Node") => node(object),
        ("apps", "v1", "Deployment") => apps::deployment(object),
        ("apps", "v1", "ReplicaSet") => apps::replica_set(object),
        ("apps", "v1", "StatefulSet") => apps::stateful_set(object),
        ("apps", "v1", "DaemonSet") => apps::daemon_set(object),
        ("batch", "v1", "Job") => batch::job(object),
        ("batch", "v1", "CronJob") => batch::cron_job(object),
        ("discovery.k8s.io", "v1", "EndpointSlice") => service::endpoint_slice(object),
        ("networking.k8s.io", "v1", "NetworkPolicy") => policy::network_policy(object),
        ("networking.k8s.io", "v1", "IngressClass") => policy::ingress_class(object),
        ("rbac.authorization.k8s.io", "v1", "RoleBinding" | "ClusterRoleBinding") => {
            policy::role_binding(object);
        }
        ("scheduling.k8s.io", "v1", "PriorityClass") => {
            default(object, "preemptionPolicy", "PreemptLowerPriority");
        }
        ("storage.k8s.io", "v1", "StorageClass") => storage::storage_class(object),
        ("storage.k8s.io", "v1", "CSIDriver") => storage::csi_driver(object),
        ("autoscaling", "v1", "HorizontalPodAutoscaler") => policy::autoscaler(object),
        ("autoscaling", "v2", "HorizontalPodAutoscaler") => policy::autoscaler_v2(object),
        ("apiextensions.k8s.io", "v1", "CustomResourceDefinition") => {
            policy::custom_resource_definition(object);
        }
        ("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration") => {
            policy::webhooks(object, false);
        }
        ("admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration") => {
            policy::webhooks(object, true);
        }
        _ => {}
    }
}

fn namespace(object: &mut Map<String, Value>) {
    if let Some(Value::Object(metadata)) = object.get_mut("metadata")
        && let Some(name) = metadata
            .get("name")
            .filter(|name| name.as_str() != Some(""))
            .cloned()
        && let Value::Object(labels) = metadata
            .entry("labels")
            .or_insert_with(|| Value::Object(Map::new()))
    {
        labels.insert("kubernetes.io/metadata.name".to_owned(), name);
    }
    default(child(object, "status"), "phase", "Active");
}

/// What was sent as text is stored with the rest.
fn secret(object: &mut Map<String, Value>) {
    default(object, "type", "Opaque");
    if let Some(Value::Object(texts)) = object.remove("stringData") {
        let data = child(object, "data");
        for (key, text) in texts {
            let encoded = STANDARD.encode(text.as_str().unwrap_or_default());
            data.insert(key, Value::String(encoded));
        }
    }
}

fn node(object: &mut Map<String, Value>) {
    let status = child(object, "status");
    if let Some(capacity) = status.get("capacity").cloned() {
        default(status, "allocatable", capacity);
    }
}

/// Sets a field that is absent, or empty.
fn default(object: &mut Map<String, Value>, key: &str, value: impl Into<Value>) {
    let is_open = match object.get(key) {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(_) => false,
    };
    if is_open {
        object.insert(key.to_owned(), value.into());
    }
}

/// The object in a field, made where it is absent.
fn child<'a>(object: &'a mut Map<String, Value>, key: &str) -> &'a mut Map<String, Value> {
    let value = object.entry(key).or_insert(Value::Null);
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("made an object above"),
    }
}

/// The object in a field, where there is one.
fn existing<'a>(
    object: &'a mut Map<String, Value>,
    key: &str,
) -> Option<&'a mut Map<String, Value>> {
    object.get_mut(key)?.as_object_mut()
}

/// The objects in a list.
fn items<'a>(
    object: &'a mut Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = &'a mut Map<String, Value>> {
    let list = object.get_mut(key).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_object_mut)
}

fn is(object: &Map<String, Value>, key: &str, value: &str) -> bool {
    object.get(key).and_then(Value::as_str) == Some(value)
}
