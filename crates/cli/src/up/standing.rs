//! Whether an object has become what its manifest asks for, and if not, what is missing.

use evenkeel_meta::{ApiResource, MetaView, Object};

use super::apply::Applied;
use super::cluster::Cluster;
use super::observed::Observed;

/// How many pods a reason names.
const NAMED_PODS: usize = 3;

/// Whether all that was applied has become what it should be.
pub(crate) fn all_converged(cluster: &Cluster, applied: &[Applied]) -> bool {
    applied
        .iter()
        .all(|object| missing(cluster, object).is_none())
}

/// A line for each applied object that has not converged: which, and why.
pub(crate) fn waiting(cluster: &Cluster, applied: &[Applied]) -> Vec<String> {
    let reason = |object: &Applied| {
        let mut parts = vec![missing(cluster, object)?];
        if let Some(observed) = cluster.get(&object.resource, &object.key) {
            parts.extend(complaints(&observed));
            parts.extend(pods_in_the_way(cluster, &observed));
        }
        Some(format!("{object}: {}", parts.join("; ")))
    };
    applied.iter().filter_map(reason).collect()
}

fn missing(cluster: &Cluster, applied: &Applied) -> Option<String> {
    let rule = rule(&applied.resource)?;
    match cluster.get(&applied.resource, &applied.key) {
        None if cluster.has_synced(&applied.resource) => Some("it is gone".to_owned()),
        None => Some("it has not been looked at yet".to_owned()),
        Some(object) if object.metadata.generation < applied.generation => {
            Some("its last change has not been seen yet".to_owned())
        }
        Some(object) => rule(&object),
    }
}

/// Whether there is something to wait for in objects of this kind.
pub(crate) fn is_known(resource: &ApiResource) -> bool {
    rule(resource).is_some()
}

type Rule = fn(&Observed) -> Option<String>;

/// What "done" means for a kind, as `kubectl rollout status` and `kubectl wait` have it. Other
/// kinds are done when they are stored.
fn rule(resource: &ApiResource) -> Option<Rule> {
    let rule: Rule = match (&*resource.group, &*resource.kind) {
        ("apps", "Deployment") => deployment,
        ("apps", "ReplicaSet") | ("", "ReplicationController") => replica_set,
        ("apps", "StatefulSet") => stateful_set,
        ("apps", "DaemonSet") => daemon_set,
        ("batch", "Job") => job,
        ("", "Pod") => pod,
        ("", "Namespace") => namespace,
        ("apiextensions.k8s.io", "CustomResourceDefinition") => definition,
        _ => return None,
    };
    Some(rule)
}

fn deployment(object: &Observed) -> Option<String> {
    let (wanted, status) = (object.wanted(), &object.status);
    let updated = status.updated_replicas.unwrap_or(0);
    let available = status.available_replicas.unwrap_or(0);
    let surplus = status.replicas.unwrap_or(0) - updated;
    if !object.is_up_to_date() {
        Some(not_observed(object))
    } else if updated < wanted {
        Some(format!("{updated} of {wanted} replicas are updated"))
    } else if surplus > 0 {
        Some(format!("{surplus} old replicas are still there"))
    } else if available < wanted {
        Some(format!("{available} of {wanted} replicas are available"))
    } else {
        None
    }
}

fn replica_set(object: &Observed) -> Option<String> {
    let wanted = object.wanted();
    let available = object.status.available_replicas.unwrap_or(0);
    let replicas = object.status.replicas.unwrap_or(0);
    if !object.is_up_to_date() {
        Some(not_observed(object))
    } else if replicas != wanted || available < wanted {
        Some(format!("{available} of {wanted} replicas are available"))
    } else {
        None
    }
}

fn stateful_set(object: &Observed) -> Option<String> {
    let wanted = object.wanted();
    let ready = object.status.ready_replicas.unwrap_or(0);
    let updated = object.status.updated_replicas.unwrap_or(0);
    if !object.is_up_to_date() {
        Some(not_observed(object))
    } else if ready < wanted || updated < wanted {
        Some(format!(
            "{ready} of {wanted} replicas are ready, {updated} updated"
        ))
    } else {
        None
    }
}

fn daemon_set(object: &Observed) -> Option<String> {
    let status = &object.status;
    let wanted = status.desired_number_scheduled.unwrap_or(0);
    let updated = status.updated_number_scheduled.unwrap_or(0);
    let available = status.number_available.unwrap_or(0);
    if !object.is_up_to_date() {
        Some(not_observed(object))
    } else if updated < wanted || available < wanted {
        Some(format!(
            "{available} of {wanted} pods are available, {updated} updated"
        ))
    } else {
        None
    }
}

fn job(object: &Observed) -> Option<String> {
    match object.condition("Failed") {
        _ if object.is_true("Complete") => None,
        Some(failed) if failed.status == "True" => Some(format!("failed: {}", failed.why())),
        _ => Some("not complete".to_owned()),
    }
}

fn pod(object: &Observed) -> Option<String> {
    (!object.is_ready_pod()).then(|| pod_state(object))
}

fn namespace(object: &Observed) -> Option<String> {
    match object.status.phase.as_deref() {
        Some("Active") => None,
        phase => Some(format!("phase is {}", phase.unwrap_or("not set"))),
    }
}

fn definition(object: &Observed) -> Option<String> {
    (!object.is_true("Established")).then(|| "not established".to_owned())
}

fn not_observed(object: &Observed) -> String {
    match object.status.observed_generation {
        None => "no controller has looked at it".to_owned(),
        Some(_) => "its controller has not seen the last change".to_owned(),
    }
}

/// Conditions in which controllers say that they cannot go on.
fn complaints(object: &Observed) -> Vec<String> {
    let bad = [("ReplicaFailure", "True"), ("Progressing", "False")];
    let conditions = bad.iter().filter_map(|(type_, status)| {
        let condition = object.condition(type_)?;
        (condition.status == *status).then(|| condition.why())
    });
    let mut complaints: Vec<_> = conditions.filter(|why| !why.is_empty()).collect();
    if object.spec.paused == Some(true) {
        complaints.push("it is paused".to_owned());
    }
    complaints
}

/// The pods below an object that are not ready.
fn pods_in_the_way(cluster: &Cluster, object: &Observed) -> Option<String> {
    let mut owners: Vec<String> = object
        .metadata
        .uid()
        .map(str::to_owned)
        .into_iter()
        .collect();
    let mut unready = Vec::new();
    // Kinds come owners first, so that one pass finds everything below.
    for kind in cluster.workloads() {
        for child in &kind.objects {
            let owner = child.metadata.controller();
            if !owner.is_some_and(|owner| owners.iter().any(|uid| uid == owner.uid)) {
                continue;
            }
            owners.extend(child.metadata.uid().map(str::to_owned));
            if kind.resource.kind == "Pod" && !child.is_ready_pod() {
                unready.push(format!(
                    "pod {} is {}",
                    child.metadata.name,
                    pod_state(child)
                ));
            }
        }
    }
    let more = unready.len().saturating_sub(NAMED_PODS);
    unready.sort();
    unready.truncate(NAMED_PODS);
    if more > 0 {
        unready.push(format!("{more} more pods are not ready"));
    }
    (!unready.is_empty()).then(|| unready.join(", "))
}

/// `Running on simulated-0`.
pub(crate) fn pod_state(pod: &Observed) -> String {
    if pod.metadata().is_terminating() {
        return "Terminating".to_owned();
    }
    let phase = pod.status.phase.as_deref().unwrap_or("Pending");
    let place = match pod.spec.node_name.as_deref() {
        None | Some("") => ", not bound to a node".to_owned(),
        Some(node) => format!(" on {node}"),
    };
    let unready = if phase == "Running" && !pod.is_ready_pod() {
        ", not ready"
    } else {
        ""
    };
    format!("{phase}{place}{unready}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn observed(value: serde_json::Value) -> Observed {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_deployment_is_done_when_kubectl_says_so() {
        let with = |generation: i64, status: serde_json::Value| {
            deployment(&observed(json!({
                "metadata": {"name": "web", "generation": generation},
                "spec": {"replicas": 3}, "status": status,
            })))
        };
        let status = |updated: i64, replicas: i64, available: i64| {
            json!({"observedGeneration": 2, "updatedReplicas": updated, "replicas": replicas,
                "availableReplicas": available})
        };
        assert_eq!(with(2, status(3, 3, 3)), None);
        assert_eq!(
            with(2, json!({})).unwrap(),
            "no controller has looked at it"
        );
        assert!(with(3, status(3, 3, 3)).unwrap().contains("last change"));
        assert_eq!(
            with(2, status(1, 3, 3)).unwrap(),
            "1 of 3 replicas are updated"
        );
        assert_eq!(
            with(2, status(3, 4, 3)).unwrap(),
            "1 old replicas are still there"
        );
        assert_eq!(
            with(2, status(3, 3, 2)).unwrap(),
            "2 of 3 replicas are available"
        );
    }

    #[test]
    fn a_deployment_of_no_replicas_must_still_be_looked_at() {
        let mut object = observed(json!({"metadata": {"generation": 1}, "spec": {"replicas": 0}}));
        assert!(deployment(&object).is_some());
        object.status.observed_generation = Some(1);
        assert_eq!(deployment(&object), None);
    }

    #[test]
    fn a_pod_says_where_it_is() {
        let pending = observed(json!({"metadata": {"name": "a"}, "status": {"phase": "Pending"}}));
        assert_eq!(pod(&pending).unwrap(), "Pending, not bound to a node");
        let unready = observed(json!({"spec": {"nodeName": "n"}, "status": {"phase": "Running"}}));
        assert_eq!(pod(&unready).unwrap(), "Running on n, not ready");
        let ready =
            json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
        assert_eq!(pod(&observed(json!({"status": ready}))), None);
    }

    #[test]
    fn controllers_complaints_are_quoted() {
        let object = observed(json!({"spec": {"paused": true}, "status": {"conditions": [
            {"type": "Progressing", "status": "True", "reason": "Fine"},
            {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "quota"},
        ]}}));
        assert_eq!(complaints(&object), ["FailedCreate: quota", "it is paused"]);
    }
}
