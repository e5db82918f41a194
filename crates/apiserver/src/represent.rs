//! Stored objects in the shape that a client asked for.

use std::sync::Arc;

use bytes::Bytes;
use evenkeel_meta::Status;

use crate::clock::Clock;
use crate::http::{Projection, Query};
use crate::resources::Resource;
use crate::storage::Record;
use crate::table::Printer;

const METADATA_HEAD: &[u8] =
    br#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":"#;

/// Turns records into what goes on the wire for one request.
#[derive(Debug)]
pub(crate) struct Representation {
    resource: Arc<Resource>,
    pub(crate) projection: Projection,
    printer: Option<Printer>,
}

impl Representation {
    pub(crate) fn new(
        resource: &Arc<Resource>,
        projection: Projection,
        query: &Query,
        clock: Clock,
    ) -> Result<Self, Status> {
        let printer = match projection {
            Projection::Table { version } => Some(Printer::new(resource, version, query, clock)?),
            Projection::Object | Projection::Metadata => None,
        };
        Ok(Self {
            resource: Arc::clone(resource),
            projection,
            printer,
        })
    }

    /// One object, as a GET or a write answers it.
    pub(crate) fn object(&mut self, record: &Record) -> Result<Bytes, Status> {
        if let Some(printer) = &mut self.printer {
            return printer.one(record);
        }
        match self.projection {
            Projection::Metadata => Ok(metadata_only(record)),
            _ => self.resource.json(record),
        }
    }

    /// Appends the object of a watch event.
    pub(crate) fn append_event(
        &mut self,
        out: &mut Vec<u8>,
        record: &Record,
    ) -> Result<(), Status> {
        if let Some(printer) = &mut self.printer {
            out.extend_from_slice(&printer.one(record)?);
        } else if self.projection == Projection::Metadata {
            append_metadata(out, record);
        } else {
            self.resource.append(out, record)?;
        }
        Ok(())
    }

    pub(crate) fn printer(&mut self) -> Option<&mut Printer> {
        self.printer.as_mut()
    }
}

/// The object as `PartialObjectMetadata`: its metadata is already encoded.
pub(crate) fn metadata_only(record: &Record) -> Bytes {
    let mut out = Vec::with_capacity(METADATA_HEAD.len() + record.metadata_json().len() + 1);
    append_metadata(&mut out, record);
    out.into()
}

pub(crate) fn append_metadata(out: &mut Vec<u8>, record: &Record) {
    out.extend_from_slice(METADATA_HEAD);
    out.extend_from_slice(record.metadata_json());
    out.push(b'}');
}
