//! Kinds that say how others are treated.

use serde_json::{Map, Value, json};

use super::{child, default, existing, is, items};

const RBAC: &str = "rbac.authorization.k8s.io";

pub(super) fn limit_range(object: &mut Map<String, Value>) {
    for limit in
        items(child(object, "spec"), "limits").filter(|limit| is(limit, "type", "Container"))
    {
        inherit(limit, "max", "default");
        inherit(limit, "default", "defaultRequest");
        inherit(limit, "min", "defaultRequest");
    }
}

/// Resources that `to` does not name take their value from `from`.
fn inherit(limit: &mut Map<String, Value>, from: &str, to: &str) {
    let Some(Value::Object(from)) = limit.get(from).cloned() else {
        return;
    };
    let to = child(limit, to);
    for (name, value) in from {
        to.entry(name).or_insert(value);
    }
}

pub(super) fn network_policy(object: &mut Map<String, Value>) {
    let spec = child(object, "spec");
    for direction in ["ingress", "egress"] {
        for rule in items(spec, direction) {
            for port in items(rule, "ports") {
                default(port, "protocol", "TCP");
            }
        }
    }
    let types = if items(spec, "egress").next().is_some() {
        json!(["Ingress", "Egress"])
    } else {
        json!(["Ingress"])
    };
    default(spec, "policyTypes", types);
}

pub(super) fn ingress_class(object: &mut Map<String, Value>) {
    if let Some(parameters) = existing(child(object, "spec"), "parameters") {
        default(parameters, "scope", "Cluster");
    }
}

pub(super) fn role_binding(object: &mut Map<String, Value>) {
    default(child(object, "roleRef"), "apiGroup", RBAC);
    for subject in items(object, "subjects") {
        if is(subject, "kind", "User") || is(subject, "kind", "Group") {
            default(subject, "apiGroup", RBAC);
        }
    }
}

pub(super) fn autoscaler(object: &mut Map<String, Value>) {
    default(child(object, "spec"), "minReplicas", 1);
}

pub(super) fn autoscaler_v2(object: &mut Map<String, Value>) {
    let spec = child(object, "spec");
    default(spec, "minReplicas", 1);
    let cpu = json!([{
        "type": "Resource",
        "resource": { "name": "cpu", "target": { "type": "Utilization", "averageUtilization": 80 } },
    }]);
    default(spec, "metrics", cpu);
    if let Some(behavior) = existing(spec, "behavior") {
        let up = child(behavior, "scaleUp");
        default(up, "stabilizationWindowSeconds", 0);
        default(up, "selectPolicy", "Max");
        let up_policies = json!([
            { "type": "Pods", "value": 4, "periodSeconds": 15 },
            { "type": "Percent", "value": 100, "periodSeconds": 15 },
        ]);
        default(up, "policies", up_policies);
        let down = child(behavior, "scaleDown");
        default(down, "selectPolicy", "Max");
        default(
            down,
            "policies",
            json!([{ "type": "Percent", "value": 100, "periodSeconds": 15 }]),
        );
    }
}

pub(super) fn custom_resource_definition(object: &mut Map<String, Value>) {
    let spec = child(object, "spec");
    let names = child(spec, "names");
    let kind = names
        .get("kind")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    default(names, "singular", kind.to_lowercase());
    if !kind.is_empty() {
        default(names, "listKind", format!("{kind}List"));
    }
    default(spec, "conversion", json!({ "strategy": "None" }));
    let stored =
        items(spec, "versions").find(|version| version.get("storage") == Some(&Value::Bool(true)));
    let stored = stored.and_then(|version| version.get("name").cloned());
    if let Some(stored) = stored {
        default(child(object, "status"), "storedVersions", json!([stored]));
    }
}

pub(super) fn webhooks(object: &mut Map<String, Value>, mutating: bool) {
    for webhook in items(object, "webhooks") {
        default(webhook, "failurePolicy", "Fail");
        default(webhook, "matchPolicy", "Equivalent");
        default(webhook, "namespaceSelector", Map::new());
        default(webhook, "objectSelector", Map::new());
        default(webhook, "timeoutSeconds", 10);
        if mutating {
            default(webhook, "reinvocationPolicy", "Never");
        }
        if let Some(service) = existing(child(webhook, "clientConfig"), "service") {
            default(service, "port", 443);
        }
        for rule in items(webhook, "rules") {
            default(rule, "scope", "*");
        }
    }
}
