//! Tables: objects as rows for people.

use bytes::Bytes;
use evenkeel_meta::Status;

use crate::http::Query;
use crate::resources::Resource;
use crate::storage::Record;

/// Prints records of one resource.
#[derive(Debug)]
pub(crate) struct Printer;

impl Printer {
    pub(crate) fn new(
        _resource: &Resource,
        _version: &'static str,
        _query: &Query,
    ) -> Result<Self, Status> {
        Ok(Self)
    }

    pub(crate) fn table(
        &mut self,
        _records: &[&Record],
        _revision: Option<u64>,
    ) -> Result<Bytes, Status> {
        Err(Status::internal("no tables yet"))
    }

    pub(crate) fn list(
        &mut self,
        _records: &[&Record],
        _revision: u64,
        _continue_token: Option<&str>,
        _remaining: Option<usize>,
    ) -> Result<Bytes, Status> {
        Err(Status::internal("no tables yet"))
    }
}
