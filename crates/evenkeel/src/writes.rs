//! The ledger of a controller's own writes, shared by its workers and its stores' handlers.

use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};

use evenkeel_meta::{ApiResource, GroupResource, MetaView, Resource, Uid};
use evenkeel_pace::Moment;
use evenkeel_workqueue::{Item, Queue};
use parking_lot::{Mutex, RwLock};
use tokio::time::Instant;

use crate::context::SEEN_WITHIN;
use crate::ledger::Ledger;
pub(crate) use crate::ledger::SourceId;

/// Whether a store still shows an object: of this key and identity.
type Shows = Arc<dyn Fn(&evenkeel_meta::ObjectKey, &str) -> bool + Send + Sync>;

/// One of a controller's stores.
pub(crate) struct Source {
    /// The name of its cluster, where that is not the Manager's own.
    pub(crate) cluster: Option<String>,
    pub(crate) resource: GroupResource,
    /// The namespace that it is limited to, if another store has the others.
    pub(crate) namespace: Option<String>,
    pub(crate) shows: Shows,
}

/// See the [module](self).
pub(crate) struct Writes<K> {
    /// Where the writes go.
    cluster: Option<String>,
    /// By position; `None` where the store is not watched any more.
    sources: RwLock<Vec<Option<Source>>>,
    ledger: Mutex<Ledger<K>>,
    /// Whether the ledger holds any key: most runs write nothing, and need not contend for it.
    holds_any: AtomicBool,
    origin: Instant,
}

impl<K: Clone + Eq + Hash> Writes<K> {
    pub(crate) fn new(cluster: Option<&str>) -> Self {
        Self {
            cluster: cluster.map(str::to_owned),
            sources: RwLock::default(),
            ledger: Mutex::new(Ledger::new()),
            holds_any: AtomicBool::new(false),
            origin: Instant::now(),
        }
    }

    pub(crate) fn add_source(&self, source: Source) -> SourceId {
        let mut sources = self.sources.write();
        sources.push(Some(source));
        self.ledger.lock().add_source()
    }

    pub(crate) fn remove_source(&self, id: SourceId) {
        if let Some(source) = self.sources.write().get_mut(id) {
            *source = None;
        }
    }

    /// Which of the controller's stores shows objects of this kind that lie in `namespace`, if
    /// any does. One of another cluster does not: its versions say nothing about these writes.
    pub(crate) fn source_of<T: Resource>(&self, namespace: Option<&str>) -> Option<SourceId> {
        let ApiResource { group, plural, .. } = T::api_resource();
        let sources = self.sources.read();
        sources.iter().position(|source| {
            source.as_ref().is_some_and(|source| {
                source.resource.group == group
                    && source.resource.resource == plural
                    && source.cluster == self.cluster
                    && source
                        .namespace
                        .as_deref()
                        .is_none_or(|only| Some(only) == namespace)
            })
        })
    }

    /// Whether each of the stores that show objects of this kind has shown a write that was made here.
    pub(crate) fn are_proven<T: Resource>(&self) -> bool {
        let ApiResource { group, plural, .. } = T::api_resource();
        let sources = self.sources.read();
        let ledger = self.ledger.lock();
        let mut shown = sources.iter().enumerate().filter(|(_, source)| {
            source.as_ref().is_some_and(|source| {
                source.resource.group == group
                    && source.resource.resource == plural
                    && source.cluster == self.cluster
            })
        });
        // An informer that is watched for two reasons has two places here, of which only the
        // first is written to.
        let mut namespaces = Vec::new();
        shown.all(|(id, source)| {
            let namespace = source.as_ref().map(|source| &source.namespace);
            let again = namespaces.contains(&namespace);
            namespaces.push(namespace);
            again || ledger.is_proven(id)
        })
    }

    pub(crate) fn wrote(&self, source: SourceId, key: &K, written: &impl MetaView) {
        if let Some(version) = written.resource_version() {
            let mut ledger = self.ledger.lock();
            ledger.wrote(source, key, &version, self.now());
            self.holds_any.store(ledger.holds_any(), Release);
        }
    }

    pub(crate) fn deleted(&self, source: SourceId, key: &K, object: &impl MetaView) {
        let shows = self.sources.read().get(source).and_then(|source| {
            let source = source.as_ref()?;
            Some(Arc::clone(&source.shows))
        });
        let (Some(uid), Some(shows)) = (object.uid(), shows) else {
            return;
        };
        // Asked under the lock: the store is changed before its handlers are called, so either
        // the store shows the object and the handler's call is yet to come, or it is gone.
        let mut ledger = self.ledger.lock();
        if shows(&object.key(), uid) {
            ledger.deleted(source, key, Uid::from(uid), self.now());
            self.holds_any.store(true, Release);
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
        if !released.is_empty() {
            self.holds_any.store(ledger.holds_any(), Release);
        }
        // Released under the lock, or a worker could park the key after this.
        for key in &released {
            queue.unpark(key);
        }
    }

    /// Holds a key that a run is done with until its writes are seen.
    pub(crate) fn park(&self, item: &Item<K>) {
        // The run's own writes were noted before it ended, so this is not too early for them.
        if !self.holds_any.load(Acquire) {
            return;
        }
        let ledger = self.ledger.lock();
        if ledger.holds(item.key()) {
            item.park(SEEN_WITHIN);
        }
    }

    /// Called as a key is handed out: whether it was, although its writes have not been seen.
    pub(crate) fn give_up(&self, key: &K) -> bool {
        if !self.holds_any.load(Acquire) {
            return false;
        }
        let mut ledger = self.ledger.lock();
        let was_held = ledger.give_up(key).is_some();
        self.holds_any.store(ledger.holds_any(), Release);
        was_held
    }

    fn now(&self) -> Moment {
        Moment::new(self.origin.elapsed())
    }
}
