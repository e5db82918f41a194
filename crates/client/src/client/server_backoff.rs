use std::time::Duration;

use evenkeel_pace::{Backoff, Moment, Rng};
use parking_lot::Mutex;
use tokio::time::Instant;

/// Slows the requests of a client down while its server is in trouble (client-go RC14).
///
/// client-go keeps this within the tries of one request, so that it slows nothing down when
/// requests fail one after another; here the client and its clones share it.
pub(crate) struct ServerBackoff {
    state: Mutex<State>,
    origin: Instant,
}

struct State {
    backoff: Backoff,
    rng: Rng,
    /// No request starts before.
    until: Option<Moment>,
}

impl ServerBackoff {
    pub(crate) fn new(base: Duration, longest: Duration, seed: u64) -> Self {
        Self {
            state: Mutex::new(State {
                backoff: Backoff::new(base, longest),
                rng: Rng::seeded(seed),
                until: None,
            }),
            origin: Instant::now(),
        }
    }

    /// What `KUBE_CLIENT_BACKOFF_BASE` and `KUBE_CLIENT_BACKOFF_DURATION` say, in whole seconds.
    pub(crate) fn from_variables(get: impl Fn(&str) -> Option<String>, seed: u64) -> Option<Self> {
        let seconds = |name: &str| {
            let seconds: u64 = get(name)?.trim().parse().ok()?;
            (seconds > 0).then(|| Duration::from_secs(seconds))
        };
        let base = seconds("KUBE_CLIENT_BACKOFF_BASE")?;
        let longest = seconds("KUBE_CLIENT_BACKOFF_DURATION")?;
        Some(Self::new(base, longest, seed))
    }

    /// Waits until a request may start.
    pub(super) async fn wait(&self) {
        let until = self.state.lock().until;
        if let Some(until) = until {
            let wait = until - self.now();
            tokio::time::sleep(wait).await;
        }
    }

    /// An answer has come: 429 and 5xx lengthen the wait, others end it.
    pub(super) fn answered(&self, code: http::StatusCode) {
        let now = self.now();
        let mut state = self.state.lock();
        let State {
            backoff,
            rng,
            until,
        } = &mut *state;
        if code == http::StatusCode::TOO_MANY_REQUESTS || code.is_server_error() {
            *until = Some(now + backoff.next_at(now, rng));
        } else {
            backoff.reset();
            *until = None;
        }
    }

    fn now(&self) -> Moment {
        Moment::from(self.origin.elapsed())
    }
}

impl std::fmt::Debug for ServerBackoff {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerBackoff").finish_non_exhaustive()
    }
}
