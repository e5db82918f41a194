//! What an informer tells about itself: whether it has synced, what fails, how fresh it is.

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_meta::ResourceVersion;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::reflector::{Failure, Report, Step};

/// Whether an informer's store shows the collection, and if not, why.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SyncState {
    /// What is mirrored, such as `deployments.apps`.
    pub resource: Arc<str>,
    /// How far it is.
    pub phase: SyncPhase,
    /// How long it has been in that phase.
    pub since: Duration,
    /// What fails at the moment. There may be something after the sync, too: the store then shows
    /// the last state that could be had.
    pub failure: Option<SyncFailure>,
}

/// How far an informer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SyncPhase {
    /// Nobody has started it.
    NotStarted,
    /// The first list is not complete.
    Syncing,
    /// The store has had a whole list, and every inline handler was told of it.
    Synced,
    /// It was stopped.
    Stopped,
}

/// A step that fails, since when and how often.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SyncFailure {
    /// What is mirrored.
    pub resource: Arc<str>,
    /// What fails.
    pub step: Step,
    /// The last error.
    pub error: Failure,
    /// How long it has been failing.
    pub since: Duration,
    /// How many times in a row.
    pub tries: u32,
}

impl SyncState {
    /// Whether the store shows a whole list, or what followed one.
    #[must_use]
    pub fn is_synced(&self) -> bool {
        self.phase == SyncPhase::Synced
    }
}

impl fmt::Display for SyncState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.failure, self.phase) {
            (Some(failure), SyncPhase::Synced) => write!(f, "synced, but stale: {failure}"),
            (Some(failure), _) => write!(f, "not synced: {failure}"),
            (None, SyncPhase::NotStarted) => write!(f, "not synced: {} not started", self.resource),
            (None, SyncPhase::Syncing) => {
                let (resource, since) = (&self.resource, self.since.as_secs());
                write!(f, "not synced: list {resource}: no answer yet, {since} s")
            }
            (None, SyncPhase::Synced) => f.write_str("synced"),
            (None, SyncPhase::Stopped) => write!(f, "not synced: {} stopped", self.resource),
        }
    }
}

impl fmt::Display for SyncFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = format!("{} {}: ", self.step.as_str(), self.resource);
        let error = self.error.to_string();
        // Some errors name their request themselves.
        if !error.starts_with(&what) {
            f.write_str(&what)?;
        }
        let tries = if self.tries == 1 { "try" } else { "tries" };
        let (since, count) = (self.since.as_secs(), self.tries);
        write!(f, "{error}, {since} s, {count} {tries}")
    }
}

/// Why waiting for a sync ended without one.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SyncError {
    /// The informer was stopped, or never started while its factory went away.
    #[error("stopped before it was synced{}", reason(.failure.as_ref()))]
    Stopped {
        /// What was failing at the time.
        failure: Option<SyncFailure>,
    },
    /// It took longer than the caller would wait.
    #[error("{state}")]
    TimedOut {
        /// How things stand.
        state: SyncState,
    },
}

fn reason(failure: Option<&SyncFailure>) -> String {
    failure.map_or_else(String::new, |failure| format!(": {failure}"))
}

/// How up to date a store is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Freshness {
    /// The version that the store shows the state of.
    pub resource_version: ResourceVersion,
    /// Whether a watch is open.
    pub watching: bool,
    /// Time since the last change, or the last list.
    pub last_event: Option<Duration>,
    /// Time since the last bookmark.
    pub last_bookmark: Option<Duration>,
}

impl Freshness {
    /// Time since the server was last known to be where the store is: a bound for how stale the
    /// store may be, as far as one can tell from here. Servers send bookmarks about every minute.
    #[must_use]
    pub fn age(&self) -> Option<Duration> {
        match (self.last_event, self.last_bookmark) {
            (Some(event), Some(bookmark)) => Some(event.min(bookmark)),
            (event, bookmark) => event.or(bookmark),
        }
    }
}

/// Shared by an informer's task and its handles.
pub(crate) struct Status {
    resource: Arc<str>,
    facts: Mutex<Facts>,
    phase: watch::Sender<SyncPhase>,
}

struct Facts {
    phase_since: Instant,
    failing: Option<Failing>,
    watching: bool,
    last_event: Option<Instant>,
    last_bookmark: Option<Instant>,
}

struct Failing {
    step: Step,
    error: Failure,
    since: Instant,
    tries: u32,
}

impl Status {
    pub(crate) fn new(resource: Arc<str>) -> Self {
        Self {
            resource,
            facts: Mutex::new(Facts {
                phase_since: Instant::now(),
                failing: None,
                watching: false,
                last_event: None,
                last_bookmark: None,
            }),
            phase: watch::Sender::new(SyncPhase::NotStarted),
        }
    }

    pub(crate) fn enter(&self, phase: SyncPhase) {
        let now = Instant::now();
        self.phase.send_if_modified(|there| {
            let entered = *there != phase;
            if entered {
                *there = phase;
                self.facts.lock().phase_since = now;
            }
            entered
        });
    }

    pub(crate) fn changed(&self) {
        self.facts.lock().last_event = Some(Instant::now());
    }

    pub(crate) fn bookmark(&self) {
        self.facts.lock().last_bookmark = Some(Instant::now());
    }

    pub(crate) fn report(&self, report: &Report) {
        let now = Instant::now();
        let mut facts = self.facts.lock();
        match report {
            Report::Failed { step, failure } => {
                facts.watching = false;
                let before = facts.failing.take().filter(|before| before.step == *step);
                facts.failing = Some(Failing {
                    step: *step,
                    error: failure.clone(),
                    since: before.as_ref().map_or(now, |before| before.since),
                    tries: before.map_or(1, |before| before.tries.saturating_add(1)),
                });
            }
            Report::Recovered(step) => {
                facts.watching |= *step == Step::Watch;
                // A list that works says nothing about a watch that does not.
                facts
                    .failing
                    .take_if(|failing| *step == Step::Watch || failing.step == *step);
            }
            Report::Pass(_) | Report::StreamLost(_) | Report::StreamFailed(_) => {
                facts.watching = false;
            }
            Report::NoWatchList { .. } | Report::Rewound { .. } => {}
        }
    }

    pub(crate) fn phase(&self) -> SyncPhase {
        *self.phase.borrow()
    }

    pub(crate) fn sync_state(&self) -> SyncState {
        let phase = self.phase();
        let facts = self.facts.lock();
        SyncState {
            resource: Arc::clone(&self.resource),
            phase,
            since: facts.phase_since.elapsed(),
            failure: facts.failing.as_ref().map(|failing| SyncFailure {
                resource: Arc::clone(&self.resource),
                step: failing.step,
                error: failing.error.clone(),
                since: failing.since.elapsed(),
                tries: failing.tries,
            }),
        }
    }

    pub(crate) fn freshness(&self, resource_version: ResourceVersion) -> Freshness {
        let facts = self.facts.lock();
        Freshness {
            resource_version,
            watching: facts.watching,
            last_event: facts.last_event.map(|at| at.elapsed()),
            last_bookmark: facts.last_bookmark.map(|at| at.elapsed()),
        }
    }

    pub(crate) async fn synced(&self) -> Result<(), SyncError> {
        let mut phase = self.phase.subscribe();
        let decided = phase
            .wait_for(|phase| matches!(phase, SyncPhase::Synced | SyncPhase::Stopped))
            .await;
        match decided.as_deref() {
            Ok(SyncPhase::Synced) => Ok(()),
            _ => {
                drop(decided);
                let failure = self.sync_state().failure;
                Err(SyncError::Stopped { failure })
            }
        }
    }

    pub(crate) async fn synced_within(&self, limit: Duration) -> Result<(), SyncError> {
        tokio::time::timeout(limit, self.synced())
            .await
            .unwrap_or_else(|_| {
                let state = self.sync_state();
                Err(SyncError::TimedOut { state })
            })
    }
}
