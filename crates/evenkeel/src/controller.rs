//! One control loop: what is watched, which keys that concerns, and the workers.

mod builder;
mod feed;
mod intake;
mod mapping;
mod metrics;
mod run;
mod source;
mod watch;
mod watches;
mod worker;

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use evenkeel_client::Client;
use evenkeel_meta::ObjectKey;
use evenkeel_observe::Metrics;
use evenkeel_pace::Limiter;
use futures_util::future::BoxFuture;

pub use builder::{Builder, For, Named};
pub(crate) use intake::Intake;
pub(crate) use run::LAST_WORDS;
pub use run::{ControllerError, Term};
pub use watch::Watch;
pub use watches::{ControllerHandle, DynamicWatch};
pub(crate) use worker::Shared;

use crate::recorders::Recorders;
use crate::{Context, Outcome, ReconcileError, Reconciler};
use feed::Feed;
use watches::Watches;

/// A control loop: watches, a queue, and workers that run a [`Reconciler`].
///
/// Made by [`Controller::builder`] and given to a [`Manager`](crate::Manager), or run alone
/// with [`run`](Self::run).
pub struct Controller<K = ObjectKey> {
    name: String,
    watches: Arc<Watches<K>>,
    feeds: Vec<Arc<Feed<K>>>,
    /// Where it writes to, if not where the Manager does.
    cluster: Option<(String, Client)>,
    reconciler: Arc<dyn Reconcile<K>>,
    concurrency: usize,
    timeout: Option<Duration>,
    limiter: Arc<dyn Fn() -> Box<dyn Limiter<K> + Send> + Send + Sync>,
    metrics: Option<Metrics>,
    /// The Manager's, or those of the cluster where it writes to.
    recorders: Option<Recorders>,
    is_running: AtomicBool,
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

    /// Reports there unless the builder said otherwise.
    pub(crate) fn report_to(&mut self, metrics: impl FnOnce() -> Metrics, recorders: &Recorders) {
        self.metrics.get_or_insert_with(metrics);
        self.recorders.get_or_insert_with(|| recorders.clone());
    }
}

impl<K: Clone + Eq + Hash + Send + Sync + 'static> Controller<K> {
    /// Which sources have not synced yet and why: `pods: list pods: 403 Forbidden ...`.
    #[must_use]
    pub fn unsynced(&self) -> Vec<String> {
        self.watches.unsynced()
    }

    /// Adds watches while the controller runs.
    #[must_use]
    pub fn handle(&self) -> ControllerHandle<K> {
        ControllerHandle {
            watches: Arc::clone(&self.watches),
        }
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
