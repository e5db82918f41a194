#![expect(
    clippy::needless_pass_by_value,
    reason = "literals read best as arguments"
)]

mod applying;
mod sets;
mod tracking;

use evenkeel_meta::GroupVersionKind;
use serde_json::{Value, json};

use super::Writer;
use crate::defaults;
use crate::schema::{Schema, Schemas};
use crate::validation::{FieldValidation, check_fields};

fn schema(api_version: &str, kind: &str) -> &'static Schema {
    Schemas::builtin()
        .kind(&GroupVersionKind::from_api_version(api_version, kind))
        .unwrap()
}

fn deployments() -> &'static Schema {
    schema("apps/v1", "Deployment")
}

fn config_maps() -> &'static Schema {
    schema("v1", "ConfigMap")
}

fn writer(manager: &str) -> Writer<'_> {
    Writer {
        manager,
        subresource: "",
        now: "2026-01-01T00:00:00Z".parse().unwrap(),
    }
}

fn later(manager: &str) -> Writer<'_> {
    Writer {
        now: "2026-01-02T00:00:00Z".parse().unwrap(),
        ..writer(manager)
    }
}

/// A front end as its author writes it.
fn front_end() -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": "frontend", "labels": { "app": "guestbook" } },
        "spec": {
            "replicas": 2,
            "selector": { "matchLabels": { "app": "guestbook" } },
            "template": {
                "metadata": { "labels": { "app": "guestbook" } },
                "spec": { "containers": [{
                    "name": "php-redis",
                    "image": "frontend:v5",
                    "ports": [{ "containerPort": 80 }],
                    "env": [{ "name": "GET_HOSTS_FROM", "value": "dns" }],
                }] },
            },
        },
    })
}

fn map(data: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "m" }, "data": data })
}

/// As a write decodes it.
fn decoded(schema: &Schema, mut object: Value) -> Value {
    check_fields(schema, &mut object, &[], FieldValidation::Strict).unwrap();
    defaults::apply(schema.kind(), &mut object);
    object
}

/// A stored object, created by this manager.
fn created(schema: &Schema, object: Value, manager: &str) -> Value {
    let mut object = decoded(schema, object);
    super::track_update(schema, None, &mut object, &writer(manager));
    object["metadata"]["uid"] = json!("u");
    object
}

/// The fields of a manager.
fn fields(object: &Value, manager: &str) -> Value {
    let entries = object
        .pointer("/metadata/managedFields")
        .and_then(Value::as_array);
    let mut entries = entries.into_iter().flatten();
    entries
        .find(|entry| entry["manager"] == manager)
        .map_or(Value::Null, |entry| entry["fieldsV1"].clone())
}

/// Manager and operation of each entry, in order.
fn managers(object: &Value) -> Vec<String> {
    let entries = object
        .pointer("/metadata/managedFields")
        .and_then(Value::as_array);
    let text = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    entries
        .into_iter()
        .flatten()
        .map(|entry| format!("{} {}", text(entry, "operation"), text(entry, "manager")))
        .collect()
}
