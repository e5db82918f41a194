//! Pods as the controllers see them: a projection of what they decide by.

use evenkeel_meta::{ApiResource, Meta, Object, Resource, Scope, Timestamp};
use serde::Deserialize;

/// What a pod costs to remove, as its owner set it (contract kcm RS2).
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// A pod, reduced to what the controllers decide by. A whole pod is 24 kB in memory.
#[derive(Clone, Debug, Default)]
pub struct Pod {
    metadata: Meta,
    node: Option<Box<str>>,
    phase: Phase,
    /// When the pod turned ready; `None` while it is not.
    ready_since: Option<Timestamp>,
    restarts: i32,
}

/// `status.phase`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Phase {
    /// Accepted, not running yet. What a pod without a status is.
    #[default]
    Pending,
    /// At least one container runs.
    Running,
    /// All containers ended well and will not run again.
    Succeeded,
    /// All containers ended, at least one of them badly.
    Failed,
    /// Its node cannot be asked; or a phase that this version does not know.
    #[serde(other)]
    Unknown,
}

impl Pod {
    /// Whether the pod counts: not finished, and nobody deletes it.
    #[must_use]
    pub fn is_active(&self) -> bool {
        !matches!(self.phase, Phase::Succeeded | Phase::Failed)
            && self.metadata.deletion_timestamp.is_none()
    }

    /// Whether the pod is on its way out, finished ones aside.
    #[must_use]
    pub fn is_terminating(&self) -> bool {
        !matches!(self.phase, Phase::Succeeded | Phase::Failed)
            && self.metadata.deletion_timestamp.is_some()
    }

    /// Whether its readiness condition holds.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.ready_since.is_some()
    }

    /// When the pod turned ready.
    #[must_use]
    pub fn ready_since(&self) -> Option<Timestamp> {
        self.ready_since
    }

    /// Whether it has been ready for `min_ready_seconds` (contracts kcm RS3, RS4). Whole
    /// seconds, as the condition's transition time has them.
    #[must_use]
    pub fn is_available(&self, min_ready_seconds: i32, now: Timestamp) -> bool {
        self.ready_since.is_some_and(|since| {
            min_ready_seconds <= 0
                || since.as_second() + i64::from(min_ready_seconds) <= now.as_second()
        })
    }

    /// The node that the pod was bound to.
    #[must_use]
    pub fn node(&self) -> Option<&str> {
        self.node.as_deref()
    }

    /// Its phase.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Restarts of all containers together.
    #[must_use]
    pub fn restarts(&self) -> i32 {
        self.restarts
    }

    /// What it costs to remove; absent is 0.
    #[must_use]
    pub fn deletion_cost(&self) -> i32 {
        let cost = self.metadata.annotations.get(DELETION_COST);
        cost.and_then(|cost| cost.parse().ok()).unwrap_or(0)
    }
}

impl Object for Pod {
    type Meta = Meta;

    fn metadata(&self) -> &Meta {
        &self.metadata
    }
}

impl Resource for Pod {
    fn api_resource() -> ApiResource {
        ApiResource::new_static("", "v1", "Pod", "pods", Scope::Namespaced)
    }
}

impl<'de> Deserialize<'de> for Pod {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Wire {
            metadata: Meta,
            #[serde(default)]
            spec: Spec,
            #[serde(default)]
            status: Status,
        }
        #[derive(Deserialize, Default)]
        #[serde(rename_all = "camelCase", default)]
        struct Spec {
            node_name: Option<Box<str>>,
        }
        #[derive(Deserialize, Default)]
        #[serde(rename_all = "camelCase", default)]
        struct Status {
            phase: Option<Phase>,
            conditions: Option<Vec<Condition>>,
            container_statuses: Option<Vec<ContainerStatus>>,
        }
        #[derive(Deserialize, Default)]
        #[serde(rename_all = "camelCase", default)]
        struct Condition {
            r#type: ConditionType,
            status: ConditionStatus,
            last_transition_time: Option<Timestamp>,
        }
        #[derive(Deserialize, Default, PartialEq)]
        enum ConditionType {
            Ready,
            #[default]
            #[serde(other)]
            Other,
        }
        #[derive(Deserialize, Default, PartialEq)]
        enum ConditionStatus {
            True,
            #[default]
            #[serde(other)]
            Other,
        }
        #[derive(Deserialize, Default)]
        #[serde(rename_all = "camelCase", default)]
        struct ContainerStatus {
            restart_count: i32,
        }
        let wire = Wire::deserialize(deserializer)?;
        let ready = wire
            .status
            .conditions
            .into_iter()
            .flatten()
            .find(|condition| {
                condition.r#type == ConditionType::Ready
                    && condition.status == ConditionStatus::True
            });
        let containers = wire.status.container_statuses.unwrap_or_default();
        Ok(Self {
            metadata: wire.metadata,
            node: wire.spec.node_name.filter(|node| !node.is_empty()),
            phase: wire.status.phase.unwrap_or_default(),
            // A condition without a time has held since ever.
            ready_since: ready.map(|condition| {
                condition
                    .last_transition_time
                    .unwrap_or(Timestamp::from_second(0))
            }),
            restarts: containers
                .iter()
                .fold(0, |sum, c| sum.saturating_add(c.restart_count)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(json: serde_json::Value) -> Pod {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn only_what_decides_is_kept() {
        let pod = pod(serde_json::json!({
            "metadata": {"name": "p", "annotations": {DELETION_COST: "7"}, "managedFields": [{}]},
            "spec": {"nodeName": "n", "containers": [{"name": "c"}]},
            "status": {"phase": "Running", "podIP": "10.0.0.1",
                "conditions": [{"type": "Initialized", "status": "True"},
                    {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:10Z"}],
                "containerStatuses": [{"restartCount": 2}, {"restartCount": 1}]},
        }));
        assert_eq!(
            (pod.node(), pod.phase(), pod.restarts(), pod.deletion_cost()),
            (Some("n"), Phase::Running, 3, 7)
        );
        assert!(pod.is_ready() && pod.is_active());
        let ready: Timestamp = "2026-01-01T00:00:10Z".parse().unwrap();
        let later = |seconds| Timestamp::from_second(ready.as_second() + seconds);
        assert!(pod.is_available(0, ready));
        assert!(!pod.is_available(4, later(3)));
        assert!(pod.is_available(4, later(4)));
    }

    #[test]
    fn a_fresh_pod_is_pending_and_not_ready() {
        let fresh = pod(
            serde_json::json!({"metadata": {"name": "p"}, "spec": {"nodeName": ""}, "status": {}}),
        );
        assert_eq!(
            (fresh.phase(), fresh.is_ready(), fresh.node()),
            (Phase::Pending, false, None)
        );
        let odd = pod(
            serde_json::json!({"metadata": {}, "status": {"phase": "Napping",
            "conditions": [{"type": "Ready", "status": "Unknown"}]}}),
        );
        assert_eq!((odd.phase(), odd.is_ready()), (Phase::Unknown, false));
    }

    #[test]
    fn finished_and_dying_pods_do_not_count() {
        let failed = pod(serde_json::json!({"metadata": {}, "status": {"phase": "Failed"}}));
        let dying =
            pod(serde_json::json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}));
        assert!(!failed.is_active() && !failed.is_terminating());
        assert!(!dying.is_active() && dying.is_terminating());
    }
}
