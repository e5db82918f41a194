//! The columns of budgets, scaling, quotas, priorities and access rules.

use serde_json::Value;

use super::Column;
use super::column::{age, count, created_at, list, name, number, string, wide};
use crate::object::{field, text};

pub(super) fn columns(group: &str, plural: &str) -> Option<Vec<Column>> {
    Some(match (group, plural) {
        ("policy", "poddisruptionbudgets") => vec![
            name(),
            string("Min Available", |it, _| {
                int_or_string(it, &["spec", "minAvailable"])
            }),
            string("Max Unavailable", |it, _| {
                int_or_string(it, &["spec", "maxUnavailable"])
            }),
            number("Allowed Disruptions", |it, _| {
                count(it, &["status", "disruptionsAllowed"]).into()
            }),
            age(),
        ],
        ("autoscaling", "horizontalpodautoscalers") => vec![
            name(),
            string("Reference", |it, _| {
                let part =
                    |part: &str| text(it, &["spec", "scaleTargetRef", part]).unwrap_or_default();
                format!("{}/{}", part("kind"), part("name")).into()
            }),
            string("Targets", |it, _| targets(it).into()),
            string("MinPods", |it, _| {
                match field(it, &["spec", "minReplicas"]) {
                    Some(replicas) => replicas.to_string().into(),
                    None => "<unset>".into(),
                }
            }),
            string("MaxPods", |it, _| {
                count(it, &["spec", "maxReplicas"]).into()
            }),
            string("Replicas", |it, _| {
                count(it, &["status", "currentReplicas"]).into()
            }),
            age(),
        ],
        ("", "resourcequotas") => vec![
            name(),
            string("Request", |it, _| quota(it, false).into()),
            string("Limit", |it, _| quota(it, true).into()),
            age(),
        ],
        ("scheduling.k8s.io", "priorityclasses") => vec![
            name(),
            number("Value", |it, _| count(it, &["value"]).into()),
            string("Global-Default", |it, _| {
                field(it, &["globalDefault"])
                    .and_then(Value::as_bool)
                    .unwrap_or(false)
                    .into()
            }),
            age(),
            string("PreemptionPolicy", |it, _| {
                text(it, &["preemptionPolicy"]).unwrap_or_default().into()
            }),
        ],
        ("rbac.authorization.k8s.io", "roles" | "clusterroles") => vec![name(), created_at()],
        ("rbac.authorization.k8s.io", "rolebindings" | "clusterrolebindings") => vec![
            name(),
            string("Role", |it, _| {
                let part = |part: &str| text(it, &["roleRef", part]).unwrap_or_default();
                format!("{}/{}", part("kind"), part("name")).into()
            }),
            age(),
            wide("Users", |it, _| subjects(it, "User").into()),
            wide("Groups", |it, _| subjects(it, "Group").into()),
            wide("ServiceAccounts", |it, _| {
                subjects(it, "ServiceAccount").into()
            }),
        ],
        _ => return None,
    })
}

/// The metrics to scale by, without their current values, which nothing here measures.
fn targets(autoscaler: &Value) -> String {
    let targets = list(autoscaler, &["spec", "metrics"]).iter().map(|metric| {
        let resource = text(metric, &["resource", "name"]);
        let utilization = field(metric, &["resource", "target", "averageUtilization"]);
        match (resource, utilization) {
            (Some(name), Some(percent)) => format!("{name}: <unknown>/{percent}%"),
            _ => "<unknown>".to_owned(),
        }
    });
    let targets: Vec<String> = targets.collect();
    if targets.is_empty() {
        "<none>".to_owned()
    } else {
        targets.join(", ")
    }
}

fn int_or_string(object: &Value, path: &[&str]) -> Value {
    match field(object, path) {
        Some(Value::String(text)) => text.as_str().into(),
        Some(number) => number.to_string().into(),
        None => "N/A".into(),
    }
}

fn quota(quota: &Value, limits: bool) -> String {
    let hard = field(quota, &["status", "hard"]).and_then(Value::as_object);
    let parts: Vec<String> = hard
        .into_iter()
        .flatten()
        .filter(|(name, _)| name.starts_with("limits") == limits)
        .map(|(name, hard)| {
            let used = field(quota, &["status", "used", name])
                .and_then(Value::as_str)
                .unwrap_or("0");
            format!("{name}: {used}/{}", hard.as_str().unwrap_or_default())
        })
        .collect();
    parts.join(", ")
}

fn subjects(binding: &Value, kind: &str) -> String {
    let subjects = list(binding, &["subjects"]).iter();
    let named = subjects
        .filter(|subject| text(subject, &["kind"]) == Some(kind))
        .map(|subject| {
            let name = text(subject, &["name"]).unwrap_or_default();
            match text(subject, &["namespace"]) {
                Some(namespace) if kind == "ServiceAccount" => format!("{namespace}/{name}"),
                _ => name.to_owned(),
            }
        });
    named.collect::<Vec<_>>().join(", ")
}
