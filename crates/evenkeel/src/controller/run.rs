use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use evenkeel_client::Client;
use evenkeel_election::Fence;
use evenkeel_observe::Metrics;
use evenkeel_pace::Rng;
use evenkeel_store::SyncError;
use evenkeel_workqueue::Queue;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::metrics::ControllerMetrics;
use super::worker::{self, Shared};
use super::{Controller, Intake};
use crate::recorders::{OwnRecorder, Recorders};

/// How long a run may go on after it was told that the grace period is over.
pub(crate) const LAST_WORDS: Duration = Duration::from_secs(1);
/// How often a standby looks whether its queue has outgrown what there is.
const LOOK_AGAIN: Duration = Duration::from_secs(60);
/// A queue of a standby that is this much larger than twice what a fresh one held is made anew.
const LEFTOVERS: usize = 1024;

/// One period in which controllers run: until the process stops, or until leadership ends.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Term {
    /// What the controllers write with.
    pub client: Client,
    /// Cancelled to stop: no new run starts.
    pub stop: CancellationToken,
    /// How long running reconciles may then take to finish before they are cancelled; 30 s unless set.
    pub grace: Duration,
    /// Cancelled when there is no time left for the rest of the grace period: leadership is lost.
    pub cut_short: CancellationToken,
    /// The leadership that is the reason for it, if there is an election.
    pub fence: Option<Fence>,
}

impl Term {
    /// A period that ends with `stop`, without an election.
    #[must_use]
    pub fn new(client: Client, stop: CancellationToken) -> Self {
        Self {
            client,
            stop,
            grace: Duration::from_secs(30),
            cut_short: CancellationToken::new(),
            fence: None,
        }
    }

    /// How long running reconciles may take to finish after the stop.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }
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
    /// It runs already, and one key would be with two workers.
    #[error("controller {controller} runs already")]
    Running {
        /// The controller.
        controller: String,
    },
}

impl<K: Clone + Eq + Hash + std::fmt::Debug + Send + Sync + 'static> Controller<K> {
    /// Runs the controller until `term` ends: registers with its informers unless a
    /// [standby](Self::stand_by) has done so, waits until they are synced, then works off keys.
    ///
    /// May be called again after it has returned, for the next term of leadership. When it
    /// returns, no run is in progress: what was running has finished, or was cancelled when
    /// the term's grace period was over or cut short.
    ///
    /// # Errors
    ///
    /// When an informer stops before it is synced; when the controller runs already.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the workers at their next await point.
    pub async fn run(&self, term: Term) -> Result<(), ControllerError> {
        let running = Running::begin(self)?;
        let intake = self.fill()?;
        tracing::info!(controller = self.name, "Starting controller");
        tokio::select! {
            synced = self.synced() => synced?,
            () = term.stop.cancelled() => return Ok(()),
        }
        tracing::info!(
            controller = self.name,
            workers = self.concurrency,
            "Caches are synced, starting workers"
        );

        let cancel = CancellationToken::new();
        let client = self
            .cluster
            .as_ref()
            .map_or(term.client, |(_, client)| client.clone());
        let metrics = self.metrics();
        let alone = || Recorders::new(client.clone(), metrics.clone());
        let recorder = Arc::new(OwnRecorder {
            recorders: self.recorders.clone().unwrap_or_else(alone),
            component: self.name.clone(),
            made: OnceLock::new(),
        });
        let shared = Arc::new(Shared {
            name: self.name.clone(),
            reconciler: Arc::clone(&self.reconciler),
            client,
            recorder,
            intake: Arc::clone(&intake),
            timeout: self.timeout,
            metrics: ControllerMetrics::new(&metrics, &self.name, self.concurrency),
            term: Rng::from_entropy().next_u64(),
            runs: AtomicU64::new(0),
            fence: term.fence,
            draining: term.stop.clone(),
            stop: cancel.clone(),
        });
        let mut workers = JoinSet::new();
        for _ in 0..self.concurrency {
            workers.spawn(worker::work(Arc::clone(&shared)));
        }
        let mut feeds = JoinSet::new();
        for feed in &self.feeds {
            feeds.spawn(Arc::clone(feed).pump(Arc::clone(&intake)));
        }
        term.stop.cancelled().await;

        feeds.shutdown().await;
        intake.queue.shut_down_now();
        self.watches.empty();
        let end_of_grace = async {
            tokio::select! {
                () = tokio::time::sleep(term.grace) => {}
                () = term.cut_short.cancelled() => {}
            }
        };
        self.join(&mut workers, &cancel, end_of_grace).await;
        drop(running);
        tracing::info!(controller = self.name, "Controller stopped");
        Ok(())
    }

    /// Fills the queue ahead of the next [`run`](Self::run), so that a new leader begins with it
    /// at once (contract controller-runtime C28). Never returns.
    ///
    /// The keys of objects that come and go pile up meanwhile; when they outnumber the others the
    /// queue is filled anew with what there is, which asks the server for nothing. What
    /// [`receives`](super::Builder::receives) reads is left where it is.
    ///
    /// # Cancel safety
    ///
    /// Yes: what was filled stays so for `run`. Do not poll it beside `run`.
    pub async fn stand_by(&self) -> std::convert::Infallible {
        loop {
            // An informer that was stopped is the next term's error.
            let filled = self.fill();
            let synced = tokio::time::timeout(LOOK_AGAIN, self.synced()).await;
            if let (Ok(intake), false) = (filled, matches!(synced, Ok(Err(_)))) {
                let limit = 2 * intake.queue.len() + LEFTOVERS;
                while intake.queue.len() <= limit {
                    tokio::time::sleep(LOOK_AGAIN).await;
                }
                self.watches.empty();
            } else {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        }
    }

    fn fill(&self) -> Result<Arc<Intake<K>>, ControllerError> {
        let filled = self.watches.fill(|| {
            let queue = Queue::builder()
                .name(self.name.clone())
                .limiter((self.limiter)())
                .metrics(self.metrics())
                .build();
            let cluster = self.cluster.as_ref().map(|(name, _)| name.as_str());
            Arc::new(Intake::new(queue, cluster))
        });
        filled.map_err(|subject| ControllerError::Stopped {
            controller: self.name.clone(),
            subject,
        })
    }

    fn metrics(&self) -> Metrics {
        self.metrics.clone().unwrap_or_else(Metrics::none)
    }

    async fn synced(&self) -> Result<(), ControllerError> {
        for (subject, registration) in self.watches.registrations() {
            let synced = registration.synced().await;
            synced.map_err(|source| ControllerError::Sync {
                controller: self.name.clone(),
                subject,
                source: Box::new(source),
            })?;
        }
        Ok(())
    }

    /// Two steps: running reconciles may finish, then they are told to stop, then aborted.
    async fn join(
        &self,
        workers: &mut JoinSet<()>,
        stop: &CancellationToken,
        end_of_grace: impl Future<Output = ()>,
    ) {
        let joined = {
            let mut all = std::pin::pin!(async { while workers.join_next().await.is_some() {} });
            tokio::select! {
                () = &mut all => true,
                () = end_of_grace => {
                    stop.cancel();
                    tokio::time::timeout(LAST_WORDS, all).await.is_ok()
                }
            }
        };
        if joined {
            return;
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

/// A run under way. Dropping it ends the filling of the queue.
struct Running<'a, K: Clone + Eq + Hash + Send + Sync + 'static>(&'a Controller<K>);

impl<'a, K: Clone + Eq + Hash + Send + Sync + 'static> Running<'a, K> {
    fn begin(controller: &'a Controller<K>) -> Result<Self, ControllerError> {
        if controller.is_running.swap(true, Ordering::AcqRel) {
            return Err(ControllerError::Running {
                controller: controller.name.clone(),
            });
        }
        Ok(Self(controller))
    }
}

impl<K: Clone + Eq + Hash + Send + Sync + 'static> Drop for Running<'_, K> {
    fn drop(&mut self) {
        self.0.watches.empty();
        self.0.is_running.store(false, Ordering::Release);
    }
}
