use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use evenkeel_meta::{ApiResource, Object, ObjectKey};
use evenkeel_observe::Metrics;
use evenkeel_pace::{ItemBackoff, Limiter};
use evenkeel_store::{Event, Index, Store};
use futures_util::{Stream, StreamExt, stream};
use tokio::sync::mpsc;

use super::feed::Feed;
use super::source::{Source, sources};
use super::watch::Watch;
use super::watches::Watches;
use super::{Controller, Reconcile, mapping};
use crate::reconciler::{ObjectReconciler, OfObjects};
use crate::{Cluster, Reconciler};

/// A controller that has a name and watches nothing yet.
#[must_use]
#[derive(Debug)]
pub struct Named {
    name: String,
}

impl Named {
    pub(super) fn new(name: String) -> Self {
        Self { name }
    }

    /// Reconciles the objects of a collection: their keys are the controller's keys.
    pub fn for_<T: Object + Send + Sync + 'static>(
        self,
        collection: impl Into<Watch<T>>,
    ) -> Builder<ObjectKey, For<T>> {
        let watch = collection.into();
        let informers = || watch.parts.iter().map(|part| &part.informer);
        let subject = For {
            resource: informers().next().map(|one| one.resource().clone()),
            stores: informers().map(|one| one.store().clone()).collect(),
        };
        Builder::new(self.name, subject).with(sources(watch, mapping::itself()))
    }

    /// Reconciles keys of any type, which `map` makes of objects; see [`Builder::watches`].
    pub fn watches<T, K, I>(
        self,
        collection: impl Into<Watch<T>>,
        map: impl Fn(&T) -> I + Send + Sync + 'static,
    ) -> Builder<K, ()>
    where
        T: Object + Send + Sync + 'static,
        K: Clone + Eq + Hash + Send + Sync + 'static,
        I: IntoIterator<Item = K>,
    {
        Builder::new(self.name, ()).watches(collection, map)
    }

    /// Reconciles keys of any type, which `map` makes of events; see [`Builder::watches_events`].
    pub fn watches_events<T, K>(
        self,
        collection: impl Into<Watch<T>>,
        map: impl Fn(&ObjectKey, &Event<T>, &mut dyn FnMut(K)) + Send + Sync + 'static,
    ) -> Builder<K, ()>
    where
        T: Object + Send + Sync + 'static,
        K: Clone + Eq + Hash + Send + Sync + 'static,
    {
        Builder::new(self.name, ()).watches_events(collection, map)
    }

    /// Reconciles keys of any type that come from somewhere else; see [`Builder::receives`].
    pub fn receives<K>(self, keys: mpsc::Receiver<K>) -> Builder<K, ()>
    where
        K: Clone + Eq + Hash + Send + Sync + 'static,
    {
        Builder::new(self.name, ()).receives(keys)
    }

    /// Reconciles keys of any type that come from somewhere else; see [`Builder::follows`].
    pub fn follows<K>(self, keys: impl Stream<Item = K> + Send + 'static) -> Builder<K, ()>
    where
        K: Clone + Eq + Hash + Send + Sync + 'static,
    {
        Builder::new(self.name, ()).follows(keys)
    }
}

/// The objects whose keys a controller reconciles: what a [`Builder`] knows after
/// [`for_`](Named::for_), and what [`owns`](Builder::owns) needs.
pub struct For<T> {
    resource: Option<ApiResource>,
    stores: Vec<Store<T>>,
}

/// What a controller watches and how it runs.
///
/// ```no_run
/// # use evenkeel::{Context, Controller, Outcome, ReconcileError, Reconciler};
/// # use evenkeel_meta::{Metadata, ObjectKey};
/// # use evenkeel_store::Informer;
/// # fn build(sets: &Informer<Metadata>, pods: &Informer<Metadata>, reconciler: impl Reconciler) {
/// let controller = Controller::builder("replicaset")
///     .for_(sets)
///     .owns(pods)
///     .concurrency(5)
///     .reconciler(reconciler);
/// # }
/// ```
///
/// Only what makes sense can be said: a controller that watches nothing cannot be built, and
/// without `for_` there is nothing that could own something.
///
/// ```compile_fail
/// # use evenkeel::{Controller, Reconciler};
/// # use evenkeel_meta::{Metadata, ObjectKey};
/// # fn build(pods: &evenkeel_store::Informer<Metadata>, reconciler: impl Reconciler) {
/// Controller::builder("idle").reconciler(reconciler);
/// # }
/// ```
///
/// ```compile_fail
/// # use evenkeel::{Controller, Reconciler};
/// # use evenkeel_meta::{MetaView, Metadata, Object, ObjectKey};
/// # fn build(pods: &evenkeel_store::Informer<Metadata>) {
/// Controller::builder("orphaned").watches(pods, |pod| Some(pod.metadata().key())).owns(pods);
/// # }
/// ```
#[must_use]
pub struct Builder<K = ObjectKey, F = ()> {
    name: String,
    subject: F,
    sources: Vec<Arc<dyn Source<K>>>,
    feeds: Vec<Arc<Feed<K>>>,
    cluster: Option<Cluster>,
    concurrency: usize,
    timeout: Option<Duration>,
    limiter: Arc<dyn Fn() -> Box<dyn Limiter<K> + Send> + Send + Sync>,
    metrics: Option<Metrics>,
}

impl<F> Builder<ObjectKey, For<F>>
where
    F: Object + Send + Sync + 'static,
{
    /// Watches what the reconciled objects control: an event concerns the key of the object's
    /// managing controller, before and after the change.
    ///
    /// The owner is found by group, kind and name, not by UID: one that was made anew under the
    /// old name is told of what its predecessor left (contract controller-runtime F5).
    pub fn owns<T: Object + Send + Sync + 'static>(self, collection: impl Into<Watch<T>>) -> Self {
        self.owned(collection.into(), false)
    }

    /// As [`owns`](Self::owns), for whatever refers to a reconciled object as an owner, be it the
    /// managing controller or one of several.
    pub fn co_owns<T: Object + Send + Sync + 'static>(
        self,
        collection: impl Into<Watch<T>>,
    ) -> Self {
        self.owned(collection.into(), true)
    }

    fn owned<T: Object + Send + Sync + 'static>(self, watch: Watch<T>, all: bool) -> Self {
        match self.subject.resource.clone() {
            Some(owner) => self.with(sources(watch, mapping::owners(owner, all))),
            // No namespace, no objects, no owners.
            None => self,
        }
    }

    /// Watches objects that reconciled ones refer to: an event concerns those that `index` finds
    /// under the values that `values` gives, before and after the change.
    ///
    /// ```no_run
    /// # use evenkeel::{Controller, Reconciler};
    /// # use evenkeel::meta::{MetaView, Metadata, Object, ObjectKey};
    /// # use evenkeel::store::{AddIndexError, Index, Informer};
    /// # use k8s_openapi::api::{core::v1::Pod, core::v1::Secret};
    /// # fn build(pods: &Informer<Pod>, secrets: &Informer<Secret>, reconciler: impl Reconciler) -> Result<(), AddIndexError> {
    /// let by_secret = Index::new("secret", |pod: &Pod| {
    ///     let spec = pod.spec.as_ref();
    ///     let volumes = spec.and_then(|spec| spec.volumes.clone()).unwrap_or_default();
    ///     let names = volumes.into_iter().filter_map(|volume| volume.secret?.secret_name);
    ///     names.collect::<Vec<_>>()
    /// });
    /// pods.add_index(by_secret.clone())?;
    /// let controller = Controller::builder("reloader")
    ///     .for_(pods)
    ///     .watches_by(secrets, &by_secret, |secret| secret.metadata.name.clone())
    ///     .reconciler(reconciler);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// An index that was not added to the store works too, at the cost of a look at every object.
    pub fn watches_by<T, I>(
        self,
        collection: impl Into<Watch<T>>,
        index: &Index<F>,
        values: impl Fn(&T) -> I + Send + Sync + 'static,
    ) -> Self
    where
        T: Object + Send + Sync + 'static,
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let map = mapping::indexed(self.subject.stores.clone(), index.clone(), values);
        self.with(sources(collection.into(), map))
    }

    /// The controller, with what it does for each object that there is.
    ///
    /// A key whose object is gone is done without a call: for controllers that have a finalizer, or
    /// that leave what is left to the garbage collector (contract controller-runtime C25).
    pub fn object_reconciler(self, reconciler: impl ObjectReconciler<F>) -> Controller {
        let stores = self.subject.stores.clone();
        self.reconciler(OfObjects { stores, reconciler })
    }
}

impl<K: Clone + Eq + Hash + Send + Sync + 'static, F> Builder<K, F> {
    fn new(name: String, subject: F) -> Self {
        Self {
            name,
            subject,
            sources: Vec::new(),
            feeds: Vec::new(),
            cluster: None,
            concurrency: 1,
            timeout: None,
            // Per key 5 ms doubled up to 1000 s (contract controller-runtime C18). No bucket over
            // all keys: it makes unrelated keys wait for each other (bug client-go B23).
            limiter: Arc::new(|| Box::new(ItemBackoff::default())),
            metrics: None,
        }
    }

    fn with(mut self, sources: Vec<Arc<dyn Source<K>>>) -> Self {
        self.sources.extend(sources);
        self
    }

    /// Watches another collection; `map` names the keys that an object concerns. It is asked about
    /// the state before a change and the state after it.
    ///
    /// `map` runs in the informer's task: it may read stores, but must not block.
    pub fn watches<T, I>(
        self,
        collection: impl Into<Watch<T>>,
        map: impl Fn(&T) -> I + Send + Sync + 'static,
    ) -> Self
    where
        T: Object + Send + Sync + 'static,
        I: IntoIterator<Item = K>,
    {
        self.with(sources(collection.into(), mapping::objects(map)))
    }

    /// As [`watches`](Self::watches), with all that an event tells: what happened, to which key,
    /// from which state to which.
    pub fn watches_events<T: Object + Send + Sync + 'static>(
        self,
        collection: impl Into<Watch<T>>,
        map: impl Fn(&ObjectKey, &Event<T>, &mut dyn FnMut(K)) + Send + Sync + 'static,
    ) -> Self {
        self.with(sources(collection.into(), Arc::new(map)))
    }

    /// Reconciles keys that are sent from elsewhere in the process: by a poller, a webhook, a
    /// message of some other system.
    ///
    /// The channel is read only while the controller works. A sender waits when the channel is
    /// full: on a standby until it leads, and otherwise while a thousand keys wait in the queue.
    /// [`try_send`](mpsc::Sender::try_send) tells of it instead. Keys that are in the channel when
    /// a term ends are for the next one; when all senders are gone nothing more comes.
    pub fn receives(self, mut keys: mpsc::Receiver<K>) -> Self {
        self.follows(stream::poll_fn(move |context| keys.poll_recv(context)))
    }

    /// As [`receives`](Self::receives), from any stream, which is polled only while the controller works.
    pub fn follows(mut self, keys: impl Stream<Item = K> + Send + 'static) -> Self {
        self.feeds.push(Feed::new(keys.boxed()));
        self
    }

    /// Writes to another cluster than the Manager's own: what the [`Context`](crate::Context) does and
    /// whose client it has. The watched collections may be of either.
    pub fn writes_to(mut self, cluster: &Cluster) -> Self {
        self.cluster = Some(cluster.clone());
        self
    }

    /// How many keys are reconciled at once; 1 unless set, and never less.
    pub fn concurrency(mut self, workers: usize) -> Self {
        self.concurrency = workers.max(1);
        self
    }

    /// The longest that one run may take; it then ends as a transient error (contract
    /// controller-runtime C13). No limit unless set.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// How long keys wait after failures; each key 5 ms, doubled up to 1000 s, unless set. `make` is
    /// called once per term of leadership.
    pub fn limiter<L: Limiter<K> + Send + 'static>(
        mut self,
        make: impl Fn() -> L + Send + Sync + 'static,
    ) -> Self {
        self.limiter = Arc::new(move || Box::new(make()));
        self
    }

    /// Where the controller and its queue report to; the Manager's registry unless set.
    pub fn metrics(mut self, metrics: Metrics) -> Self {
        self.metrics = Some(metrics);
        self
    }

    /// The controller, with what it does for each key.
    pub fn reconciler(self, reconciler: impl Reconciler<K>) -> Controller<K> {
        let reconciler: Arc<dyn Reconcile<K>> = Arc::new(reconciler);
        Controller {
            name: self.name,
            watches: Arc::new(Watches::new(self.sources)),
            feeds: self.feeds,
            recorders: self.cluster.as_ref().map(Cluster::recorders).cloned(),
            cluster: self
                .cluster
                .map(|cluster| (cluster.name().to_owned(), cluster.client().clone())),
            reconciler,
            concurrency: self.concurrency,
            timeout: self.timeout,
            limiter: self.limiter,
            metrics: self.metrics,
            is_running: AtomicBool::new(false),
        }
    }
}

impl<K, F> fmt::Debug for Builder<K, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("name", &self.name)
            .field("concurrency", &self.concurrency)
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for For<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("For").field(&self.resource).finish()
    }
}
