use std::time::Duration;

use evenkeel_client::Client;
use evenkeel_election::{
    Announcement, BuildError, Clock, Elector, FenceCell, FencedTransport, Lock, Timing,
};
use evenkeel_store::Informers;

use super::group::Group;
use super::{BoxError, Manager, ManagerHandle};
use crate::{DebugPages, Probe, Probes, Registry};

/// How much longer than the lease a leader may go without a renewal before the liveness check
/// fails (contracts client-go L20, kcm K1).
const ELECTION_TOLERANCE: Duration = Duration::from_secs(20);

/// Describes a [`Manager`].
#[must_use]
pub struct Builder {
    client: Client,
    election: Option<Election>,
    registry: Registry,
    probes: Probes,
    grace: Duration,
}

/// Which Lease to compete for, and how.
pub struct Election {
    /// Namespace of the Lease.
    pub namespace: String,
    /// Name of the Lease.
    pub name: String,
    /// Who this process is; unique per process. `None` makes one of the host's name and a nonce.
    pub identity: Option<String>,
    /// Lease duration, renew deadline and retry period.
    pub timing: Timing,
    /// A Lease; the others are for upgrades from old releases.
    pub lock: Lock,
    /// The client for the Lease alone, so that renewals compete with nothing; `None` takes the Manager's.
    pub client: Option<Client>,
    /// The clock that the fence is measured on; `None` takes the one since boot, which runs
    /// through suspend. Tests that pause time give tokio's.
    pub clock: Option<Clock>,
    /// Told when this process becomes leader or stops leading, to write an event.
    pub announce: Option<Box<dyn Fn(Announcement) + Send + Sync>>,
}

impl Election {
    /// The Lease `namespace/name` with the default timing.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
            identity: None,
            timing: Timing::default(),
            lock: Lock::Lease,
            client: None,
            clock: None,
            announce: None,
        }
    }
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
            election: None,
            registry: Registry::new(),
            probes: Probes::new(),
            grace: Duration::from_secs(30),
        }
    }

    /// Runs controllers only while this process holds a Lease.
    pub fn election(mut self, election: Election) -> Self {
        self.election = Some(election);
        self
    }

    /// Where everything reports to; a new registry unless set.
    pub fn registry(mut self, registry: Registry) -> Self {
        self.registry = registry;
        self
    }

    /// How long running reconciles may take to finish once the Manager was told to stop;
    /// 30 s unless set.
    ///
    /// After a lost lease, during a stop too, they are cancelled within a second, and before a rival may
    /// begin if none has: their writes are refused already.
    pub fn grace_period(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// The Manager.
    ///
    /// # Errors
    ///
    /// [`ManagerError::Election`] for settings with which two processes could lead at once.
    pub fn build(self) -> Result<Manager, ManagerError> {
        let metrics = self.registry.metrics();
        let unfenced = self.client;
        let mut client = unfenced.clone();
        let mut fence = None;
        let lease = self
            .election
            .as_ref()
            .map_or(Duration::ZERO, |election| election.timing.lease);
        let elector = match self.election {
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
            self.probes.add(Probe::Live, "leaderElection", move || {
                elector
                    .check_health(ELECTION_TOLERANCE)
                    .map_err(|stale| stale.to_string())
            });
        }
        let informers = Informers::builder(client.clone()).metrics(metrics).build();
        Ok(Manager {
            client,
            unfenced,
            fence,
            handle: ManagerHandle::new(informers, self.probes, self.registry),
            debug_pages: DebugPages::default(),
            elector,
            endpoints: Vec::new(),
            serving: Group::default(),
            grace: self.grace,
            lease,
        })
    }
}

impl std::fmt::Debug for Election {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Election")
            .field("namespace", &self.namespace)
            .field("name", &self.name)
            .field("identity", &self.identity)
            .field("timing", &self.timing)
            .finish_non_exhaustive()
    }
}
