use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use evenkeel_meta::ObjectKey;
use tokio::sync::{Notify, watch};

use crate::event::Event;
use crate::set_aside::SetAside;
use crate::status::SyncError;

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
#[derive(Debug)]
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

/// What a handler's task and its owner know of each other.
#[derive(Debug)]
pub(crate) struct Link {
    removed: AtomicBool,
    pub(crate) panics: AtomicU64,
    phase: watch::Sender<Phase>,
    /// Wakes the informer, so that it drops a removed handler soon.
    informer: Arc<Notify>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Waiting,
    Synced,
    Ended,
}

impl Link {
    pub(crate) fn new(informer: Arc<Notify>) -> Arc<Self> {
        Arc::new(Self {
            removed: AtomicBool::new(false),
            panics: AtomicU64::new(0),
            phase: watch::Sender::new(Phase::Waiting),
            informer,
        })
    }

    pub(crate) fn is_removed(&self) -> bool {
        self.removed.load(Ordering::Acquire)
    }

    pub(crate) fn remove(&self) {
        self.removed.store(true, Ordering::Release);
        self.informer.notify_one();
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
            _ => Err(SyncError::Stopped { failure: None }),
        }
    }
}
