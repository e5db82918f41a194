//! Everything that a process of control loops consists of, started and stopped in order.

mod builder;
mod group;
mod run;

use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_client::Client;
use evenkeel_election::Elector;
use evenkeel_meta::Resource;
use evenkeel_store::{Informer, InformerOptions, Informers};
use serde::de::DeserializeOwned;

pub use builder::{Builder, Election, ManagerError};

use crate::{Controller, DebugPages, Endpoint, Probe, Probes, Registry, Term};
use group::{Work, Works};

/// The parts of a controller process: client, informers, controllers, endpoints, election.
///
/// [`run`](Self::run) starts them in this order, and stops them in the reverse one: endpoints,
/// informers, what always runs, what runs while leading. Everything is a value of this
/// Manager: two of them in one process share nothing.
///
/// A lost lease does not end the process. The leading part is told to stop, its writes are
/// refused from that moment on, it is joined, and the Manager campaigns again.
pub struct Manager {
    client: Client,
    /// For what runs always: not bound to a term.
    unfenced: Client,
    informers: Informers,
    probes: Probes,
    registry: Registry,
    debug_pages: DebugPages,
    elector: Option<Elector>,
    endpoints: Vec<Endpoint>,
    always: Works,
    leading: Works,
    grace: Duration,
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
        &self.informers
    }

    /// An informer of every object of a kind.
    ///
    /// Short for [`Informers::typed`] with the default options.
    #[must_use]
    pub fn watch<K: Resource + DeserializeOwned + Send + Sync + 'static>(&self) -> Informer<K> {
        self.informers.typed(InformerOptions::default())
    }

    /// The health checks.
    #[must_use]
    pub fn probes(&self) -> &Probes {
        &self.probes
    }

    /// The metrics.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
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

    /// Serves an endpoint for as long as the Manager runs.
    pub fn serve(&mut self, endpoint: Endpoint) {
        self.endpoints.push(endpoint);
    }

    /// Runs a controller while this process leads, or always when there is no election.
    ///
    /// Its sources are part of the readiness check, which names those that are not synced.
    pub fn add<K>(&mut self, controller: Controller<K>)
    where
        K: Clone + Eq + Hash + fmt::Debug + Send + Sync + 'static,
    {
        let controller = Arc::new(controller);
        let checked = Arc::clone(&controller);
        self.probes.add(
            Probe::Ready,
            format!("controller-{}", controller.name()),
            move || {
                let unsynced = checked.unsynced();
                if unsynced.is_empty() {
                    Ok(())
                } else {
                    Err(unsynced.join("; "))
                }
            },
        );
        let name = controller.name().to_owned();
        self.run_leading(name, move |term| {
            let controller = Arc::clone(&controller);
            async move { controller.run(term).await.map_err(Into::into) }
        });
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
        self.leading.push(Work::new(name.into(), work));
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
        self.always.push(Work::new(name.into(), work));
    }
}

/// Whatever a runnable fails with.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl fmt::Debug for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Manager")
            .field("always", &self.always)
            .field("leading", &self.leading)
            .finish_non_exhaustive()
    }
}
