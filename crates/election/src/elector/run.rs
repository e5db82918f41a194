use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{Elector, NotElected};
use crate::machine::{LossCause, Resignation};
use crate::{Leadership, Term};

/// How [`Elector::run`] came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// It never led; no work was started.
    NeverLed,
    /// It led, the work ended, and the next candidate may begin at once.
    Released,
    /// The lead was lost; the work was stopped and has ended.
    Lost {
        /// Why.
        cause: LossCause,
    },
    /// It led and ended in order, but the Lease still names this candidate, so that others
    /// must wait until it runs out: the work did not end in time, or the Lease could not be
    /// written.
    LeftToExpire,
}

impl Elector {
    /// Waits for the lead, does the work while it lasts, and gives it up in order.
    ///
    /// `work` is started when this candidate leads. When `cancel` comes, [`Term::stop`] tells
    /// the work to end, and it keeps its fence until it has; when the lead is lost, the fence
    /// is closed already. Either way `run` waits for it for the builder's `join_timeout`, then
    /// drops it. Only after that is the Lease given back, and only if the work has ended by
    /// itself (client-go L15). The lead is also given up when the work ends on its own.
    ///
    /// The work runs in the caller's task; the renewals do not, so work that blocks its
    /// thread cannot starve them. What the work spawns it must join before it ends.
    ///
    /// Call it again to campaign again. If this candidate is busy already (see
    /// [`NotElected::Busy`]), it returns [`Ended::NeverLed`].
    ///
    /// # Cancel safety
    /// Dropping the future drops the work, seals the fence and leaves the Lease to run out.
    ///
    /// # Panics
    /// Outside a tokio runtime with time enabled; and when the work does, with the same end as
    /// dropping the future.
    pub async fn run<F, W>(&self, cancel: &CancellationToken, work: W) -> Ended
    where
        W: FnOnce(Term) -> F,
        F: Future<Output = ()>,
    {
        let leadership = match self.campaign(cancel).await {
            Ok(leadership) => leadership,
            Err(NotElected::Cancelled | NotElected::Busy) => return Ended::NeverLed,
        };
        let join_timeout = self.settings.join_timeout;
        let term = leadership.term().clone();
        let (lost, joined) = lead(&leadership, cancel, work(term), join_timeout).await;
        if !joined {
            tracing::error!(
                ?join_timeout,
                "the work did not end in time and was dropped"
            );
            // Something of it may still be running: nobody may begin before the lease is over.
            return lost.map_or(Ended::LeftToExpire, |cause| Ended::Lost { cause });
        }
        let released = leadership.release().await;
        match (lost, released) {
            (Some(cause), _) => Ended::Lost { cause },
            (None, Resignation::Released) => Ended::Released,
            // Taken between the last renewal and the release.
            (None, Resignation::NotHeld) => Ended::Released,
            (None, Resignation::Failed(_)) => Ended::LeftToExpire,
        }
    }
}

/// Runs the work to its end; says whether the lead was lost, and whether the work has ended.
async fn lead(
    leadership: &Leadership,
    cancel: &CancellationToken,
    work: impl Future<Output = ()>,
    join_timeout: Duration,
) -> (Option<LossCause>, bool) {
    let mut work = pin!(work);
    tokio::select! {
        biased;
        // The task that renews has cancelled the work's token already.
        cause = leadership.lost() => {
            return (Some(cause), timeout(join_timeout, work).await.is_ok());
        }
        () = cancel.cancelled() => leadership.term().stop().cancel(),
        () = &mut work => return (None, true),
    }
    // The Lease is renewed while the work ends.
    let ending = timeout(join_timeout, async {
        tokio::select! {
            biased;
            cause = leadership.lost() => {
                work.as_mut().await;
                Some(cause)
            }
            () = &mut work => None,
        }
    });
    match ending.await {
        Ok(lost) => (lost, true),
        Err(_) => (None, false),
    }
}
