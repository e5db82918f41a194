use std::time::Duration;

use evenkeel_client::{Error, WatchEvent, WatchStream};
use evenkeel_meta::DynamicObject;
use evenkeel_pace::{Backoff, Rng};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use tokio::time::{Instant, sleep_until};

use super::exchange::Leases;
use crate::machine::Input;
use crate::{Lease, Timing};

/// How long to leave a server alone that does not allow the watch.
const REFUSED: Duration = Duration::from_secs(60);

/// Watches one Lease for as long as it is polled, opening the watch again when it ends.
///
/// Whatever goes wrong, the election goes on by its timer; so nothing here is an error.
pub(super) struct LeaseWatch {
    leases: Leases,
    state: State,
    /// Between two failed openings.
    backoff: Backoff,
    /// Between two openings that succeed, at least.
    spacing: Duration,
    rng: Rng,
}

enum State {
    /// There is nothing to watch that shows the whole lock.
    Off,
    Closed {
        until: Instant,
    },
    Opening(BoxFuture<'static, Result<WatchStream<DynamicObject>, Error>>),
    Open {
        stream: WatchStream<DynamicObject>,
        since: Instant,
    },
}

impl LeaseWatch {
    pub(super) fn new(leases: Leases, timing: &Timing, rng: Rng) -> Self {
        let longest = (timing.retry_period * 8).max(timing.lease);
        Self {
            state: if leases.can_watch() {
                State::Opening(leases.watch())
            } else {
                State::Off
            },
            leases,
            backoff: Backoff::new(timing.retry_period, longest).jitter(0.5),
            spacing: timing.retry_period,
            rng,
        }
    }

    pub(super) fn restart(&mut self) {
        if !self.leases.can_watch() {
            return;
        }
        self.state = State::Opening(self.leases.watch());
    }

    /// The next news. Cancel safe.
    pub(super) async fn next(&mut self) -> Input {
        loop {
            match &mut self.state {
                State::Off => std::future::pending().await,
                State::Closed { until } => {
                    sleep_until(*until).await;
                    self.state = State::Opening(self.leases.watch());
                }
                State::Opening(opening) => match opening.await {
                    Ok(stream) => {
                        self.backoff.reset();
                        let since = Instant::now();
                        self.state = State::Open { stream, since };
                        return Input::WatchOpened;
                    }
                    Err(error) => self.opening_failed(&error),
                },
                State::Open { stream, since } => {
                    let since = *since;
                    match stream.next().await {
                        Some(Ok(event)) => {
                            if let Some(input) = self.news(event) {
                                return input;
                            }
                        }
                        Some(Err(error)) => {
                            tracing::debug!(%error, "watch of the lease broke off");
                            return self.ended(since);
                        }
                        None => return self.ended(since),
                    }
                }
            }
        }
    }

    fn news(&mut self, event: WatchEvent<DynamicObject>) -> Option<Input> {
        match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                self.lease(object).map(Input::Seen)
            }
            WatchEvent::Deleted(object) => self.lease(object).map(Input::SeenDeleted),
            WatchEvent::Bookmark { .. } => None,
            // The stream's end follows.
            WatchEvent::Error(status) => {
                tracing::debug!(%status, "watch of the lease ended");
                None
            }
            WatchEvent::Undecodable { error, .. } => {
                tracing::debug!(%error, "the lease does not decode");
                None
            }
        }
    }

    /// A server may ignore the field selector.
    fn lease(&self, object: DynamicObject) -> Option<Lease> {
        if object.metadata.name != self.leases.name() {
            return None;
        }
        Lease::from_object(object).ok()
    }

    fn ended(&mut self, since: Instant) -> Input {
        let until = (since + self.rng.jittered(self.spacing, 0.5)).max(Instant::now());
        self.state = State::Closed { until };
        Input::WatchClosed
    }

    fn opening_failed(&mut self, error: &Error) {
        let wait = if error.is_forbidden() || error.is_not_found() || error.is_invalid() {
            REFUSED
        } else {
            self.backoff.next(&mut self.rng)
        };
        tracing::debug!(%error, ?wait, "cannot watch the lease; falling back to the timer");
        let until = Instant::now() + wait;
        self.state = State::Closed { until };
    }
}
