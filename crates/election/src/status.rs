use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use evenkeel_pace::Moment;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::LossCause;

/// What an election tells those who only look on.
#[derive(Debug)]
pub(crate) struct Status {
    leader: watch::Sender<Option<Arc<str>>>,
    leading: AtomicBool,
    /// Since the clock's origin, in nanoseconds.
    renewed: AtomicU64,
    last_loss: Mutex<Option<LossCause>>,
}

/// Follows who leads, by what this candidate has seen of the Lease (client-go L16).
///
/// A view of the level, not a log: a leader that came and went between two looks is not
/// shown. It is as fresh as the campaign is alive; while nobody campaigns, nobody looks.
#[derive(Clone, Debug)]
pub struct LeaderWatch(watch::Receiver<Option<Arc<str>>>);

/// A leader that does not renew: its election has stopped without giving up the lead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed election to renew leadership on lease {name}: last renewed {since:?} ago")]
pub struct StaleLeader {
    /// Name of the Lease.
    pub name: String,
    /// How long ago it was renewed.
    pub since: Duration,
}

impl Status {
    pub(crate) fn new() -> Self {
        Self {
            leader: watch::Sender::new(None),
            leading: AtomicBool::new(false),
            renewed: AtomicU64::new(0),
            last_loss: Mutex::new(None),
        }
    }

    pub(crate) fn set_leader(&self, leader: Option<Arc<str>>) {
        self.leader.send_replace(leader);
    }

    pub(crate) fn leader(&self) -> Option<Arc<str>> {
        self.leader.borrow().clone()
    }

    pub(crate) fn watch(&self) -> LeaderWatch {
        LeaderWatch(self.leader.subscribe())
    }

    pub(crate) fn set_leading(&self, now: Moment) {
        self.set_renewed(now);
        self.leading.store(true, Ordering::Release);
    }

    /// Says nothing about whether the term lasts: it may have been given up meanwhile.
    pub(crate) fn set_renewed(&self, now: Moment) {
        let nanos = u64::try_from(now.since_origin().as_nanos()).unwrap_or(u64::MAX);
        self.renewed.store(nanos, Ordering::Relaxed);
    }

    pub(crate) fn set_not_leading(&self) {
        self.leading.store(false, Ordering::Release);
    }

    pub(crate) fn set_loss(&self, cause: &LossCause) {
        *self.last_loss.lock() = Some(cause.clone());
    }

    pub(crate) fn last_loss(&self) -> Option<LossCause> {
        self.last_loss.lock().clone()
    }

    /// `None` while this process does not lead.
    pub(crate) fn since_renewal(&self, now: Moment) -> Option<Duration> {
        let renewed = Moment::from(Duration::from_nanos(self.renewed.load(Ordering::Relaxed)));
        self.is_leading().then(|| now - renewed)
    }

    pub(crate) fn is_leading(&self) -> bool {
        self.leading.load(Ordering::Acquire)
    }

    /// Fails if this process leads but has not renewed for longer than `limit`.
    pub(crate) fn check(
        &self,
        name: &str,
        limit: Duration,
        now: Moment,
    ) -> Result<(), StaleLeader> {
        match self.since_renewal(now) {
            Some(since) if since > limit => Err(StaleLeader {
                name: name.to_owned(),
                since,
            }),
            _ => Ok(()),
        }
    }
}

impl LeaderWatch {
    /// Who leads now; `None` when nobody does, or nobody has been seen yet.
    #[must_use]
    pub fn current(&self) -> Option<Arc<str>> {
        self.0.borrow().clone()
    }

    /// Waits for the next change and returns the leader after it; never again once the
    /// elector and its campaigns are gone.
    ///
    /// # Cancel safety
    /// No change is lost: one that was missed is reported by the next call.
    pub async fn changed(&mut self) -> Option<Arc<str>> {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        self.0.borrow_and_update().clone()
    }
}
