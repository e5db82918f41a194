//! What a worker does with one key (contracts controller-runtime C4-C14).

use std::any::Any;
use std::hash::Hash;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_client::Client;
use evenkeel_workqueue::{Item, Queue};
use futures_util::FutureExt;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Reconcile;
use super::metrics::ControllerMetrics;
use crate::writes::Writes;
use crate::{Context, Outcome, ReconcileError, Retry};

/// What the workers of one run of a controller share.
pub(super) struct Shared<K> {
    pub(super) name: String,
    pub(super) reconciler: Arc<dyn Reconcile<K>>,
    pub(super) client: Client,
    pub(super) writes: Arc<Writes<K>>,
    pub(super) timeout: Option<Duration>,
    pub(super) metrics: ControllerMetrics,
    /// Cancelled when the grace period of a stop is over.
    pub(super) stop: CancellationToken,
}

/// Takes keys until the queue is shut down.
pub(super) async fn work<K>(shared: Arc<Shared<K>>, queue: Queue<K>)
where
    K: Clone + Eq + Hash + std::fmt::Debug + Send + Sync + 'static,
{
    while let Some(item) = queue.get().await {
        shared.run(item).await;
    }
}

enum Failure {
    Error(ReconcileError),
    Panic(String),
    TimedOut(Duration),
}

impl<K: Clone + Eq + Hash + std::fmt::Debug + Send + Sync + 'static> Shared<K> {
    async fn run(&self, item: Item<K>) {
        if self.writes.give_up(item.key()) {
            self.metrics.unseen.inc();
            let key = item.key();
            tracing::warn!(
                controller = self.name,
                ?key,
                "Own writes were not seen in time; going on"
            );
        }
        let context = Context {
            client: self.client.clone(),
            key: item.key().clone(),
            writes: Arc::clone(&self.writes),
            stop: self.stop.clone(),
            failures: item.failures(),
        };
        self.metrics.active.inc();
        let started = Instant::now();
        let result = self.reconcile(&context).await;
        self.metrics.time.observe_duration(started.elapsed());
        self.metrics.active.dec();
        // Before the item goes back: the next run of this key waits for this one's writes.
        self.writes.park(&item);
        match result {
            Ok(outcome) => self.succeeded(item, outcome),
            Err(failure) => self.failed(item, &failure),
        }
    }

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
                item.forget();
                item.done();
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
