use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::Discovery;
use crate::client::Client;
use crate::error::{Error, Result};

/// What a server serves, asked once and kept in memory. Cloning is cheap and shares it.
///
/// Nothing expires by itself: a server's kinds change when somebody changes them, so callers
/// that miss one [`invalidate`](Self::invalidate), or leave that to a
/// [`RestMapper`](super::RestMapper). Group versions that failed for a reason that may pass
/// are asked for again by the next [`get`](Self::get), alone; others stay failed until
/// `invalidate` (client-go D3). Errors are never kept.
///
/// However many ask at once, one of them asks the server and all have its answer.
#[derive(Clone)]
pub struct DiscoveryCache {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    /// Held by the one who asks the server. Dropping the asker's future hands it to the next.
    asking: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    held: Option<Held>,
    /// Counts invalidations: what was asked for before one is not kept after it.
    generation: u64,
    /// Counts answers: whoever waited while one came has it too.
    answers: u64,
    /// The last answer, if it was an error. Only for those who waited for it.
    failed: Option<Error>,
}

#[derive(Clone)]
struct Held {
    discovery: Arc<Discovery>,
    /// When the server was asked for the whole of it.
    asked: Instant,
}

impl Held {
    fn may_improve(&self) -> bool {
        let failures = &self.discovery.failures;
        failures.iter().any(super::DiscoveryFailure::may_pass)
    }
}

/// What there is to ask for.
enum Want {
    Everything,
    Failures(Held),
}

impl DiscoveryCache {
    /// An empty cache; the first use fills it.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self {
            inner: Arc::new(Inner {
                client,
                asking: tokio::sync::Mutex::default(),
                state: Mutex::default(),
            }),
        }
    }

    /// What is there, without asking the server.
    #[must_use]
    pub fn held(&self) -> Option<Arc<Discovery>> {
        let state = self.inner.state.lock();
        Some(Arc::clone(&state.held.as_ref()?.discovery))
    }

    /// What the server serves, asked for if nothing is there. What failed and may have come
    /// back is asked for again.
    ///
    /// # Errors
    ///
    /// As [`Client::discover`]. The next call asks again.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future of the one who asks lets the next one ask.
    pub async fn get(&self) -> Result<Arc<Discovery>> {
        self.ask(|held, waited| match held {
            None => Some(Want::Everything),
            Some(held) if !waited && held.may_improve() => Some(Want::Failures(held.clone())),
            Some(_) => None,
        })
        .await
    }

    /// What the server served at `since` or later: asked for as a whole if what is there is
    /// older.
    ///
    /// # Errors
    ///
    /// As [`Client::discover`]; what is there stays.
    pub async fn newer_than(&self, since: Instant) -> Result<Arc<Discovery>> {
        self.ask(|held, _| match held {
            Some(held) if held.asked >= since => None,
            _ => Some(Want::Everything),
        })
        .await
    }

    /// Forgets everything: the next use asks the server.
    pub fn invalidate(&self) {
        let mut state = self.inner.state.lock();
        state.generation += 1;
        state.held = None;
    }

    /// Whether it was filled since the last [`invalidate`](Self::invalidate).
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        self.inner.state.lock().held.is_some()
    }

    /// `want` is told whether somebody else asked while this one waited.
    async fn ask(
        &self,
        want: impl Fn(Option<&Held>, bool) -> Option<Want>,
    ) -> Result<Arc<Discovery>> {
        let answers = {
            let state = self.inner.state.lock();
            if let (Some(held), None) = (&state.held, want(state.held.as_ref(), false)) {
                return Ok(Arc::clone(&held.discovery));
            }
            state.answers
        };
        let _asking = self.inner.asking.lock().await;
        let (want, generation) = {
            let state = self.inner.state.lock();
            let waited = state.answers != answers;
            if let (true, Some(error)) = (waited, &state.failed) {
                return Err(error.clone());
            }
            match (&state.held, want(state.held.as_ref(), waited)) {
                (Some(held), None) => return Ok(Arc::clone(&held.discovery)),
                (_, want) => (want.unwrap_or(Want::Everything), state.generation),
            }
        };
        let answer = self.send(want).await;
        let mut state = self.inner.state.lock();
        state.answers += 1;
        state.failed = answer.as_ref().err().cloned();
        let held = answer?;
        let discovery = Arc::clone(&held.discovery);
        if state.generation == generation {
            state.held = Some(held);
        }
        Ok(discovery)
    }

    async fn send(&self, want: Want) -> Result<Held> {
        let client = &self.inner.client;
        match want {
            Want::Everything => Ok(Held {
                asked: Instant::now(),
                discovery: Arc::new(client.discover().await?),
            }),
            Want::Failures(held) => {
                let mut discovery = Discovery::clone(&held.discovery);
                client.discover_failures(&mut discovery).await;
                Ok(Held {
                    discovery: Arc::new(discovery),
                    ..held
                })
            }
        }
    }
}

impl std::fmt::Debug for DiscoveryCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DiscoveryCache")
            .field("is_fresh", &self.is_fresh())
            .finish_non_exhaustive()
    }
}
