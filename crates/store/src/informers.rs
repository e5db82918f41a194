mod options;

pub use self::options::InformerOptions;

use std::any::TypeId;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use evenkeel_client::{Api, Client};
use evenkeel_meta::{ApiResource, DynamicObject, Metadata, Object, Resource, Scope};
use evenkeel_observe::Metrics;
use evenkeel_pace::Rng;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::informer::{Informer, Managed, Start};
use crate::metadata_view::MetadataView;
use crate::metrics::InformerMetrics;
use crate::reflector::ReflectorOptions;
use crate::status::{SyncError, SyncState};
use crate::transform::{Ingress, Transform};
use crate::watch_lists::WatchListSupport;
use crate::writer::Writer;

/// The informers of a process: one LIST and one WATCH for each collection and decode type,
/// however many ask for it.
///
/// A clone is another handle on the same informers. When the last handle is dropped, every
/// informer's task is ended at once; [`shutdown`](Self::shutdown) ends them in order and waits.
#[derive(Clone)]
pub struct Informers {
    inner: Arc<Inner>,
}

struct Inner {
    name: Option<Arc<str>>,
    client: Client,
    metrics: Metrics,
    reflector: ReflectorOptions,
    stop: CancellationToken,
    state: Mutex<State>,
}

struct State {
    informers: HashMap<Identity, Arc<dyn Managed>>,
    watch_lists: HashMap<ApiResource, Arc<WatchListSupport>>,
    tasks: JoinSet<()>,
    rng: Rng,
}

impl State {
    /// A name that no other informer's metrics have: `pods`, then `pods-2` for the next informer of pods. That of
    /// a stopped one is free again (contract client-go I18).
    fn metrics_name(&self, resource: &str) -> String {
        let running = self.informers.values().filter(|there| !there.is_stopped());
        let taken: HashSet<_> = running.map(|informer| informer.metrics_name()).collect();
        let more = (2..).map(|n| format!("{resource}-{n}"));
        std::iter::once(resource.to_owned())
            .chain(more)
            .find(|name| !taken.contains(name.as_str()))
            .unwrap_or_default()
    }
}

/// What makes two informers one.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Identity {
    resource: ApiResource,
    selection: InformerOptions,
    decoded_as: TypeId,
    /// Informers keep theirs alive, so that no other takes its address.
    transform: Option<usize>,
}

/// Sets up [`Informers`].
#[derive(Clone, Debug)]
pub struct InformersBuilder {
    name: Option<Arc<str>>,
    client: Client,
    metrics: Metrics,
    reflector: ReflectorOptions,
    seed: Option<u64>,
}

impl InformersBuilder {
    /// Which cluster this is, where a process has informers of several: states, errors and
    /// metrics speak of `east/pods` then.
    #[must_use]
    pub fn name(mut self, cluster: impl Into<Arc<str>>) -> Self {
        self.name = Some(cluster.into());
        self
    }

    /// Where to report to. Default: nowhere.
    #[must_use]
    pub fn metrics(mut self, metrics: Metrics) -> Self {
        self.metrics = metrics;
        self
    }

    /// The bounds of the reflectors' patience.
    #[must_use]
    pub fn reflector(mut self, options: ReflectorOptions) -> Self {
        self.reflector = options;
        self
    }

    /// Makes jitter and the order of iteration the same each time, for runs that can be repeated.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// The factory; nothing runs yet.
    #[must_use]
    pub fn build(self) -> Informers {
        Informers {
            inner: Arc::new(Inner {
                name: self.name,
                client: self.client,
                metrics: self.metrics,
                reflector: self.reflector,
                stop: CancellationToken::new(),
                state: Mutex::new(State {
                    informers: HashMap::new(),
                    watch_lists: HashMap::new(),
                    tasks: JoinSet::new(),
                    rng: self.seed.map_or_else(Rng::from_entropy, Rng::seeded),
                }),
            }),
        }
    }
}

impl Informers {
    /// Informers that ask through `client`.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self::builder(client).build()
    }

    /// As [`new`](Self::new), with more to say.
    #[must_use]
    pub fn builder(client: Client) -> InformersBuilder {
        InformersBuilder {
            name: None,
            client,
            metrics: Metrics::none(),
            reflector: ReflectorOptions::default(),
            seed: None,
        }
    }

    /// The client that the informers ask through.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.inner.client
    }

    /// Objects of a type that knows its resource.
    #[must_use]
    pub fn typed<K>(&self, options: InformerOptions) -> Informer<K>
    where
        K: Resource + DeserializeOwned + Send + Sync + 'static,
    {
        self.projected(K::api_resource(), options)
    }

    /// Objects of `resource`, decoded as whatever part of them `K` names. What objects have in common is
    /// kept once if `K` holds its metadata packed and says so; see [`Object::packed_mut`].
    #[must_use]
    pub fn projected<K>(&self, resource: ApiResource, options: InformerOptions) -> Informer<K>
    where
        K: Object + DeserializeOwned + Send + Sync + 'static,
    {
        self.informer(resource, options, Client::projected, Ingress::default())
    }

    /// As [`projected`](Self::projected), with every object changed on its way in.
    ///
    /// Everybody who asks with the same transform, or a clone of it, shares one informer.
    #[must_use]
    pub fn transformed<K>(
        &self,
        resource: ApiResource,
        options: InformerOptions,
        transform: &Transform<K>,
    ) -> Informer<K>
    where
        K: Object + DeserializeOwned + Send + Sync + 'static,
    {
        self.informer(
            resource,
            options,
            Client::projected,
            Ingress {
                transform: Some(transform.clone()),
                ..Ingress::default()
            },
        )
    }

    /// The metadata of the objects of `resource`: nothing else is sent or kept. What objects have
    /// in common is kept once.
    #[must_use]
    pub fn metadata(&self, resource: ApiResource, options: InformerOptions) -> Informer<Metadata> {
        self.informer(resource, options, Client::metadata, Ingress::default())
    }

    /// Whole objects, compressed, and decoded when they are read; see
    /// [`Compact`](crate::Compact).
    #[cfg(feature = "compact")]
    #[must_use]
    pub fn compact<K>(
        &self,
        resource: ApiResource,
        options: InformerOptions,
    ) -> Informer<crate::Compact<K>>
    where
        K: DeserializeOwned + 'static,
    {
        let mut compressor = crate::compact::Compressor::default();
        self.informer(
            resource,
            options,
            Client::projected,
            Ingress {
                shrink: Some(Box::new(move |object| compressor.shrink(object))),
                ..Ingress::default()
            },
        )
    }

    /// Objects of a resource that is known at run time only.
    #[must_use]
    pub fn dynamic(
        &self,
        resource: ApiResource,
        options: InformerOptions,
    ) -> Informer<DynamicObject> {
        self.informer(resource, options, Client::dynamic, Ingress::default())
    }

    /// The metadata of the objects of `resource`, off whatever informer shows all of them
    /// already; if none does, off a new one of [`metadata`](Self::metadata).
    ///
    /// Only an informer whose objects keep all of their metadata
    /// ([`MetaView::WHOLE`](evenkeel_meta::MetaView::WHOLE)), and that has no transform, will do.
    #[must_use]
    pub fn metadata_view(&self, resource: ApiResource) -> MetadataView {
        self.find_metadata_view(&resource).unwrap_or_else(|| {
            MetadataView::of(self.metadata(resource, InformerOptions::default()))
        })
    }

    /// As [`metadata_view`](Self::metadata_view), but only if such an informer is there: for
    /// those who keep the others elsewhere, because they need them for a shorter time.
    #[must_use]
    pub fn find_metadata_view(&self, resource: &ApiResource) -> Option<MetadataView> {
        let all = InformerOptions::default();
        let state = self.inner.state.lock();
        let candidates = state.informers.iter();
        candidates
            .filter(|(identity, _)| identity.resource == *resource && identity.selection == all)
            .filter(|(identity, _)| identity.transform.is_none())
            .find(|(_, informer)| informer.has_whole_metadata() && !informer.is_stopped())
            .map(|(_, informer)| informer.metadata_view())
    }

    /// The informer that is there already, or a new one, which waits for [`start`](Self::start).
    fn informer<K>(
        &self,
        resource: ApiResource,
        mut selection: InformerOptions,
        api: impl FnOnce(&Client, ApiResource, Option<&str>) -> Api<K>,
        ingress: Ingress<K>,
    ) -> Informer<K>
    where
        K: Object + DeserializeOwned + Send + Sync + 'static,
    {
        if resource.scope == Scope::Cluster {
            selection.namespace = None;
        }
        let identity = Identity {
            resource,
            selection,
            decoded_as: TypeId::of::<K>(),
            transform: ingress.transform.as_ref().map(Transform::id),
        };
        let mut state = self.inner.state.lock();
        let there = state
            .informers
            .get(&identity)
            .filter(|informer| !informer.is_stopped())
            .and_then(|informer| informer.as_any().downcast_ref::<Informer<K>>());
        if let Some(informer) = there {
            return informer.clone();
        }
        let namespace = identity.selection.namespace.as_deref();
        let mut api = api(&self.inner.client, identity.resource.clone(), namespace);
        if K::MANAGED_FIELDS && !identity.selection.managed_fields {
            api = api.without_managed_fields();
        }
        if identity.selection.exact_capacities {
            api = api.with_exact_capacities();
        }
        let informer = self.new_informer(&mut state, api, &identity, ingress);
        if self.inner.stop.is_cancelled() {
            informer.stop();
        }
        state.informers.insert(identity, Arc::new(informer.clone()));
        informer
    }

    fn new_informer<K>(
        &self,
        state: &mut State,
        api: Api<K>,
        identity: &Identity,
        ingress: Ingress<K>,
    ) -> Informer<K>
    where
        K: Object + DeserializeOwned + Send + Sync + 'static,
    {
        let Identity {
            resource,
            selection,
            ..
        } = identity;
        let (writer, store) = Writer::with_seed(state.rng.next_u64());
        let cluster = self.inner.name.clone();
        let name = match &cluster {
            Some(cluster) => format!("{cluster}/{resource}"),
            None => resource.to_string(),
        };
        let metrics =
            InformerMetrics::new(&self.inner.metrics, &state.metrics_name(&name), resource);
        let start = Start {
            api,
            writer,
            labels: selection.labels.clone(),
            fields: selection.fields.clone(),
            options: self.inner.reflector.clone(),
            watch_lists: Arc::clone(state.watch_lists.entry(resource.clone()).or_default()),
            rng: state.rng.fork(),
            ingress,
        };
        Informer::new(cluster, &name, store, metrics, start)
    }

    /// Starts the informers that have not been started. Call it again after more were asked for.
    /// After [`shutdown`](Self::shutdown) it does nothing.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn start(&self) {
        let mut state = self.inner.state.lock();
        if self.inner.stop.is_cancelled() {
            return;
        }
        state.informers.retain(|_, informer| !informer.is_stopped());
        while state.tasks.try_join_next().is_some() {}
        let work: Vec<_> = state
            .informers
            .values()
            .filter_map(|informer| informer.start(self.inner.stop.clone()))
            .collect();
        for informer in work {
            state.tasks.spawn(informer);
        }
    }

    /// Waits until every informer that is there now has synced.
    ///
    /// # Errors
    ///
    /// One of them was stopped first.
    ///
    /// # Cancel safety
    ///
    /// Yes; nothing is consumed.
    pub async fn synced(&self) -> Result<(), SyncError> {
        let waits: Vec<_> = {
            let state = self.inner.state.lock();
            state
                .informers
                .values()
                .map(|informer| informer.synced())
                .collect()
        };
        for wait in waits {
            wait.await?;
        }
        Ok(())
    }

    /// Waits for [`start`](Self::start)ed informers as [`synced`](Self::synced) does, for `limit` at
    /// most. The error names the first that is late, and what is wrong with it.
    ///
    /// # Errors
    ///
    /// The time is over, or an informer was stopped.
    ///
    /// # Cancel safety
    ///
    /// Yes; nothing is consumed.
    pub async fn wait_for_sync(&self, limit: std::time::Duration) -> Result<(), SyncError> {
        match tokio::time::timeout(limit, self.synced()).await {
            Ok(outcome) => outcome,
            Err(_) => match self.unsynced().into_iter().next() {
                Some(state) => Err(SyncError::TimedOut { state }),
                None => Ok(()),
            },
        }
    }

    /// The state of every informer.
    #[must_use]
    pub fn sync_states(&self) -> Vec<SyncState> {
        let state = self.inner.state.lock();
        state
            .informers
            .values()
            .filter(|informer| !informer.is_stopped())
            .map(|informer| informer.sync_state())
            .collect()
    }

    /// The states of those that have not synced.
    #[must_use]
    pub fn unsynced(&self) -> Vec<SyncState> {
        let mut states = self.sync_states();
        states.retain(|state| !state.is_synced());
        states
    }

    /// Stops every informer and waits until their tasks have ended, handlers' calls included.
    ///
    /// # Cancel safety
    ///
    /// The informers are stopped at the first poll. Dropping the future ends what has not
    /// returned yet at once.
    pub async fn shutdown(&self) {
        let mut tasks = {
            let mut state = self.inner.state.lock();
            self.inner.stop_all(&state);
            std::mem::take(&mut state.tasks)
        };
        while tasks.join_next().await.is_some() {}
    }
}

impl Inner {
    fn stop_all(&self, state: &State) {
        self.stop.cancel();
        for informer in state.informers.values() {
            informer.stop();
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let state = self.state.lock();
        self.stop_all(&state);
    }
}

impl fmt::Debug for Informers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.sync_states()).finish()
    }
}
