use std::time::Duration;

use evenkeel_meta::Status;
use evenkeel_pace::Rng;
use http::Method;
use parking_lot::Mutex;

use super::Outgoing;
use crate::transport::{Lane, TransportError, TransportErrorKind};

/// When a request is sent again without its caller noticing (client-go RC2, RC3).
///
/// - An answer of 429 or 5xx that carries `Retry-After`: any verb, after that time. The
///   exception is "too large resource version": waiting for a lagging server is the caller's
///   decision, who can ask for less.
/// - A lost connection: reads and the opening of watches only, after a second.
///
/// Everything else, and the last try, is the caller's. That includes time limits: whoever
/// waited that long should hear of it (client-go would open a watch again ten times).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// Tries after the first one. Default 10.
    pub max_retries: u32,
    /// A longer `Retry-After` is not waited for here; the caller gets the error with it.
    /// Default 30 s.
    pub longest_wait: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_retries: 10,
            longest_wait: Duration::from_secs(30),
        }
    }
}

impl RetryPolicy {
    /// Never try again.
    #[must_use]
    pub const fn never() -> Self {
        Self {
            max_retries: 0,
            longest_wait: Duration::ZERO,
        }
    }

    /// With this many tries after the first one.
    #[must_use]
    pub fn max_retries(mut self, retries: u32) -> Self {
        self.max_retries = retries;
        self
    }
}

const AFTER_LOST_CONNECTION: Duration = Duration::from_secs(1);
/// A `Retry-After: 0` must not become a hot loop.
const SHORTEST_WAIT: Duration = Duration::from_millis(50);

/// The tries of one request.
pub(crate) struct Retries {
    policy: RetryPolicy,
    is_read: bool,
    used: u32,
}

impl Retries {
    pub(crate) fn new(policy: RetryPolicy, outgoing: &Outgoing) -> Self {
        Self {
            policy,
            // A command that is run in a container is asked for by GET too.
            is_read: outgoing.method == Method::GET && outgoing.lane != Lane::Upgrade,
            used: 0,
        }
    }

    /// How long to wait before sending again, or `None` to hand the answer to the caller.
    ///
    /// `asked` is the integer `Retry-After` header.
    pub(crate) fn after_status(
        &mut self,
        status: &Status,
        asked: Option<Duration>,
    ) -> Option<Duration> {
        let may_pass = status.code == 429 || status.code >= 500;
        if !may_pass || status.is_too_large_resource_version() {
            return None;
        }
        let wait = asked?;
        if wait > self.policy.longest_wait {
            return None;
        }
        self.use_one(wait.max(SHORTEST_WAIT))
    }

    /// The same for a request that got no answer.
    pub(crate) fn after_error(&mut self, error: &TransportError) -> Option<Duration> {
        if self.is_read && error.kind() == TransportErrorKind::Closed {
            self.use_one(AFTER_LOST_CONNECTION)
        } else {
            None
        }
    }

    fn use_one(&mut self, wait: Duration) -> Option<Duration> {
        if self.used >= self.policy.max_retries {
            return None;
        }
        self.used += 1;
        Some(wait)
    }
}

/// Spreads the retries of many requests, so that a server that comes back is not hit by all
/// at once.
pub(crate) struct Jitter(Mutex<Rng>);

impl Jitter {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Mutex::new(Rng::seeded(seed)))
    }

    /// `wait`, or up to a tenth longer.
    pub(crate) fn spread(&self, wait: Duration) -> Duration {
        self.0.lock().jittered(wait, 0.1)
    }
}
