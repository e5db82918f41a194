//! Which pods go first when there are too many (contract kcm RS2).

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use evenkeel_meta::{MetaView, Object, Timestamp};

use crate::pod::{Phase, Pod};

/// The `surplus` pods to delete of `pods`.
///
/// `related` are all active pods of the ReplicaSet's controller: of two equal pods the one
/// goes that shares its node with more of them.
pub(crate) fn to_delete(
    mut pods: Vec<Arc<Pod>>,
    related: impl IntoIterator<Item = Arc<Pod>>,
    surplus: usize,
    now: Timestamp,
) -> Vec<Arc<Pod>> {
    if surplus >= pods.len() {
        return pods;
    }
    let crowd = crowds(related);
    let neighbours = |pod: &Pod| {
        pod.node()
            .and_then(|node| crowd.get(node))
            .copied()
            .unwrap_or(0)
    };
    let first = |a: &Arc<Pod>, b: &Arc<Pod>| compare(a, b, neighbours(a), neighbours(b), now);
    // Only the cut matters, not the order on either side of it.
    pods.select_nth_unstable_by(surplus, first);
    pods.truncate(surplus);
    pods
}

/// How many pods are on each node.
fn crowds(pods: impl IntoIterator<Item = Arc<Pod>>) -> HashMap<Box<str>, usize> {
    let mut crowds = HashMap::new();
    for pod in pods {
        if let Some(node) = pod.node() {
            *crowds.entry(node.into()).or_insert(0) += 1;
        }
    }
    crowds
}

/// `Less` when `a` goes before `b`.
fn compare(a: &Pod, b: &Pod, neighbours_a: usize, neighbours_b: usize, now: Timestamp) -> Ordering {
    let created = |pod: &Pod| pod.metadata().creation_timestamp();
    a.node()
        .is_some()
        .cmp(&b.node().is_some())
        .then_with(|| worth(a.phase()).cmp(&worth(b.phase())))
        .then_with(|| a.is_ready().cmp(&b.is_ready()))
        .then_with(|| a.deletion_cost().cmp(&b.deletion_cost()))
        .then_with(|| neighbours_b.cmp(&neighbours_a))
        .then_with(|| age_bucket(a.ready_since(), now).cmp(&age_bucket(b.ready_since(), now)))
        .then_with(|| b.restarts().cmp(&a.restarts()))
        .then_with(|| age_bucket(created(a), now).cmp(&age_bucket(created(b), now)))
        // Of pods alike in everything the choice is free, but the same in every run.
        .then_with(|| a.metadata().uid().cmp(&b.metadata().uid()))
}

/// How far a pod has come. One whose node cannot be asked may well be running.
fn worth(phase: Phase) -> u8 {
    match phase {
        Phase::Pending => 0,
        Phase::Unknown => 1,
        Phase::Running | Phase::Succeeded | Phase::Failed => 2,
    }
}

/// Ages count in powers of two, so that pods of about the same age are chosen at random.
fn age_bucket(since: Option<Timestamp>, now: Timestamp) -> u32 {
    let age = since.map_or(0, |since| now.saturating_since(since).as_secs());
    age.checked_ilog2().map_or(0, |log| log + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str, json: serde_json::Value) -> Arc<Pod> {
        let mut object = serde_json::json!({
            "metadata": {"name": name, "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"nodeName": "n"},
            "status": {"phase": "Running",
                "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
        });
        merge(&mut object, json);
        Arc::new(serde_json::from_value(object).unwrap())
    }

    fn merge(into: &mut serde_json::Value, from: serde_json::Value) {
        match (into, from) {
            (serde_json::Value::Object(into), serde_json::Value::Object(from)) => {
                for (key, value) in from {
                    merge(into.entry(key).or_insert(serde_json::Value::Null), value);
                }
            }
            (into, from) => *into = from,
        }
    }

    /// The names in the order in which the pods would go.
    fn order(pods: &[Arc<Pod>]) -> Vec<String> {
        let now = "2026-01-02T00:00:00Z".parse().unwrap();
        let mut left = pods.to_vec();
        let mut names = Vec::new();
        while !left.is_empty() {
            let gone = to_delete(left.clone(), pods.to_vec(), 1, now);
            names.push(gone[0].metadata().name().to_owned());
            left.retain(|pod| !Arc::ptr_eq(pod, &gone[0]));
        }
        names
    }

    #[test]
    fn kcm_rs2_deletion_order() {
        let cost = |cost: &str| {
            serde_json::json!({"metadata": {"annotations":
            {"controller.kubernetes.io/pod-deletion-cost": cost}}})
        };
        let pods = [
            pod("plain", serde_json::json!({})),
            pod(
                "restarted",
                serde_json::json!({"status": {"containerStatuses": [{"restartCount": 3}]}}),
            ),
            pod(
                "young",
                serde_json::json!({"status": {"conditions":
                [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T23:59:50Z"}]}}),
            ),
            pod("cheap", cost("-1")),
            pod("dear", cost("10")),
            pod("unready", serde_json::json!({"status": {"conditions": []}})),
            pod(
                "unknown",
                serde_json::json!({"status": {"phase": "Unknown"}}),
            ),
            pod(
                "pending",
                serde_json::json!({"status": {"phase": "Pending", "conditions": []}}),
            ),
            pod(
                "unassigned",
                serde_json::json!({"spec": {"nodeName": ""}, "metadata": {"annotations":
                {"controller.kubernetes.io/pod-deletion-cost": "1000"}}}),
            ),
        ];
        assert_eq!(
            order(&pods),
            [
                "unassigned",
                "pending",
                "unknown",
                "unready",
                "cheap",
                "young",
                "restarted",
                "plain",
                "dear"
            ]
        );
    }

    #[test]
    fn kcm_rs2_crowded_nodes_first() {
        let on =
            |name: &str, node: &str| pod(name, serde_json::json!({"spec": {"nodeName": node}}));
        let pods = [on("a", "one"), on("b", "two"), on("c", "two")];
        assert_eq!(order(&pods)[0], "b");
    }

    #[test]
    fn as_many_as_there_are_means_all() {
        let pods = vec![pod("a", serde_json::json!({}))];
        assert_eq!(
            to_delete(pods.clone(), pods, 5, Timestamp::from_second(0)).len(),
            1
        );
    }
}
