//! GET of one object.

use std::sync::Arc;

use evenkeel_meta::Status;

use super::Call;
use super::list::wait_for_version;
use crate::http::{ListOptions, Reply};
use crate::storage::{KeyRange, Record};

pub(super) async fn get(call: &Call) -> Result<Reply, Status> {
    let options = ListOptions::parse(&call.request.query)?;
    if let Some(version) = options.version {
        wait_for_version(&call.state, version).await?;
    }
    let stale = call.hits.stale.filter(|_| options.version == Some(0));
    let record = match stale {
        Some(revision) => as_of(call, revision)?,
        None => call.live()?,
    };
    call.reply(200, &record)
}

/// The object as a replica that lags behind knows it.
fn as_of(call: &Call, revision: u64) -> Result<Arc<Record>, Status> {
    let mut found = None;
    call.resource
        .shard
        .scan(
            &KeyRange::One(call.key()),
            None,
            Some(revision),
            |_, record| {
                found = Some(Arc::clone(record));
                false
            },
        )
        .map_err(|compacted| Status::expired(compacted.to_string()))?;
    found.ok_or_else(|| call.not_found())
}
