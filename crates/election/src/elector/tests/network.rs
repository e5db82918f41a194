use std::sync::Arc;

use bytes::Bytes;
use evenkeel_apiserver::Server;
use evenkeel_client::{ByteStream, Lane, ServiceTransport, Transport, TransportError};
use futures_util::future::BoxFuture;
use http::{Method, Request, Response, header};
use parking_lot::Mutex;

/// The way to the server; notes what goes over it.
#[derive(Clone)]
pub(super) struct Counting {
    inner: ServiceTransport,
    seen: Arc<Mutex<Vec<Seen>>>,
}

struct Seen {
    method: Method,
    path: String,
    query: String,
    agent: String,
}

impl Counting {
    pub(super) fn new(server: Server) -> Self {
        Self {
            inner: ServiceTransport::new(server),
            seen: Arc::default(),
        }
    }

    pub(super) fn clear(&self) {
        self.seen.lock().clear();
    }

    /// Verbs other than watches, in order.
    pub(super) fn verbs(&self) -> Vec<Method> {
        let seen = self.seen.lock();
        let plain = seen
            .iter()
            .filter(|request| !request.query.contains("watch=true"));
        plain.map(|request| request.method.clone()).collect()
    }

    /// Paths of requests other than watches, in order.
    pub(super) fn paths(&self) -> Vec<String> {
        let seen = self.seen.lock();
        let plain = seen
            .iter()
            .filter(|request| !request.query.contains("watch=true"));
        plain.map(|request| request.path.clone()).collect()
    }

    pub(super) fn watches(&self) -> Vec<String> {
        let seen = self.seen.lock();
        let queries = seen.iter().map(|request| request.query.clone());
        queries
            .filter(|query| query.contains("watch=true"))
            .collect()
    }

    pub(super) fn agents(&self) -> Vec<String> {
        self.seen
            .lock()
            .iter()
            .map(|request| request.agent.clone())
            .collect()
    }
}

impl Transport for Counting {
    fn send(
        &self,
        lane: Lane,
        request: Request<Bytes>,
    ) -> BoxFuture<'static, Result<Response<ByteStream>, TransportError>> {
        let agent = request.headers().get(header::USER_AGENT);
        let agent = agent.map_or("", |agent| agent.to_str().unwrap()).to_owned();
        let query = request.uri().query().unwrap_or_default().to_owned();
        self.seen.lock().push(Seen {
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            query,
            agent,
        });
        self.inner.send(lane, request)
    }
}
