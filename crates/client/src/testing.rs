//! A scripted server for the tests beside the code.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use evenkeel_meta::{ApiResource, Complete, Meta, Object, Resource, Scope};
use futures_core::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use http::{HeaderMap, Method};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::client::{Client, ClientOptions};
use crate::transport::{ByteStream, Lane, Transport, TransportError, TransportErrorKind};

/// What the server does with one request.
pub(crate) struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    chunks: Vec<Result<Bytes, TransportError>>,
    end: End,
    delay: Duration,
}

enum End {
    /// The body ends.
    Closed,
    /// Nothing comes after the last chunk.
    Silent,
    /// Not even the head comes.
    NoHead,
    /// There is no answer.
    Failed(TransportErrorKind),
}

impl Answer {
    pub(crate) fn new(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            chunks: Vec::new(),
            end: End::Closed,
            delay: Duration::ZERO,
        }
    }

    pub(crate) fn ok(body: impl Into<Bytes>) -> Self {
        Self::new(200).chunk(body)
    }

    pub(crate) fn failed(kind: TransportErrorKind) -> Self {
        let mut answer = Self::new(0);
        answer.end = End::Failed(kind);
        answer
    }

    pub(crate) fn no_head() -> Self {
        let mut answer = Self::new(0);
        answer.end = End::NoHead;
        answer
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn chunk(mut self, chunk: impl Into<Bytes>) -> Self {
        self.chunks.push(Ok(chunk.into()));
        self
    }

    pub(crate) fn broken(mut self, kind: TransportErrorKind) -> Self {
        let error = TransportError::with_detail(kind, "scripted");
        self.chunks.push(Err(error));
        self
    }

    pub(crate) fn then_silent(mut self) -> Self {
        self.end = End::Silent;
        self
    }

    /// After this time.
    pub(crate) fn late(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    fn respond(self) -> BoxFuture<'static, Result<http::Response<ByteStream>, TransportError>> {
        match self.end {
            End::NoHead => return std::future::pending().boxed(),
            End::Failed(kind) => {
                let error = TransportError::with_detail(kind, &format!("scripted {kind:?}"));
                return std::future::ready(Err(error)).boxed();
            }
            End::Closed | End::Silent => {}
        }
        let chunks = stream::iter(self.chunks);
        let body = match self.end {
            End::Silent => chunks.chain(stream::pending()).boxed(),
            _ => chunks.boxed(),
        };
        let mut response = http::Response::builder().status(self.status);
        for (name, value) in self.headers {
            response = response.header(name, value);
        }
        let delay = self.delay;
        async move {
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            Ok(response.body(body).unwrap())
        }
        .boxed()
    }
}

/// A request as the server saw it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) lane: Lane,
    pub(crate) method: Method,
    pub(crate) target: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) at: tokio::time::Instant,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }
}

type Behaviour = dyn Fn(usize, &Seen) -> Answer + Send + Sync;

/// Answers the n-th request, counted from 0, and remembers all of them.
#[derive(Clone)]
pub(crate) struct Scripted {
    behaviour: Arc<Behaviour>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Scripted {
    pub(crate) fn new(behaviour: impl Fn(usize, &Seen) -> Answer + Send + Sync + 'static) -> Self {
        Self {
            behaviour: Arc::new(behaviour),
            seen: Arc::default(),
        }
    }

    /// What it would answer, for a server that differs in a few answers.
    pub(crate) fn behave(&self, nth: usize, seen: &Seen) -> Answer {
        (self.behaviour)(nth, seen)
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.clone(), ClientOptions::default())
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().clone()
    }

    pub(crate) fn targets(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.target).collect()
    }
}

impl Transport for Scripted {
    fn send(
        &self,
        lane: Lane,
        request: http::Request<Bytes>,
    ) -> BoxFuture<'static, Result<http::Response<ByteStream>, TransportError>> {
        let (head, body) = request.into_parts();
        let seen = Seen {
            lane,
            method: head.method,
            target: head.uri.path_and_query().unwrap().to_string(),
            headers: head.headers,
            body,
            at: tokio::time::Instant::now(),
        };
        let nth = {
            let mut all = self.seen.lock();
            all.push(seen.clone());
            all.len() - 1
        };
        (self.behaviour)(nth, &seen).respond()
    }
}

/// A pod of which one field is known.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Pod {
    pub(crate) metadata: Meta,
    #[serde(default)]
    pub(crate) spec: PodSpec,
}

#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PodSpec {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) node_name: Option<String>,
}

impl Pod {
    pub(crate) fn named(namespace: &str, name: &str) -> Self {
        let mut pod = Self::default();
        pod.metadata.namespace = Some(namespace.into());
        pod.metadata.name = name.into();
        pod
    }
}

impl Object for Pod {
    type Meta = Meta;

    fn metadata(&self) -> &Meta {
        &self.metadata
    }
}

impl Resource for Pod {
    fn api_resource() -> ApiResource {
        ApiResource::new_static("", "v1", "Pod", "pods", Scope::Namespaced)
    }
}

impl Complete for Pod {}

/// An object whose decoding panics if its size is no number.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Touchy {
    pub(crate) metadata: Meta,
    #[serde(default, rename = "size", deserialize_with = "panicking")]
    _size: usize,
}

impl Touchy {
    pub(crate) const RESOURCE: ApiResource =
        ApiResource::new_static("test.dev", "v1", "Thing", "things", Scope::Namespaced);
}

fn panicking<'de, D: serde::Deserializer<'de>>(size: D) -> Result<usize, D::Error> {
    Ok(String::deserialize(size)?.parse().unwrap())
}

impl Object for Touchy {
    type Meta = Meta;

    fn metadata(&self) -> &Meta {
        &self.metadata
    }
}

/// An empty folder for one test.
pub(crate) fn scratch(test: &str) -> std::path::PathBuf {
    let folder = format!("evenkeel-client-{}-{test}", std::process::id());
    let folder = std::env::temp_dir().join(folder);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The warnings that are logged while `work` runs.
pub(crate) fn warnings(work: impl FnOnce()) -> Vec<String> {
    any_thread_may_listen();
    let warnings = Arc::<Mutex<Vec<String>>>::default();
    tracing::subscriber::with_default(Warnings(Arc::clone(&warnings)), work);
    let all = warnings.lock();
    all.clone()
}

/// Makes tracing ask the listener of each thread each time. With a single listener it would
/// remember that somebody did not listen when a place in the code was passed first, and that
/// may have been the thread of another test.
pub(crate) fn any_thread_may_listen() {
    struct Undecided;
    impl tracing::Subscriber for Undecided {
        fn register_callsite(
            &self,
            _: &'static tracing::Metadata<'static>,
        ) -> tracing::subscriber::Interest {
            tracing::subscriber::Interest::sometimes()
        }

        fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
            false
        }

        fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
            tracing::span::Id::from_u64(1)
        }

        fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

        fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

        fn event(&self, _: &tracing::Event<'_>) {}

        fn enter(&self, _: &tracing::span::Id) {}

        fn exit(&self, _: &tracing::span::Id) {}
    }
    static UNDECIDED: std::sync::OnceLock<tracing::Dispatch> = std::sync::OnceLock::new();
    UNDECIDED.get_or_init(|| tracing::Dispatch::new(Undecided));
}

struct Warnings(Arc<Mutex<Vec<String>>>);

impl tracing::Subscriber for Warnings {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() == tracing::Level::WARN
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        struct Text(String);
        impl tracing::field::Visit for Text {
            fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                self.0 += &format!("{field}={value:?} ");
            }
        }
        let mut text = Text(String::new());
        event.record(&mut text);
        self.0.lock().push(text.0);
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

/// Waits for a condition that another process or task brings about, in real time.
pub(crate) async fn eventually(what: &str, condition: impl Fn() -> bool) {
    let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(20);
    while !condition() {
        assert!(tokio::time::Instant::now() < deadline, "never: {what}");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}
