use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use evenkeel_meta::ObjectKey;
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use crate::event::Event;
use crate::set_aside::SetAside;
use crate::status::{Status, SyncError};

/// Is told of every change of a collection, one after the other.
///
/// Called by the informer's own task, between two batches of changes: a handler that does more
/// than a few microseconds of work, or blocks, holds up the store and every other handler. Put
/// keys into a queue here; for anything slower use
/// [`Informer::add_slow_handler`](crate::Informer::add_slow_handler) or
/// [`Informer::subscribe`](crate::Informer::subscribe).
///
/// A panic is caught, counted and logged; the next event comes as if the call had returned
/// (contract client-go I13, ours). Any `FnMut(&ObjectKey, &Event<K>)` is a handler.
pub trait Handler<K>: Send + 'static {
    /// Takes one event. The store shows its state, or a later one, already.
    fn handle(&mut self, key: &ObjectKey, event: &Event<K>);

    /// Takes note that an object is there, in a state that the store could not take. No event
    /// tells of that state; one comes when the object changes into a good one, or is gone.
    fn set_aside(&mut self, key: &ObjectKey, object: &SetAside) {
        let _ = (key, object);
    }
}

impl<K, F> Handler<K> for F
where
    F: FnMut(&ObjectKey, &Event<K>) + Send + 'static,
{
    fn handle(&mut self, key: &ObjectKey, event: &Event<K>) {
        self(key, event);
    }
}

/// A handler's place in its informer. Dropping it removes the handler.
///
/// After that no new call begins. A call that is under way may still finish (contract client-go I7).
#[must_use = "dropping the registration removes the handler"]
pub struct Registration {
    link: Arc<Link>,
}

impl Registration {
    pub(crate) fn new(link: Arc<Link>) -> Self {
        Self { link }
    }

    /// Whether the handler has been told of, and returned from, everything that was there when it
    /// was added, or in the first list (contract client-go I8).
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.link.has_synced()
    }

    /// Waits until [`has_synced`](Self::has_synced).
    ///
    /// # Errors
    ///
    /// The informer was stopped first.
    ///
    /// # Cancel safety
    ///
    /// Yes; nothing is consumed.
    pub async fn synced(&self) -> Result<(), SyncError> {
        self.link.synced().await
    }

    /// As [`synced`](Self::synced), but gives up after `limit` with an error that says how the
    /// informer stands: "not synced: list pods: pods is forbidden: ..., 12 s, 4 tries".
    ///
    /// # Errors
    ///
    /// The informer was stopped, or the time is over.
    ///
    /// # Cancel safety
    ///
    /// Yes; nothing is consumed.
    pub async fn synced_within(&self, limit: Duration) -> Result<(), SyncError> {
        self.link.synced_within(limit).await
    }

    /// Tells the handler of every object again each `period`, as an update from a state to itself
    /// ([`Event::is_resync`]); a period below a second counts as a second. For loops whose
    /// outcome depends on what no event tells of.
    ///
    /// Nothing is asked of the server. The first time is a period after the handler
    /// was taken in, or had synced (contracts client-go R25, I10; ours: periods are kept to, and relists do not
    /// put them off). Cost: one call an object.
    pub fn resync_every(self, period: Duration) -> Self {
        self.link.set_resync(period);
        self
    }

    /// How many calls of the handler panicked.
    #[must_use]
    pub fn panics(&self) -> u64 {
        self.link.panics.load(Ordering::Relaxed)
    }

    /// Removes the handler, as dropping does.
    pub fn remove(self) {}
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.link.remove();
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration")
            .field("synced", &self.has_synced())
            .field("panics", &self.panics())
            .finish_non_exhaustive()
    }
}

/// What a handler's task and its owner know of each other.
pub(crate) struct Link {
    removed: AtomicBool,
    pub(crate) panics: AtomicU64,
    phase: watch::Sender<Phase>,
    resync: Mutex<Option<Duration>>,
    /// Wakes the informer, so that it drops a removed handler soon.
    wake: Arc<Notify>,
    /// How the informer stands.
    status: Arc<Status>,
}

/// The shortest time between two resyncs.
const MIN_RESYNC: Duration = Duration::from_secs(1);
/// The longest: tokio's instants end before our durations.
const MAX_RESYNC: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Waiting,
    Synced,
    Ended,
}

impl Link {
    pub(crate) fn new(wake: Arc<Notify>, status: Arc<Status>) -> Arc<Self> {
        Arc::new(Self {
            removed: AtomicBool::new(false),
            panics: AtomicU64::new(0),
            phase: watch::Sender::new(Phase::Waiting),
            resync: Mutex::new(None),
            wake,
            status,
        })
    }

    pub(crate) fn is_removed(&self) -> bool {
        self.removed.load(Ordering::Acquire)
    }

    pub(crate) fn remove(&self) {
        self.removed.store(true, Ordering::Release);
        self.wake.notify_one();
    }

    pub(crate) fn set_resync(&self, period: Duration) {
        *self.resync.lock() = Some(period.clamp(MIN_RESYNC, MAX_RESYNC));
        self.wake.notify_one();
    }

    pub(crate) fn resync(&self) -> Option<Duration> {
        *self.resync.lock()
    }

    pub(crate) fn mark_synced(&self) {
        self.advance(Phase::Synced);
    }

    /// Nothing more comes; a handler that had synced stays synced.
    pub(crate) fn mark_ended(&self) {
        self.advance(Phase::Ended);
    }

    fn advance(&self, to: Phase) {
        self.phase.send_if_modified(|phase| {
            let waiting = *phase == Phase::Waiting;
            if waiting {
                *phase = to;
            }
            waiting
        });
    }

    pub(crate) fn has_synced(&self) -> bool {
        *self.phase.borrow() == Phase::Synced
    }

    pub(crate) async fn synced(&self) -> Result<(), SyncError> {
        let mut phase = self.phase.subscribe();
        let phase = phase.wait_for(|phase| *phase != Phase::Waiting).await;
        match phase.as_deref() {
            Ok(Phase::Synced) => Ok(()),
            _ => {
                drop(phase);
                let failure = self.status.sync_state().failure;
                Err(SyncError::Stopped { failure })
            }
        }
    }

    pub(crate) async fn synced_within(&self, limit: Duration) -> Result<(), SyncError> {
        tokio::time::timeout(limit, self.synced())
            .await
            .unwrap_or_else(|_| {
                let state = self.status.sync_state();
                Err(SyncError::TimedOut { state })
            })
    }
}
