use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_client::Client;
use evenkeel_store::{Registration, Stopped, SyncError};
use evenkeel_workqueue::Queue;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Controller;
use super::metrics::ControllerMetrics;
use super::worker::{self, Shared};
use crate::writes::Writes;

/// How long a run may go on after it was told that the grace period is over.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// One period in which controllers run: until the process stops, or until leadership ends.
#[derive(Clone, Debug)]
pub struct Term {
    /// What the controllers write with.
    pub client: Client,
    /// Cancelled to stop: no new run starts.
    pub stop: CancellationToken,
    /// How long running reconciles may then take to finish before they are cancelled.
    pub grace: Duration,
}

/// A controller could not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ControllerError {
    /// A watched collection was stopped before the controller started.
    #[error("controller {controller}: the informer of {subject} was stopped")]
    Stopped {
        /// The controller.
        controller: String,
        /// The collection.
        subject: String,
    },
    /// A watched collection ended before it was synced.
    #[error("controller {controller}: cannot sync {subject}: {source}")]
    Sync {
        /// The controller.
        controller: String,
        /// The collection.
        subject: String,
        /// Why.
        source: Box<SyncError>,
    },
}

impl<K: Clone + Eq + Hash + std::fmt::Debug + Send + Sync + 'static> Controller<K> {
    /// Runs the controller until `term` ends: registers with its informers, waits until they
    /// are synced, then works off keys.
    ///
    /// May be called again after it has returned, for the next term of leadership. When it
    /// returns, no run is in progress: what was running has finished, or was cancelled after
    /// the term's grace period.
    ///
    /// # Errors
    ///
    /// When an informer stops before it is synced.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the workers at their next await point.
    pub async fn run(&self, term: Term) -> Result<(), ControllerError> {
        let queue = Queue::builder()
            .name(self.name.clone())
            .limiter((self.limiter)())
            .metrics(self.metrics.clone())
            .build();
        let writes = Arc::new(Writes::new(
            self.watches.iter().map(|watch| watch.source()).collect(),
        ));
        let registrations = self.register(&queue, &writes)?;
        tracing::info!(controller = self.name, "Starting controller");
        tokio::select! {
            synced = self.synced(&registrations) => synced?,
            () = term.stop.cancelled() => return Ok(()),
        }
        tracing::info!(
            controller = self.name,
            workers = self.concurrency,
            "Caches are synced, starting workers"
        );

        let stop = CancellationToken::new();
        let shared = Arc::new(Shared {
            name: self.name.clone(),
            reconciler: Arc::clone(&self.reconciler),
            client: term.client,
            writes,
            timeout: self.timeout,
            metrics: ControllerMetrics::new(&self.metrics, &self.name, self.concurrency),
            stop: stop.clone(),
        });
        let mut workers = JoinSet::new();
        for _ in 0..self.concurrency {
            workers.spawn(worker::work(Arc::clone(&shared), queue.clone()));
        }
        term.stop.cancelled().await;

        queue.shut_down_now();
        drop(registrations);
        self.join(&mut workers, &stop, term.grace).await;
        tracing::info!(controller = self.name, "Controller stopped");
        Ok(())
    }

    fn register(
        &self,
        queue: &Queue<K>,
        writes: &Arc<Writes<K>>,
    ) -> Result<Vec<Registration>, ControllerError> {
        let mut registrations = Vec::with_capacity(self.watches.len());
        for (id, watch) in self.watches.iter().enumerate() {
            let registered = watch.register(id, queue, writes);
            registrations.push(registered.map_err(|Stopped| ControllerError::Stopped {
                controller: self.name.clone(),
                subject: watch.subject(),
            })?);
        }
        Ok(registrations)
    }

    async fn synced(&self, registrations: &[Registration]) -> Result<(), ControllerError> {
        for (watch, registration) in self.watches.iter().zip(registrations) {
            registration
                .synced()
                .await
                .map_err(|source| ControllerError::Sync {
                    controller: self.name.clone(),
                    subject: watch.subject(),
                    source: Box::new(source),
                })?;
        }
        Ok(())
    }

    /// Two steps: running reconciles may finish, then they are told to stop, then aborted.
    async fn join(&self, workers: &mut JoinSet<()>, stop: &CancellationToken, grace: Duration) {
        for limit in [grace, LAST_WORDS] {
            let all = async { while workers.join_next().await.is_some() {} };
            if tokio::time::timeout(limit, all).await.is_ok() {
                return;
            }
            stop.cancel();
        }
        let left = workers.len();
        tracing::warn!(
            controller = self.name,
            left,
            "Reconciles did not stop in time and are aborted"
        );
        workers.shutdown().await;
    }
}
