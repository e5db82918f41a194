use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use evenkeel_client::Client;
use evenkeel_meta::dns;
use evenkeel_observe::Metrics;
use evenkeel_pace::Rng;
use parking_lot::Mutex;

use super::{Elector, Settings};
use crate::announcement::{Announcement, Announcer};
use crate::machine::Candidate;
use crate::metrics::{self, Meters};
use crate::status::Status;
use crate::{Clock, FenceCell, InvalidTiming, Lock, Timing, unique_identity};

/// More than an election ever sends, so that it never waits for a limit.
const REQUESTS_PER_SECOND: f64 = 50.0;
const BURST: u32 = 100;

/// Describes an [`Elector`].
#[derive(Debug)]
#[must_use]
pub struct ElectorBuilder {
    client: Client,
    namespace: String,
    name: String,
    identity: Option<String>,
    timing: Timing,
    margin: Option<Duration>,
    labels: BTreeMap<String, String>,
    lock: Lock,
    coordinated: bool,
    metrics: Metrics,
    fence: FenceCell,
    clock: Clock,
    announcer: Announcer,
    join_timeout: Option<Duration>,
    rng: Rng,
}

/// A candidate that cannot take part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// No Lease was named.
    #[error("the lease needs a namespace and a name")]
    NoLease,
    /// No namespace can have this name: the candidate would wait for ever.
    #[error(
        "no namespace can be called {0:?}: at most 63 lower case letters, digits and '-', which is neither first nor last"
    )]
    BadNamespace(String),
    /// The API server would never take an object of this name.
    #[error(
        "no lease can be called {0:?}: at most 253 characters, in parts between '.', each of lower case letters, digits and '-', which is neither first nor last"
    )]
    BadName(String),
    /// The identity is empty: the Lease would look free.
    #[error("the candidate's identity is empty")]
    NoIdentity,
    /// The control plane assigns Leases, not legacy locks.
    #[error("a coordinated election has no {0} lock")]
    NotCoordinated(Lock),
    /// The durations would not be safe.
    #[error(transparent)]
    Timing(#[from] InvalidTiming),
}

impl ElectorBuilder {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            namespace: String::new(),
            name: String::new(),
            identity: None,
            timing: Timing::default(),
            margin: None,
            labels: BTreeMap::new(),
            lock: Lock::Lease,
            coordinated: false,
            metrics: Metrics::none(),
            fence: FenceCell::new(),
            clock: Clock::boot(),
            announcer: Announcer::default(),
            join_timeout: None,
            rng: Rng::from_entropy(),
        }
    }

    /// The Lease to lead by. It is created when it is not there; its namespace must exist. Until it
    /// does, the campaign goes on without success, and logs a warning at each attempt.
    pub fn lease(mut self, namespace: impl Into<String>, name: impl Into<String>) -> Self {
        self.namespace = namespace.into();
        self.name = name.into();
        self
    }

    /// Who this is: unique among all processes, restarted ones included. Default:
    /// [`unique_identity`].
    pub fn identity(mut self, identity: impl Into<String>) -> Self {
        self.identity = Some(identity.into());
        self
    }

    /// The durations. Default: 15 s, 10 s, 2 s.
    pub fn timing(mut self, timing: Timing) -> Self {
        self.timing = timing;
        self
    }

    /// How long before the lease runs out the fence closes. Default: lease - renew deadline -
    /// retry period, so 3 s.
    ///
    /// It must cover how much slower this machine's clock may run than a rival's during a
    /// lease, and how long a write may still travel that was sent at the last moment.
    pub fn margin(mut self, margin: Duration) -> Self {
        self.margin = Some(margin);
        self
    }

    /// A label to keep on the Lease; others are left alone (client-go L19).
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.insert(key.into(), value.into());
        self
    }

    /// What to compete for. Default: a Lease. The others are for upgrades from old releases.
    pub fn lock(mut self, lock: Lock) -> Self {
        self.lock = lock;
        self
    }

    /// Leaves it to the control plane who leads (client-go L21): this candidate waits until it
    /// is named the holder, and ends its term when another is preferred.
    ///
    /// The control plane chooses among the `LeaseCandidate` objects of the Lease: run a
    /// [`LeaseCandidate`](crate::LeaseCandidate) beside the election.
    pub fn coordinated(mut self) -> Self {
        self.coordinated = true;
        self
    }

    /// Where to report metrics; labelled with the Lease's name.
    pub fn metrics(mut self, metrics: Metrics) -> Self {
        self.metrics = metrics;
        self
    }

    /// A cell to put each term's fence into, and to empty after it: for a client that lives
    /// longer than a term.
    pub fn fence(mut self, cell: FenceCell) -> Self {
        self.fence = cell;
        self
    }

    /// What to measure terms with. Default: [`Clock::boot`]; tests that pause time use
    /// [`Clock::tokio`].
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Called when this candidate becomes leader, and when it stops. It must not block; if it
    /// panics, that is logged and the term goes on.
    pub fn announce(mut self, announce: impl Fn(Announcement) + Send + Sync + 'static) -> Self {
        self.announcer = Announcer::new(announce);
        self
    }

    /// How long [`Elector::run`] waits for the work to end that it told to stop. Default:
    /// the renew deadline.
    pub fn join_timeout(mut self, timeout: Duration) -> Self {
        self.join_timeout = Some(timeout);
        self
    }

    /// Draws all jitter from this seed.
    pub fn seed(mut self, seed: u64) -> Self {
        self.rng = Rng::seeded(seed);
        self
    }

    /// The candidate. Nothing is sent yet.
    ///
    /// # Errors
    /// When the Lease or the identity is not named, or the Lease as no server would take it, or the
    /// durations are not safe together.
    pub fn build(self) -> Result<Elector, BuildError> {
        if self.namespace.is_empty() || self.name.is_empty() {
            return Err(BuildError::NoLease);
        }
        self.check_names()?;
        let identity = self.identity.unwrap_or_else(unique_identity);
        if identity.is_empty() {
            return Err(BuildError::NoIdentity);
        }
        if self.coordinated && self.lock != Lock::Lease {
            return Err(BuildError::NotCoordinated(self.lock));
        }
        self.timing.validate()?;
        let limit = self.timing.lease - self.timing.renew_deadline;
        let margin = self.margin.unwrap_or_else(|| self.timing.default_margin());
        if margin >= limit {
            return Err(InvalidTiming::MarginTooLong { margin, limit }.into());
        }
        let agent = format!("{}/leader-election", self.client.options().user_agent);
        let settings = Arc::new(Settings {
            client: self
                .client
                .with_user_agent(agent)
                .with_rate_limit(REQUESTS_PER_SECOND, BURST),
            meters: Meters::new(&self.metrics, &self.name),
            candidate: Candidate {
                namespace: self.namespace,
                name: self.name,
                identity: identity.into(),
                timing: self.timing,
                margin,
                labels: self.labels,
                coordinated: self.coordinated,
            },
            lock: self.lock,
            clock: self.clock,
            fence: self.fence,
            status: Status::new(),
            announcer: self.announcer,
            join_timeout: self.join_timeout.unwrap_or(self.timing.renew_deadline),
            rng: Mutex::new(self.rng),
            campaigning: AtomicBool::new(false),
        });
        metrics::since_renewal(&self.metrics, &settings);
        Ok(Elector { settings })
    }

    fn check_names(&self) -> Result<(), BuildError> {
        if !dns::is_label(&self.namespace) {
            return Err(BuildError::BadNamespace(self.namespace.clone()));
        }
        if !dns::is_subdomain(&self.name) {
            return Err(BuildError::BadName(self.name.clone()));
        }
        Ok(())
    }
}
