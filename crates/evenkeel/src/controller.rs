//! One control loop: what is watched, which keys that concerns, and the workers.

mod builder;
mod metrics;
mod run;
mod watch;
mod worker;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_meta::ObjectKey;
use evenkeel_observe::Metrics;
use evenkeel_pace::Limiter;
use futures_util::future::BoxFuture;

pub use builder::{Builder, Named};
pub use run::{ControllerError, Term};

use crate::{Context, Outcome, ReconcileError, Reconciler};
use watch::Watch;

/// A control loop: watches, a queue, and workers that run a [`Reconciler`].
///
/// Made by [`Controller::builder`] and given to a [`Manager`](crate::Manager), or run alone
/// with [`run`](Self::run).
pub struct Controller<K = ObjectKey> {
    name: String,
    watches: Vec<Box<dyn Watch<K>>>,
    reconciler: Arc<dyn Reconcile<K>>,
    concurrency: usize,
    timeout: Option<Duration>,
    limiter: Arc<dyn Fn() -> Box<dyn Limiter<K> + Send> + Send + Sync>,
    metrics: Metrics,
}

impl Controller {
    /// A controller of this name, which its metrics, its log lines and its queue carry.
    pub fn builder(name: impl Into<String>) -> Named {
        Named::new(name.into())
    }
}

impl<K> Controller<K> {
    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many keys are reconciled at once.
    #[must_use]
    pub fn concurrency(&self) -> usize {
        self.concurrency
    }

    /// Which sources have not synced yet and why: `pods: list pods: 403 Forbidden ...`.
    #[must_use]
    pub fn unsynced(&self) -> Vec<String> {
        self.watches
            .iter()
            .filter_map(|watch| watch.unsynced())
            .collect()
    }
}

impl<K> fmt::Debug for Controller<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller")
            .field("name", &self.name)
            .field("concurrency", &self.concurrency)
            .finish_non_exhaustive()
    }
}

/// [`Reconciler`] as a trait object.
trait Reconcile<K>: Send + Sync {
    fn reconcile<'a>(
        &'a self,
        context: &'a Context<K>,
        key: &'a K,
    ) -> BoxFuture<'a, Result<Outcome, ReconcileError>>;
}

impl<K: Sync, R: Reconciler<K>> Reconcile<K> for R {
    fn reconcile<'a>(
        &'a self,
        context: &'a Context<K>,
        key: &'a K,
    ) -> BoxFuture<'a, Result<Outcome, ReconcileError>> {
        Box::pin(Reconciler::reconcile(self, context, key))
    }
}
