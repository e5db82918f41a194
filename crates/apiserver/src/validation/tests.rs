mod decode;
mod rules;

use evenkeel_meta::GroupVersionKind;
use serde_json::{Value, json};

use crate::schema::{Schema, Schemas};

pub(super) fn schema(api_version: &str, kind: &str) -> &'static Schema {
    Schemas::builtin()
        .kind(&GroupVersionKind::from_api_version(api_version, kind))
        .unwrap()
}

/// A Deployment that breaks no rule.
pub(super) fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": "frontend" },
        "spec": {
            "replicas": 3,
            "selector": { "matchLabels": { "app": "guestbook" } },
            "template": {
                "metadata": { "labels": { "app": "guestbook" } },
                "spec": { "containers": [
                    { "name": "php-redis", "image": "frontend:v5", "ports": [{ "containerPort": 80 }] },
                ] },
            },
        },
    })
}

pub(super) fn pod() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": "p" },
        "spec": { "containers": [{ "name": "c", "image": "nginx" }] },
    })
}

/// The object with what `path` (a JSON pointer) points to replaced.
pub(super) fn with(mut object: Value, path: &str, value: Value) -> Value {
    let (parent, last) = path.rsplit_once('/').unwrap();
    let place = object.pointer_mut(parent).unwrap();
    match last.parse::<usize>() {
        Ok(index) => place[index] = value,
        Err(_) => place[last] = value,
    }
    object
}
