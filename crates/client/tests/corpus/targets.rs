//! What must hold for any bytes that a server, or a file, may hold. Shared with the fuzz
//! targets.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::task::{Context, Poll};

use bytes::Bytes;
use evenkeel_client::{Client, Config, Error, ListOptions, RetryPolicy, WatchEvent, WatchOptions};
use evenkeel_meta::{ApiResource, FieldSelector, LabelSelector, Metadata, Scope};
use futures_util::{StreamExt, stream};
use http_body::Frame;
use http_body_util::{Full, StreamBody};
use tower_service::Service;

/// Answers every request with these bytes, in pieces of this size.
#[derive(Clone)]
struct Recorded {
    code: u16,
    body: Bytes,
    piece: usize,
}

type Chunk = Result<Frame<Bytes>, Infallible>;
type Body = StreamBody<stream::Iter<std::vec::IntoIter<Chunk>>>;

impl Service<http::Request<Full<Bytes>>> for Recorded {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: http::Request<Full<Bytes>>) -> Self::Future {
        let pieces = self.body.chunks(self.piece.max(1));
        let chunks: Vec<Chunk> = pieces
            .map(|piece| Ok(Frame::data(Bytes::copy_from_slice(piece))))
            .collect();
        let mut answer = http::Response::new(StreamBody::new(stream::iter(chunks)));
        *answer.status_mut() = http::StatusCode::from_u16(self.code).unwrap_or_default();
        ready(Ok(answer))
    }
}

fn client(code: u16, body: &[u8], piece: usize) -> Client {
    let server = Recorded {
        code,
        body: Bytes::copy_from_slice(body),
        piece,
    };
    Client::from_service(server).with_retry(RetryPolicy::never())
}

fn pods() -> ApiResource {
    ApiResource::new_static("", "v1", "Pod", "pods", Scope::Namespaced)
}

/// Runs to the end in virtual time.
fn run<T>(work: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(work)
}

/// A watch says the same wherever its bytes are cut, and ends.
pub(crate) fn watch(bytes: &[u8], piece: usize) {
    let whole = run(watched(bytes, bytes.len()));
    let cut = run(watched(bytes, piece));
    assert_eq!(
        cut,
        whole,
        "in pieces of {piece}: {:?}",
        String::from_utf8_lossy(bytes)
    );
}

async fn watched(bytes: &[u8], piece: usize) -> Vec<String> {
    let api = client(200, bytes, piece).metadata(pods(), None);
    let Ok(watch) = api.watch(&WatchOptions::default()).await else {
        return Vec::new();
    };
    let events = watch.map(|event| match event {
        Ok(WatchEvent::Added(Metadata { metadata })) => format!("+{metadata:?}"),
        Ok(other) => format!("{other:?}"),
        // Its text counts lines and columns from wherever the bytes began.
        Err(_) => "!".into(),
    });
    events.collect().await
}

/// A list says the same wherever its bytes are cut, and ends.
pub(crate) fn list(bytes: &[u8], piece: usize) {
    let whole = run(listed(bytes, bytes.len()));
    let cut = run(listed(bytes, piece));
    assert_eq!(
        cut,
        whole,
        "in pieces of {piece}: {:?}",
        String::from_utf8_lossy(bytes)
    );
}

async fn listed(bytes: &[u8], piece: usize) -> String {
    let api = client(200, bytes, piece).metadata(pods(), None);
    match api.list_page(&ListOptions::default()).await {
        Ok(page) => format!("{page:?}"),
        Err(error) => format!("! {error}"),
    }
}

/// Whatever the body is, an error status is an error, and one that can be asked about.
pub(crate) fn error_answer(code: u16, bytes: &[u8], piece: usize) {
    let code = 400 + code % 200;
    let api = client(code, bytes, piece).metadata(pods(), Some("ns"));
    let error = run(api.get("a")).expect_err("the server refused");
    let Error::Api(status) = &error else {
        panic!("{error}");
    };
    // What a status does not need may be no UTF-8.
    let text = String::from_utf8_lossy(bytes);
    let own: Option<serde_json::Value> = serde_json::from_str(&text).ok();
    let is_status = own.is_some_and(|own| own["kind"] == "Status" && own["status"] == "Failure");
    assert!(is_status || status.code == code, "{code}: {status:?}");
    let _ = (error.to_string(), error.is_retryable(), error.retry_after());
    // With code 200 it may be an object or an error, never a panic.
    let api = client(200, bytes, piece).metadata(pods(), Some("ns"));
    let _ = run(api.get("a"));
    let _ = run(client(200, bytes, piece).discover());
}

/// What parses prints as something that parses to the same.
pub(crate) fn selector(text: &str) {
    if let Ok(selector) = text.parse::<LabelSelector>() {
        assert_eq!(
            selector.to_string().parse().as_ref(),
            Ok(&selector),
            "{text:?}"
        );
    }
    if let Ok(selector) = text.parse::<FieldSelector>() {
        assert_eq!(
            selector.to_string().parse().as_ref(),
            Ok(&selector),
            "{text:?}"
        );
    }
}

/// A kubeconfig is a configuration or an error.
pub(crate) fn kubeconfig(text: &str) {
    if let Err(error) = Config::from_kubeconfig_text(text, None) {
        let _ = error.to_string();
    }
}
