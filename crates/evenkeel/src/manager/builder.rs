use std::time::Duration;

use evenkeel_client::Client;
use evenkeel_election::{BuildError, Elector, FenceCell, FencedTransport};
use evenkeel_store::Informers;

use super::group::Group;
use super::{BoxError, Election, Manager, ManagerHandle, ManagerOptions};
use crate::recorders::Recorders;
use crate::{DebugPages, Probe, Probes, Registry};

/// How much longer than the lease a leader may go without a renewal before the liveness check
/// fails (contracts client-go L20, kcm K1).
const ELECTION_TOLERANCE: Duration = Duration::from_secs(20);

/// Describes a [`Manager`].
#[must_use]
pub struct Builder {
    client: Client,
    options: ManagerOptions,
}

/// Why a Manager could not be built, or stopped by itself.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManagerError {
    /// The election cannot work with these settings.
    #[error("leader election: {0}")]
    Election(#[from] BuildError),
    /// A part failed; the others were stopped.
    #[error("{name}: {source}")]
    Failed {
        /// Which.
        name: String,
        /// How.
        source: BoxError,
    },
    /// Several parts failed, the first one first; the others were stopped.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Several(Vec<ManagerError>),
    /// A second signal asked for the end at once: what still ran ends with the process.
    #[error("ended at once by a second signal")]
    SecondSignal,
    /// Signals cannot be waited for.
    #[error("cannot handle signals: {0}")]
    Signals(#[source] std::io::Error),
    /// A part panicked; the others were stopped.
    #[error("{name} panicked")]
    Panicked {
        /// Which.
        name: String,
    },
    /// Parts did not stop in time after leadership was lost. Go on in a new process: what they
    /// still do, they do beside a new leader.
    #[error("did not stop within {limit:?}: {}", .names.join(", "))]
    Overrun {
        /// Which.
        names: Vec<String>,
        /// How long they had.
        limit: Duration,
    },
}

impl ManagerError {
    /// Whether something still runs that should not, so that the process should end.
    #[must_use]
    pub fn is_overrun(&self) -> bool {
        match self {
            Self::Overrun { .. } => true,
            Self::Several(errors) => errors.iter().any(Self::is_overrun),
            _ => false,
        }
    }

    /// What two steps came to, the earlier one first.
    pub(super) fn both(first: Result<(), Self>, then: Result<(), Self>) -> Result<(), Self> {
        let (first, then) = match (first, then) {
            (Err(first), Err(then)) => (first, then),
            (first, then) => return first.and(then),
        };
        let mut errors = Vec::new();
        for error in [first, then] {
            match error {
                Self::Several(several) => errors.extend(several),
                error => errors.push(error),
            }
        }
        Err(Self::Several(errors))
    }
}

impl Builder {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            options: ManagerOptions::default(),
        }
    }

    /// All options at once.
    pub fn options(mut self, options: ManagerOptions) -> Self {
        self.options = options;
        self
    }

    /// Runs controllers only while this process holds a Lease.
    pub fn election(mut self, election: Election) -> Self {
        self.options.election = Some(election);
        self
    }

    /// Where everything reports to; a new registry unless set.
    pub fn registry(mut self, registry: Registry) -> Self {
        self.options.registry = registry;
        self
    }

    /// How long running reconciles may take to finish once the Manager was told to stop;
    /// 30 s unless set.
    ///
    /// After a lost lease, during a stop too, they are cancelled within a second, and before a rival may
    /// begin if none has: their writes are refused already.
    pub fn grace_period(mut self, grace: Duration) -> Self {
        self.options.grace_period = grace;
        self
    }

    /// The Manager.
    ///
    /// # Errors
    ///
    /// [`ManagerError::Election`] for settings with which two processes could lead at once.
    pub fn build(self) -> Result<Manager, ManagerError> {
        let ManagerOptions {
            election,
            grace_period,
            registry,
        } = self.options;
        let metrics = registry.metrics();
        let probes = Probes::new();
        let unfenced = self.client;
        let mut client = unfenced.clone();
        let mut fence = None;
        let lease = election
            .as_ref()
            .map_or(Duration::ZERO, |election| election.timing.lease);
        let elector = match election {
            None => None,
            Some(election) => {
                let cell = FenceCell::new();
                let lease_client = election.client.unwrap_or_else(|| client.clone());
                let mut builder = Elector::builder(lease_client)
                    .lease(election.namespace, election.name)
                    .timing(election.timing)
                    .lock(election.lock)
                    .metrics(metrics.clone())
                    .fence(cell.clone());
                for (key, value) in election.labels {
                    builder = builder.label(key, value);
                }
                if let Some(identity) = election.identity {
                    builder = builder.identity(identity);
                }
                if let Some(clock) = election.clock {
                    builder = builder.clock(clock);
                }
                if let Some(announce) = election.announce {
                    builder = builder.announce(announce);
                }
                client = client.with_transport(|inner| FencedTransport::new(inner, cell.clone()));
                fence = Some(cell);
                Some(builder.build()?)
            }
        };
        if let Some(elector) = &elector {
            let elector = elector.clone();
            probes.add(Probe::Live, "leaderElection", move || {
                elector
                    .check_health(ELECTION_TOLERANCE)
                    .map_err(|stale| stale.to_string())
            });
        }
        let recorders = Recorders::new(unfenced.clone(), metrics.clone());
        let informers = Informers::builder(client.clone()).metrics(metrics).build();
        Ok(Manager {
            client,
            unfenced,
            fence,
            handle: ManagerHandle::new(informers, probes, registry, recorders),
            debug_pages: DebugPages::default(),
            elector,
            endpoints: Vec::new(),
            serving: Group::default(),
            grace: grace_period,
            lease,
        })
    }
}
