//! PUT of an object or of its status.

use std::sync::Arc;

use evenkeel_meta::{Status, StatusCause};
use serde_json::Value;

use super::Call;
use super::write::{ATTEMPTS, Failure, Write, Written};
use crate::http::{Reply, decode_body};
use crate::object::meta_text;
use crate::storage::Record;

pub(super) fn update(call: &Call) -> Result<Reply, Status> {
    let write = Write::of(call, "UpdateOptions")?;
    let (object, warnings) =
        write.admit(decode_body(&call.request.headers, &call.request.body)?)?;
    let versioned = meta_text(&object, "resourceVersion").is_some_and(|version| version != "0");
    if !versioned
        && !call.resource.rules.unconditional_update
        && call.resource.shard.get(&call.key()).is_some()
    {
        return Err(version_required(call));
    }
    for _ in 0..ATTEMPTS {
        let Some(live) = call.resource.shard.get(&call.key()) else {
            if !call.resource.rules.create_on_update || call.subresource.is_some() || versioned {
                return Err(call.not_found());
            }
            let written = write.create(object, warnings)?;
            return Ok(call.reply(201, &written.record)?.warn(written.warnings));
        };
        match replace(call, &write, &live, object.clone(), warnings.clone()) {
            Ok(written) => return Ok(call.reply(200, &written.record)?.warn(written.warnings)),
            Err(Failure::Refused(status)) => return Err(status),
            Err(Failure::Raced) if versioned => return Err(modified(call)),
            Err(Failure::Raced) => {}
        }
    }
    Err(modified(call))
}

fn replace(
    call: &Call,
    write: &Write<'_>,
    live: &Arc<Record>,
    new: Value,
    warnings: Vec<String>,
) -> Result<Written, Failure> {
    check_version(call, live, &new)?;
    if let Some(uid) = meta_text(&new, "uid")
        && live
            .meta()
            .uid
            .as_ref()
            .is_none_or(|live| live.as_str() != uid)
    {
        let found = live.meta().uid.as_ref().map_or("", |uid| uid.as_str());
        return Err(wrong_uid(call, uid, found).into());
    }
    let live_value = call.resource.decode(live)?;
    write.update(live, &live_value, new, warnings)
}

/// A resource version that the client names must be the current one.
pub(super) fn check_version(call: &Call, live: &Record, new: &Value) -> Result<(), Status> {
    match meta_text(new, "resourceVersion") {
        Some(version) if version != "0" && version.parse() != Ok(live.revision()) => {
            Err(modified(call))
        }
        _ => Ok(()),
    }
}

pub(super) fn modified(call: &Call) -> Status {
    Status::conflict(
        &call.group_resource(),
        call.name(),
        "the object has been modified; please apply your changes to the latest version and try again",
    )
}

fn wrong_uid(call: &Call, asked: &str, found: &str) -> Status {
    let mut path = String::from("/registry/");
    if !call.resource.api.group.is_empty() {
        path += &call.resource.api.group;
        path.push('/');
    }
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {path}{}/{}, ResourceVersion: 0, AdditionalErrorMsg: \
         Precondition failed: UID in precondition: {asked}, UID in object meta: {found}",
        call.resource.api.plural,
        call.key()
    );
    Status::conflict(&call.group_resource(), call.name(), why)
}

/// The answer names the resource where others name the kind.
fn version_required(call: &Call) -> Status {
    let cause = StatusCause {
        reason: "FieldValueInvalid".into(),
        message: "Invalid value: 0: must be specified for an update".into(),
        field: "metadata.resourceVersion".into(),
    };
    let mut kind = call.resource.gvk();
    kind.kind = call.resource.api.plural.clone();
    Status::invalid(&kind, call.name(), vec![cause])
}
