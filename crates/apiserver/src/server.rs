//! The server: its state, and the way of one request through it.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Buf;
use evenkeel_meta::{Reason, Status};
use http::header::USER_AGENT;
use http_body_util::{BodyExt, Limited};
use parking_lot::RwLock;

use crate::auth::Tokens;
use crate::builder::Builder;
use crate::clock::Clock;
use crate::events::Sweep;
use crate::faults::Faults;
use crate::http::{Body, Identity, Query, Request, error_response};
use crate::random::Random;
use crate::requests::{LoggedRequest, RequestLog};
use crate::resources::Registry;
use crate::storage::{HistoryLimits, Revisions, Shard};
use crate::strategy::Allocator;
use crate::verbs;

/// What the real server accepts as a request body.
const LARGEST_BODY: usize = 3 * 1024 * 1024;

/// An embedded API server. Cheap to clone: every clone is a handle on the same state.
///
/// As a [`tower_service::Service`] it answers in process, as the administrator. Over a
/// socket it is served by [`Server::listen`].
///
/// # Cancel safety
///
/// Dropping the future of a request before it has finished may or may not leave its write
/// done, as with any server. A watch ends when its body is dropped.
#[derive(Clone, Debug)]
pub struct Server {
    state: Arc<State>,
}

/// Everything that requests share.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) revisions: Arc<Revisions>,
    pub(crate) registry: RwLock<Arc<Registry>>,
    pub(crate) history: HistoryLimits,
    pub(crate) namespaces: Arc<Shard>,
    pub(crate) clock: Clock,
    pub(crate) random: Random,
    pub(crate) allocator: Allocator,
    pub(crate) sweep: Sweep,
    pub(crate) faults: Faults,
    pub(crate) tokens: Tokens,
    pub(crate) requests: RequestLog,
}

impl Server {
    /// Starts a server with the defaults: nothing in it but the initial namespaces.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Settings of a server.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn from_state(state: State) -> Self {
        Self {
            state: Arc::new(state),
        }
    }

    pub(crate) fn state(&self) -> &Arc<State> {
        &self.state
    }

    /// The faults that this server injects. Shared by all handles.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.state.faults
    }

    /// The tokens that a listener accepts. Shared by all handles.
    #[must_use]
    pub fn tokens(&self) -> &Tokens {
        &self.state.tokens
    }

    /// The requests since the last call, oldest first, as far as
    /// [`Builder::log_requests`] lets the server remember them. For assertions on traffic.
    pub fn take_requests(&self) -> Vec<LoggedRequest> {
        self.state.requests.take()
    }

    /// The revision of the last write.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.state.revisions.current()
    }

    /// Forgets all history: a list or watch from an older resource version gets 410, a
    /// continue token expires, and a watcher that is behind ends with 410.
    pub fn compact(&self) {
        let registry = Arc::clone(&self.state.registry.read());
        let revision = self.state.revisions.current();
        for resource in registry.all() {
            resource.shard.compact(revision);
        }
    }

    /// Answers one request on behalf of `identity`.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future may or may not leave a write done.
    pub async fn handle<B>(
        &self,
        request: http::Request<B>,
        identity: Identity,
    ) -> http::Response<Body>
    where
        B: http_body::Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (head, body) = request.into_parts();
        let body = match Limited::new(body, LARGEST_BODY).collect().await {
            Ok(body) => {
                let mut body = body.aggregate();
                body.copy_to_bytes(body.remaining())
            }
            Err(error) => return error_response(&unreadable(&*error)),
        };
        let logged = self.state.requests.is_on().then(|| {
            let agent = head
                .headers
                .get(USER_AGENT)
                .and_then(|value| value.to_str().ok());
            LoggedRequest {
                method: head.method.clone(),
                path: head.uri.path().to_owned(),
                query: head.uri.query().unwrap_or_default().to_owned(),
                user_agent: agent.unwrap_or_default().to_owned(),
                user: identity.user.clone(),
                code: 0,
                at: self.state.clock.now(),
            }
        });
        let request = Request {
            method: head.method,
            path: head.uri.path().to_owned(),
            query: Query::parse(head.uri.query()),
            headers: head.headers,
            body,
            identity,
        };
        let response = match verbs::dispatch(&self.state, request).await {
            Ok(reply) => reply.into_response(),
            Err(status) => error_response(&status),
        };
        if let Some(mut logged) = logged {
            logged.code = response.status().as_u16();
            logged.at = self.state.clock.now();
            self.state.requests.push(logged);
        }
        response
    }
}

impl Default for Server {
    fn default() -> Self {
        Self::new()
    }
}

fn unreadable(error: &(dyn std::error::Error + Send + Sync + 'static)) -> Status {
    if error.is::<http_body_util::LengthLimitError>() {
        let message = format!("Request entity too large: limit is {LARGEST_BODY}");
        return Status::failure(413, Reason::RequestEntityTooLarge, message);
    }
    Status::bad_request(format!("the request body could not be read: {error}"))
}

impl<B> tower_service::Service<http::Request<B>> for Server
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move {
            let identity = request
                .extensions()
                .get()
                .cloned()
                .unwrap_or_else(Identity::admin);
            Ok(server.handle(request, identity).await)
        })
    }
}
