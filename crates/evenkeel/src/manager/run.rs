use std::time::Duration;

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
    /// The first part that failed; everything else was stopped in order then. An
    /// [`ManagerError::Overrun`] asks for the end of the process.
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
        self.informers.start();
        let ended = self.run_works(&stop).await;
        self.informers.shutdown().await;
        serving.cancel();
        while servers.join_next().await.is_some() {}
        ended
    }

    async fn run_works(&self, stop: &CancellationToken) -> Result<(), ManagerError> {
        let always = Term {
            client: self.unfenced.clone(),
            stop: CancellationToken::new(),
            grace: self.grace,
        };
        let mut running = self.always.start(&always);
        let ended = tokio::select! {
            ended = self.lead(stop) => ended,
            failure = running.failed() => Err(failure),
        };
        always.stop.cancel();
        let joined = running.join(self.grace + SLACK).await;
        ended.and(joined)
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
            let leadership = match elector.campaign(stop).await {
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
            if matches!(ended, Err(ManagerError::Overrun { .. })) {
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
        let term = Term {
            client: self.client.clone(),
            stop: CancellationToken::new(),
            grace: self.grace,
        };
        let lost = async {
            match leadership {
                Some(leadership) => leadership.lost().await,
                None => std::future::pending().await,
            }
        };
        let mut running = self.leading.start(&term);
        let (failure, limit) = tokio::select! {
            () = stop.cancelled() => (None, self.grace),
            cause = lost => {
                tracing::error!(%cause, "Leader election lost");
                (None, GRACE_AFTER_LOSS)
            }
            failure = running.failed() => (Some(failure), self.grace),
        };
        term.stop.cancel();
        let joined = running.join(limit + SLACK).await;
        failure.map_or(Ok(()), Err).and(joined)
    }
}
