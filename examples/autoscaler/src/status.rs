//! What there is, as the status of an autoscaler.

use evenkeel::meta::{Condition, ConditionStatus, Conditions, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::{Autoscaler, AutoscalerStatus};

/// Why a target is not scaled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inactive {
    /// There is no such Deployment.
    NoTarget,
    /// Another autoscaler was there first: its name.
    Taken(String),
    /// Somebody wants no pods.
    ScaledToZero,
}

/// The status of an autoscaler that does nothing.
pub fn inactive(autoscaler: &mut Autoscaler, why: &Inactive, now: Timestamp) {
    let (reason, message) = match why {
        Inactive::NoTarget => ("NoTarget", "there is no such Deployment".to_owned()),
        Inactive::Taken(by) => ("TargetTaken", format!("{by} scales it")),
        Inactive::ScaledToZero => (
            "ScaledToZero",
            "it is left at 0 until somebody scales it up".to_owned(),
        ),
    };
    let found = [
        Condition::new("Active", false, reason).message(message),
        Condition::new("Fresh", ConditionStatus::Unknown, "NotAsked"),
    ];
    let status = report(autoscaler, found, now);
    status.asked = None;
    status.replicas = (*why == Inactive::ScaledToZero).then_some(0);
}

/// The status of one that has told its target to have so many `replicas`. `asked` is how many the
/// last number asks for, or why there is none.
pub fn active(
    autoscaler: &mut Autoscaler,
    replicas: i32,
    asked: Result<i32, String>,
    scaled: bool,
    now: Timestamp,
) {
    let (asked, fresh) = match asked {
        Ok(asked) => (Some(asked), Condition::new("Fresh", true, "Read")),
        Err(why) => (
            None,
            Condition::new("Fresh", false, "SourceFailed").message(why),
        ),
    };
    let found = [Condition::new("Active", true, "Scaling"), fresh];
    let status = report(autoscaler, found, now);
    status.replicas = Some(replicas);
    // What it asked for last still counts.
    status.asked = asked.or(status.asked);
    if scaled {
        status.scaled_at = Some(Time(now.into()));
    }
}

/// Of the generation that was acted on.
fn report<const N: usize>(
    autoscaler: &mut Autoscaler,
    found: [Condition; N],
    now: Timestamp,
) -> &mut AutoscalerStatus {
    let generation = autoscaler.metadata.generation;
    let status = autoscaler.status.get_or_insert_default();
    status.observed_generation = generation;
    for condition in found {
        let condition = condition.observed(generation);
        status.conditions.set_condition(condition, now);
    }
    status
}
