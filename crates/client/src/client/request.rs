use std::sync::Arc;

use bytes::Bytes;
use evenkeel_meta::ApiResource;
use http::{HeaderMap, HeaderValue, Method, header};

use crate::transport::Lane;

/// One request, before the parts that the client adds to each try.
pub(crate) struct Outgoing {
    pub(crate) lane: Lane,
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) target: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) subject: Subject,
    /// Whether the answer may take as long as it likes to begin.
    pub(crate) patient: bool,
}

impl Outgoing {
    pub(crate) fn new(lane: Lane, method: Method, target: String, subject: Subject) -> Self {
        Self {
            lane,
            method,
            target,
            headers: HeaderMap::with_capacity(8),
            body: Bytes::new(),
            subject,
            patient: false,
        }
    }

    pub(crate) fn raw(lane: Lane, request: http::Request<Bytes>) -> Self {
        let (head, body) = request.into_parts();
        let target = head
            .uri
            .path_and_query()
            .map_or("/", http::uri::PathAndQuery::as_str)
            .to_owned();
        Self {
            lane,
            subject: Subject::path(head.uri.path()),
            method: head.method,
            target,
            headers: head.headers,
            body,
            patient: false,
        }
    }

    pub(crate) fn accept(mut self, accept: HeaderValue) -> Self {
        self.headers.insert(header::ACCEPT, accept);
        self
    }

    pub(crate) fn body(mut self, content_type: &'static str, body: Bytes) -> Self {
        self.headers
            .insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        self.body = body;
        self
    }

    pub(crate) fn patient(mut self) -> Self {
        self.patient = true;
        self
    }

    pub(crate) fn is_watch(&self) -> bool {
        self.lane == Lane::Watch
    }
}

/// What a request is about, for its error texts.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub(crate) verb: &'static str,
    pub(crate) resource: Option<Arc<ApiResource>>,
    pub(crate) name: Box<str>,
}

impl Subject {
    pub(crate) fn new(verb: &'static str, resource: &Arc<ApiResource>, name: &str) -> Self {
        Self {
            verb,
            resource: Some(Arc::clone(resource)),
            name: name.into(),
        }
    }

    pub(crate) fn path(path: &str) -> Self {
        Self {
            verb: "request",
            resource: None,
            name: path.into(),
        }
    }
}

impl std::fmt::Display for Subject {
    /// `list pods`, `get deployments.apps "web"`, `request /version`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.verb)?;
        match &self.resource {
            None => write!(f, " {}", self.name),
            Some(resource) if self.name.is_empty() => write!(f, " {resource}"),
            Some(resource) => write!(f, " {resource} {:?}", self.name),
        }
    }
}
