//! PATCH: the four kinds, tried again when others write in between.

use std::sync::Arc;

use evenkeel_meta::{GroupVersionKind, PatchKind, Status, StatusCause};
use http::header::CONTENT_TYPE;
use serde_json::Value;

use super::Call;
use super::update::{check_version, modified};
use super::write::{ATTEMPTS, Failure, Write, Written, place, wrong_patch_type};
use crate::fields;
use crate::http::{Reply, json, unsupported, yaml};
use crate::object::{as_map, meta_text, metadata_mut};
use crate::storage::Record;

const JSON_MERGE_APPLY: &str =
    "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";

pub(super) fn patch(call: &Call) -> Result<Reply, Status> {
    let kind = patch_kind(call)?;
    let mut write = Write::of(call, "PatchOptions")?;
    write.is_patch = true;
    if kind == PatchKind::Apply {
        write.tracks = false;
        return apply(call, &write);
    }
    let patch = json(&call.request.body)?;
    // A patch that names a version or a UID is about that one state.
    let pinned = kind != PatchKind::Json && meta_text(&patch, "resourceVersion").is_some();
    for _ in 0..ATTEMPTS {
        let live = call.live()?;
        match change(call, &write, kind, &live, &patch) {
            Ok(written) => return Ok(call.reply(200, &written.record)?.warn(written.warnings)),
            Err(Failure::Refused(status)) => return Err(status),
            Err(Failure::Raced) if pinned => return Err(modified(call)),
            Err(Failure::Raced) => {}
        }
    }
    Err(modified(call))
}

fn patch_kind(call: &Call) -> Result<PatchKind, Status> {
    let content_type = call
        .request
        .headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    match PatchKind::from_content_type(content_type.unwrap_or_default()) {
        Some(PatchKind::Strategic) if call.resource.custom => {
            Err(wrong_patch_type(JSON_MERGE_APPLY))
        }
        Some(kind) => Ok(kind),
        None => Err(unsupported("415: Unsupported Media Type")),
    }
}

fn change(
    call: &Call,
    write: &Write<'_>,
    kind: PatchKind,
    live: &Arc<Record>,
    patch: &Value,
) -> Result<Written, Failure> {
    let live_value = call.resource.decode(live)?;
    let (mut new, warnings) =
        fields::patched(&call.resource, kind, &live_value, patch, write.mode)?;
    check_version(call, live, &new)?;
    keep_type(&live_value, &mut new)?;
    place(call, metadata_mut(&mut new))?;
    write.update(live, &live_value, new, warnings)
}

/// A patch may not turn an object into one of another type.
fn keep_type(live: &Value, new: &mut Value) -> Result<(), Status> {
    for name in ["apiVersion", "kind"] {
        let expected = live.get(name).cloned().unwrap_or_default();
        match as_map(new).get(name) {
            Some(found) if *found != expected => {
                return Err(Status::bad_request(format!(
                    "the {name} in the data ({}) does not match the expected {name} ({})",
                    found.as_str().unwrap_or_default(),
                    expected.as_str().unwrap_or_default()
                )));
            }
            Some(_) => {}
            None => {
                as_map(new).insert(name.to_owned(), expected);
            }
        }
    }
    Ok(())
}

fn apply(call: &Call, write: &Write<'_>) -> Result<Reply, Status> {
    let Some(_) = call.request.query.text("fieldManager") else {
        let kind = GroupVersionKind::from_api_version("meta.k8s.io/v1", "PatchOptions");
        let cause = StatusCause {
            reason: "FieldValueRequired".into(),
            message: "Required value: is required for apply patch".into(),
            field: "fieldManager".into(),
        };
        return Err(Status::invalid(&kind, "", vec![cause]));
    };
    let force = call.request.query.flag("force").unwrap_or(false);
    let config = write.admit_configuration(yaml(&call.request.body)?)?;
    for _ in 0..ATTEMPTS {
        let Some(live) = call.resource.shard.get(&call.key()) else {
            if call.subresource.is_some() {
                return Err(call.not_found());
            }
            if let Some(uid) = meta_text(&config, "uid") {
                return Err(no_such_uid(call, uid));
            }
            let mut new = fields::applied(&call.resource, None, &config, &write.author, force)?;
            metadata_mut(&mut new).remove("resourceVersion");
            let written = write.create(new, Vec::new())?;
            return Ok(call.reply(201, &written.record)?.warn(written.warnings));
        };
        match apply_over(call, write, &live, &config, force) {
            Ok(written) => return Ok(call.reply(200, &written.record)?.warn(written.warnings)),
            Err(Failure::Refused(status)) => return Err(status),
            Err(Failure::Raced) => {}
        }
    }
    Err(modified(call))
}

fn no_such_uid(call: &Call, uid: &str) -> Status {
    let why = format!(
        "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
    );
    Status::conflict(&call.group_resource(), call.name(), why)
}

fn apply_over(
    call: &Call,
    write: &Write<'_>,
    live: &Arc<Record>,
    config: &Value,
    force: bool,
) -> Result<Written, Failure> {
    check_version(call, live, config)?;
    let live_value = call.resource.decode(live)?;
    let new = fields::applied(
        &call.resource,
        Some(&live_value),
        config,
        &write.author,
        force,
    )?;
    write.update(live, &live_value, new, Vec::new())
}
