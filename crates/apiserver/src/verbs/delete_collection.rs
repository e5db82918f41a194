//! DELETE of a collection.

use std::sync::Arc;

use evenkeel_meta::Status;

use super::Call;
use super::delete::{delete_one, options};
use super::list::{body, page};
use crate::http::{ListOptions, Reply};
use crate::select::Selection;
use crate::storage::object_key;

pub(super) fn delete_collection(call: &Call) -> Result<Reply, Status> {
    let (options, dry_run) = options(&call.request)?;
    let list = ListOptions::parse(&call.request.query)?;
    let selection = Selection::new(
        &call.resource,
        call.namespace.as_deref(),
        &list.labels,
        &list.fields,
    )?;
    let page = page(call, &list, &selection)?;
    for record in &page.items {
        let meta = record.meta();
        let key = object_key(meta.namespace.as_deref(), &meta.name);
        match delete_one(call, &key, &options, dry_run) {
            Err(status) if !status.is_not_found() => return Err(status),
            // Gone already is what was asked for.
            _ => {}
        }
    }
    let resource = Arc::clone(&call.resource);
    // The items as they were read.
    Ok(Reply::stream(body(&resource, call.projection, page)))
}
