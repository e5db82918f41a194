//! `pods/eviction`: a deletion that asks the disruption budgets first.

use std::sync::Arc;

use evenkeel_meta::{LabelSelector, Reason, Status, StatusCause, StatusDetails};
use serde_json::Value;

use super::success;
use crate::deletion::Options;
use crate::http::{Reply, decode_body};
use crate::object::{as_map, entry, field, integer, text};
use crate::resources::Resource;
use crate::storage::{Draft, KeyRange, Record};
use crate::verbs::Call;
use crate::verbs::delete::{delete_one, options_of};

pub(super) fn create(call: &Call) -> Result<Reply, Status> {
    let eviction = decode_body(&call.request.headers, &call.request.body)?;
    let live = call.live()?;
    let (options, dry_run) = match field(&eviction, &["deleteOptions"]) {
        Some(sent) => options_of(sent.clone())?,
        None => (Options::default(), false),
    };
    let dry_run = dry_run || call.request.dry_run("CreateOptions")?;
    let pod = call.resource.decode(&live)?;
    if counts_as_disruption(&live, &pod) && !dry_run {
        spend_budget(call, &live)?;
    }
    delete_one(call, &call.key(), &options, dry_run)?;
    Ok(success())
}

/// Pods that never started, have finished or are going anyway disrupt nothing.
fn counts_as_disruption(live: &Record, pod: &Value) -> bool {
    let phase = text(pod, &["status", "phase"]).unwrap_or_default();
    live.meta().deletion_timestamp.is_none() && !matches!(phase, "Pending" | "Succeeded" | "Failed")
}

fn spend_budget(call: &Call, pod: &Record) -> Result<(), Status> {
    let registry = Arc::clone(&call.state.registry.read());
    let Some(budgets) = registry.find("policy", "v1", "poddisruptionbudgets") else {
        return Ok(());
    };
    let namespace = call.namespace.as_deref().unwrap_or_default();
    let mut protecting = Vec::new();
    let range = KeyRange::Namespace(namespace.into());
    for (key, record) in budgets.shard.snapshot(&range) {
        let budget = record.decode().map_err(Status::internal)?;
        if selects(&budget, pod) {
            protecting.push((key, record, budget));
        }
    }
    match protecting.as_mut_slice() {
        [] => Ok(()),
        [(key, record, budget)] => {
            let draft = spend(
                budgets,
                budget,
                call.name(),
                &call.state.clock.now().to_string(),
            )?;
            budgets
                .shard
                .put(key, Some(record.revision()), draft)
                .map(|_| ())
                .map_err(|_| refuse("the disruption budget is being changed", None))
        }
        _ => Err(Status::internal(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
        )),
    }
}

fn selects(budget: &Value, pod: &Record) -> bool {
    let selector = field(budget, &["spec", "selector"])
        .cloned()
        .unwrap_or_default();
    let selector: LabelSelector = serde_json::from_value(selector).unwrap_or_default();
    let labels = &pod.meta().labels;
    selector.matches_by(|key| labels.get(key).map(String::as_str))
}

/// Takes one disruption from the budget, or says that there is none left.
fn spend(resource: &Resource, budget: &mut Value, pod: &str, now: &str) -> Result<Draft, Status> {
    let number = |name: &str| integer(budget, &["status", name]).unwrap_or(0);
    let allowed = number("disruptionsAllowed");
    if allowed <= 0 {
        let name = text(budget, &["metadata", "name"]).unwrap_or_default();
        let cause = StatusCause {
            reason: "DisruptionBudget".into(),
            message: format!(
                "The disruption budget {name} needs {} healthy pods and has {} currently",
                number("desiredHealthy"),
                number("currentHealthy")
            ),
            field: String::new(),
        };
        return Err(refuse(
            "Cannot evict pod as it would violate the pod's disruption budget.",
            Some(cause),
        ));
    }
    let status = entry(as_map(budget), "status");
    status.insert("disruptionsAllowed".into(), (allowed - 1).into());
    entry(status, "disruptedPods").insert(pod.into(), now.into());
    resource.encode(budget)
}

fn refuse(message: &str, cause: Option<StatusCause>) -> Status {
    let mut status = Status::failure(429, Reason::TooManyRequests, message);
    status.details = Some(StatusDetails {
        causes: cause.into_iter().collect(),
        ..StatusDetails::default()
    });
    status
}
