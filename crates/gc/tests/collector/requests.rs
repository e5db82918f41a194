//! A record of what the collector sends.

use std::sync::Arc;

use bytes::Bytes;
use evenkeel_client::{ByteStream, Lane, Transport, TransportError};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::Value;

/// One request that is neither discovery, list nor watch.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) content_type: String,
    pub(crate) body: Value,
}

#[derive(Clone, Default)]
pub(crate) struct Requests(Arc<Mutex<Vec<Sent>>>);

impl Requests {
    /// All writes, and reads of single objects.
    pub(crate) fn all(&self) -> Vec<Sent> {
        self.0.lock().clone()
    }

    /// `METHOD name`, in order.
    pub(crate) fn brief(&self) -> Vec<String> {
        let brief = |sent: &Sent| {
            let name = sent.path.rsplit('/').next().unwrap_or_default();
            format!("{} {name}", sent.method)
        };
        self.all().iter().map(brief).collect()
    }

    pub(crate) fn count(&self, method: &str) -> usize {
        self.all()
            .iter()
            .filter(|sent| sent.method == method)
            .count()
    }

    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }
}

pub(crate) struct Recording {
    pub(crate) inner: Arc<dyn Transport>,
    pub(crate) requests: Requests,
}

impl Transport for Recording {
    fn send(
        &self,
        lane: Lane,
        request: http::Request<Bytes>,
    ) -> BoxFuture<'static, Result<http::Response<ByteStream>, TransportError>> {
        let path = request.uri().path().to_owned();
        if lane == Lane::Write && !path.contains("/events") {
            let content_type = request.headers().get(http::header::CONTENT_TYPE);
            let content_type = content_type.and_then(|value| value.to_str().ok());
            self.requests.0.lock().push(Sent {
                method: request.method().to_string(),
                path,
                content_type: content_type.unwrap_or_default().to_owned(),
                body: serde_json::from_slice(request.body()).unwrap_or_default(),
            });
        }
        self.inner.send(lane, request)
    }
}
