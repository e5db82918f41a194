//! The `scale` subresource: the number of replicas of anything that has one.

use std::sync::Arc;

use evenkeel_meta::{GroupVersionKind, LabelSelector, PatchKind, Status, StatusCause};
use http::header::CONTENT_TYPE;
use serde_json::{Map, Value, json};

use crate::http::{Reply, decode_body, json as parse};
use crate::object::{as_map, entry, field, integer, meta_text};
use crate::patch;
use crate::schema::Schemas;
use crate::storage::Record;
use crate::verbs::Call;
use crate::verbs::update::{check_version, modified};
use crate::verbs::write::{ATTEMPTS, Failure, Write, wrong_patch_type};

const ACCEPTED: &str = "application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json";

pub(super) fn get(call: &Call) -> Result<Reply, Status> {
    let live = call.live()?;
    let object = call.resource.decode(&live)?;
    Ok(Reply::value(200, &scale_of(call, &live, &object)))
}

pub(super) fn update(call: &Call) -> Result<Reply, Status> {
    let sent = decode_body(&call.request.headers, &call.request.body)?;
    write(call, |_| Ok(sent.clone()))
}

pub(super) fn patch(call: &Call) -> Result<Reply, Status> {
    let content_type = call
        .request
        .headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let kind = PatchKind::from_content_type(content_type.unwrap_or_default())
        .filter(|&kind| kind != PatchKind::Apply)
        .ok_or_else(|| wrong_patch_type(ACCEPTED))?;
    let document = parse(&call.request.body)?;
    write(call, |scale| match kind {
        PatchKind::Json => patch::json(scale, &document),
        PatchKind::Strategic => {
            match Schemas::builtin().kind(&GroupVersionKind::from_api_version(
                "autoscaling/v1",
                "Scale",
            )) {
                Some(schema) => patch::strategic(schema, scale, &document),
                None => patch::merge(scale, &document),
            }
        }
        PatchKind::Merge | PatchKind::Apply => patch::merge(scale, &document),
    })
}

/// Sets the replicas to those of the scale that `change` makes of the current one.
fn write(call: &Call, change: impl Fn(&Value) -> Result<Value, Status>) -> Result<Reply, Status> {
    let write = Write::of(call, "UpdateOptions")?;
    for _ in 0..ATTEMPTS {
        let live = call.live()?;
        let live_value = call.resource.decode(&live)?;
        let scale = change(&scale_of(call, &live, &live_value))?;
        check(call, &live, &scale)?;
        let replicas = integer(&scale, &["spec", "replicas"]).unwrap_or(0);
        let mut new = live_value.clone();
        set(
            &mut new,
            &call.resource.scale.spec_replicas,
            replicas.into(),
        );
        match write.update(&live, &live_value, new, Vec::new()) {
            Ok(written) => {
                let object = call.resource.decode(&written.record)?;
                return Ok(Reply::value(200, &scale_of(call, &written.record, &object)));
            }
            Err(Failure::Refused(status)) => return Err(status),
            Err(Failure::Raced) => {}
        }
    }
    Err(modified(call))
}

fn check(call: &Call, live: &Record, scale: &Value) -> Result<(), Status> {
    check_version(call, live, scale)?;
    if meta_text(scale, "name").is_some_and(|name| name != call.name()) {
        return Err(Status::bad_request(format!(
            "the name of the object ({}) does not match the name on the URL ({})",
            meta_text(scale, "name").unwrap_or_default(),
            call.name()
        )));
    }
    let replicas = field(scale, &["spec", "replicas"]);
    if replicas.is_some_and(|replicas| replicas.as_i64().is_none()) {
        return Err(Status::bad_request("spec.replicas is not an integer"));
    }
    let count = replicas.and_then(Value::as_i64).unwrap_or(0);
    if count < 0 {
        let kind = GroupVersionKind::from_api_version("autoscaling/v1", "Scale");
        let cause = StatusCause {
            reason: "FieldValueInvalid".into(),
            message: format!("Invalid value: {count}: must be greater than or equal to 0"),
            field: "spec.replicas".into(),
        };
        return Err(Status::invalid(&kind, call.name(), vec![cause]));
    }
    Ok(())
}

fn scale_of(call: &Call, live: &Arc<Record>, object: &Value) -> Value {
    let paths = &call.resource.scale;
    let mut metadata = Map::new();
    for name in [
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
    ] {
        if let Some(value) = object["metadata"].get(name) {
            metadata.insert(name.into(), value.clone());
        }
    }
    metadata.insert("resourceVersion".into(), live.revision().to_string().into());
    let mut spec = Map::new();
    // Zero is left out, as its encoding leaves it out everywhere.
    if let Some(replicas) = at(object, &paths.spec_replicas).filter(|replicas| *replicas != 0) {
        spec.insert("replicas".into(), replicas.clone());
    }
    let mut status = json!({"replicas": at(object, &paths.status_replicas).and_then(Value::as_i64).unwrap_or(0)});
    if let Some(selector) = paths
        .selector
        .as_ref()
        .and_then(|path| at(object, path))
        .and_then(selector_text)
    {
        status["selector"] = selector.into();
    }
    json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": spec,
        "status": status,
    })
}

/// Custom resources store the text itself, controllers' specs a selector, and replication
/// controllers a plain map of labels.
fn selector_text(selector: &Value) -> Option<String> {
    match selector {
        Value::String(text) => Some(text.clone()),
        Value::Object(map) if map.values().all(Value::is_string) => {
            let labels = map
                .iter()
                .map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()));
            Some(LabelSelector::from_labels(labels).to_string())
        }
        other => serde_json::from_value::<LabelSelector>(other.clone())
            .ok()
            .map(|selector| selector.to_string()),
    }
}

fn at<'a>(object: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter()
        .try_fold(object, |value, part| value.get(part))
        .filter(|value| !value.is_null())
}

fn set(object: &mut Value, path: &[String], value: Value) {
    let Some((last, parents)) = path.split_last() else {
        return;
    };
    let parent = parents
        .iter()
        .fold(as_map(object), |map, part| entry(map, part));
    parent.insert(last.clone(), value);
}
