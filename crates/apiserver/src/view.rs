//! Objects that are served under more than one type, over one storage.

use bytes::Bytes;
use evenkeel_meta::Status;
use serde_json::{Map, Value};

use crate::object::as_map;
use crate::resources::Resource;
use crate::select::field_values;
use crate::storage::{Draft, Record};

/// How a resource's objects differ from what is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    /// Not at all.
    Own,
    /// In their type only: the versions of a custom resource.
    Retyped,
    /// `events.k8s.io` Events, which are stored as core Events.
    NewEvents,
}

/// What the fields of core Events are called in `events.k8s.io`.
const EVENT_FIELDS: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
];

impl Resource {
    /// A stored object as this resource serves it.
    pub(crate) fn decode(&self, record: &Record) -> Result<Value, Status> {
        let mut object = record.decode().map_err(Status::internal)?;
        if self.view != View::Own {
            let api_version = self.api.api_version().into_owned();
            as_map(&mut object).insert("apiVersion".into(), api_version.into());
        }
        if self.view == View::NewEvents {
            rename(as_map(&mut object), |(core, new)| (core, new));
        }
        Ok(object)
    }

    /// An object of this resource as it is stored.
    pub(crate) fn encode(&self, object: &Value) -> Result<Draft, Status> {
        let draft = match self.view {
            View::Own => Draft::encode(object, None, field_values(self, object)),
            // No version is the one that it is stored in: each is put back on the way out.
            View::Retyped => {
                Draft::encode(object, Some(&self.api.group), field_values(self, object))
            }
            View::NewEvents => {
                let mut stored = object.clone();
                rename(as_map(&mut stored), |(core, new)| (new, core));
                Draft::encode(&stored, Some("v1"), field_values(self, &stored))
            }
        };
        draft.map_err(Status::internal)
    }

    /// Appends an object as JSON.
    pub(crate) fn append(&self, out: &mut Vec<u8>, record: &Record) -> Result<(), Status> {
        match self.view {
            View::Own => out.extend_from_slice(record.data()),
            View::Retyped => {
                out.extend_from_slice(self.head.as_bytes());
                out.extend_from_slice(record.untyped_tail());
            }
            View::NewEvents => {
                serde_json::to_writer(out, &self.decode(record)?).map_err(Status::internal)?;
            }
        }
        Ok(())
    }

    /// An object as JSON.
    pub(crate) fn json(&self, record: &Record) -> Result<Bytes, Status> {
        if self.view == View::Own {
            return Ok(record.data().clone());
        }
        let mut out = Vec::with_capacity(record.data().len() + 32);
        self.append(&mut out, record)?;
        Ok(out.into())
    }
}

fn rename(
    fields: &mut Map<String, Value>,
    direction: impl Fn((&'static str, &'static str)) -> (&'static str, &'static str),
) {
    for pair in EVENT_FIELDS {
        let (from, to) = direction(pair);
        if let Some(value) = fields.remove(from) {
            fields.insert(to.to_owned(), value);
        }
    }
}
