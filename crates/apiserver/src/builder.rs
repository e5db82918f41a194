//! Settings of a server.

use std::sync::Arc;

use evenkeel_meta::Timestamp;
use parking_lot::RwLock;

use crate::auth::Tokens;
use crate::clock::Clock;
use crate::events::Sweep;
use crate::faults::Faults;
use crate::namespaces;
use crate::random::Random;
use crate::requests::RequestLog;
use crate::resources::{BUILTIN, Registry};
use crate::server::{Server, State};
use crate::storage::{HistoryLimits, Revisions, Shard};
use crate::strategy::Allocator;

/// Settings of a [`Server`].
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until it builds"]
pub struct Builder {
    seed: Option<u64>,
    now: Option<Timestamp>,
    history: HistoryLimits,
    logged_requests: usize,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            seed: None,
            now: None,
            history: HistoryLimits {
                changes: 8_192,
                bytes: 32 * 1024 * 1024,
            },
            logged_requests: 0,
        }
    }
}

impl Builder {
    /// The seed of UIDs and generated names. Without one they differ from run to run.
    /// Tokens and keys never come from it.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// The wall-clock time at the start. It advances with tokio's clock, so in a test with
    /// a paused clock timestamps are reproducible. Default: the system's time.
    pub fn now(mut self, now: Timestamp) -> Self {
        self.now = Some(now);
        self
    }

    /// How many changes, and how many bytes of them, each resource remembers. A watch that
    /// is further behind gets 410. Default: 8,192 changes or 32 MiB.
    pub fn history(mut self, changes: usize, bytes: usize) -> Self {
        self.history = HistoryLimits { changes, bytes };
        self
    }

    /// How many requests [`Server::take_requests`] may return. Default: none.
    pub fn log_requests(mut self, capacity: usize) -> Self {
        self.logged_requests = capacity;
        self
    }

    /// Starts the server. It needs no runtime yet.
    #[must_use]
    pub fn build(self) -> Server {
        let revisions = Arc::new(Revisions::new());
        let registry = registry(&revisions, self.history);
        let namespaces = registry.find("", "v1", "namespaces").map_or_else(
            || Arc::new(Shard::new(Arc::clone(&revisions), self.history)),
            |found| Arc::clone(&found.shard),
        );
        let state = State {
            revisions,
            registry: RwLock::new(Arc::new(registry)),
            history: self.history,
            namespaces,
            clock: Clock::starting_at(self.now.unwrap_or_else(Timestamp::now)),
            random: Random::seeded(self.seed.unwrap_or_else(|| fastrand::u64(..))),
            allocator: Allocator::default(),
            sweep: Sweep::default(),
            faults: Faults::default(),
            tokens: Tokens::default(),
            requests: RequestLog::new(self.logged_requests),
        };
        let server = Server::from_state(state);
        namespaces::create_initial(server.state());
        server
    }
}

fn registry(revisions: &Arc<Revisions>, history: HistoryLimits) -> Registry {
    let mut registry = Registry::default();
    for row in BUILTIN {
        // Both Event types are views of one storage.
        let shared = registry
            .find("", "v1", row.plural())
            .filter(|_| row.plural() == "events");
        let shard = shared.map(|core| Arc::clone(&core.shard));
        let shard = shard.unwrap_or_else(|| Arc::new(Shard::new(Arc::clone(revisions), history)));
        registry.add(Arc::new(row.resource(shard)));
    }
    registry
}
