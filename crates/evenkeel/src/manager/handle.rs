use std::collections::HashSet;
use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::sync::Arc;

use evenkeel_store::Informers;
use parking_lot::Mutex;

use super::group::{Closed, Group, Work};
use super::{BoxError, Cluster};
use crate::recorders::Recorders;
use crate::{Controller, Probe, Probes, Registry, Term};

/// Adds parts to a [`Manager`](super::Manager), before it runs and while it does. Cheap to clone.
///
/// What is added to a group that runs starts at once; what is added to the leading group while
/// standing by starts when this process leads. Once the group has been told to stop, adding is
/// refused: a part that would be told to stop as it starts is never half started.
#[derive(Clone)]
pub struct ManagerHandle {
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub(super) informers: Informers,
    pub(super) probes: Probes,
    pub(super) registry: Registry,
    pub(super) recorders: Recorders,
    pub(super) always: Group,
    pub(super) leading: Group,
    names: Mutex<HashSet<String>>,
    clusters: Mutex<Clusters>,
}

#[derive(Default)]
struct Clusters {
    all: Vec<Cluster>,
    started: bool,
}

/// A part was not added to a Manager.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddError {
    /// Another controller has that name: their metrics and their log lines could not be told apart.
    #[error("there is a controller named {name} already")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// Another cluster has that name.
    #[error("there is a cluster named {name} already")]
    ClusterTaken {
        /// The name.
        name: String,
    },
    /// The Manager stops, or has stopped.
    #[error("{name} was not added: the manager stops")]
    Stopping {
        /// What was to be added.
        name: String,
    },
}

impl ManagerHandle {
    pub(super) fn new(
        informers: Informers,
        probes: Probes,
        registry: Registry,
        recorders: Recorders,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                informers,
                probes,
                registry,
                recorders,
                always: Group::default(),
                leading: Group::default(),
                names: Mutex::default(),
                clusters: Mutex::default(),
            }),
        }
    }

    /// The Manager's informers. Those that are asked for while it runs start with the controller
    /// that is [added](Self::add) next, or with [`Informers::start`].
    #[must_use]
    pub fn informers(&self) -> &Informers {
        &self.shared.informers
    }

    /// Runs a controller while this process leads, or always when there is no election.
    ///
    /// Its sources are part of the readiness check, which names those that are not synced. On a
    /// standby its queue is kept filled ([`Controller::stand_by`]).
    ///
    /// # Errors
    ///
    /// [`AddError::NameTaken`], [`AddError::Stopping`].
    pub fn add<K>(&self, mut controller: Controller<K>) -> Result<(), AddError>
    where
        K: Clone + Eq + Hash + fmt::Debug + Send + Sync + 'static,
    {
        let name = controller.name().to_owned();
        if !self.shared.names.lock().insert(name.clone()) {
            return Err(AddError::NameTaken { name });
        }
        let shared = &self.shared;
        controller.report_to(|| shared.registry.metrics(), &shared.recorders);
        let controller = Arc::new(controller);
        let (checked, standing_by) = (Arc::clone(&controller), Arc::clone(&controller));
        let work = Work::new(name.clone(), move |term| {
            let controller = Arc::clone(&controller);
            async move { controller.run(term).await.map_err(Into::into) }
        });
        let work = work.standing_by(move || {
            let controller = Arc::clone(&standing_by);
            async move { match controller.stand_by().await {} }
        });
        if let Err(Closed) = self.shared.leading.push(work) {
            self.shared.names.lock().remove(&name);
            return Err(AddError::Stopping { name });
        }
        let check = move || none_of(&checked.unsynced());
        let probes = &self.shared.probes;
        probes.add(Probe::Ready, format!("controller-{name}"), check);
        if self.shared.clusters.lock().started {
            self.start_informers();
        }
        Ok(())
    }

    /// Runs `work` while this process leads; see [`Manager::run_leading`](super::Manager::run_leading).
    ///
    /// # Errors
    ///
    /// [`AddError::Stopping`].
    pub fn run_leading<F>(
        &self,
        name: impl Into<String>,
        work: impl Fn(Term) -> F + Send + Sync + 'static,
    ) -> Result<(), AddError>
    where
        F: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        push(&self.shared.leading, name.into(), work)
    }

    /// Runs `work` for as long as the Manager runs; see [`Manager::run_always`](super::Manager::run_always).
    ///
    /// # Errors
    ///
    /// [`AddError::Stopping`].
    pub fn run_always<F>(
        &self,
        name: impl Into<String>,
        work: impl Fn(Term) -> F + Send + Sync + 'static,
    ) -> Result<(), AddError>
    where
        F: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        push(&self.shared.always, name.into(), work)
    }

    /// One more cluster. Its informers are part of the readiness check.
    pub(super) fn add_cluster(&self, cluster: &Cluster) -> Result<(), AddError> {
        let mut clusters = self.shared.clusters.lock();
        if clusters
            .all
            .iter()
            .any(|other| other.name() == cluster.name())
        {
            let name = cluster.name().to_owned();
            return Err(AddError::ClusterTaken { name });
        }
        clusters.all.push(cluster.clone());
        let informers = cluster.informers().clone();
        let check = move || {
            let states = informers.unsynced();
            let unsynced: Vec<_> = states.iter().map(ToString::to_string).collect();
            none_of(&unsynced)
        };
        let probes = &self.shared.probes;
        probes.add(Probe::Ready, format!("cluster-{}", cluster.name()), check);
        Ok(())
    }

    pub(super) fn start_informers(&self) {
        let mut clusters = self.shared.clusters.lock();
        clusters.started = true;
        self.shared.informers.start();
        for cluster in &clusters.all {
            cluster.informers().start();
        }
    }

    pub(super) async fn stop_informers(&self) {
        let clusters = self.shared.clusters.lock().all.clone();
        for cluster in clusters {
            cluster.informers().shutdown().await;
        }
        self.shared.informers.shutdown().await;
    }

    /// Writes what events are left.
    pub(super) async fn stop_recorders(&self) {
        let clusters = self.shared.clusters.lock().all.clone();
        let of_clusters = clusters
            .iter()
            .map(|cluster| cluster.recorders().shutdown());
        let all = futures_util::future::join_all(of_clusters);
        tokio::join!(all, self.shared.recorders.shutdown());
    }
}

fn push<F>(
    group: &Group,
    name: String,
    work: impl Fn(Term) -> F + Send + Sync + 'static,
) -> Result<(), AddError>
where
    F: Future<Output = Result<(), BoxError>> + Send + 'static,
{
    let pushed = group.push(Work::new(name.clone(), work));
    pushed.map_err(|Closed| AddError::Stopping { name })
}

fn none_of(unsynced: &[String]) -> Result<(), String> {
    if unsynced.is_empty() {
        Ok(())
    } else {
        Err(unsynced.join("; "))
    }
}

impl fmt::Debug for ManagerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManagerHandle")
            .field("always", &self.shared.always)
            .field("leading", &self.shared.leading)
            .finish_non_exhaustive()
    }
}
