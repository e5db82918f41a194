//! One collection behind a transport: enough of an API server to play every scene of the
//! reflector's contracts in virtual time, and to be told to misbehave.

mod faults;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use evenkeel_client::{
    ByteStream, Client, ClientOptions, Lane, Transport, TransportError, TransportErrorKind,
};
use evenkeel_meta::{ApiResource, Meta, Object, Scope, Status};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::Instant;

pub(crate) const THINGS: ApiResource =
    ApiResource::new_static("test.dev", "v1", "Thing", "things", Scope::Namespaced);

/// What the tests mirror: a projection with one field of its own.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
pub(crate) struct Thing {
    pub(crate) metadata: Meta,
    #[serde(default)]
    pub(crate) size: u32,
}

impl Object for Thing {
    type Meta = Meta;

    fn metadata(&self) -> &Meta {
        &self.metadata
    }
}

#[derive(Clone)]
pub(crate) struct FakeServer(Arc<Mutex<State>>);

struct State {
    version: u64,
    uids: u64,
    objects: BTreeMap<String, Value>,
    /// Every change, with its version.
    log: Vec<(u64, &'static str, Value)>,
    /// Changes up to here are no longer served.
    compacted: u64,
    streams: Vec<Arc<Outbox>>,
    requests: Vec<String>,
    answers: VecDeque<(Which, Answer)>,
    paths: Vec<(&'static str, Answer)>,
    page_tokens: BTreeMap<String, usize>,
    replica: Option<Replica>,
    /// Requests that the replica is still to answer.
    lagging: usize,
    delays: VecDeque<(Which, Duration)>,
    pub(crate) markers: bool,
    pages: bool,
}

/// An earlier state, as a server has it that is behind.
struct Replica {
    version: u64,
    objects: BTreeMap<String, Value>,
}

/// Tells requests by their query.
pub(crate) type Which = fn(&str) -> bool;

/// What to answer instead of the truth.
#[derive(Clone)]
pub(crate) enum Answer {
    Status(Status),
    /// Nobody listens.
    Refuse,
    /// The head never comes.
    Hang,
    /// This, with 200.
    Body(&'static str),
}

#[derive(Default)]
struct Outbox {
    namespace: Option<String>,
    chunks: Mutex<VecDeque<Result<Bytes, TransportError>>>,
    ended: Mutex<bool>,
    /// The connection is dead, and this is when that is found out.
    dies_at: Mutex<Option<Instant>>,
    wake: Notify,
}

/// Whether a request for `namespace` is told of `object`.
fn covers(namespace: Option<&str>, object: &Value) -> bool {
    namespace.is_none_or(|namespace| object["metadata"]["namespace"] == namespace)
}

impl Outbox {
    fn covers(&self, object: &Value) -> bool {
        covers(self.namespace.as_deref(), object)
    }

    fn push(&self, kind: &str, object: &Value) {
        let line = format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n");
        self.chunks.lock().push_back(Ok(line.into()));
        self.wake.notify_one();
    }

    fn end(&self, broken: bool) {
        if broken {
            let error = TransportError::with_detail(TransportErrorKind::Closed, "cut");
            self.chunks.lock().push_back(Err(error));
        }
        *self.ended.lock() = true;
        self.wake.notify_one();
    }
}

impl FakeServer {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(State {
            version: 1,
            uids: 0,
            objects: BTreeMap::new(),
            log: Vec::new(),
            compacted: 0,
            streams: Vec::new(),
            requests: Vec::new(),
            answers: VecDeque::new(),
            paths: Vec::new(),
            page_tokens: BTreeMap::new(),
            replica: None,
            lagging: 0,
            delays: VecDeque::new(),
            markers: true,
            pages: false,
        })))
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.clone(), ClientOptions::default())
    }

    pub(crate) fn put(&self, name: &str, size: u32) -> u64 {
        self.put_value(name, &json!(size), &json!([]))
    }

    /// Everything else is in the namespace `ns`.
    pub(crate) fn put_in(&self, namespace: &str, name: &str, size: u32) -> u64 {
        self.put_object(namespace, name, &json!(size), &json!([]))
    }

    /// An object that does not decode as a [`Thing`].
    pub(crate) fn put_undecodable(&self, name: &str) -> u64 {
        self.put_value(name, &json!("large"), &json!([]))
    }

    pub(crate) fn put_owned(&self, name: &str, size: u32, owner: &str) -> u64 {
        let owner = json!({"apiVersion": "v1", "kind": "Owner", "name": "o", "uid": owner});
        self.put_value(name, &json!(size), &json!([owner]))
    }

    fn put_value(&self, name: &str, size: &Value, owners: &Value) -> u64 {
        self.put_object("ns", name, size, owners)
    }

    fn put_object(&self, namespace: &str, name: &str, size: &Value, owners: &Value) -> u64 {
        let id = match namespace {
            "ns" => name.to_owned(),
            other => format!("{other}/{name}"),
        };
        let mut state = self.0.lock();
        state.version += 1;
        let version = state.version;
        let uid = match state.objects.get(&id) {
            Some(old) => old["metadata"]["uid"].clone(),
            None => {
                state.uids += 1;
                json!(format!("uid-{}", state.uids))
            }
        };
        let object = json!({
            "apiVersion": "test.dev/v1", "kind": "Thing", "size": size,
            "metadata": {"name": name, "namespace": namespace, "uid": uid, "resourceVersion": version.to_string(),
                "ownerReferences": owners},
        });
        let kind = match state.objects.insert(id, object.clone()) {
            Some(_) => "MODIFIED",
            None => "ADDED",
        };
        state.send(kind, object);
        version
    }

    pub(crate) fn delete(&self, name: &str) {
        let mut state = self.0.lock();
        let Some(mut object) = state.objects.remove(name) else {
            return;
        };
        state.version += 1;
        object["metadata"]["resourceVersion"] = json!(state.version.to_string());
        state.send("DELETED", object);
    }

    /// Sends a bookmark on every stream.
    pub(crate) fn bookmark(&self) {
        let state = self.0.lock();
        for stream in &state.streams {
            stream.push("BOOKMARK", &bookmark(state.version, false));
        }
    }

    pub(crate) fn send_error(&self, status: &Status) {
        let object = body_of(status);
        for stream in self.0.lock().streams.drain(..) {
            stream.push("ERROR", &object);
            stream.end(false);
        }
    }

    pub(crate) fn cut(&self, broken: bool) {
        for stream in self.0.lock().streams.drain(..) {
            stream.end(broken);
        }
    }

    /// Forgets the history.
    pub(crate) fn compact(&self) {
        self.compact_to(self.version());
    }

    /// A restored backup: the same objects, and versions that begin again.
    pub(crate) fn rewind(&self, version: u64) {
        let mut state = self.0.lock();
        (state.version, state.compacted) = (version, 0);
        state.replica = None;
        state.log.clear();
        for (n, object) in (1..).zip(state.objects.values_mut()) {
            object["metadata"]["resourceVersion"] = json!(n.to_string());
        }
    }

    pub(crate) fn version(&self) -> u64 {
        self.0.lock().version
    }

    pub(crate) fn without_markers(&self) {
        self.0.lock().markers = false;
    }

    /// Lists come in pages even where a watch cache would not page.
    pub(crate) fn with_pages(&self) {
        self.0.lock().pages = true;
    }

    /// Answers the next request for which `to` holds with this.
    pub(crate) fn answer_next(&self, to: Which, answer: Answer) {
        self.0.lock().answers.push_back((to, answer));
    }

    /// Answers every request whose path contains `part` with this.
    pub(crate) fn answer_paths(&self, part: &'static str, answer: Answer) {
        self.0.lock().paths.push((part, answer));
    }

    pub(crate) fn answer_next_as(&self, times: usize, to: Which, answer: &Answer) {
        for _ in 0..times {
            self.answer_next(to, answer.clone());
        }
    }

    /// The requests since the last call, by their query.
    pub(crate) fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().requests)
    }

    pub(crate) fn open_streams(&self) -> usize {
        let mut state = self.0.lock();
        // A stream whose reader is gone has one owner: this list.
        state.streams.retain(|stream| Arc::strong_count(stream) > 1);
        state.streams.len()
    }

    /// Names and sizes of what is there.
    pub(crate) fn contents(&self) -> BTreeMap<String, u64> {
        let state = self.0.lock();
        let sizes = state.objects.iter();
        sizes
            .filter_map(|(name, object)| Some((name.clone(), object["size"].as_u64()?)))
            .collect()
    }
}

impl State {
    fn send(&mut self, kind: &'static str, object: Value) {
        self.streams.retain(|stream| Arc::strong_count(stream) > 1);
        for stream in self.streams.iter().filter(|stream| stream.covers(&object)) {
            stream.push(kind, &object);
        }
        self.log.push((self.version, kind, object));
    }

    fn watch(
        &mut self,
        namespace: Option<String>,
        from: Option<u64>,
        initial: bool,
    ) -> Result<Arc<Outbox>, Box<Status>> {
        let outbox = Arc::new(Outbox {
            namespace,
            ..Outbox::default()
        });
        let newest = from.is_none();
        let from = from.unwrap_or(0);
        if initial {
            let (version, objects) = match newest {
                true => (self.version, self.objects.clone()),
                false => self.state_at_hand(),
            };
            if from > version {
                return Err(Status::too_large_resource_version(from, version, 1).into());
            }
            objects
                .values()
                .filter(|object| outbox.covers(object))
                .for_each(|object| outbox.push("ADDED", object));
            if self.markers {
                outbox.push("BOOKMARK", &bookmark(version, true));
            }
            // The replica catches up.
            for (at, kind, object) in &self.log {
                if *at > version && outbox.covers(object) {
                    outbox.push(kind, object);
                }
            }
        } else {
            if from < self.compacted {
                return Err(Status::expired(format!("too old resource version: {from}")).into());
            }
            for (version, kind, object) in &self.log {
                if *version > from && outbox.covers(object) {
                    outbox.push(kind, object);
                }
            }
        }
        self.streams.push(Arc::clone(&outbox));
        Ok(outbox)
    }

    /// What the server that got the request has.
    fn state_at_hand(&mut self) -> (u64, BTreeMap<String, Value>) {
        if self.lagging > 0
            && let Some(replica) = &self.replica
            && replica.version >= self.compacted
        {
            self.lagging -= 1;
            return (replica.version, replica.objects.clone());
        }
        (self.version, self.objects.clone())
    }

    fn list(
        &mut self,
        namespace: Option<&str>,
        query: &BTreeMap<String, String>,
    ) -> Result<Value, Box<Status>> {
        let newest = !query.contains_key("resourceVersion");
        let asked: u64 = number(query, "resourceVersion").unwrap_or(0);
        let (version, objects) = match newest {
            true => (self.version, self.objects.clone()),
            false => self.state_at_hand(),
        };
        if asked > version {
            return Err(Status::too_large_resource_version(asked, version, 1).into());
        }
        let start = match query.get("continue") {
            None => 0,
            Some(token) => match self.page_tokens.remove(token) {
                Some(start) => start,
                None => return Err(Status::expired("the continue token is too old").into()),
            },
        };
        let limit = number(query, "limit").map_or(usize::MAX, |limit| limit as usize);
        let limit = if self.pages { limit } else { usize::MAX };
        let items: Vec<_> = objects
            .values()
            .filter(|object| covers(namespace, object))
            .skip(start)
            .take(limit)
            .cloned()
            .collect();
        let mut metadata = json!({"resourceVersion": version.to_string()});
        if start + items.len() < objects.len() {
            let token = format!("after-{}", start + items.len());
            self.page_tokens.insert(token.clone(), start + items.len());
            metadata["continue"] = json!(token);
        }
        Ok(
            json!({"kind": "ThingList", "apiVersion": "test.dev/v1", "metadata": metadata, "items": items}),
        )
    }

    fn answer(
        &mut self,
        uri: &http::Uri,
    ) -> Result<http::Response<ByteStream>, Option<TransportError>> {
        let text = uri.query().unwrap_or_default().to_owned();
        self.requests.push(text.clone());
        if let Some(at) = self.answers.iter().position(|(to, _)| to(&text)) {
            return match self.answers.remove(at).map(|(_, answer)| answer) {
                Some(Answer::Status(status)) => Ok(refusal(&status)),
                Some(Answer::Body(text)) => Ok(response(200, once(text.to_owned()))),
                Some(Answer::Refuse) => Err(Some(TransportError::with_detail(
                    TransportErrorKind::Refused,
                    "connection refused",
                ))),
                _ => Err(None),
            };
        }
        let (_, below) = uri.path().split_once("/namespaces/").unwrap_or_default();
        let namespace = below.split('/').next().filter(|name| !name.is_empty());
        let denied = self
            .paths
            .iter()
            .find(|(part, _)| uri.path().contains(part));
        if let Some((_, Answer::Status(status))) = denied {
            return Ok(refusal(status));
        }
        let query = parse(&text);
        if query.contains_key("watch") {
            let initial = query.contains_key("sendInitialEvents");
            return Ok(
                match self.watch(
                    namespace.map(str::to_owned),
                    number(&query, "resourceVersion"),
                    initial,
                ) {
                    Ok(outbox) => response(200, stream::unfold(outbox, next_chunk).boxed()),
                    Err(status) => refusal(&status),
                },
            );
        }
        Ok(match self.list(namespace, &query) {
            Ok(list) => response(200, once(list.to_string())),
            Err(status) => refusal(&status),
        })
    }
}

impl Transport for FakeServer {
    fn send(
        &self,
        _: Lane,
        request: http::Request<Bytes>,
    ) -> BoxFuture<'static, Result<http::Response<ByteStream>, TransportError>> {
        let mut state = self.0.lock();
        let query = request.uri().query().unwrap_or_default();
        let delay = state.delays.iter().position(|(to, _)| to(query));
        let delay = delay.and_then(|at| state.delays.remove(at));
        let answer = match state.answer(request.uri()) {
            Ok(response) => async { Ok(response) }.boxed(),
            Err(Some(error)) => async { Err(error) }.boxed(),
            Err(None) => std::future::pending().boxed(),
        };
        match delay {
            None => answer,
            Some((_, by)) => async move {
                tokio::time::sleep(by).await;
                answer.await
            }
            .boxed(),
        }
    }
}

async fn next_chunk(outbox: Arc<Outbox>) -> Option<(Result<Bytes, TransportError>, Arc<Outbox>)> {
    loop {
        if let Some(chunk) = outbox.chunks.lock().pop_front() {
            return Some((chunk, Arc::clone(&outbox)));
        }
        if *outbox.ended.lock() {
            return None;
        }
        tokio::select! {
            () = outbox.wake.notified() => {}
            error = outbox.death() => {
                *outbox.ended.lock() = true;
                return Some((Err(error), Arc::clone(&outbox)));
            }
        }
    }
}

fn bookmark(version: u64, marker: bool) -> Value {
    let mut metadata = json!({"resourceVersion": version.to_string()});
    if marker {
        metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
    }
    json!({"kind": "Thing", "apiVersion": "test.dev/v1", "metadata": metadata})
}

fn refusal(status: &Status) -> http::Response<ByteStream> {
    response(status.code, once(body_of(status).to_string()))
}

fn body_of(status: &Status) -> Value {
    let mut body = serde_json::to_value(status).expect("a status");
    body["kind"] = json!("Status");
    body["apiVersion"] = json!("v1");
    body
}

fn response(code: u16, body: ByteStream) -> http::Response<ByteStream> {
    http::Response::builder()
        .status(code)
        .header("content-type", "application/json")
        .body(body)
        .expect("a response")
}

fn once(text: String) -> ByteStream {
    stream::once(async { Ok(Bytes::from(text)) }).boxed()
}

fn parse(query: &str) -> BTreeMap<String, String> {
    query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

fn number(query: &BTreeMap<String, String>, key: &str) -> Option<u64> {
    query.get(key)?.parse().ok()
}

pub(crate) fn any(_: &str) -> bool {
    true
}

pub(crate) fn is_list(query: &str) -> bool {
    !query.contains("watch=true")
}

pub(crate) fn is_watch(query: &str) -> bool {
    query.contains("watch=true") && !query.contains("sendInitialEvents")
}

pub(crate) fn is_watch_list(query: &str) -> bool {
    query.contains("sendInitialEvents")
}
