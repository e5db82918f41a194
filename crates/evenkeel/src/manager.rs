//! Everything that a process of control loops consists of, started and stopped in order.

mod builder;
mod cluster;
mod group;
mod handle;
mod options;
mod run;

use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_client::Client;
use evenkeel_election::{Elector, FenceCell, FencedTransport};
use evenkeel_events::Recorder;
use evenkeel_meta::Resource;
use evenkeel_store::{Informer, InformerOptions, Informers};
use serde::de::DeserializeOwned;

pub use builder::{Builder, ManagerError};
pub use cluster::Cluster;
pub use handle::{AddError, ManagerHandle};
pub use options::{Election, ManagerOptions};

use crate::recorders::Recorders;
use crate::{BindError, Controller, DebugPages, Endpoint, Probes, Registry, Term};
use group::{Group, Work};

/// The parts of a controller process: client, informers, controllers, endpoints, election.
///
/// [`run`](Self::run) starts them in this order, and stops them in the reverse one:
///
/// 1. [endpoints](Self::serve): metrics, health and debugging can be asked from the first moment
///    to the last;
/// 2. [further servers](Self::run_serving), such as webhooks, without which lists may fail;
/// 3. informers, those of [further clusters](Self::cluster) included;
/// 4. [what always runs](Self::run_always);
/// 5. the queues of controllers, which fill while this process stands by;
/// 6. [controllers](Self::add) and [what else runs while leading](Self::run_leading).
///
/// Nothing waits for the informers but each controller for its own, so that a kind that cannot
/// be listed, or that is not served yet, holds up the controllers that watch it and nothing else;
/// the readiness check names it. Everything is a value of this Manager: two of them in one
/// process share nothing.
///
/// A lost lease does not end the process. The leading part is told to stop, its writes are
/// refused from that moment on, it is joined before a rival may begin, and the Manager campaigns
/// again. Only what still runs by then ends the Manager, [as an overrun](ManagerError::is_overrun).
pub struct Manager {
    client: Client,
    /// For what runs always: not bound to a term.
    unfenced: Client,
    /// What closes the clients between terms.
    fence: Option<FenceCell>,
    handle: ManagerHandle,
    debug_pages: DebugPages,
    elector: Option<Elector>,
    endpoints: Vec<Endpoint>,
    serving: Group,
    grace: Duration,
    /// How long a rival waits after a renewal; zero without an election.
    lease: Duration,
}

impl Manager {
    /// Begins with the client that everything in the Manager uses.
    pub fn builder(client: Client) -> Builder {
        Builder::new(client)
    }

    /// The client for controllers. While the Manager elects a leader, its writes are refused
    /// outside a term of leadership; reads always pass.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The client without the fence, for what is not bound to a term of leadership: events, reports.
    #[must_use]
    pub fn unfenced_client(&self) -> &Client {
        &self.unfenced
    }

    /// The informers: ask here for the collections that controllers watch. They start with the
    /// Manager, on standbys too, so that a new leader begins with warm stores.
    #[must_use]
    pub fn informers(&self) -> &Informers {
        self.handle.informers()
    }

    /// An informer of every object of a kind.
    ///
    /// Short for [`Informers::typed`] with the default options.
    #[must_use]
    pub fn watch<K: Resource + DeserializeOwned + Send + Sync + 'static>(&self) -> Informer<K> {
        self.informers().typed(InformerOptions::default())
    }

    /// The health checks.
    #[must_use]
    pub fn probes(&self) -> &Probes {
        &self.handle.shared.probes
    }

    /// The metrics.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.handle.shared.registry
    }

    /// The pages for debugging: controllers add theirs, endpoints serve them.
    #[must_use]
    pub fn debug_pages(&self) -> &DebugPages {
        &self.debug_pages
    }

    /// The election, if there is one: who leads, and whether it is this process.
    #[must_use]
    pub fn elector(&self) -> Option<&Elector> {
        self.elector.as_ref()
    }

    /// A recorder that reports as `component`, for what is no reconciler: those have
    /// [`Context::recorder`](crate::Context::recorder). Events are written leading or not, and what is
    /// left of them when the Manager stops is written within two seconds.
    ///
    /// # Panics
    ///
    /// The first time, outside a tokio runtime.
    #[must_use]
    pub fn recorder(&self, component: &str) -> Recorder {
        self.handle.shared.recorders.of(component)
    }

    /// Answers probes, metrics and debugging pages over plain HTTP at `address`, for as long as
    /// the Manager runs, and says where: with port 0 the system chooses one.
    ///
    /// Short for an [`Endpoint`] with all three, which can do more: TLS, a guard, webhooks.
    ///
    /// # Errors
    ///
    /// When the port is taken.
    pub async fn serve_probes(&mut self, address: SocketAddr) -> Result<SocketAddr, BindError> {
        let endpoint = Endpoint::bind(address, None).await?;
        let bound = endpoint.local_addr().unwrap_or(address);
        let endpoint = endpoint
            .with_probes(self.probes().clone())
            .with_metrics(self.registry().clone())
            .with_debug_pages(self.debug_pages.clone());
        self.serve(endpoint);
        Ok(bound)
    }

    /// Serves an endpoint for as long as the Manager runs.
    pub fn serve(&mut self, endpoint: Endpoint) {
        self.endpoints.push(endpoint);
    }

    /// One more cluster, under the name that errors and readiness are to call it. Its informers
    /// start and stop with the Manager's own, and its client is fenced with the Manager's.
    ///
    /// ```
    /// # use evenkeel::{Controller, Manager, Reconciler, client::Client, meta::{MetaView, Object}};
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    /// # fn build(hub: Client, east: Client, reconciler: impl Reconciler) -> Result<(), evenkeel::BoxError> {
    /// // Copies what the hub has to the east.
    /// let mut manager = Manager::builder(hub).build()?;
    /// let east = manager.cluster("east", east)?;
    /// let (wanted, there) = (manager.watch::<ConfigMap>(), east.watch::<ConfigMap>());
    /// manager.add(
    ///     Controller::builder("copy")
    ///         .for_(&wanted)
    ///         .watches(&there, |copy| Some(copy.metadata.key()))
    ///         .writes_to(&east)
    ///         .reconciler(reconciler),
    /// )?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`AddError::ClusterTaken`].
    pub fn cluster(
        &mut self,
        name: impl Into<Arc<str>>,
        client: Client,
    ) -> Result<Cluster, AddError> {
        let name = name.into();
        let metrics = self.registry().metrics();
        let recorders = Recorders::new(client.clone(), metrics.clone());
        let client = match &self.fence {
            Some(cell) => client.with_transport(|inner| FencedTransport::new(inner, cell.clone())),
            None => client,
        };
        let informers = Informers::builder(client.clone())
            .name(Arc::clone(&name))
            .metrics(metrics)
            .build();
        let cluster = Cluster::new(name, client, informers, recorders);
        self.handle.add_cluster(&cluster)?;
        Ok(cluster)
    }

    /// Adds parts from elsewhere, and while the Manager runs.
    #[must_use]
    pub fn handle(&self) -> ManagerHandle {
        self.handle.clone()
    }

    /// Runs a controller while this process leads, or always when there is no election; see
    /// [`ManagerHandle::add`].
    ///
    /// # Errors
    ///
    /// [`AddError::NameTaken`].
    pub fn add<K>(&mut self, controller: Controller<K>) -> Result<(), AddError>
    where
        K: Clone + Eq + Hash + fmt::Debug + Send + Sync + 'static,
    {
        self.handle.add(controller)
    }

    /// Runs `work` while this process leads, once a term; always when there is no election.
    ///
    /// It must return soon after [`Term::stop`] is cancelled. An error stops the Manager.
    pub fn run_leading<F>(
        &mut self,
        name: impl Into<String>,
        work: impl Fn(Term) -> F + Send + Sync + 'static,
    ) where
        F: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        // A Manager that can still be changed does not stop.
        let _ = self.handle.run_leading(name, work);
    }

    /// Runs `work` for as long as the Manager runs, leading or not. The client in its term is
    /// not fenced: it writes whenever it likes, beside the other candidates' work of this name.
    ///
    /// It must return soon after [`Term::stop`] is cancelled. An error stops the Manager.
    pub fn run_always<F>(
        &mut self,
        name: impl Into<String>,
        work: impl Fn(Term) -> F + Send + Sync + 'static,
    ) where
        F: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        // A Manager that can still be changed does not stop.
        let _ = self.handle.run_always(name, work);
    }

    /// Runs a server that others depend on for as long as anything else runs: it starts before the
    /// informers and stops after them. A conversion webhook must be there before objects can be listed.
    ///
    /// It runs on standbys too, with the client that is not fenced. It must return soon after
    /// [`Term::stop`] is cancelled. An error stops the Manager.
    pub fn run_serving<F>(
        &mut self,
        name: impl Into<String>,
        work: impl Fn(Term) -> F + Send + Sync + 'static,
    ) where
        F: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        // A Manager that can still be changed does not stop.
        let _ = self.serving.push(Work::new(name.into(), work));
    }
}

/// Whatever a runnable fails with.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl fmt::Debug for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Manager")
            .field("serving", &self.serving)
            .field("handle", &self.handle)
            .finish_non_exhaustive()
    }
}
