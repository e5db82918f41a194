//! What there is, as the status of a cache.

use evenkeel::meta::{Condition, Conditions, Timestamp};
use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus};

use crate::parts::Reserved;
use crate::{Cache, CacheStatus};

/// The status of a cache whose parts are as they should be, of which `deployment` is the state.
pub fn running(cache: &mut Cache, deployment: &Deployment, address: &str, now: Timestamp) {
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
    let reason = if all { "AllAvailable" } else { "RollingOut" };
    let counts = format!("{ready} of {wanted} are available, {updated} of them up to date");
    let status = report(cache, Condition::new("Accepted", true, "Valid"), now);
    status.ready_replicas = there.ready_replicas.unwrap_or_default();
    status.address = Some(address.to_owned());
    report(
        cache,
        Condition::new("Ready", all, reason).message(counts),
        now,
    );
}

/// The status of a cache that cannot be made as it is asked for. What runs already goes on.
pub fn refused(cache: &mut Cache, why: &Reserved, now: Timestamp) {
    let accepted = Condition::new("Accepted", false, "ReservedSetting");
    report(cache, accepted.message(why.to_string()), now);
}

/// Of the generation that was acted on.
fn report(cache: &mut Cache, found: Condition, now: Timestamp) -> &mut CacheStatus {
    let generation = cache.metadata.generation;
    let status = cache.status.get_or_insert_default();
    status.observed_generation = generation;
    status
        .conditions
        .set_condition(found.observed(generation), now);
    status
}
