//! LIST: consistent pages at one revision.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use evenkeel_meta::Status;
use futures_util::stream;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Call;
use crate::http::{Body, BodyError, ListOptions, Projection, Reply, VersionMatch};
use crate::represent::append_metadata;
use crate::resources::Resource;
use crate::select::Selection;
use crate::server::State;
use crate::storage::{Compacted, Key, Record};
use crate::view::View;

/// How long a request waits for a revision that the store has not reached.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);
const CHUNK: usize = 64 * 1024;

/// A page of a list.
pub(super) struct Page {
    pub(super) revision: u64,
    pub(super) items: Vec<Arc<Record>>,
    continue_token: Option<String>,
    remaining: Option<usize>,
}

/// Where a list goes on.
#[derive(Serialize, Deserialize)]
struct Token {
    #[serde(rename = "v")]
    version: String,
    #[serde(rename = "rv")]
    revision: u64,
    start: String,
}

const TOKEN_VERSION: &str = "meta.k8s.io/v1";

pub(super) async fn list(call: &Call) -> Result<Reply, Status> {
    let options = ListOptions::parse(&call.request.query)?;
    options.check_list(&call.request.query)?;
    let selection = Selection::new(
        &call.resource,
        call.namespace.as_deref(),
        &options.labels,
        &options.fields,
    )?;
    if let Some(version) = options.version {
        wait_for_version(&call.state, version).await?;
    }
    let page = page(call, &options, &selection)?;
    let mut representation = call.representation()?;
    if let Some(printer) = representation.printer() {
        let records: Vec<&Record> = page.items.iter().map(|record| &**record).collect();
        let meta = list_meta(
            page.revision,
            page.continue_token.as_deref(),
            page.remaining,
        );
        let table = printer.table(&records, &meta)?;
        return Ok(Reply::json(200, table));
    }
    Ok(Reply::stream(body(&call.resource, call.projection, page)))
}

/// Waits, for a while, until the store has reached `version`.
pub(super) async fn wait_for_version(state: &State, version: u64) -> Result<(), Status> {
    if state.revisions.current() >= version {
        return Ok(());
    }
    tokio::time::timeout(PATIENCE, state.revisions.reached(version))
        .await
        .map_err(|_| Status::too_large_resource_version(version, state.revisions.current(), 1))
}

/// Reads one page.
pub(super) fn page(
    call: &Call,
    options: &ListOptions,
    selection: &Selection,
) -> Result<Page, Status> {
    let token = options
        .continue_token
        .as_deref()
        .map(parse_token)
        .transpose()?;
    if token.is_some() && options.version.is_some_and(|version| version > 0) {
        return Err(Status::bad_request(
            "specifying resource version is not allowed when using continue",
        ));
    }
    // Any version will do for 0, also a cache's, and caches do not page.
    let any_version = options.version == Some(0) && options.version_match.is_none();
    let limit = options.limit.filter(|_| !any_version).unwrap_or(usize::MAX);
    let at = match (&token, options.version, options.version_match) {
        (Some(token), ..) => Some(token.revision),
        (None, version, Some(VersionMatch::Exact)) => version,
        // A limit without a match rule has always meant the exact version.
        (None, Some(version), None) if version > 0 && options.limit.is_some() => Some(version),
        (None, Some(0), _) => call.hits.stale,
        _ => None,
    };
    let after = token.as_ref().map(|token| token.start.as_str());
    let mut items: Vec<(Key, Arc<Record>)> = Vec::new();
    let mut rest = 0;
    let counts_rest = selection.is_whole_range();
    let revision = call
        .resource
        .shard
        .scan(&selection.range, after, at, |key, record| {
            if !selection.matches(record) {
                return true;
            }
            if items.len() < limit {
                items.push((Arc::clone(key), Arc::clone(record)));
                return true;
            }
            rest += 1;
            // Without selectors the rest is counted, else one more is all there is to know.
            counts_rest
        })
        .map_err(|compacted| too_old(compacted, token.as_ref()))?;
    let continue_token = items
        .last()
        .filter(|_| rest > 0)
        .map(|(key, _)| write_token(revision, key));
    Ok(Page {
        revision,
        items: items.into_iter().map(|(_, record)| record).collect(),
        remaining: (rest > 0 && counts_rest).then_some(rest),
        continue_token,
    })
}

/// The list as it goes on the wire, encoded piece by piece.
pub(super) fn body(resource: &Arc<Resource>, projection: Projection, page: Page) -> Body {
    let metadata = projection == Projection::Metadata;
    let (kind, api_version) = if metadata {
        ("PartialObjectMetadataList".into(), "meta.k8s.io/v1".into())
    } else {
        (resource.list_kind.clone(), resource.api.api_version())
    };
    let list = list_meta(
        page.revision,
        page.continue_token.as_deref(),
        page.remaining,
    );
    let head = format!(
        "{{\"kind\":\"{kind}\",\"apiVersion\":\"{api_version}\",\"metadata\":{list},\"items\":["
    );
    let mut pieces = Pieces {
        resource: Arc::clone(resource),
        metadata,
        items: page.items.into_iter(),
        head: Some(head.into_bytes()),
    };
    let (first, second) = (pieces.next(), pieces.next());
    match (first, second) {
        (Some(Ok(only)), None) => Body::whole(only),
        (first, second) => {
            Body::stream(stream::iter(first.into_iter().chain(second).chain(pieces)))
        }
    }
}

/// A list in pieces: the peak is one piece, not the list.
struct Pieces {
    resource: Arc<Resource>,
    metadata: bool,
    items: std::vec::IntoIter<Arc<Record>>,
    /// What the next piece begins with; `None` behind the last one.
    head: Option<Vec<u8>>,
}

impl Iterator for Pieces {
    type Item = Result<Bytes, BodyError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut out = self.head.take()?;
        while let Some(record) = self.items.next() {
            // Stored objects are JSON: one that cannot be encoded again ends the list.
            if self.append(&mut out, &record).is_err() {
                return Some(Err(BodyError));
            }
            if !self.items.as_slice().is_empty() {
                out.push(b',');
                if out.len() >= CHUNK {
                    self.head = Some(Vec::with_capacity(CHUNK));
                    return Some(Ok(out.into()));
                }
            }
        }
        out.extend_from_slice(b"]}\n");
        Some(Ok(out.into()))
    }
}

impl Pieces {
    fn append(&self, out: &mut Vec<u8>, record: &Record) -> Result<(), Status> {
        if self.metadata {
            append_metadata(out, record);
        } else if self.resource.view == View::Own {
            // The type is named once, for the list.
            out.push(b'{');
            out.extend_from_slice(record.untyped_tail());
        } else {
            self.resource.append(out, record)?;
        }
        Ok(())
    }
}

/// A list's own metadata.
pub(crate) fn list_meta(
    revision: u64,
    continue_token: Option<&str>,
    remaining: Option<usize>,
) -> serde_json::Value {
    let mut meta = json!({"resourceVersion": revision.to_string()});
    if let Some(token) = continue_token {
        meta["continue"] = token.into();
    }
    if let Some(remaining) = remaining {
        meta["remainingItemCount"] = remaining.into();
    }
    meta
}

fn write_token(revision: u64, last: &str) -> String {
    let token = json!({"v": TOKEN_VERSION, "rv": revision, "start": last});
    URL_SAFE_NO_PAD.encode(token.to_string())
}

fn parse_token(text: &str) -> Result<Token, Status> {
    let json = URL_SAFE_NO_PAD.decode(text).map_err(|_| bad_token())?;
    let token: Token = serde_json::from_slice(&json).map_err(|_| bad_token())?;
    if token.version != TOKEN_VERSION {
        return Err(bad_token());
    }
    Ok(token)
}

fn bad_token() -> Status {
    Status::bad_request("continue key is not valid")
}

fn too_old(compacted: Compacted, token: Option<&Token>) -> Status {
    Status::expired(match token {
        None => "The resourceVersion for the provided list is too old.".to_owned(),
        Some(_) => format!(
            "The provided continue parameter is too old to display a consistent list result: {compacted}"
        ),
    })
}
