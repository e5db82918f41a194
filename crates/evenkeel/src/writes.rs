//! The ledger of a controller's own writes, shared by its workers and its stores' handlers.

use std::hash::Hash;
use std::sync::Arc;

use evenkeel_meta::{ApiResource, GroupResource, MetaView, Resource, Uid};
use evenkeel_pace::Moment;
use evenkeel_workqueue::{Item, Queue};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::context::SEEN_WITHIN;
use crate::ledger::Ledger;
pub(crate) use crate::ledger::SourceId;

/// Whether a store still shows an object: of this key and identity.
type Shows = Arc<dyn Fn(&evenkeel_meta::ObjectKey, &str) -> bool + Send + Sync>;

/// One of a controller's stores.
pub(crate) struct Source {
    pub(crate) resource: GroupResource,
    pub(crate) shows: Shows,
}

/// See the [module](self).
pub(crate) struct Writes<K> {
    sources: Vec<Source>,
    ledger: Mutex<Ledger<K>>,
    origin: Instant,
}

impl<K: Clone + Eq + Hash> Writes<K> {
    pub(crate) fn new(sources: Vec<Source>) -> Self {
        Self {
            ledger: Mutex::new(Ledger::new(sources.len())),
            sources,
            origin: Instant::now(),
        }
    }

    /// Which of the controller's stores shows objects of this kind, if any does.
    pub(crate) fn source_of<T: Resource>(&self) -> Option<SourceId> {
        let ApiResource { group, plural, .. } = T::api_resource();
        self.sources
            .iter()
            .position(|source| source.resource.group == group && source.resource.resource == plural)
    }

    pub(crate) fn wrote(&self, source: SourceId, key: &K, written: &impl MetaView) {
        if let Some(version) = written.resource_version() {
            self.ledger.lock().wrote(source, key, &version, self.now());
        }
    }

    pub(crate) fn deleted(&self, source: SourceId, key: &K, object: &impl MetaView) {
        let (Some(uid), Some(shown)) = (object.uid(), self.sources.get(source)) else {
            return;
        };
        // Asked under the lock: the store is changed before its handlers are called, so either
        // the store shows the object and the handler's call is yet to come, or it is gone.
        let mut ledger = self.ledger.lock();
        if (shown.shows)(&object.key(), uid) {
            ledger.deleted(source, key, Uid::from(uid), self.now());
        }
    }

    /// A store shows this version; `gone` names an object that it no longer shows.
    pub(crate) fn saw(&self, source: SourceId, seen: &impl MetaView, gone: bool, queue: &Queue<K>) {
        let mut ledger = self.ledger.lock();
        let mut released = Vec::new();
        if let Some(version) = seen.resource_version() {
            released = ledger.saw_version(source, &version);
        }
        if gone && let Some(uid) = seen.uid() {
            released.extend(ledger.saw_deletion(source, uid));
        }
        // Released under the lock, or a worker could park the key after this.
        for key in &released {
            queue.unpark(key);
        }
    }

    /// Whether a store has shown a write that was made here.
    pub(crate) fn is_proven(&self, source: SourceId) -> bool {
        self.ledger.lock().is_proven(source)
    }

    /// Holds a key that a run is done with until its writes are seen.
    pub(crate) fn park(&self, item: &Item<K>) {
        let ledger = self.ledger.lock();
        if ledger.holds(item.key()) {
            item.park(SEEN_WITHIN);
        }
    }

    /// Called as a key is handed out: whether it was, although its writes have not been seen.
    pub(crate) fn give_up(&self, key: &K) -> bool {
        self.ledger.lock().give_up(key).is_some()
    }

    fn now(&self) -> Moment {
        Moment::new(self.origin.elapsed())
    }
}
