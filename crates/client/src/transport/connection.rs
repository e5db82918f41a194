use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use http_body_util::BodyDataStream;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

use super::http_error::{body_error, send_error};
use super::watch_pool::Place;
use super::{ByteStream, TransportError};

/// One reqwest client. It pools one HTTP/2 connection a host, so it stands for a connection.
///
/// While there is none, each request would dial one, and all but the first would be thrown
/// away: a program with thirty informers would greet its server with thirty TLS handshakes,
/// and again after each restart of the server. So one request goes ahead and the others wait
/// for its answer, but not for long: the connection is there well before a slow answer is.
#[derive(Clone)]
pub(super) struct Connection {
    client: reqwest::Client,
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    /// The right to go ahead.
    opening: Semaphore,
    idle_timeout: Duration,
    /// The proxy on the way, for error texts.
    via: Option<String>,
}

struct State {
    /// Whether the last that was heard of the connection was good.
    answered: bool,
    /// Requests whose bodies are not read to the end.
    open: usize,
    last_used: Instant,
}

/// How long a request waits for another one to open the connection.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

impl Connection {
    /// `idle_timeout` is the time after which the client closes a connection without requests.
    pub(super) fn new(
        client: reqwest::Client,
        idle_timeout: Duration,
        via: Option<String>,
    ) -> Self {
        Self {
            client,
            shared: Arc::new(Shared {
                state: Mutex::new(State {
                    answered: false,
                    open: 0,
                    last_used: Instant::now(),
                }),
                opening: Semaphore::new(1),
                idle_timeout,
                via,
            }),
        }
    }

    /// Sends a request. `place` is given back when the body is dropped.
    pub(super) async fn execute(
        &self,
        request: reqwest::Request,
        place: Option<Place>,
    ) -> Result<http::Response<ByteStream>, TransportError> {
        let server: Arc<str> = request.url().authority().into();
        let going_ahead = self.shared.enter().await;
        let open = Open::new(&self.shared);
        let outcome = self.client.execute(request).await;
        self.shared.heard(outcome.is_ok());
        drop(going_ahead);
        let via = self.shared.via.as_deref();
        let response: http::Response<reqwest::Body> = outcome
            .map_err(|error| send_error(error, &server, via))?
            .into();
        Ok(response.map(|body| {
            BodyDataStream::new(body)
                .map(move |chunk| {
                    let _held = &place;
                    chunk.map_err(|error| {
                        open.0.heard(false);
                        body_error(error, &server)
                    })
                })
                .boxed()
        }))
    }
}

impl Shared {
    /// Waits if another request is opening the connection.
    async fn enter(&self) -> Option<SemaphorePermit<'_>> {
        if self.is_open() {
            return None;
        }
        let permit = tokio::time::timeout(LONGEST_WAIT, self.opening.acquire()).await;
        let permit = permit.ok()?.ok();
        permit.filter(|_| !self.is_open())
    }

    /// As far as one can tell: the connection itself is out of sight.
    fn is_open(&self) -> bool {
        let state = self.state.lock();
        state.answered && (state.open > 0 || state.last_used.elapsed() < self.idle_timeout)
    }

    fn heard(&self, good: bool) {
        let mut state = self.state.lock();
        state.answered = good;
        state.last_used = Instant::now();
    }
}

/// Counts a request until its body is dropped.
struct Open(Arc<Shared>);

impl Open {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.state.lock().open += 1;
        Self(Arc::clone(shared))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.open -= 1;
        state.last_used = Instant::now();
    }
}
