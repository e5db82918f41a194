//! A Deployment's conditions (contracts kcm C6, D12).

use k8s_openapi::api::apps::v1::{DeploymentCondition, DeploymentStatus, ReplicaSet};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff;

pub(crate) const AVAILABLE: &str = "Available";
pub(crate) const PROGRESSING: &str = "Progressing";
pub(crate) const REPLICA_FAILURE: &str = "ReplicaFailure";

/// The reasons of the condition `Progressing`.
pub(crate) mod reason {
    pub(crate) const CREATED: &str = "NewReplicaSetCreated";
    pub(crate) const FOUND: &str = "FoundNewReplicaSet";
    pub(crate) const UPDATED: &str = "ReplicaSetUpdated";
    pub(crate) const COMPLETE: &str = "NewReplicaSetAvailable";
    pub(crate) const DEADLINE_EXCEEDED: &str = "ProgressDeadlineExceeded";
    pub(crate) const CREATE_ERROR: &str = "ReplicaSetCreateError";
    pub(crate) const PAUSED: &str = "DeploymentPaused";
    pub(crate) const RESUMED: &str = "DeploymentResumed";
}

/// What a condition shall say.
pub(crate) struct Wanted {
    pub(crate) type_: &'static str,
    pub(crate) status: &'static str,
    pub(crate) reason: String,
    pub(crate) message: String,
}

impl Wanted {
    pub(crate) fn new(
        type_: &'static str,
        status: &'static str,
        reason: &str,
        message: String,
    ) -> Self {
        Self {
            type_,
            status,
            reason: reason.to_owned(),
            message,
        }
    }

    pub(crate) fn progressing(reason: &str, message: String) -> Self {
        Self::new(PROGRESSING, "True", reason, message)
    }

    /// Whether enough pods are available.
    pub(crate) fn available(enough: bool) -> Self {
        let (status, reason, message) = if enough {
            (
                "True",
                "MinimumReplicasAvailable",
                "Deployment has minimum availability.",
            )
        } else {
            (
                "False",
                "MinimumReplicasUnavailable",
                "Deployment does not have minimum availability.",
            )
        };
        Self::new(AVAILABLE, status, reason, message.to_owned())
    }
}

/// The condition of this type.
pub(crate) fn find<'a>(
    status: &'a DeploymentStatus,
    type_: &str,
) -> Option<&'a DeploymentCondition> {
    let mut conditions = status.conditions.iter().flatten();
    conditions.find(|condition| condition.type_.as_deref() == Some(type_))
}

/// Whether the condition of this type has this reason.
pub(crate) fn has_reason(status: &DeploymentStatus, type_: &str, reason: &str) -> bool {
    find(status, type_).is_some_and(|condition| condition.reason.as_deref() == Some(reason))
}

/// Sets a condition; one of the same status and reason stays as it is.
pub(crate) fn set(status: &mut DeploymentStatus, wanted: Wanted, now: jiff::Timestamp) {
    let same = find(status, wanted.type_).is_some_and(|condition| {
        condition.status.as_deref() == Some(wanted.status)
            && condition.reason.as_deref() == Some(&wanted.reason)
    });
    if !same {
        renew(status, wanted, now);
    }
}

/// Sets a condition even where only its update time changes. It moves to the end of the list;
/// its transition time moves only with its status.
pub(crate) fn renew(status: &mut DeploymentStatus, wanted: Wanted, now: jiff::Timestamp) {
    let transition = find(status, wanted.type_)
        .filter(|condition| condition.status.as_deref() == Some(wanted.status))
        .and_then(|condition| condition.last_transition_time.clone());
    remove(status, wanted.type_);
    status
        .conditions
        .get_or_insert_default()
        .push(DeploymentCondition {
            type_: Some(wanted.type_.to_owned()),
            status: Some(wanted.status.to_owned()),
            reason: Some(wanted.reason),
            message: Some(wanted.message),
            last_update_time: Some(Time(now)),
            last_transition_time: transition.or(Some(Time(now))),
        });
}

/// Drops the condition of this type.
pub(crate) fn remove(status: &mut DeploymentStatus, type_: &str) {
    if let Some(conditions) = &mut status.conditions {
        conditions.retain(|condition| condition.type_.as_deref() != Some(type_));
    }
}

/// Copies the failure of a ReplicaSet to the Deployment: the new set's, else any old one's.
pub(crate) fn copy_replica_failure(
    status: &mut DeploymentStatus,
    new: Option<&ReplicaSet>,
    old: &[ReplicaSet],
) {
    let failure = |set: &ReplicaSet| {
        let conditions = set.status.as_ref()?.conditions.as_ref()?;
        let failed = |c: &&_| {
            let c: &k8s_openapi::api::apps::v1::ReplicaSetCondition = c;
            c.type_.as_deref() == Some(REPLICA_FAILURE) && c.status.as_deref() == Some("True")
        };
        conditions.iter().find(failed).cloned()
    };
    let found = new
        .and_then(failure)
        .or_else(|| old.iter().find_map(failure));
    let Some(found) = found else {
        return remove(status, REPLICA_FAILURE);
    };
    if has_reason(
        status,
        REPLICA_FAILURE,
        found.reason.as_deref().unwrap_or_default(),
    ) {
        return;
    }
    remove(status, REPLICA_FAILURE);
    status
        .conditions
        .get_or_insert_default()
        .push(DeploymentCondition {
            type_: Some(REPLICA_FAILURE.to_owned()),
            status: found.status,
            reason: found.reason,
            message: found.message,
            last_update_time: found.last_transition_time.clone(),
            last_transition_time: found.last_transition_time,
        });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> jiff::Timestamp {
        jiff::Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn kcm_c6_a_changed_condition_moves_to_the_end() {
        let mut status = DeploymentStatus::default();
        set(
            &mut status,
            Wanted::progressing(reason::CREATED, "a".into()),
            at(1),
        );
        set(&mut status, Wanted::available(false), at(1));
        set(
            &mut status,
            Wanted::progressing(reason::UPDATED, "b".into()),
            at(2),
        );
        let types: Vec<_> = status
            .conditions
            .iter()
            .flatten()
            .map(|c| c.type_.clone().unwrap())
            .collect();
        assert_eq!(types, [AVAILABLE, PROGRESSING]);
    }

    #[test]
    fn kcm_d12_the_transition_time_moves_only_with_the_status() {
        let mut status = DeploymentStatus::default();
        set(
            &mut status,
            Wanted::progressing(reason::CREATED, "a".into()),
            at(1),
        );
        set(
            &mut status,
            Wanted::progressing(reason::UPDATED, "b".into()),
            at(2),
        );
        let condition = find(&status, PROGRESSING).unwrap().clone();
        assert_eq!(condition.last_transition_time, Some(Time(at(1))));
        assert_eq!(condition.last_update_time, Some(Time(at(2))));

        set(
            &mut status,
            Wanted::progressing(reason::UPDATED, "c".into()),
            at(3),
        );
        assert_eq!(
            find(&status, PROGRESSING),
            Some(&condition),
            "same status and reason: no write"
        );

        set(
            &mut status,
            Wanted::new(PROGRESSING, "False", reason::DEADLINE_EXCEEDED, "d".into()),
            at(4),
        );
        assert_eq!(
            find(&status, PROGRESSING).unwrap().last_transition_time,
            Some(Time(at(4)))
        );
    }
}
