//! A record of what the collector sends.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use evenkeel_client::{ByteStream, Lane, Transport, TransportError};
use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};
use parking_lot::Mutex;
use serde_json::{Value, json};

/// One request that is neither discovery, list nor watch.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) content_type: String,
    pub(crate) accept: String,
    pub(crate) body: Value,
}

#[derive(Clone, Default)]
pub(crate) struct Requests {
    sent: Arc<Mutex<Vec<Sent>>>,
    followed: Arc<Mutex<Vec<Sent>>>,
}

/// What the collector is told about what is served.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Discovery {
    #[default]
    Truth,
    /// Nothing at all.
    Nothing,
    /// The core group is stale.
    CoreIsStale,
    /// The core group does not exist.
    NoCore,
    /// These groups of the aggregated form; the core group is empty.
    Groups(Value),
}

pub(crate) type Told = Arc<Mutex<Discovery>>;

impl Requests {
    /// All writes, and reads of single objects.
    pub(crate) fn all(&self) -> Vec<Sent> {
        self.sent.lock().clone()
    }

    /// All lists and watches.
    pub(crate) fn followed(&self) -> Vec<Sent> {
        self.followed.lock().clone()
    }

    /// The collections that were listed or watched, each once, in order.
    pub(crate) fn collections(&self) -> Vec<String> {
        let paths = self.followed().into_iter().map(|sent| sent.path);
        paths.collect::<BTreeSet<_>>().into_iter().collect()
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
        self.sent.lock().clear();
        self.followed.lock().clear();
    }
}

pub(crate) struct Recording {
    pub(crate) inner: Arc<dyn Transport>,
    pub(crate) requests: Requests,
    pub(crate) told: Told,
}

/// The answer to `/api` or `/apis` that is made up, if any is.
fn made_up(told: &Discovery, path: &str) -> Option<Value> {
    let stale = json!({"metadata": {}, "versions": [{"version": "v1", "freshness": "Stale"}]});
    let items = match (told, path) {
        (Discovery::Nothing, "/api" | "/apis") | (Discovery::NoCore, "/api") => json!([]),
        (Discovery::CoreIsStale, "/api") => json!([stale]),
        (Discovery::Groups(_), "/api") => json!([]),
        (Discovery::Groups(groups), "/apis") => groups.clone(),
        _ => return None,
    };
    Some(json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "items": items,
    }))
}

fn answer(body: &Value) -> http::Response<ByteStream> {
    let body = Bytes::from(body.to_string());
    let stream = stream::once(async { Ok(body) }).boxed();
    let aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    http::Response::builder()
        .header(http::header::CONTENT_TYPE, aggregated)
        .body(stream)
        .unwrap()
}

impl Transport for Recording {
    fn send(
        &self,
        lane: Lane,
        request: http::Request<Bytes>,
    ) -> BoxFuture<'static, Result<http::Response<ByteStream>, TransportError>> {
        let path = request.uri().path().to_owned();
        if !path.contains("/events") {
            let header = |name| {
                let value = request.headers().get(name);
                let text = value.and_then(|value| value.to_str().ok());
                text.unwrap_or_default().to_owned()
            };
            let sent = Sent {
                method: request.method().to_string(),
                path,
                content_type: header(http::header::CONTENT_TYPE),
                accept: header(http::header::ACCEPT),
                body: serde_json::from_slice(request.body()).unwrap_or_default(),
            };
            match lane {
                Lane::Write => self.requests.sent.lock().push(sent),
                _ => self.requests.followed.lock().push(sent),
            }
        }
        match made_up(&self.told.lock(), request.uri().path()) {
            Some(body) => {
                let answer = answer(&body);
                Box::pin(async { Ok(answer) })
            }
            None => self.inner.send(lane, request),
        }
    }
}
