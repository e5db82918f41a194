//! What creates, updates, patches and deletions share: from a value to a stored record.

use std::sync::Arc;

use evenkeel_meta::{Meta, Reason, Status};
use serde_json::{Map, Value};

use super::Call;
use crate::crd;
use crate::events;
use crate::fields::{self, Author};
use crate::http::is_json;
use crate::namespaces;
use crate::object::{as_map, metadata_mut};
use crate::objectmeta;
use crate::storage::{Draft, Raced, Record};
use crate::strategy;
use crate::validation::FieldValidation;

/// How often a write without a resource version is tried again when others get in between.
pub(super) const ATTEMPTS: usize = 64;
/// How often another name is generated when one is taken.
const NAMES: usize = 8;

/// Why a write was not stored.
pub(super) enum Failure {
    /// The object changed in between: read it again.
    Raced,
    Refused(Status),
}

impl From<Raced> for Failure {
    fn from(Raced: Raced) -> Self {
        Self::Raced
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Self::Refused(status)
    }
}

/// A stored write, or what a dry run would have stored.
pub(super) struct Written {
    pub(super) record: Arc<Record>,
    pub(super) warnings: Vec<String>,
}

/// Settings that every write of a call has in common.
pub(super) struct Write<'a> {
    call: &'a Call,
    pub(super) author: Author,
    pub(super) dry_run: bool,
    pub(super) mode: FieldValidation,
    /// Owners' duplicates are reported in other words after a patch.
    pub(super) is_patch: bool,
    /// Apply has its own way of recording managers.
    pub(super) tracks: bool,
}

impl<'a> Write<'a> {
    /// `options_kind` is the kind of the options in the query, for the answer to bad ones.
    pub(super) fn of(call: &'a Call, options_kind: &str) -> Result<Self, Status> {
        Ok(Self {
            mode: fields::mode(&call.request.query, options_kind)?,
            call,
            author: Author {
                manager: call.request.field_manager(options_kind)?,
                subresource: call.subresource,
                now: call.state.clock.now(),
            },
            dry_run: call.request.dry_run(options_kind)?,
            is_patch: false,
            tracks: true,
        })
    }

    /// Checks what a client sent as a whole object, and makes it one of this call's type
    /// and place.
    pub(super) fn admit(&self, mut object: Value) -> Result<(Value, Vec<String>), Status> {
        if !object.is_object() {
            return Err(Status::bad_request("the object provided is not an object"));
        }
        check_type(self.call, &mut object)?;
        let request = &self.call.request;
        let body: &[u8] = if is_json(&request.headers) {
            &request.body
        } else {
            &[]
        };
        let warnings = fields::decode(&self.call.resource, &mut object, body, self.mode)?;
        place(self.call, metadata_mut(&mut object))?;
        Ok((object, warnings))
    }

    /// Checks what a client applies: a part of an object, of this call's type and place.
    pub(super) fn admit_configuration(&self, mut config: Value) -> Result<Value, Status> {
        if !config.is_object() {
            return Err(Status::bad_request("the object provided is not an object"));
        }
        place(self.call, metadata_mut(&mut config))?;
        Ok(config)
    }

    /// Stores a new object. The namespace in the path and the name must be in it already,
    /// or a base to generate the name from.
    pub(super) fn create(
        &self,
        mut object: Value,
        mut warnings: Vec<String>,
    ) -> Result<Written, Status> {
        let call = self.call;
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        if let Some(namespace) = &call.namespace {
            namespaces::admit(&call.state, &call.resource, namespace, name)?;
        }
        if call.resource.custom {
            crd::refuse_if_terminating(&call.state, &call.resource, name)?;
        }
        // One that is no number is as good as none.
        let version = text(&object, "resourceVersion").and_then(|text| text.parse::<u64>().ok());
        if version.is_some_and(|version| version != 0) {
            return Err(Status::failure(
                500,
                Reason::Unknown,
                "resourceVersion should not be set on objects to be created",
            ));
        }
        let generated = text(&object, "name").is_none();
        if generated && let Some(base) = text(&object, "generateName") {
            let name = self.unused_name(base)?;
            metadata_mut(&mut object).insert("name".into(), name.into());
        }
        let draft = self.prepare_new(&mut object, &mut warnings)?;
        let name = draft.meta().name.clone();
        let key = call.key_of(&name);
        if self.dry_run {
            if call.resource.shard.get(&key).is_some() {
                return Err(Status::already_exists(&call.group_resource(), &name));
            }
            return Ok(written(draft.seal_unstored(), warnings));
        }
        let Ok(record) = call.resource.shard.put(&key, None, draft) else {
            return Err(if generated {
                self.no_unused_name(&name)
            } else {
                Status::already_exists(&call.group_resource(), &name)
            });
        };
        if is_definition(call) {
            crd::changed(&call.state, &object);
        }
        if call.resource.rules.never_collected {
            events::expire(&call.state, &call.resource.shard);
        }
        Ok(Written { record, warnings })
    }

    /// A name that nothing has yet. Who takes it in between wins: the odds are one in
    /// millions, and the answer tells the client to try again.
    fn unused_name(&self, base: &str) -> Result<String, Status> {
        let mut name = String::new();
        for _ in 0..NAMES {
            name = self.call.state.random.name(base);
            let key = self.call.key_of(&name);
            if self.call.resource.shard.get(&key).is_none() {
                return Ok(name);
            }
        }
        Err(self.no_unused_name(&name))
    }

    fn no_unused_name(&self, name: &str) -> Status {
        let mut status = Status::already_exists(&self.call.group_resource(), name);
        status.message += ", the server was not able to generate a unique name for the object";
        status
    }

    fn prepare_new(&self, new: &mut Value, warnings: &mut Vec<String>) -> Result<Draft, Status> {
        let call = self.call;
        let resource = &call.resource;
        fields::default(resource, new);
        let metadata = metadata_mut(new);
        let counts_generation = resource.rules.counts_generation;
        objectmeta::begin(
            metadata,
            call.state.random.uid(),
            self.author.now,
            counts_generation,
        );
        warnings.extend(objectmeta::drop_duplicate_owners(metadata, self.is_patch));
        // What the server adds from here on is nobody's.
        if self.tracks {
            fields::track(resource, None, new, &self.author);
        }
        strategy::prepare_create(&call.state, resource, new);
        check(call, new, None)?;
        resource.encode(new)
    }

    /// Stores `new` over `live`, or removes the object when nothing holds it any more.
    pub(super) fn update(
        &self,
        live: &Arc<Record>,
        live_value: &Value,
        mut new: Value,
        mut warnings: Vec<String>,
    ) -> Result<Written, Failure> {
        let call = self.call;
        let resource = &call.resource;
        let empty = Map::new();
        let live_meta = live_value
            .get("metadata")
            .and_then(Value::as_object)
            .unwrap_or(&empty);
        objectmeta::carry_over(metadata_mut(&mut new), live_meta);
        fields::default(resource, &mut new);
        warnings.extend(objectmeta::drop_duplicate_owners(
            metadata_mut(&mut new),
            self.is_patch,
        ));
        if self.tracks {
            fields::track(resource, Some(live_value), &mut new, &self.author);
        }
        strategy::prepare_update(
            &call.state,
            resource,
            call.subresource,
            live_value,
            &mut new,
        );
        check(call, &new, Some(live_value))?;
        fields::settle_times(live_value, &mut new);
        let draft = resource.encode(&new)?;
        if self.dry_run {
            return Ok(written(draft.seal(live.revision()), warnings));
        }
        let key = call.key();
        if nothing_holds(draft.meta(), live.meta(), call, &new) {
            // Watchers see the last stored state, the writer what it made of it.
            resource.shard.remove(&key, live.revision())?;
            let record = Arc::new(draft.seal(live.revision()));
            if resource.custom {
                crd::finish_if_empty(&call.state, &resource.api.group, &resource.api.plural)?;
            }
            return Ok(Written { record, warnings });
        }
        if draft.same_as(live) {
            return Ok(Written {
                record: Arc::clone(live),
                warnings,
            });
        }
        let record = resource.shard.put(&key, Some(live.revision()), draft)?;
        if is_definition(call) {
            crd::changed(&call.state, &new);
        }
        Ok(Written { record, warnings })
    }
}

fn is_definition(call: &Call) -> bool {
    call.resource.is(crd::GROUP, crd::PLURAL)
}

/// Whether this update completes a deletion.
fn nothing_holds(new: &Meta, live: &Meta, call: &Call, object: &Value) -> bool {
    new.finalizers.is_empty()
        && live.deletion_timestamp.is_some()
        && live.deletion_grace_period_seconds.unwrap_or(0) == 0
        && (!call.resource.is("", "namespaces") || namespaces::is_finalized(object))
}

/// Refuses an object that breaks a rule of its metadata or of its type.
fn check(call: &Call, new: &Value, live: Option<&Value>) -> Result<(), Status> {
    let empty = Map::new();
    let metadata = new
        .get("metadata")
        .and_then(Value::as_object)
        .unwrap_or(&empty);
    let live_metadata = live.map(|live| {
        live.get("metadata")
            .and_then(Value::as_object)
            .unwrap_or(&empty)
    });
    let mut causes = objectmeta::causes(metadata, live_metadata);
    causes.extend(fields::causes(&call.resource, new, live));
    if is_definition(call) {
        causes.extend(crd::causes(new));
    }
    if causes.is_empty() {
        return Ok(());
    }
    Err(Status::invalid(
        &call.resource.gvk(),
        text(new, "name").unwrap_or_default(),
        causes,
    ))
}

fn written(record: Record, warnings: Vec<String>) -> Written {
    Written {
        record: Arc::new(record),
        warnings,
    }
}

/// The object must be of the type that its path says; a missing type is filled in.
fn check_type(call: &Call, object: &mut Value) -> Result<(), Status> {
    let api = &call.resource.api;
    let expected = [
        ("apiVersion", api.api_version()),
        ("kind", api.kind.clone()),
    ];
    for (name, expected) in expected {
        let fields = as_map(object);
        let sent = fields.get(name).and_then(Value::as_str).unwrap_or_default();
        if sent.is_empty() {
            if call.resource.custom {
                return Err(missing_type(call, object));
            }
            fields.insert(name.to_owned(), expected.into_owned().into());
        } else if sent != expected {
            return Err(Status::bad_request(format!(
                "the {} in the data ({sent}) does not match the expected {} ({expected})",
                if name == "kind" {
                    "kind"
                } else {
                    "API version"
                },
                if name == "kind" {
                    "kind"
                } else {
                    "API version"
                },
            )));
        }
    }
    Ok(())
}

fn missing_type(call: &Call, object: &Value) -> Status {
    let missing = if crate::object::text(object, &["kind"]).is_none_or(str::is_empty) {
        "Kind"
    } else {
        "apiVersion"
    };
    let body = String::from_utf8_lossy(&call.request.body);
    Status::bad_request(format!(
        "the object provided is unrecognized (must be of type {}): Object '{missing}' is missing in '{body}' ({body})",
        call.resource.api.kind
    ))
}

/// The namespace and name must be those of the path; missing ones are filled in.
pub(super) fn place(call: &Call, metadata: &mut Map<String, Value>) -> Result<(), Status> {
    let sent = |metadata: &Map<String, Value>, name: &str| {
        let text = metadata
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default();
        text.to_owned()
    };
    let namespace = sent(metadata, "namespace");
    match &call.namespace {
        Some(expected) if !namespace.is_empty() && namespace != *expected => {
            return Err(Status::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        Some(expected) => metadata.insert("namespace".into(), expected.as_str().into()),
        None => metadata.remove("namespace"),
    };
    let name = sent(metadata, "name");
    match &call.name {
        Some(expected) if !name.is_empty() && name != *expected => {
            Err(Status::bad_request(format!(
                "the name of the object ({name}) does not match the name on the URL ({expected})"
            )))
        }
        Some(expected) => {
            metadata.insert("name".into(), expected.as_str().into());
            Ok(())
        }
        None => Ok(()),
    }
}

fn text<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    crate::object::meta_text(object, name)
}

pub(super) fn wrong_patch_type(accepted: &str) -> Status {
    let message = format!(
        "the body of the request was in an unknown format - accepted media types include: {accepted}"
    );
    Status::failure(415, Reason::UnsupportedMediaType, message)
}
