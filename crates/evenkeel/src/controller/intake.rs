use std::hash::Hash;
use std::sync::Arc;

use evenkeel_meta::MetaView;
use evenkeel_workqueue::{Add, Queue};
use tokio::sync::Notify;

use crate::writes::{SourceId, Writes};

/// A queue on its way to one term, and the ledger of what that term writes.
pub(crate) struct Intake<K> {
    pub(crate) queue: Queue<K>,
    pub(crate) writes: Arc<Writes<K>>,
    /// Wakes the runs that want to know whether their key was added again.
    added: Notify,
}

impl<K: Clone + Eq + Hash + Send + Sync + 'static> Intake<K> {
    pub(super) fn new(queue: Queue<K>, cluster: Option<&str>) -> Self {
        Self {
            queue,
            writes: Arc::new(Writes::new(cluster)),
            added: Notify::new(),
        }
    }

    pub(super) fn add(&self, key: K, how: Add) {
        self.queue.add_with(key, how);
        self.added.notify_waiters();
    }

    pub(super) fn saw(&self, source: SourceId, seen: &impl MetaView, gone: bool) {
        self.writes.saw(source, seen, gone, &self.queue);
    }

    /// Resolves when `key`, which a worker has, is to run once more.
    pub(crate) async fn superseded(&self, key: &K) {
        loop {
            let added = self.added.notified();
            if self.queue.will_rerun(key) {
                return;
            }
            added.await;
        }
    }
}
