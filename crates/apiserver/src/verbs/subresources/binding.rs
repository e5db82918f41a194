//! `pods/binding`: the scheduler's decision.

use evenkeel_meta::Status;
use serde_json::{Value, json};

use super::success;
use crate::http::{Reply, decode_body};
use crate::object::{as_map, entry, field, metadata_mut, text};
use crate::verbs::Call;
use crate::verbs::update::modified;
use crate::verbs::write::ATTEMPTS;

pub(super) fn create(call: &Call) -> Result<Reply, Status> {
    let binding = decode_body(&call.request.headers, &call.request.body)?;
    let node = text(&binding, &["target", "name"]).unwrap_or_default();
    if node.is_empty() {
        return Err(Status::bad_request("target.name: Required value"));
    }
    let dry_run = call.request.dry_run("CreateOptions")?;
    for _ in 0..ATTEMPTS {
        let live = call.live()?;
        let live_value = call.resource.decode(&live)?;
        check(call, &live_value)?;
        let mut pod = live_value.clone();
        bind(
            &mut pod,
            &binding,
            node,
            &call.state.clock.now().to_string(),
        );
        // Past the rules of updates: a pod's node may be set in no other way.
        let draft = call.resource.encode(&pod)?;
        if dry_run
            || call
                .resource
                .shard
                .put(&call.key(), Some(live.revision()), draft)
                .is_ok()
        {
            return Ok(success());
        }
    }
    Err(modified(call))
}

fn check(call: &Call, pod: &Value) -> Result<(), Status> {
    let refuse = |why: String| {
        let mut resource = call.group_resource();
        resource.resource = "pods/binding".into();
        Err(Status::conflict(&resource, call.name(), why))
    };
    let name = call.name();
    if field(pod, &["metadata", "deletionTimestamp"]).is_some() {
        return refuse(format!(
            "pod {name} is being deleted, cannot be assigned to a host"
        ));
    }
    match text(pod, &["spec", "nodeName"]) {
        Some(node) if !node.is_empty() => {
            refuse(format!("pod {name} is already assigned to node \"{node}\""))
        }
        _ => Ok(()),
    }
}

fn bind(pod: &mut Value, binding: &Value, node: &str, now: &str) {
    entry(as_map(pod), "spec").insert("nodeName".into(), node.into());
    if let Some(sent) = field(binding, &["metadata", "annotations"]).and_then(Value::as_object) {
        entry(metadata_mut(pod), "annotations").extend(sent.clone());
    }
    let scheduled = json!({
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": null,
        "lastTransitionTime": now,
    });
    let conditions = entry(as_map(pod), "status")
        .entry("conditions")
        .or_insert_with(|| Value::Array(Vec::new()));
    if let Value::Array(conditions) = conditions {
        conditions.retain(|condition| condition["type"] != "PodScheduled");
        conditions.push(scheduled);
    }
}
