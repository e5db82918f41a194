//! What there is, as the status of a tenant.

use evenkeel::meta::{Condition, Conditions, Timestamp};

use crate::api::{NamespaceStatus, Phase, Tenant};

/// The status of a tenant whose namespaces are like this. `refused` is why one of its parts cannot
/// be as it is asked for.
pub fn provided(
    tenant: &mut Tenant,
    namespaces: Vec<NamespaceStatus>,
    refused: Option<&str>,
    now: Timestamp,
) {
    let taken = names(&namespaces, Phase::Taken);
    let terminating = names(&namespaces, Phase::Terminating);
    let why_not = match refused {
        Some(why) => Some(("Refused", why.to_owned())),
        None if taken.is_empty() => None,
        None => Some(("NamespaceTaken", format!("not this tenant's: {taken}"))),
    };
    let (accepted, ready) = match why_not {
        Some((reason, why)) => (
            Condition::new("Accepted", false, reason).message(&*why),
            Condition::new("Ready", false, reason).message(why),
        ),
        None if terminating.is_empty() => (
            Condition::new("Accepted", true, "Valid"),
            Condition::new("Ready", true, "Provisioned"),
        ),
        None => (
            Condition::new("Accepted", true, "Valid"),
            Condition::new("Ready", false, "NamespaceTerminating")
                .message(format!("on its way out: {terminating}")),
        ),
    };
    report(tenant, namespaces, [accepted, ready], now);
}

/// The status of a tenant that is being deleted, of which these namespaces are left.
pub fn leaving(tenant: &mut Tenant, left: Vec<NamespaceStatus>, now: Timestamp) {
    let message = format!("on its way out: {}", names(&left, Phase::Terminating));
    let ready = Condition::new("Ready", false, "Deleting").message(message);
    report(tenant, left, [ready], now);
}

fn names(namespaces: &[NamespaceStatus], phase: Phase) -> String {
    let of_phase = namespaces.iter().filter(|one| one.phase == phase);
    let names: Vec<_> = of_phase.map(|one| &*one.name).collect();
    names.join(", ")
}

/// Of the generation that was acted on.
fn report<const N: usize>(
    tenant: &mut Tenant,
    namespaces: Vec<NamespaceStatus>,
    found: [Condition; N],
    now: Timestamp,
) {
    let generation = tenant.metadata.generation;
    let status = tenant.status.get_or_insert_default();
    status.observed_generation = generation;
    status.namespaces = namespaces;
    for condition in found {
        let condition = condition.observed(generation);
        status.conditions.set_condition(condition, now);
    }
}
