//! A Deployment's status: counts, progress and the deadline (contracts kcm D12, D13).

use std::time::Duration;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus, ReplicaSet};
use k8s_openapi::jiff;

use super::condition::{self, PROGRESSING, Wanted, reason};
use super::limits::Limits;

/// The deadline that means "none".
const NO_DEADLINE: i32 = i32::MAX;

/// The status that follows from the sets, with the conditions of the present one and
/// `Available` brought up to date.
pub(crate) fn counts(
    deployment: &Deployment,
    limits: Limits,
    new: Option<&ReplicaSet>,
    old: &[ReplicaSet],
    now: jiff::Timestamp,
) -> DeploymentStatus {
    let present = deployment.status.clone().unwrap_or_default();
    let all = || old.iter().chain(new);
    let sum = |count: fn(&ReplicaSet) -> i32| all().map(count).fold(0, i32::saturating_add);
    let available = sum(|set| {
        set.status
            .as_ref()
            .and_then(|s| s.available_replicas)
            .unwrap_or(0)
    });
    let wanted = sum(|set| set.spec.replicas.unwrap_or(0));
    let count = |set: &ReplicaSet| set.status.as_ref().map_or(0, |s| s.replicas);
    let some = |number: i32| Some(number).filter(|number| *number != 0);
    let mut status = DeploymentStatus {
        observed_generation: deployment.metadata.generation,
        replicas: some(sum(count)),
        updated_replicas: some(new.map_or(0, count)),
        ready_replicas: some(sum(|set| {
            set.status
                .as_ref()
                .and_then(|s| s.ready_replicas)
                .unwrap_or(0)
        })),
        available_replicas: some(available),
        // A set that is being scaled down may have more available pods than it wants.
        unavailable_replicas: some((wanted - available).max(0)),
        terminating_replicas: Some(sum(|set| {
            set.status
                .as_ref()
                .and_then(|s| s.terminating_replicas)
                .unwrap_or(0)
        })),
        collision_count: present.collision_count,
        conditions: present.conditions,
    };
    condition::set(
        &mut status,
        Wanted::available(available >= limits.min_available()),
        now,
    );
    status
}

/// The status of a rollout: the counts, and how it gets on.
pub(crate) fn rollout(
    deployment: &Deployment,
    limits: Limits,
    new: Option<&ReplicaSet>,
    old: &[ReplicaSet],
    now: jiff::Timestamp,
) -> DeploymentStatus {
    let mut status = counts(deployment, limits, new, old, now);
    let present = deployment.status.clone().unwrap_or_default();
    if deadline(deployment).is_none() {
        condition::remove(&mut status, PROGRESSING);
    } else if !was_complete(&present, &status) {
        progress(deployment, limits, &present, &mut status, new, now);
    }
    condition::copy_replica_failure(&mut status, new, old);
    status
}

/// A complete rollout of which nothing has changed: a later loss of pods is no rollout.
fn was_complete(present: &DeploymentStatus, status: &DeploymentStatus) -> bool {
    status.replicas == status.updated_replicas
        && condition::has_reason(present, PROGRESSING, reason::COMPLETE)
}

fn progress(
    deployment: &Deployment,
    limits: Limits,
    present: &DeploymentStatus,
    status: &mut DeploymentStatus,
    new: Option<&ReplicaSet>,
    now: jiff::Timestamp,
) {
    let subject = match new.and_then(|set| set.metadata.name.as_deref()) {
        Some(name) => format!("ReplicaSet \"{name}\""),
        None => format!(
            "Deployment \"{}\"",
            deployment.metadata.name.as_deref().unwrap_or_default()
        ),
    };
    if is_complete(deployment, limits, status) {
        let message = format!("{subject} has successfully progressed.");
        condition::set(status, Wanted::progressing(reason::COMPLETE, message), now);
    } else if has_progressed(present, status) {
        let message = format!("{subject} is progressing.");
        // The deadline is measured from here, so the time moves with every step.
        condition::renew(status, Wanted::progressing(reason::UPDATED, message), now);
    } else if timed_out(deployment, present, now) {
        let message = format!("{subject} has timed out progressing.");
        let wanted = Wanted::new(PROGRESSING, "False", reason::DEADLINE_EXCEEDED, message);
        condition::set(status, wanted, now);
    }
}

/// Every pod is of the new template and available, and the Deployment's last change was seen.
pub(crate) fn is_complete(
    deployment: &Deployment,
    limits: Limits,
    status: &DeploymentStatus,
) -> bool {
    let is = |count: Option<i32>| count.unwrap_or(0) == limits.replicas;
    is(status.updated_replicas)
        && is(status.replicas)
        && is(status.available_replicas)
        && status.observed_generation >= deployment.metadata.generation
}

/// More of the new, less of the old, more ready or more available than before.
fn has_progressed(before: &DeploymentStatus, after: &DeploymentStatus) -> bool {
    let of = |count: Option<i32>| count.unwrap_or(0);
    let old = |status: &DeploymentStatus| of(status.replicas) - of(status.updated_replicas);
    of(after.updated_replicas) > of(before.updated_replicas)
        || old(after) < old(before)
        || of(after.ready_replicas) > of(before.ready_replicas)
        || of(after.available_replicas) > of(before.available_replicas)
}

fn timed_out(deployment: &Deployment, present: &DeploymentStatus, now: jiff::Timestamp) -> bool {
    if condition::has_reason(present, PROGRESSING, reason::DEADLINE_EXCEEDED) {
        return true;
    }
    progress_ends(deployment, present).is_some_and(|ends| ends < now)
}

/// When the rollout is overdue unless it progresses; `None` when it is complete, paused, or has
/// no deadline.
fn progress_ends(deployment: &Deployment, status: &DeploymentStatus) -> Option<jiff::Timestamp> {
    let progressing = condition::find(status, PROGRESSING)?;
    if progressing.reason.as_deref() == Some(reason::COMPLETE) {
        return None;
    }
    let since = progressing.last_update_time.as_ref()?.0;
    since.checked_add(deadline(deployment)?).ok()
}

/// How long until the deadline has to be looked at again: one second after it.
pub(crate) fn check_after(
    deployment: &Deployment,
    status: &DeploymentStatus,
    now: jiff::Timestamp,
) -> Option<Duration> {
    if condition::has_reason(status, PROGRESSING, reason::DEADLINE_EXCEEDED) {
        return None;
    }
    let ends = progress_ends(deployment, status)?;
    let left = Duration::try_from(ends.duration_since(now)).unwrap_or_default();
    Some(left + Duration::from_secs(1))
}

fn deadline(deployment: &Deployment) -> Option<Duration> {
    let seconds = deployment.spec.progress_deadline_seconds?;
    if seconds == NO_DEADLINE {
        return None;
    }
    Some(Duration::from_secs(
        u64::try_from(seconds).unwrap_or_default(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> jiff::Timestamp {
        jiff::Timestamp::from_second(second).unwrap()
    }

    fn deployment(replicas: i32, deadline: Option<i32>) -> Deployment {
        serde_json::from_value(serde_json::json!({
            "metadata": {"name": "web", "generation": 2},
            "spec": {"replicas": replicas, "progressDeadlineSeconds": deadline, "selector": {}, "template": {}},
        }))
        .unwrap()
    }

    fn set(name: &str, wanted: i32, replicas: i32, available: i32) -> ReplicaSet {
        serde_json::from_value(serde_json::json!({
            "metadata": {"name": name},
            "spec": {"replicas": wanted, "selector": {}},
            "status": {"replicas": replicas, "readyReplicas": available, "availableReplicas": available},
        }))
        .unwrap()
    }

    fn progressing(status: &DeploymentStatus) -> (&str, &str) {
        let condition = condition::find(status, PROGRESSING).unwrap();
        (
            condition.status.as_deref().unwrap(),
            condition.reason.as_deref().unwrap(),
        )
    }

    #[test]
    fn kcm_d12_counts_add_up_and_zeros_are_left_out() {
        let deployment = deployment(10, Some(600));
        let limits = Limits::of(&deployment);
        let (new, old) = (set("n", 5, 5, 3), [set("o", 8, 8, 8)]);
        let status = counts(&deployment, limits, Some(&new), &old, at(0));
        assert_eq!(status.replicas, Some(13));
        assert_eq!(status.updated_replicas, Some(5));
        assert_eq!(status.available_replicas, Some(11));
        assert_eq!(status.unavailable_replicas, Some(2));
        assert_eq!(status.terminating_replicas, Some(0));
        assert_eq!(status.observed_generation, Some(2));
        let empty = counts(&deployment, limits, None, &[], at(0));
        assert_eq!((empty.replicas, empty.unavailable_replicas), (None, None));
        assert!(condition::has_reason(
            &empty,
            condition::AVAILABLE,
            "MinimumReplicasUnavailable"
        ));
    }

    #[test]
    fn kcm_d13_progress_completion_and_timeout() {
        let mut deployment = deployment(2, Some(3));
        let limits = Limits::of(&deployment);
        let step = |deployment: &mut Deployment, new: &ReplicaSet, second| {
            let status = rollout(deployment, limits, Some(new), &[], at(second));
            deployment.status = Some(status.clone());
            status
        };
        let status = step(&mut deployment, &set("n", 2, 1, 0), 0);
        assert_eq!(progressing(&status), ("True", reason::UPDATED));
        assert_eq!(
            check_after(&deployment, &status, at(0)),
            Some(Duration::from_secs(4))
        );
        let status = step(&mut deployment, &set("n", 2, 1, 0), 3);
        assert_eq!(
            progressing(&status),
            ("True", reason::UPDATED),
            "not over yet"
        );
        let status = step(&mut deployment, &set("n", 2, 1, 0), 4);
        assert_eq!(progressing(&status), ("False", reason::DEADLINE_EXCEEDED));
        assert_eq!(check_after(&deployment, &status, at(4)), None);
        let status = step(&mut deployment, &set("n", 2, 2, 1), 5);
        assert_eq!(
            progressing(&status),
            ("True", reason::UPDATED),
            "a late step counts"
        );
        let status = step(&mut deployment, &set("n", 2, 2, 2), 6);
        assert_eq!(progressing(&status), ("True", reason::COMPLETE));
        assert_eq!(check_after(&deployment, &status, at(6)), None);
        let status = step(&mut deployment, &set("n", 2, 2, 1), 600);
        assert_eq!(
            progressing(&status),
            ("True", reason::COMPLETE),
            "a lost pod is no rollout"
        );
    }

    #[test]
    fn kcm_d13_without_a_deadline_there_is_no_progressing() {
        for none in [None, Some(i32::MAX)] {
            let deployment = deployment(2, none);
            let status = rollout(&deployment, Limits::of(&deployment), None, &[], at(0));
            assert!(condition::find(&status, PROGRESSING).is_none());
        }
    }

    #[test]
    fn kcm_d12_a_sets_failure_is_copied_and_dropped_when_healed() {
        let mut deployment = deployment(1, Some(600));
        let limits = Limits::of(&deployment);
        let mut failing = set("n", 1, 0, 0);
        failing.status.as_mut().unwrap().conditions = Some(vec![
            serde_json::from_value(serde_json::json!({
                "type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "quota"}))
            .unwrap(),
        ]);
        let status = rollout(&deployment, limits, Some(&failing), &[], at(0));
        assert!(condition::has_reason(
            &status,
            condition::REPLICA_FAILURE,
            "FailedCreate"
        ));
        deployment.status = Some(status);
        let status = rollout(&deployment, limits, Some(&set("n", 1, 0, 0)), &[], at(1));
        assert!(condition::find(&status, condition::REPLICA_FAILURE).is_none());
    }
}
