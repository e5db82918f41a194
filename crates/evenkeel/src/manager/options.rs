use std::collections::BTreeMap;
use std::time::Duration;

use evenkeel_client::Client;
use evenkeel_election::{Announcement, Clock, Lock, Timing};

use crate::Registry;

/// How a [`Manager`](super::Manager) runs; for [`Builder::options`](super::Builder::options).
///
/// ```
/// # use evenkeel::client::Client;
/// use std::time::Duration;
///
/// use evenkeel::{Election, Manager, ManagerOptions};
///
/// # let client = Client::from_service(evenkeel_apiserver::Server::new());
/// let mut options = ManagerOptions::default();
/// options.election = Some(Election::new("default", "my-operator"));
/// options.grace_period = Duration::from_secs(20);
/// let manager = Manager::builder(client).options(options).build()?;
/// # Ok::<(), evenkeel::ManagerError>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct ManagerOptions {
    /// The Lease that controllers run under. Default: none, they always run.
    pub election: Option<Election>,
    /// How long running reconciles may take to finish once the Manager was told to stop. Default: 30 s,
    /// after which a kubelet kills as well, unless the pod says otherwise.
    pub grace_period: Duration,
    /// Where everything reports to. Default: a new registry.
    pub registry: Registry,
}

impl Default for ManagerOptions {
    fn default() -> Self {
        Self {
            election: None,
            grace_period: Duration::from_secs(30),
            registry: Registry::new(),
        }
    }
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
    /// Labels that the Lease shall have; others that it has stay.
    pub labels: BTreeMap<String, String>,
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
            labels: BTreeMap::new(),
            client: None,
            clock: None,
            announce: None,
        }
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
