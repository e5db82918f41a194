//! What a worker does with one key (contracts controller-runtime C4-C14).

use std::any::Any;
use std::hash::Hash;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use evenkeel_client::Client;
use evenkeel_election::Fence;
use evenkeel_workqueue::Item;
use futures_util::FutureExt;
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::metrics::ControllerMetrics;
use super::{Intake, Reconcile};
use crate::recorders::OwnRecorder;
use crate::run::Run;
use crate::{Context, Outcome, ReconcileError, ReconcileId, Retry};

/// What the workers of one run of a controller share, and each run's [`Context`] with them.
pub(crate) struct Shared<K> {
    pub(super) name: String,
    pub(super) reconciler: Arc<dyn Reconcile<K>>,
    pub(crate) client: Client,
    pub(crate) recorder: Arc<OwnRecorder>,
    pub(crate) intake: Arc<Intake<K>>,
    pub(super) timeout: Option<Duration>,
    pub(super) metrics: ControllerMetrics,
    /// What distinguishes the runs of these workers from all others.
    pub(super) term: u64,
    pub(super) runs: AtomicU64,
    pub(crate) fence: Option<Fence>,
    /// Cancelled when the controller is told to stop.
    pub(crate) draining: CancellationToken,
    /// Cancelled when the grace period of a stop is over.
    pub(crate) stop: CancellationToken,
}

/// Takes keys until the queue is shut down.
pub(super) async fn work<K>(shared: Arc<Shared<K>>)
where
    K: Clone + Eq + Hash + std::fmt::Debug + Send + Sync + 'static,
{
    while let Some(item) = shared.intake.queue.get().await {
        run(&shared, item).await;
    }
}

enum Failure {
    Error(ReconcileError),
    Panic(String),
    TimedOut(Duration),
}

async fn run<K>(shared: &Arc<Shared<K>>, mut item: Item<K>)
where
    K: Clone + Eq + Hash + std::fmt::Debug + Send + Sync + 'static,
{
    let Shared { name, metrics, .. } = &**shared;
    let writes = &shared.intake.writes;
    if writes.give_up(item.key()) {
        metrics.unseen.inc();
        let key = item.key();
        tracing::warn!(
            controller = name,
            ?key,
            "Own writes were not seen in time; going on"
        );
    }
    let context = Context {
        key: item.key().clone(),
        run: Run {
            id: ReconcileId {
                term: shared.term,
                number: shared.runs.fetch_add(1, Ordering::Relaxed),
            },
            failures: item.failures(),
            priority: item.priority(),
            next_priority: Mutex::new(None),
        },
        shared: Arc::clone(shared),
    };
    let span = tracing::info_span!(
        "reconcile",
        controller = name,
        key = ?item.key(),
        reconcile_id = %context.run.id,
    );
    metrics.active.inc();
    let started = Instant::now();
    let result = shared.reconcile(&context).instrument(span.clone()).await;
    metrics.time.observe_duration(started.elapsed());
    metrics.active.dec();
    if let Some(priority) = *context.run.next_priority.lock() {
        item.set_priority(priority);
    }
    // Before the item goes back: the next run of this key waits for this one's writes.
    writes.park(&item);
    let _entered = span.entered();
    match result {
        Ok(outcome) => shared.succeeded(item, outcome),
        Err(failure) => shared.failed(item, &failure),
    }
}

impl<K: Clone + Eq + Hash + std::fmt::Debug + Send + Sync + 'static> Shared<K> {
    async fn reconcile(&self, context: &Context<K>) -> Result<Outcome, Failure> {
        let run = self.reconciler.reconcile(context, &context.key);
        // The reconciler is not touched again with what a panic may have left half done: each
        // run reads the level anew.
        let run = AssertUnwindSafe(run).catch_unwind();
        let ended = match self.timeout {
            None => run.await,
            Some(limit) => match tokio::time::timeout(limit, run).await {
                Ok(ended) => ended,
                Err(_) => return Err(Failure::TimedOut(limit)),
            },
        };
        match ended {
            Ok(result) => result.map_err(Failure::Error),
            Err(panic) => Err(Failure::Panic(panic_text(&*panic))),
        }
    }

    fn succeeded(&self, item: Item<K>, outcome: Outcome) {
        match outcome {
            Outcome::Done => {
                self.metrics.success.inc();
                item.succeed();
            }
            Outcome::After(delay) => {
                self.metrics.requeue_after.inc();
                item.forget();
                item.retry_after(delay);
            }
            Outcome::Backoff => {
                self.metrics.requeue.inc();
                item.retry();
            }
        }
    }

    fn failed(&self, item: Item<K>, failure: &Failure) {
        self.metrics.error.inc();
        self.metrics.errors.inc();
        let (controller, key) = (&self.name, item.key());
        match failure {
            Failure::Error(error) => {
                // Conflicts and the like are how optimistic concurrency works.
                let failures = item.failures();
                if error.retry() == Retry::Backoff && failures < 3 {
                    tracing::debug!(controller, ?key, failures, %error, "Reconciling failed");
                } else {
                    tracing::error!(controller, ?key, failures, %error, "Reconciling failed");
                }
            }
            Failure::Panic(text) => {
                self.metrics.panics.inc();
                tracing::error!(controller, ?key, panic = text, "Reconciling panicked");
            }
            Failure::TimedOut(limit) => {
                self.metrics.timeouts.inc();
                tracing::error!(controller, ?key, ?limit, "Reconciling took too long");
            }
        }
        match failure {
            Failure::Error(error) => match error.retry() {
                Retry::Backoff => item.retry(),
                Retry::After(delay) => item.retry_after(delay),
                Retry::Never => {
                    self.metrics.permanent.inc();
                    item.done();
                }
            },
            Failure::Panic(_) | Failure::TimedOut(_) => item.retry(),
        }
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("of an unknown type").to_owned()
}
