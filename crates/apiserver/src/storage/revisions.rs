//! The one counter that orders every write of every resource.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

/// The global revision and the lock under which it advances.
#[derive(Debug)]
pub(crate) struct Revisions {
    current: AtomicU64,
    commit: Mutex<()>,
    advanced: Notify,
}

/// The right to take the next revision. One writer at a time holds it.
pub(crate) struct Commit<'a> {
    revisions: &'a Revisions,
    _turn: MutexGuard<'a, ()>,
}

impl Revisions {
    /// Revision 1 is the empty store: 0 means "any" to clients.
    pub(crate) fn new() -> Self {
        Self {
            current: AtomicU64::new(1),
            commit: Mutex::new(()),
            advanced: Notify::new(),
        }
    }

    pub(crate) fn current(&self) -> u64 {
        self.current.load(Ordering::Acquire)
    }

    /// Waits for the turn to write.
    pub(crate) fn begin(&self) -> Commit<'_> {
        Commit {
            revisions: self,
            _turn: self.commit.lock(),
        }
    }

    /// Returns once the store has reached `revision`. Cancel safe.
    pub(crate) async fn reached(&self, revision: u64) {
        loop {
            let advanced = self.advanced.notified();
            tokio::pin!(advanced);
            // Enabled before the check, or an advance between the two is missed.
            advanced.as_mut().enable();
            if self.current() >= revision {
                return;
            }
            advanced.await;
        }
    }
}

impl Commit<'_> {
    pub(crate) fn next(&self) -> u64 {
        self.revisions.current() + 1
    }

    /// Publishes `revision`. The write must be visible by then.
    pub(crate) fn publish(self, revision: u64) {
        self.revisions.current.store(revision, Ordering::Release);
        self.revisions.advanced.notify_waiters();
    }
}
