//! What there is, as the status of a cache.

use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use crate::parts::Reserved;
use crate::{Cache, CacheStatus};

/// The status of a cache whose parts are as they should be, of which `deployment` is the state.
#[must_use]
pub fn running(cache: &Cache, deployment: &Deployment, address: &str, now: &Time) -> CacheStatus {
    let none = DeploymentStatus::default();
    let there = deployment.status.as_ref().unwrap_or(&none);
    let wanted = cache.spec.replicas;
    let (ready, updated) = (
        there.available_replicas.unwrap_or_default(),
        there.updated_replicas.unwrap_or_default(),
    );
    // The numbers may be of what the Deployment was before.
    let is_current = there.observed_generation >= deployment.metadata.generation;
    let all = is_current
        && updated == wanted
        && ready == wanted
        && there.replicas.unwrap_or_default() == wanted;
    let accepted = ("Accepted", true, "Valid", String::new());
    let counts = format!("{ready} of {wanted} are available, {updated} of them up to date");
    let ready_condition = match all {
        true => ("Ready", true, "AllAvailable", counts),
        false => ("Ready", false, "RollingOut", counts),
    };
    CacheStatus {
        observed_generation: cache.metadata.generation,
        ready_replicas: there.ready_replicas.unwrap_or_default(),
        address: Some(address.to_owned()),
        conditions: conditions(cache, [accepted, ready_condition], now),
    }
}

/// The status of a cache that cannot be made as it is asked for. What runs already goes on.
#[must_use]
pub fn refused(cache: &Cache, why: &Reserved, now: &Time) -> CacheStatus {
    let accepted = ("Accepted", false, "ReservedSetting", why.to_string());
    let mut status = cache.status.clone().unwrap_or_default();
    status.observed_generation = cache.metadata.generation;
    let ready = status.conditions.iter().find(|one| one.type_ == "Ready");
    let ready = ready.cloned();
    status.conditions = conditions(cache, [accepted], now);
    status.conditions.extend(ready);
    status
}

/// Type, whether it holds, reason, message.
type Finding = (&'static str, bool, &'static str, String);

/// The time of a condition is that of its last change from one to the other.
fn conditions<const N: usize>(cache: &Cache, findings: [Finding; N], now: &Time) -> Vec<Condition> {
    let before = cache.status.as_ref().map(|status| &*status.conditions);
    let condition = |(type_, holds, reason, message): Finding| {
        let status = if holds { "True" } else { "False" };
        let mut known = before.unwrap_or_default().iter();
        let same = known.find(|one| one.type_ == type_ && one.status == status);
        Condition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message,
            observed_generation: cache.metadata.generation,
            last_transition_time: same.map_or(now, |one| &one.last_transition_time).clone(),
        }
    };
    findings.map(condition).into()
}
