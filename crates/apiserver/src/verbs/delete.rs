//! DELETE of one object.

use std::sync::Arc;

use evenkeel_meta::{Preconditions, ResourceVersion, Status, StatusDetails};
use serde::Deserialize;
use serde_json::Value;

use super::Call;
use super::write::ATTEMPTS;
use crate::crd;
use crate::deletion::{self, Options, Plan, PodState};
use crate::http::{Reply, Request, decode_body, status_json};
use crate::namespaces;
use crate::object::{as_map, entry, integer, metadata_mut};
use crate::resources::Resource;
use crate::storage::{Key, Raced, Record};

const JOBS_ORPHAN: &str = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background \
                           to remove them or set propagationPolicy=Orphan to suppress this warning";

/// What a deletion came to.
pub(super) enum Outcome {
    Gone(Arc<Record>),
    Held(Arc<Record>),
}

/// The options as they are sent, in the body or in the query.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Sent {
    grace_period_seconds: Option<i64>,
    propagation_policy: Option<String>,
    orphan_dependents: Option<bool>,
    preconditions: Option<Preconditions>,
    dry_run: Vec<String>,
}

pub(super) fn delete(call: &Call) -> Result<Reply, Status> {
    let (options, dry_run) = options(&call.request)?;
    if call.resource.is("", "namespaces") {
        namespaces::admit_deletion(&call.resource, call.name())?;
    }
    let outcome = delete_one(call, &call.key(), &options, dry_run)?;
    let jobs_orphan = call.resource.is("batch", "jobs")
        && options.policy.is_none()
        && options.orphan_dependents.is_none();
    let warning = jobs_orphan.then(|| JOBS_ORPHAN.to_owned());
    let reply = match outcome {
        Outcome::Held(record) => {
            // The one caller who is told that there is more to come.
            let code = if options.orphan_dependents == Some(false) {
                202
            } else {
                200
            };
            call.reply(code, &record)?
        }
        Outcome::Gone(record) if call.resource.rules.deletion_answers_object => {
            call.reply(200, &record)?
        }
        Outcome::Gone(record) => Reply::value(200, &status_json(&deleted(&call.resource, &record))),
    };
    Ok(reply.warn(warning))
}

/// Reads and checks the options of a deletion. They may be in the body or in the query.
pub(super) fn options(request: &Request) -> Result<(Options, bool), Status> {
    if !request.body.is_empty() {
        let (options, dry_run) = options_of(decode_body(&request.headers, &request.body)?)?;
        return Ok((options, dry_run || request.dry_run("DeleteOptions")?));
    }
    let options = Options::new(
        request.query.number("gracePeriodSeconds")?,
        request.query.get("propagationPolicy"),
        request.query.flag("orphanDependents"),
        Preconditions::default(),
    )?;
    Ok((options, request.dry_run("DeleteOptions")?))
}

/// Reads and checks the options of a deletion.
pub(super) fn options_of(sent: Value) -> Result<(Options, bool), Status> {
    let sent = Sent::deserialize(sent)
        .map_err(|error| Status::bad_request(format!("DeleteOptions: {error}")))?;
    let dry_run = sent.dry_run.iter().any(|value| value == "All");
    let options = Options::new(
        sent.grace_period_seconds,
        sent.propagation_policy.as_deref(),
        sent.orphan_dependents,
        sent.preconditions.unwrap_or_default(),
    )?;
    Ok((options, dry_run))
}

/// Deletes one object of the call's resource.
pub(super) fn delete_one(
    call: &Call,
    key: &Key,
    options: &Options,
    dry_run: bool,
) -> Result<Outcome, Status> {
    let resource = &call.resource;
    for _ in 0..ATTEMPTS {
        let name = key.rsplit('/').next().unwrap_or_default();
        let live = resource
            .shard
            .get(key)
            .ok_or_else(|| Status::not_found(&resource.group_resource(), name))?;
        check_preconditions(resource, &live, &options.preconditions)?;
        if let Ok(outcome) = attempt(call, key, &live, options, dry_run)? {
            return Ok(outcome);
        }
    }
    Err(Status::internal(
        "the object kept changing while it was deleted",
    ))
}

fn attempt(
    call: &Call,
    key: &Key,
    live: &Arc<Record>,
    options: &Options,
    dry_run: bool,
) -> Result<Result<Outcome, Raced>, Status> {
    let resource = &call.resource;
    let now = call.state.clock.now();
    if resource.is("", "namespaces") {
        return terminate_namespace(call, key, live, dry_run);
    }
    if resource.is(crd::GROUP, crd::PLURAL) && !dry_run {
        let marked = crd::terminate(&call.state, resource, key, live)?;
        return Ok(marked.map(Outcome::Held));
    }
    let mut value = None;
    let pod = if resource.is("", "pods") {
        let object = call.resource.decode(live)?;
        let state = pod_state(&object);
        value = Some(object);
        Some(state)
    } else {
        None
    };
    let (marks, remove) = match deletion::plan(live.meta(), pod, &resource.rules, options, now) {
        Plan::Keep => return Ok(Ok(Outcome::Held(Arc::clone(live)))),
        Plan::Remove if dry_run => return Ok(Ok(Outcome::Gone(Arc::clone(live)))),
        Plan::Remove => {
            let removed = resource.shard.remove(key, live.revision());
            if resource.custom {
                crd::finish_if_empty(&call.state, &resource.api.group, &resource.api.plural)?;
            }
            return Ok(removed.map(|_| Outcome::Gone(Arc::clone(live))));
        }
        Plan::Mark { marks, remove } => (marks, remove),
    };
    let mut object = match value {
        Some(object) => object,
        None => call.resource.decode(live)?,
    };
    marks.apply(&mut object);
    let draft = call.resource.encode(&object)?;
    if dry_run {
        let record = Arc::new(draft.seal(live.revision()));
        return Ok(Ok(if remove {
            Outcome::Gone(record)
        } else {
            Outcome::Held(record)
        }));
    }
    let Ok(marked) = resource.shard.put(key, Some(live.revision()), draft) else {
        return Ok(Err(Raced));
    };
    if !remove {
        return Ok(Ok(Outcome::Held(marked)));
    }
    let removed = resource.shard.remove(key, marked.revision());
    Ok(removed.map(|_| Outcome::Gone(marked)))
}

/// A namespace is emptied by its controller before it goes.
fn terminate_namespace(
    call: &Call,
    key: &Key,
    live: &Arc<Record>,
    dry_run: bool,
) -> Result<Result<Outcome, Raced>, Status> {
    let shard = &call.resource.shard;
    let mut object = call.resource.decode(live)?;
    if live.meta().deletion_timestamp.is_some() {
        if !namespaces::is_finalized(&object) || !live.meta().finalizers.is_empty() {
            return Ok(Ok(Outcome::Held(Arc::clone(live))));
        }
        return Ok(shard
            .remove(key, live.revision())
            .map(|_| Outcome::Gone(Arc::clone(live))));
    }
    let now = call.state.clock.now();
    metadata_mut(&mut object).insert("deletionTimestamp".into(), now.to_string().into());
    entry(as_map(&mut object), "status").insert("phase".into(), "Terminating".into());
    let draft = call.resource.encode(&object)?;
    if dry_run {
        return Ok(Ok(Outcome::Held(Arc::new(draft.seal(live.revision())))));
    }
    Ok(shard
        .put(key, Some(live.revision()), draft)
        .map(Outcome::Held))
}

fn pod_state(pod: &Value) -> PodState {
    let text = |path: &[&str]| crate::object::text(pod, path).unwrap_or_default();
    PodState {
        assigned: !text(&["spec", "nodeName"]).is_empty(),
        finished: matches!(text(&["status", "phase"]), "Succeeded" | "Failed"),
        grace_seconds: integer(pod, &["spec", "terminationGracePeriodSeconds"]),
    }
}

fn check_preconditions(
    resource: &Resource,
    live: &Record,
    preconditions: &Preconditions,
) -> Result<(), Status> {
    let meta = live.meta();
    let refuse = |why: String| {
        let kind = evenkeel_meta::GroupResource {
            group: resource.api.group.clone(),
            resource: resource.api.kind.clone(),
        };
        Err(Status::conflict(&kind, &meta.name, why))
    };
    if let Some(asked) = &preconditions.uid
        && meta.uid.as_ref() != Some(asked)
    {
        let found = meta.uid.as_ref().map_or("", |uid| uid.as_str());
        return refuse(format!(
            "the UID in the precondition ({asked}) does not match the UID in record ({found}). The object might have been deleted and then recreated"
        ));
    }
    if let Some(asked) = &preconditions.resource_version
        && *asked != ResourceVersion::from(live.revision())
    {
        return refuse(format!(
            "the ResourceVersion in the precondition ({asked}) does not match the ResourceVersion in record ({}). The object might have been modified",
            live.revision()
        ));
    }
    Ok(())
}

/// What answers a completed deletion.
fn deleted(resource: &Resource, record: &Record) -> Status {
    Status {
        status: "Success".into(),
        details: Some(StatusDetails {
            name: record.meta().name.clone(),
            group: resource.api.group.clone().into_owned(),
            kind: resource.api.plural.clone().into_owned(),
            uid: record.meta().uid.clone(),
            ..StatusDetails::default()
        }),
        ..Status::default()
    }
}
