use std::future::Future;

use tokio_util::sync::CancellationToken;

use super::{Elector, Ended};
use crate::Term;
use crate::machine::LossCause;

/// The lead was lost, and the process should end: see [`Elector::run_or_die`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("lost the lead: {cause}")]
pub struct LostLead {
    /// Why.
    pub cause: LossCause,
}

impl Elector {
    /// For any `main`: waits for the lead, does the work, and gives the lead up when the work
    /// has ended, or when `shutdown` comes. A lead that is lost is an error, so that a `main`
    /// that returns it ends the process, and whoever runs it starts a new one.
    ///
    /// ```
    /// use evenkeel_client::Client;
    /// use evenkeel_election::Elector;
    /// # use evenkeel_apiserver::Server;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::from_service(Server::new());
    /// # let sigterm = std::future::pending();
    /// // let client = Client::connect(&Config::infer()?)?;
    /// let elector = Elector::builder(client).lease("default", "my-loop").build()?;
    /// let done = elector.run_or_die(sigterm, async |term| term.transitions()).await?;
    /// assert_eq!(done, Some(0));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Returns what the work returned; `None` if it never began, or did not end within the
    /// builder's `join_timeout` after `shutdown` and was dropped.
    ///
    /// What the work has spawned, or still does on a thread that blocks, is not stopped by
    /// this: it ends with the process. So end it.
    ///
    /// # Errors
    /// When the lead was lost. The work was told to stop, waited for, and then dropped.
    ///
    /// # Cancel safety
    /// As [`run`](Self::run).
    ///
    /// # Panics
    /// Outside a tokio runtime with time enabled.
    pub async fn run_or_die<F, W>(
        &self,
        shutdown: impl Future<Output = ()>,
        work: W,
    ) -> Result<Option<F::Output>, LostLead>
    where
        W: FnOnce(Term) -> F,
        F: Future,
    {
        let cancel = CancellationToken::new();
        let mut done = None;
        let running = self.run(&cancel, async |term| done = Some(work(term).await));
        let shutting_down = async {
            shutdown.await;
            cancel.cancel();
            std::future::pending::<std::convert::Infallible>().await
        };
        let ended = tokio::select! {
            ended = running => ended,
            never = shutting_down => match never {},
        };
        match ended {
            Ended::Lost { cause } => Err(LostLead { cause }),
            Ended::NeverLed | Ended::Released | Ended::LeftToExpire => Ok(done),
        }
    }
}
