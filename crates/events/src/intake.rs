//! What every recorder has: a bounded queue of reports, and the task that writes what comes of them.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::Unwritten;
use crate::metrics::{Stats, Tally};

/// The end that takes reports; dropping it ends the task.
pub(crate) struct Intake<T> {
    reports: mpsc::Sender<T>,
    stop: CancellationToken,
    /// Closed when the task has ended.
    ended: watch::Receiver<()>,
    task: JoinHandle<()>,
    tally: Arc<Tally>,
}

impl<T> Intake<T> {
    /// Spawns the task that `run` makes of the reports' other end and of the token that tells it
    /// to write what is left and end.
    pub(crate) fn start<F>(
        queue: usize,
        tally: Arc<Tally>,
        run: impl FnOnce(mpsc::Receiver<T>, CancellationToken) -> F,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (reports, receiver) = mpsc::channel(queue.clamp(1, Semaphore::MAX_PERMITS));
        let stop = CancellationToken::new();
        let (ending, ended) = watch::channel(());
        let running = run(receiver, stop.clone());
        let task = tokio::spawn(async move {
            running.await;
            drop(ending);
        });
        Self {
            reports,
            stop,
            ended,
            task,
            tally,
        }
    }

    /// Takes a report, or counts that it was dropped. Never blocks (client-go E1).
    pub(crate) fn report(&self, report: T) {
        if self.stop.is_cancelled() || self.reports.try_send(report).is_err() {
            self.tally.drop_one();
        }
    }

    pub(crate) fn stats(&self) -> Stats {
        self.tally.stats()
    }

    #[cfg(test)]
    pub(crate) fn abort_handle(&self) -> tokio::task::AbortHandle {
        self.task.abort_handle()
    }

    /// Takes no more reports, and waits until those that were taken are written. After `limit`
    /// the task is ended.
    pub(crate) async fn shutdown(&self, limit: Duration) -> Result<(), Unwritten> {
        self.stop.cancel();
        let mut ended = self.ended.clone();
        // Nothing is ever sent: the only change is the end.
        let result = timeout(limit, ended.changed()).await;
        result.map(drop).map_err(|_| {
            self.task.abort();
            Unwritten
        })
    }
}

impl<T> Drop for Intake<T> {
    fn drop(&mut self) {
        self.task.abort();
    }
}
