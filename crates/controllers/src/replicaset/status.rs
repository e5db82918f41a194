//! A ReplicaSet's status (contract kcm RS3).

use std::sync::Arc;
use std::time::Duration;

use evenkeel_meta::{LabelSelector, MetaView, Object, Timestamp};
use k8s_openapi::api::apps::v1::{ReplicaSet, ReplicaSetCondition, ReplicaSetStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::pod::Pod;

const REPLICA_FAILURE: &str = "ReplicaFailure";

/// Why pods could not be made or removed in this pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// `FailedCreate` or `FailedDelete`.
    pub(crate) reason: &'static str,
    /// The API server's words.
    pub(crate) message: String,
}

/// The status that follows from the claimed pods.
pub(crate) fn status(
    set: &ReplicaSet,
    pods: &[Arc<Pod>],
    failure: Option<&Failure>,
    now: Timestamp,
) -> ReplicaSetStatus {
    let template = set
        .spec
        .template
        .as_ref()
        .and_then(|template| template.metadata.as_ref());
    let labels = template
        .and_then(|meta| meta.labels.clone())
        .unwrap_or_default();
    let template = LabelSelector::from_labels(labels);
    let min_ready = set.spec.min_ready_seconds.unwrap_or(0);
    let (mut replicas, mut labeled, mut ready, mut available, mut terminating) = (0, 0, 0, 0, 0);
    for pod in pods {
        if !pod.is_active() {
            terminating += i32::from(pod.is_terminating());
            continue;
        }
        replicas += 1;
        labeled += i32::from(template.matches_by(|key| pod.metadata().label(key)));
        ready += i32::from(pod.is_ready());
        available += i32::from(pod.is_available(min_ready, now));
    }
    let some = |count: i32| Some(count).filter(|count| *count != 0);
    ReplicaSetStatus {
        replicas,
        fully_labeled_replicas: some(labeled),
        ready_replicas: some(ready),
        available_replicas: some(available),
        terminating_replicas: Some(terminating),
        observed_generation: set.metadata.generation,
        conditions: conditions(set, failure, now),
    }
}

/// The conditions with the failure set or dropped. One of the same reason stays as it is.
fn conditions(
    set: &ReplicaSet,
    failure: Option<&Failure>,
    now: Timestamp,
) -> Option<Vec<ReplicaSetCondition>> {
    let present = set
        .status
        .as_ref()
        .and_then(|status| status.conditions.clone());
    let mut conditions = present.unwrap_or_default();
    let is_failure = |c: &ReplicaSetCondition| c.type_.as_deref() == Some(REPLICA_FAILURE);
    let same =
        |c: &ReplicaSetCondition| failure.is_some_and(|f| c.reason.as_deref() == Some(f.reason));
    conditions.retain(|condition| !is_failure(condition) || same(condition));
    if let Some(failure) = failure
        && !conditions.iter().any(is_failure)
    {
        conditions.push(ReplicaSetCondition {
            type_: Some(REPLICA_FAILURE.to_owned()),
            status: Some("True".to_owned()),
            reason: Some(failure.reason.to_owned()),
            message: Some(failure.message.clone()),
            last_transition_time: Some(Time(now.into())),
        });
    }
    Some(conditions).filter(|conditions| !conditions.is_empty())
}

/// When the next ready pod becomes available, if one is on its way (contract kcm RS4).
pub(crate) fn next_available(
    set: &ReplicaSet,
    pods: &[Arc<Pod>],
    now: Timestamp,
) -> Option<Duration> {
    let min_ready = set.spec.min_ready_seconds.unwrap_or(0);
    let waiting = pods
        .iter()
        .filter(|pod| pod.is_active() && !pod.is_available(min_ready, now));
    let due = waiting.filter_map(|pod| Some(pod.ready_since()?.as_second() + i64::from(min_ready)));
    let next = Timestamp::from_second(due.min()?);
    Some(next.saturating_since(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(json: serde_json::Value) -> ReplicaSet {
        serde_json::from_value(json).unwrap()
    }

    fn pods(list: serde_json::Value) -> Vec<Arc<Pod>> {
        let pods: Vec<Pod> = serde_json::from_value(list).unwrap();
        pods.into_iter().map(Arc::new).collect()
    }

    fn ready(at: &str) -> serde_json::Value {
        serde_json::json!({"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": at}]})
    }

    #[test]
    fn kcm_rs3_counts_and_zeros() {
        let set = set(serde_json::json!({
            "metadata": {"generation": 4},
            "spec": {"minReadySeconds": 4, "selector": {}, "template": {"metadata": {"labels": {"a": "b", "c": "d"}}}},
        }));
        let pods = pods(serde_json::json!([
            {"metadata": {"labels": {"a": "b", "c": "d"}}, "status": ready("2026-01-01T00:00:00Z")},
            {"metadata": {"labels": {"a": "b"}}, "status": ready("2026-01-01T00:00:08Z")},
            {"metadata": {"labels": {"a": "b"}}},
            {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
        ]));
        let now = "2026-01-01T00:00:10Z".parse().unwrap();
        let status = super::status(&set, &pods, None, now);
        assert_eq!(
            serde_json::to_value(&status).unwrap(),
            serde_json::json!({"replicas": 3, "fullyLabeledReplicas": 1, "readyReplicas": 2,
                "availableReplicas": 1, "terminatingReplicas": 1, "observedGeneration": 4})
        );
        assert_eq!(
            next_available(&set, &pods, now),
            Some(Duration::from_secs(2)),
            "kcm RS4"
        );
        let empty = super::status(&set, &[], None, now);
        assert_eq!(
            serde_json::to_value(&empty).unwrap(),
            serde_json::json!({"replicas": 0, "terminatingReplicas": 0, "observedGeneration": 4})
        );
        assert_eq!(next_available(&set, &[], now), None);
    }

    #[test]
    fn kcm_rs3_a_failure_is_set_kept_and_dropped() {
        let mut set = set(serde_json::json!({"metadata": {}, "spec": {"selector": {}}}));
        let failure = Failure {
            reason: "FailedCreate",
            message: "quota".into(),
        };
        let first = status(&set, &[], Some(&failure), Timestamp::from_second(1));
        set.status = Some(first.clone());
        assert_eq!(
            status(&set, &[], Some(&failure), Timestamp::from_second(9)),
            first,
            "no new time"
        );
        assert_eq!(
            status(&set, &[], None, Timestamp::from_second(9)).conditions,
            None
        );
    }
}
