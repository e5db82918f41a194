use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_meta::{LabelSelector, Object, ObjectKey, Scope};
use parking_lot::Mutex;

use crate::event::Event;
use crate::handler::{Handler, Registration};
use crate::index::{AddIndexError, Index};
use crate::informer::{Informer, Stopped};
use crate::informers::InformerOptions;
use crate::set_aside::SetAside;
use crate::status::{SyncError, SyncState};

/// Some namespaces of a resource, each mirrored by an [`Informer`] of its own, read as one.
///
/// For those who may see some namespaces and not all. One LIST and WATCH a namespace: where
/// everything may be seen and the namespaces are many, one informer of all of them is cheaper.
/// A clone is another handle on the same informers, which their factory starts and stops.
///
/// ```
/// # use evenkeel_meta::{ApiResource, Scope};
/// # use evenkeel_store::{Informers, InformerSet};
/// # const CONFIG_MAPS: ApiResource =
/// #     ApiResource::new_static("", "v1", "ConfigMap", "configmaps", Scope::Namespaced);
/// # fn example(informers: &Informers) {
/// let maps = InformerSet::in_namespaces(["shop", "bank"], |options| {
///     informers.metadata(CONFIG_MAPS, options)
/// });
/// informers.start();
/// # }
/// ```
pub struct InformerSet<K> {
    informers: Arc<BTreeMap<String, Informer<K>>>,
}

impl<K: Object + Send + Sync + 'static> InformerSet<K> {
    /// The informers that `make` gives for each of the namespaces; naming one twice is naming it
    /// once. What is in no namespace is there once, whatever namespaces are named.
    pub fn in_namespaces<N: Into<String>>(
        namespaces: impl IntoIterator<Item = N>,
        mut make: impl FnMut(InformerOptions) -> Informer<K>,
    ) -> Self {
        let namespaces: BTreeSet<String> = namespaces.into_iter().map(Into::into).collect();
        let informers = namespaces.into_iter().map(|namespace| {
            let informer = make(InformerOptions::default().namespace(namespace.clone()));
            match informer.resource().scope {
                Scope::Namespaced => (namespace, informer),
                Scope::Cluster => (String::new(), informer),
            }
        });
        Self {
            informers: Arc::new(informers.collect()),
        }
    }

    /// The namespaces with their informers; `""` where objects are in none.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Informer<K>)> {
        self.informers
            .iter()
            .map(|(namespace, informer)| (namespace.as_str(), informer))
    }

    /// Whether objects of this namespace are in the set: what reads of another one, which find
    /// nothing, do not tell from a namespace that is empty (contract controller-runtime T39, ours).
    #[must_use]
    pub fn covers(&self, namespace: &str) -> bool {
        self.informers.contains_key(namespace)
    }

    /// An object by its key; `None` too where its namespace is not of the set.
    #[must_use]
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<K>> {
        let namespace = key.namespace().unwrap_or_default();
        self.informers.get(namespace)?.store().get(key)
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.iter()
            .map(|(_, informer)| informer.store().len())
            .sum()
    }

    /// Whether there is no object.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every object. The snapshots of two namespaces are not of one moment.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<K>> {
        self.collect(|informer| informer.store().list())
    }

    /// The objects of one namespace: none, where it is not of the set.
    #[must_use]
    pub fn in_namespace(&self, namespace: &str) -> Vec<Arc<K>> {
        let informer = self.informers.get(namespace);
        informer.map_or_else(Vec::new, |informer| informer.store().list())
    }

    /// The objects for which `index` gives `value`, in all namespaces.
    #[must_use]
    pub fn by_index(&self, index: &Index<K>, value: &str) -> Vec<Arc<K>> {
        self.collect(|informer| informer.store().by_index(index, value))
    }

    /// The objects whose labels match, in all namespaces.
    #[must_use]
    pub fn select(&self, selector: &LabelSelector) -> Vec<Arc<K>> {
        self.collect(|informer| informer.store().select(selector))
    }

    fn collect(&self, read: impl Fn(&Informer<K>) -> Vec<Arc<K>>) -> Vec<Arc<K>> {
        self.iter()
            .flat_map(|(_, informer)| read(informer))
            .collect()
    }

    /// Adds an index to each store; see [`Store::add_index`](crate::Store::add_index).
    ///
    /// # Errors
    ///
    /// It could not be added to one of them. Those before that one have it.
    pub fn add_index(&self, index: &Index<K>) -> Result<(), AddIndexError> {
        self.iter()
            .try_for_each(|(_, informer)| informer.add_index(index.clone()))
    }

    /// Adds one handler to all of the informers. It gets one registration for each; it is called
    /// for one event at a time, and an informer waits while another has it.
    ///
    /// # Errors
    ///
    /// One of the informers was stopped; the handler is nowhere then.
    pub fn add_handler(&self, handler: impl Handler<K>) -> Result<Vec<Registration>, Stopped> {
        let handler = Arc::new(Mutex::new(handler));
        self.iter()
            .map(|(_, informer)| informer.add_handler(Together(Arc::clone(&handler))))
            .collect()
    }

    /// Whether every informer has synced.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.iter().all(|(_, informer)| informer.has_synced())
    }

    /// Waits until every informer has synced.
    ///
    /// # Errors
    ///
    /// One of them was stopped first.
    ///
    /// # Cancel safety
    ///
    /// Yes; nothing is consumed.
    pub async fn synced(&self) -> Result<(), SyncError> {
        for (_, informer) in self.iter() {
            informer.synced().await?;
        }
        Ok(())
    }

    /// As [`synced`](Self::synced), but gives up after `limit` with the state of the first that is late.
    ///
    /// # Errors
    ///
    /// An informer was stopped, or the time is over.
    ///
    /// # Cancel safety
    ///
    /// Yes; nothing is consumed.
    pub async fn synced_within(&self, limit: Duration) -> Result<(), SyncError> {
        match tokio::time::timeout(limit, self.synced()).await {
            Ok(outcome) => outcome,
            Err(_) => match self.unsynced().into_iter().next() {
                Some((_, state)) => Err(SyncError::TimedOut { state }),
                None => Ok(()),
            },
        }
    }

    /// The namespaces whose informers have not synced, and how those stand.
    #[must_use]
    pub fn unsynced(&self) -> Vec<(&str, SyncState)> {
        let states = self.iter();
        states
            .map(|(namespace, informer)| (namespace, informer.sync_state()))
            .filter(|(_, state)| !state.is_synced())
            .collect()
    }
}

/// One handler in several informers.
struct Together<H>(Arc<Mutex<H>>);

impl<K, H: Handler<K>> Handler<K> for Together<H> {
    fn handle(&mut self, key: &ObjectKey, event: &Event<K>) {
        self.0.lock().handle(key, event);
    }

    fn set_aside(&mut self, key: &ObjectKey, object: &SetAside) {
        self.0.lock().set_aside(key, object);
    }
}

impl<K> Clone for InformerSet<K> {
    fn clone(&self) -> Self {
        Self {
            informers: Arc::clone(&self.informers),
        }
    }
}

impl<K> fmt::Debug for InformerSet<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.informers.keys()).finish()
    }
}
