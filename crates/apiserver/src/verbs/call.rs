//! One request on a resource.

use std::sync::Arc;

use bytes::Bytes;
use evenkeel_meta::{GroupResource, Status};

use crate::faults::Hits;
use crate::http::{Projection, Reply, Request};
use crate::represent::Representation;
use crate::resources::{Resource, Subresource};
use crate::server::State;
use crate::storage::{Key, Record, object_key};

/// A request whose path was resolved.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) state: Arc<State>,
    pub(crate) resource: Arc<Resource>,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<Subresource>,
    pub(crate) request: Request,
    pub(crate) projection: Projection,
    pub(crate) hits: Hits,
}

impl Call {
    /// The name in the path. Only calls on one object ask for it.
    pub(crate) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    pub(crate) fn key(&self) -> Key {
        self.key_of(self.name())
    }

    pub(crate) fn key_of(&self, name: &str) -> Key {
        object_key(self.namespace.as_deref(), name)
    }

    pub(crate) fn group_resource(&self) -> GroupResource {
        self.resource.group_resource()
    }

    pub(crate) fn not_found(&self) -> Status {
        Status::not_found(&self.group_resource(), self.name())
    }

    /// The stored object, or 404.
    pub(crate) fn live(&self) -> Result<Arc<Record>, Status> {
        self.resource
            .shard
            .get(&self.key())
            .ok_or_else(|| self.not_found())
    }

    pub(crate) fn representation(&self) -> Result<Representation, Status> {
        let query = &self.request.query;
        Representation::new(&self.resource, self.projection, query, self.state.clock)
    }

    /// The object in the shape that was asked for.
    pub(crate) fn render(&self, record: &Record) -> Result<Bytes, Status> {
        self.representation()?.object(record)
    }

    pub(crate) fn reply(&self, code: u16, record: &Record) -> Result<Reply, Status> {
        Ok(Reply::json(code, self.render(record)?))
    }
}
