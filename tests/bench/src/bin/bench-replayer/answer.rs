//! Requests and what is said to them.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use tokio::sync::mpsc;

use crate::encoding::{Encoding, Kind};
use crate::state::State;

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Lists leave in frames of about this size.
const CHUNK: usize = 64 << 10;
/// How often a watch of another resource is sent a bookmark: more often than by a real server, which
/// does it once a minute.
const BOOKMARKS: Duration = Duration::from_secs(10);

/// What a request asks for.
#[derive(Default)]
struct Query {
    watch: bool,
    initial_events: bool,
    any_version: bool,
    limit: usize,
    /// Where the last page ended, as the client says.
    from: usize,
    is_continued: bool,
}

impl Query {
    fn read(text: &str) -> Self {
        let mut query = Self::default();
        for (name, value) in text.split('&').filter_map(|pair| pair.split_once('=')) {
            let is_true = matches!(value, "true" | "1");
            match name {
                "watch" => query.watch = is_true,
                "sendInitialEvents" => query.initial_events = is_true,
                "resourceVersion" => query.any_version = value == "0",
                "limit" => query.limit = value.parse().unwrap_or(0),
                "continue" => {
                    query.from = value.parse().unwrap_or(0);
                    query.is_continued = true;
                }
                _ => {}
            }
        }
        query
    }
}

/// What is there.
#[derive(Clone)]
pub(crate) struct Served {
    pub(crate) pods: Arc<State>,
    /// The pods' ReplicaSets, of which nobody is told anything after the start.
    pub(crate) owners: Option<Arc<State>>,
}

pub(crate) fn answer(served: &Served, request: &http::Request<Incoming>) -> http::Response<Body> {
    let query = Query::read(request.uri().query().unwrap_or_default());
    let accept = request.headers().get(http::header::ACCEPT);
    let accept = accept.and_then(|value| value.to_str().ok()).unwrap_or("");
    match (request.uri().path(), &served.owners) {
        ("/api/v1/pods", _) => {}
        // Who asks for protobuf takes JSON too.
        ("/apis/apps/v1/replicasets", Some(owners)) => return serve(owners, &query),
        _ => return empty_collection(&query),
    }
    if let Some(refusal) = refusal(&served.pods, accept) {
        let mut response = http::Response::new(Full::from(refusal).boxed_unsync());
        *response.status_mut() = http::StatusCode::NOT_ACCEPTABLE;
        return response;
    }
    serve(&served.pods, &query)
}

fn serve(state: &Arc<State>, query: &Query) -> http::Response<Body> {
    if query.watch {
        return respond(state.encoding.watch_type(), watch(state, query));
    }
    respond(state.encoding.list_type(), list(state, query))
}

/// What is served is one form; a client that asks for another would be measured with the wrong one.
fn refusal(state: &State, accept: &str) -> Option<&'static str> {
    if state.metadata_only != accept.contains("as=PartialObjectMetadata") {
        return Some("whole objects or metadata: the other one is served");
    }
    let protobuf = accept.contains("application/vnd.kubernetes.protobuf");
    (protobuf != (state.encoding == Encoding::Protobuf))
        .then_some("JSON or protobuf: the other one is served")
}

fn respond(
    content_type: &'static str,
    frames: impl Stream<Item = Bytes> + Send + 'static,
) -> http::Response<Body> {
    let frames = frames.map(|bytes| Ok(Frame::data(bytes)));
    let mut response = http::Response::new(BodyExt::boxed_unsync(StreamBody::new(frames)));
    let value = http::HeaderValue::from_static(content_type);
    response
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, value);
    response
}

fn list(state: &Arc<State>, query: &Query) -> impl Stream<Item = Bytes> + use<> {
    let (state, all) = (Arc::clone(state), state.len());
    // As a real server does it: any version will do means all of it, from its cache.
    let paged = query.limit > 0 && (query.is_continued || !query.any_version);
    let from = query.from.min(all);
    let to = match paged {
        true => all.min(from + query.limit),
        false => all,
    };
    let token = match to < all {
        true => to.to_string(),
        false => String::new(),
    };
    let encoding = state.encoding;
    let length = state.items_length(from, to);
    let head = encoding.list_head(state.metadata_only, state.version(), &token, length);
    let items = chunks(state, from, to, move |out, pod, is_first| {
        encoding.put_item(out, pod, is_first);
    });
    stream::iter([Bytes::from(head)])
        .chain(items)
        .chain(stream::iter([Bytes::from_static(encoding.list_tail())]))
}

fn watch(state: &Arc<State>, query: &Query) -> impl Stream<Item = Bytes> + use<> {
    let events = state.join();
    let (encoding, kind) = (state.encoding, Kind::of(state.metadata_only));
    let to = match query.initial_events {
        true => state.len(),
        false => 0,
    };
    let initial = chunks(Arc::clone(state), 0, to, move |out, pod, _| {
        encoding.put_event(out, "ADDED", kind, pod);
    });
    let end = query
        .initial_events
        .then(|| Bytes::from(encoding.bookmark(state.metadata_only, state.version(), true)));
    let state = Arc::clone(state);
    let live = stream::once(async move {
        state.note_live();
        live(events)
    });
    initial.chain(stream::iter(end)).chain(live.flatten())
}

fn live(events: mpsc::Receiver<Bytes>) -> impl Stream<Item = Bytes> {
    stream::unfold(events, async |mut events| {
        let frame = events.recv().await?;
        Some((frame, events))
    })
}

/// Pods `from..to`, each put after the others by `put`, in pieces.
fn chunks(
    state: Arc<State>,
    from: usize,
    to: usize,
    put: impl Fn(&mut Vec<u8>, &[u8], bool) + Send + 'static,
) -> impl Stream<Item = Bytes> {
    let mut at = from;
    stream::iter(std::iter::from_fn(move || {
        if at == to {
            return None;
        }
        let mut out = Vec::with_capacity(CHUNK + (16 << 10));
        let mut is_first = at == from;
        at = state.visit(at, to, |pod| {
            put(&mut out, pod, is_first);
            is_first = false;
            out.len() < CHUNK
        });
        Some(Bytes::from(out))
    }))
}

/// Any other resource: nothing is there, and watches are told so now and then.
fn empty_collection(query: &Query) -> http::Response<Body> {
    let version = crate::state::FIRST_VERSION;
    if !query.watch {
        let list = Encoding::Json.list_head(true, version, "", 0);
        let tail = Bytes::from_static(Encoding::Json.list_tail());
        return respond(
            Encoding::Json.list_type(),
            stream::iter([Bytes::from(list), tail]),
        );
    }
    let first = query
        .initial_events
        .then(|| Bytes::from(Encoding::Json.bookmark(true, version, true)));
    let bookmarks = stream::unfold(version, async |version| {
        tokio::time::sleep(BOOKMARKS).await;
        let bookmark = Encoding::Json.bookmark(true, version + 1, false);
        Some((Bytes::from(bookmark), version + 1))
    });
    respond(
        Encoding::Json.watch_type(),
        stream::iter(first).chain(bookmarks),
    )
}
