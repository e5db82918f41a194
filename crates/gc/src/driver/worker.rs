use std::sync::Arc;

use evenkeel_workqueue::{Item, Queue};

use super::shared::Shared;
use crate::error::WorkError;
use crate::graph::Work;

/// How a piece of work ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// Nothing failed, but it has to be looked at again: no informer will tell.
    Again,
}

/// One worker: takes work until the queue is shut down and empty.
pub(crate) async fn work(shared: Arc<Shared>, queue: Queue<Work>) {
    while let Some(item) = queue.get().await {
        let outcome = shared.process(*item.key()).await;
        give_back(item, outcome);
    }
}

fn give_back(item: Item<Work>, outcome: Result<Outcome, WorkError>) {
    match outcome {
        Ok(Outcome::Done) => item.succeed(),
        Ok(Outcome::Again) => item.retry(),
        Err(error) => {
            let failures = item.failures() + 1;
            // A kind that is never served again is tried for ever: ever more rarely said.
            if error.is_expected() || !failures.is_power_of_two() {
                tracing::debug!(%error, failures, "trying again");
            } else {
                tracing::warn!(%error, failures, "trying again later");
            }
            match error.retry_after() {
                Some(delay) => item.retry_after(delay),
                None => item.retry(),
            }
        }
    }
}

impl Shared {
    async fn process(&self, work: Work) -> Result<Outcome, WorkError> {
        match work {
            Work::Verify(claim) => self.verify(claim).await,
            Work::Collect(node) | Work::Orphan(node) => {
                // By the state of this moment, not of when it was queued.
                let decision = self.graph.lock().decide(node);
                self.carry_out(decision).await.map(|()| Outcome::Done)
            }
            Work::Misplaced { .. } => Ok(Outcome::Done),
        }
    }
}
