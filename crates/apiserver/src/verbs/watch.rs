//! WATCH: the changes behind a revision, read from the shared window by cursor.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use evenkeel_meta::Status;
use futures_util::stream;
use serde_json::json;
use tokio::time::Instant;

use super::Call;
use super::list::wait_for_version;
use crate::http::{Body, BodyError, ListOptions, Projection, Reply, WatchOptions, status_json};
use crate::object::as_map;
use crate::represent::Representation;
use crate::select::Selection;
use crate::storage::{Change, ChangeKind, Compacted, Record};

/// Changes read from the window at once.
const BATCH: usize = 256;
/// Bytes after which a piece is sent.
const CHUNK: usize = 64 * 1024;
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// How long before the time-out the last bookmark comes.
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);
/// The server's own bounds when the client names no time-out.
const SHORTEST: Duration = Duration::from_secs(1800);

/// One open watch. It holds no queue: what it has not sent yet is in the shared window.
struct Watch {
    call: Call,
    selection: Selection,
    representation: Representation,
    options: WatchOptions,
    /// Everything up to this revision was sent.
    cursor: u64,
    /// The state at the start, still to be sent.
    initial: VecDeque<Arc<Record>>,
    /// The marker behind the initial state is still to be sent.
    marker_due: bool,
    next_bookmark: Instant,
    deadline: Instant,
    cuts: u64,
    ended: bool,
}

pub(super) async fn watch(call: Call) -> Result<Reply, Status> {
    let list = ListOptions::parse(&call.request.query)?;
    let options = WatchOptions::parse(&call.request.query, &list)?;
    let selection = Selection::new(
        &call.resource,
        call.namespace.as_deref(),
        &list.labels,
        &list.fields,
    )?;
    let representation = call.representation()?;
    let wants_initial = options.initial_events == Some(true);
    let version = list.version.unwrap_or(0);
    // A watch-list waits for its revision as a list does, and reports in the stream. A plain
    // watch from the future is silent until that future is there.
    if wants_initial && let Err(status) = wait_for_version(&call.state, version).await {
        return Ok(Reply::stream(Body::whole(error_event(&status))));
    }
    let synthetic = wants_initial || (version == 0 && options.initial_events.is_none());
    let now = Instant::now();
    let (cursor, initial) = if synthetic {
        let mut initial = VecDeque::new();
        let revision = call
            .resource
            .shard
            .scan(&selection.range, None, None, |_, record| {
                if selection.matches(record) {
                    initial.push_back(Arc::clone(record));
                }
                true
            });
        (revision.unwrap_or(version), initial)
    } else if version == 0 {
        (call.state.revisions.current(), VecDeque::new())
    } else {
        if let Err(compacted) = call.resource.shard.check(version) {
            return Ok(Reply::stream(Body::whole(error_event(&expired(compacted)))));
        }
        (version, VecDeque::new())
    };
    let spread = call.state.random.below(SHORTEST);
    let deadline = now + list.timeout.unwrap_or(SHORTEST + spread);
    let watch = Watch {
        deadline,
        next_bookmark: next_bookmark(now, deadline),
        cuts: call.state.faults.cuts(),
        marker_due: wants_initial && options.bookmarks,
        ended: false,
        call,
        selection,
        representation,
        options,
        cursor,
        initial,
    };
    Ok(Reply::stream(Body::endless(stream::unfold(
        watch,
        |mut watch| async move {
            let piece = watch.next().await?;
            Some((piece, watch))
        },
    ))))
}

impl Watch {
    /// The next piece of the stream, `None` at its end.
    async fn next(&mut self) -> Option<Result<Bytes, BodyError>> {
        if self.ended {
            return None;
        }
        if self.call.hits.silent_watch {
            return self.stay_silent().await;
        }
        let mut out = Vec::new();
        loop {
            let state = Arc::clone(&self.call.state);
            let resource = Arc::clone(&self.call.resource);
            let changed = resource.shard.changed();
            tokio::pin!(changed);
            // Enabled before the window is read, or a change between the two is missed.
            changed.as_mut().enable();
            if let Err(status) = self.advance(&mut out) {
                out.extend_from_slice(&error_event(&status));
                self.ended = true;
            }
            if !out.is_empty() {
                return Some(Ok(out.into()));
            }
            if self.ended || resource.shard.is_retired() {
                return None;
            }
            let alarm = self.next_alarm();
            tokio::select! {
                biased;
                () = state.faults.cut_after(self.cuts) => {
                    self.ended = true;
                    return Some(Err(BodyError));
                }
                () = &mut changed => {}
                () = tokio::time::sleep_until(alarm) => {}
            }
        }
    }

    /// Appends all that is due now.
    fn advance(&mut self, out: &mut Vec<u8>) -> Result<(), Status> {
        self.collect(out)?;
        let now = Instant::now();
        if self.sends_bookmarks() && now >= self.next_bookmark {
            self.next_bookmark = next_bookmark(now, self.deadline);
            self.append_bookmark(out, false);
        }
        self.ended = now >= self.deadline;
        Ok(())
    }

    async fn stay_silent(&mut self) -> Option<Result<Bytes, BodyError>> {
        self.ended = true;
        tokio::select! {
            () = self.call.state.faults.cut_after(self.cuts) => Some(Err(BodyError)),
            () = tokio::time::sleep_until(self.deadline) => None,
        }
    }

    fn sends_bookmarks(&self) -> bool {
        self.options.bookmarks && !self.call.hits.no_bookmarks
    }

    /// The next time at which something is due without a change.
    fn next_alarm(&self) -> Instant {
        if self.sends_bookmarks() {
            self.deadline.min(self.next_bookmark)
        } else {
            self.deadline
        }
    }

    /// Appends what there is to send now, up to about one piece.
    fn collect(&mut self, out: &mut Vec<u8>) -> Result<(), Status> {
        while let Some(record) = self.initial.pop_front() {
            self.append(out, "ADDED", &record)?;
            if out.len() >= CHUNK {
                return Ok(());
            }
        }
        if self.marker_due {
            self.marker_due = false;
            if self.sends_bookmarks() && !self.call.hits.no_initial_events_end {
                self.append_bookmark(out, true);
            }
        }
        while out.len() < CHUNK {
            let (changes, complete) = self
                .call
                .resource
                .shard
                .changes_after(self.cursor, BATCH)
                .map_err(expired)?;
            let last = changes.len() < BATCH;
            for change in &changes {
                self.append_change(out, change)?;
            }
            self.cursor = complete;
            if last {
                break;
            }
        }
        Ok(())
    }

    /// Appends a change as this watch sees it: an object may enter or leave its selector.
    fn append_change(&mut self, out: &mut Vec<u8>, change: &Change) -> Result<(), Status> {
        if !self.selection.range.contains(&change.key) {
            return Ok(());
        }
        let matched = change
            .previous
            .as_ref()
            .is_some_and(|previous| self.selection.matches(previous));
        let matches = change.kind != ChangeKind::Deleted && self.selection.matches(&change.record);
        match (matched, matches) {
            (false, false) => Ok(()),
            (false, true) => self.append(out, "ADDED", &change.record),
            (true, true) => self.append(out, "MODIFIED", &change.record),
            (true, false) if change.kind == ChangeKind::Deleted => {
                self.append(out, "DELETED", &change.record)
            }
            // It left the selector: its last matching state, under the revision of leaving.
            (true, false) => match &change.previous {
                Some(previous) => self.append(out, "DELETED", &previous.restamp(change.revision())),
                None => Ok(()),
            },
        }
    }

    fn append(&mut self, out: &mut Vec<u8>, kind: &str, record: &Record) -> Result<(), Status> {
        out.extend_from_slice(b"{\"type\":\"");
        out.extend_from_slice(kind.as_bytes());
        out.extend_from_slice(b"\",\"object\":");
        self.representation.append_event(out, record)?;
        out.extend_from_slice(b"}\n");
        Ok(())
    }

    fn append_bookmark(&mut self, out: &mut Vec<u8>, initial_events_end: bool) {
        let resource = &self.call.resource;
        // An object in which nothing is set but its version.
        let (mut object, kind, api_version) = match self.representation.projection {
            Projection::Metadata => (
                json!({}),
                "PartialObjectMetadata".into(),
                "meta.k8s.io/v1".into(),
            ),
            _ => (
                resource.schema.zero().clone(),
                resource.api.kind.clone(),
                resource.api.api_version(),
            ),
        };
        let mut metadata = json!({"resourceVersion": self.cursor.to_string()});
        if initial_events_end {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let fields = as_map(&mut object);
        fields.insert("kind".into(), kind.into());
        fields.insert("apiVersion".into(), api_version.into());
        fields.insert("metadata".into(), metadata);
        let event = json!({"type": "BOOKMARK", "object": object});
        out.extend_from_slice(event.to_string().as_bytes());
        out.push(b'\n');
    }
}

/// About once a minute, and shortly before the end.
fn next_bookmark(now: Instant, deadline: Instant) -> Instant {
    let regular = now + BOOKMARK_EVERY;
    match deadline.checked_sub(BOOKMARK_BEFORE_END) {
        Some(last) if last > now => regular.min(last),
        _ => regular,
    }
}

fn error_event(status: &Status) -> Bytes {
    format!(
        "{{\"type\":\"ERROR\",\"object\":{}}}\n",
        status_json(status)
    )
    .into()
}

fn expired(compacted: Compacted) -> Status {
    Status::expired(compacted.to_string())
}
