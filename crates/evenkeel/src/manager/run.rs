use std::time::Duration;

use evenkeel_client::Client;
use evenkeel_election::{Leadership, LossCause, NotElected};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::group::Running;
use super::{Manager, ManagerError};
use crate::Term;
use crate::controller::LAST_WORDS;
use crate::stop_on_signal;

/// What a part may take beyond its grace period to notice that it is over.
const SLACK: Duration = Duration::from_secs(5);
/// How long reconciles may take at most to finish after a lost lease. Their writes are refused already.
const GRACE_AFTER_LOSS: Duration = Duration::from_secs(1);
/// With less than this until a rival may begin, reconciles that have to be aborted may be late.
const ENOUGH: Duration = LAST_WORDS.saturating_add(Duration::from_millis(500));

impl Manager {
    /// Runs everything until `stop`, then stops in the reverse order of starting.
    ///
    /// Standing by, leading, losing the lease and standing by again all happen in here. When it
    /// returns, nothing of the Manager runs any more, and the Lease has been given back if it
    /// was held.
    ///
    /// # Errors
    ///
    /// The first part that failed, and what failed while the others were stopped in order. If
    /// it [is an overrun](ManagerError::is_overrun), end the process.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future aborts everything; a held Lease is left to run out.
    pub async fn run(mut self, stop: CancellationToken) -> Result<(), ManagerError> {
        // The endpoints outlive everything else, so that a stop can be watched.
        let serving = CancellationToken::new();
        let mut servers = JoinSet::new();
        for endpoint in std::mem::take(&mut self.endpoints) {
            servers.spawn(endpoint.serve(serving.clone()));
        }
        // A conversion webhook must answer before the lists that depend on it can succeed.
        let mut early = self.serving.start(self.term(&self.unfenced, None));
        self.handle.start_informers();
        let stop = stop.child_token();
        let mut works = std::pin::pin!(self.run_works(&stop));
        let ended = tokio::select! {
            ended = &mut works => ended,
            failure = early.failed() => {
                stop.cancel();
                ManagerError::both(Err(failure), works.await)
            }
        };
        self.handle.stop_informers().await;
        self.serving.close();
        let stopped = early.stop(self.grace.saturating_add(SLACK)).await;
        self.handle.stop_recorders().await;
        serving.cancel();
        while servers.join_next().await.is_some() {}
        ManagerError::both(ended, stopped)
    }

    /// [Runs](Self::run) everything until SIGINT or SIGTERM, then stops in order; at a second
    /// signal it returns at once. The last line of an operator's `main`.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run); [`ManagerError::SecondSignal`], when things still run that end with
    /// the process; [`ManagerError::Signals`].
    ///
    /// # Cancel safety
    ///
    /// As [`run`](Self::run). The signals keep doing nothing else until the process ends.
    pub async fn run_until_signal(self) -> Result<(), ManagerError> {
        let stop = CancellationToken::new();
        tokio::select! {
            // The handlers must be there before the first part says its first word.
            biased;
            signalled = stop_on_signal(stop.clone()) => Err(match signalled {
                Ok(()) => ManagerError::SecondSignal,
                Err(error) => ManagerError::Signals(error),
            }),
            ended = self.run(stop.clone()) => ended,
        }
    }

    async fn run_works(&self, stop: &CancellationToken) -> Result<(), ManagerError> {
        let always = &self.handle.shared.always;
        let mut running = always.start(self.term(&self.unfenced, None));
        let stop = stop.child_token();
        let mut lead = std::pin::pin!(self.lead(&stop));
        let ended = tokio::select! {
            ended = &mut lead => ended,
            failure = running.failed() => {
                stop.cancel();
                ManagerError::both(Err(failure), lead.await)
            }
        };
        self.handle.shared.leading.close();
        always.close();
        let stopped = running.stop(self.grace.saturating_add(SLACK)).await;
        ManagerError::both(ended, stopped)
    }

    /// Leads whenever it can until `stop`.
    async fn lead(&self, stop: &CancellationToken) -> Result<(), ManagerError> {
        let Some(elector) = &self.elector else {
            return self.run_term(stop, None).await;
        };
        while !stop.is_cancelled() {
            let (namespace, name) = elector.lease();
            tracing::info!(
                lease = %format_args!("{namespace}/{name}"),
                identity = elector.identity(),
                "Attempting to acquire leader lease"
            );
            let campaign = elector.campaign(stop);
            let leadership = match self.handle.shared.leading.stand_by(campaign).await {
                Ok(leadership) => leadership,
                Err(NotElected::Cancelled) => break,
                Err(error) => {
                    return Err(ManagerError::Failed {
                        name: "leader election".to_owned(),
                        source: error.into(),
                    });
                }
            };
            tracing::info!(identity = elector.identity(), "Successfully acquired lease");
            let ended = self.run_term(stop, Some(&leadership)).await;
            if ended.as_ref().is_err_and(ManagerError::is_overrun) {
                // Something still runs: the Lease is left to run out, so that nobody begins
                // beside it any sooner.
                drop(leadership);
                return ended;
            }
            // The work has been joined: the next leader may begin at once.
            let released = leadership.release().await;
            tracing::info!(
                identity = elector.identity(),
                ?released,
                "Leader lease ended"
            );
            ended?;
        }
        Ok(())
    }

    /// Runs the leading part until `stop` or until leadership is lost, and joins it.
    async fn run_term(
        &self,
        stop: &CancellationToken,
        leadership: Option<&Leadership>,
    ) -> Result<(), ManagerError> {
        let lost = async {
            match leadership {
                Some(leadership) => leadership.lost().await,
                None => std::future::pending().await,
            }
        };
        let mut lost = std::pin::pin!(lost);
        let leading = &self.handle.shared.leading;
        let mut running = leading.start(self.term(&self.client, leadership));
        let mut cause = None;
        let mut failure = Ok(());
        tokio::select! {
            () = stop.cancelled() => {
                // What is added from now on would start and be told to stop.
                leading.close();
            }
            why = &mut lost => cause = Some(why),
            error = running.failed() => failure = Err(error),
        }
        running.tell();
        let mut limit = self.grace.saturating_add(SLACK);
        if cause.is_none() {
            // Renewals go on meanwhile, and may fail.
            tokio::select! {
                biased;
                _ = running.joined(limit) => {}
                why = &mut lost => cause = Some(why),
            }
        }
        if let (Some(cause), Some(leadership)) = (cause, leadership) {
            let left = self.left_of(leadership, &cause);
            tracing::error!(%cause, ?left, "Leader election lost");
            limit = join_after_loss(&mut running, left).await;
        }
        ManagerError::both(failure, running.finish(limit))
    }

    /// How long no rival can begin that waits for the lease to run out. The fence closes earlier by its
    /// margin, which is time enough to end what may not write any more.
    fn left_of(&self, leadership: &Leadership, cause: &LossCause) -> Duration {
        match cause {
            LossCause::NotRenewed { since } => self.lease.saturating_sub(*since),
            LossCause::EndOfTerm { .. } => leadership.fence().horizon(),
            // One has begun.
            _ => Duration::ZERO,
        }
    }

    fn term(&self, client: &Client, leadership: Option<&Leadership>) -> Term {
        Term {
            fence: leadership.map(|leadership| leadership.fence().clone()),
            ..Term::new(client.clone(), CancellationToken::new()).grace(self.grace)
        }
    }
}

/// Ends what runs while no rival can have begun yet, and at once if one may have; answers how long
/// that could take.
async fn join_after_loss(running: &mut Running<'_>, left: Duration) -> Duration {
    // What heeds nothing is aborted the last words later, which must be in time as well.
    let grace = GRACE_AFTER_LOSS.min(left / 4);
    let limit = if left < ENOUGH { SLACK } else { left };
    if !running.joined(grace).await {
        running.cut_short();
        running.joined(limit.saturating_sub(grace)).await;
    }
    limit
}
