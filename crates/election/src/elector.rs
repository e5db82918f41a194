mod builder;
mod run;
mod standalone;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use evenkeel_client::Client;
use evenkeel_pace::Rng;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

pub use self::builder::{BuildError, ElectorBuilder};
pub use self::run::Ended;
pub use self::standalone::LostLead;

use crate::announcement::Announcer;
use crate::driver::{Driver, Turn};
use crate::machine::Candidate;
use crate::metrics::Meters;
use crate::status::{LeaderWatch, StaleLeader, Status};
use crate::{Clock, FenceCell, Leadership, Lock, LossCause};

/// A candidate for the lead, on one Lease. It can campaign again and again, once at a time.
///
/// [`run`](Self::run) does everything; [`campaign`](Self::campaign) leaves the order of
/// stopping, joining and releasing to the caller. Cloning is cheap: clones are the same
/// candidate.
#[derive(Clone, Debug)]
pub struct Elector {
    settings: Arc<Settings>,
}

/// What all campaigns of an elector share.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) client: Client,
    pub(crate) candidate: Candidate,
    pub(crate) lock: Lock,
    pub(crate) clock: Clock,
    pub(crate) fence: FenceCell,
    pub(crate) meters: Meters,
    pub(crate) status: Status,
    announcer: Announcer,
    join_timeout: Duration,
    rng: Mutex<Rng>,
    campaigning: AtomicBool,
}

/// Why a campaign ended without the lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotElected {
    /// It was cancelled. No work was started.
    #[error("the campaign was cancelled")]
    Cancelled,
    /// This elector campaigns already, or leads: one identity must not lead twice.
    #[error("this candidate campaigns or leads already")]
    Busy,
}

impl Elector {
    /// Begins to describe a candidate.
    ///
    /// The client must not be fenced by this election. Its rate limit is not shared: the
    /// renewals have one of their own (client-go L18).
    pub fn builder(client: Client) -> ElectorBuilder {
        ElectorBuilder::new(client)
    }

    /// Waits for the lead.
    ///
    /// Failing requests are logged and tried again for as long as it takes; only `cancel`
    /// ends the campaign. If it comes while the Lease is being taken, the Lease is given
    /// back, which takes the renew deadline at most.
    ///
    /// # Errors
    /// When cancelled, or while another campaign or term of this elector lasts.
    ///
    /// # Cancel safety
    /// Dropping the future ends the campaign. If the Lease was just being taken, it is left
    /// to run out.
    ///
    /// # Panics
    /// Outside a tokio runtime with time enabled.
    pub async fn campaign(&self, cancel: &CancellationToken) -> Result<Leadership, NotElected> {
        let campaigning = Campaigning::begin(&self.settings)?;
        let rng = self.settings.rng.lock().fork();
        let mut driver = Box::new(Driver::new(&self.settings, rng));
        let mut cancelled = false;
        loop {
            tokio::select! {
                biased;
                () = cancel.cancelled(), if !cancelled => {
                    cancelled = true;
                    driver.resign();
                }
                turn = driver.next() => match turn {
                    Turn::Elected { fence, transitions } => {
                        return Ok(Leadership::begin(
                            driver,
                            &self.settings,
                            campaigning,
                            fence,
                            transitions,
                        ));
                    }
                    Turn::Finished(_) => return Err(NotElected::Cancelled),
                    Turn::Renewed { .. } | Turn::Lost(_) => {}
                },
            }
        }
    }

    /// Who this is.
    #[must_use]
    pub fn identity(&self) -> &str {
        &self.settings.candidate.identity
    }

    /// Who leads, as far as this candidate has seen; `None` for nobody.
    #[must_use]
    pub fn leader(&self) -> Option<Arc<str>> {
        self.settings.status.leader()
    }

    /// Follows who leads.
    #[must_use]
    pub fn watch_leader(&self) -> LeaderWatch {
        self.settings.status.watch()
    }

    /// Why the last term was lost; `None` if none was yet. A term that was given up is not lost.
    #[must_use]
    pub fn last_loss(&self) -> Option<LossCause> {
        self.settings.status.last_loss()
    }

    /// How long ago the Lease was last renewed, while this process leads.
    #[must_use]
    pub fn since_renewal(&self) -> Option<Duration> {
        let Settings { clock, status, .. } = &*self.settings;
        status.since_renewal(clock.now())
    }

    /// The Lease's namespace and name.
    #[must_use]
    pub fn lease(&self) -> (&str, &str) {
        let candidate = &self.settings.candidate;
        (&candidate.namespace, &candidate.name)
    }

    /// Whether this process leads.
    #[must_use]
    pub fn is_leading(&self) -> bool {
        self.settings.status.is_leading()
    }

    /// The health check `leaderElection`: fails if this process believes to lead, but has
    /// not renewed for the lease and `tolerance` (client-go L20).
    ///
    /// # Errors
    /// A process in that state should be restarted: its election is stuck.
    pub fn check_health(&self, tolerance: Duration) -> Result<(), StaleLeader> {
        let Settings {
            candidate,
            clock,
            status,
            ..
        } = &*self.settings;
        let limit = candidate.timing.lease.saturating_add(tolerance);
        status.check(&candidate.name, limit, clock.now())
    }
}

impl Settings {
    pub(crate) fn report_leader(&self, leader: Option<Arc<str>>) {
        let candidate = &self.candidate;
        let (namespace, name) = (&candidate.namespace, &candidate.name);
        match &leader {
            Some(leader) => tracing::info!(namespace, name, leader = &**leader, "new leader"),
            None => tracing::info!(namespace, name, "nobody leads"),
        }
        self.status.set_leader(leader);
    }

    pub(crate) fn report_elsewhere(&self, holder: &str) {
        let candidate = &self.candidate;
        let (namespace, name) = (&candidate.namespace, &candidate.name);
        let lock = self.lock.legacy().map(tracing::field::display);
        tracing::warn!(
            namespace,
            name,
            lock,
            holder,
            "the lock of an older release is held: waiting until it runs out"
        );
    }

    pub(crate) fn announce(&self, what: &str) {
        let candidate = &self.candidate;
        let message = format!("{} {what}", candidate.identity);
        self.announcer
            .announce(self.lock, &candidate.namespace, &candidate.name, &message);
    }
}

/// Held by the one campaign or term of an elector.
#[derive(Debug)]
pub(crate) struct Campaigning(Arc<Settings>);

impl Campaigning {
    fn begin(settings: &Arc<Settings>) -> Result<Self, NotElected> {
        if settings.campaigning.swap(true, Ordering::AcqRel) {
            return Err(NotElected::Busy);
        }
        Ok(Self(Arc::clone(settings)))
    }
}

impl Drop for Campaigning {
    fn drop(&mut self) {
        self.0.campaigning.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests;
