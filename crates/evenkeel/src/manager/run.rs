use std::time::Duration;

use evenkeel_client::Client;
use evenkeel_election::{Leadership, NotElected};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{Manager, ManagerError};
use crate::Term;

/// What a part may take beyond its grace period to notice that it is over.
const SLACK: Duration = Duration::from_secs(5);
/// How long reconciles may take to end after a lost lease. Their writes are refused already.
const GRACE_AFTER_LOSS: Duration = Duration::from_secs(1);

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
        let stopped = early.stop(self.grace + SLACK).await;
        serving.cancel();
        while servers.join_next().await.is_some() {}
        ManagerError::both(ended, stopped)
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
        let stopped = running.stop(self.grace + SLACK).await;
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
        let leading = &self.handle.shared.leading;
        let mut running = leading.start(self.term(&self.client, leadership));
        let (failure, limit) = tokio::select! {
            () = stop.cancelled() => {
                // What is added from now on would start and be told to stop.
                leading.close();
                (Ok(()), self.grace)
            }
            cause = lost => {
                tracing::error!(%cause, "Leader election lost");
                (Ok(()), GRACE_AFTER_LOSS)
            }
            failure = running.failed() => (Err(failure), self.grace),
        };
        let stopped = running.stop(limit + SLACK).await;
        ManagerError::both(failure, stopped)
    }

    fn term(&self, client: &Client, leadership: Option<&Leadership>) -> Term {
        Term {
            fence: leadership.map(|leadership| leadership.fence().clone()),
            ..Term::new(client.clone(), CancellationToken::new()).grace(self.grace)
        }
    }
}
