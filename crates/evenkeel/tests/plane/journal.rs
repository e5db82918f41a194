//! A reconciler that notes what it was asked for.

use std::sync::Arc;
use std::time::Duration;

use evenkeel::meta::ObjectKey;
use evenkeel::{Context, Controller, Outcome, ReconcileResult, Reconciler, Term};
use parking_lot::Mutex;
use tokio::task::JoinHandle;

/// The keys that were run, in order.
pub(crate) struct Journal<K = ObjectKey>(Arc<Mutex<Vec<K>>>);

impl<K: Clone + Ord> Journal<K> {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    /// What was run since the last call, in order.
    pub(crate) fn take(&self) -> Vec<K> {
        std::mem::take(&mut *self.0.lock())
    }

    /// What was run since the last call, sorted, once everything has settled.
    pub(crate) async fn settled(&self) -> Vec<K> {
        settle().await;
        let mut keys = self.take();
        keys.sort();
        keys
    }
}

impl<K> Clone for Journal<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K: Clone + Eq + std::hash::Hash + Send + Sync + 'static> Reconciler<K> for Journal<K> {
    async fn reconcile(&self, _: &Context<K>, key: &K) -> ReconcileResult {
        self.0.lock().push(key.clone());
        Ok(Outcome::Done)
    }
}

/// Waits until every watch has delivered.
pub(crate) async fn settle() {
    tokio::time::sleep(Duration::from_millis(500)).await;
}

pub(crate) fn run<K>(controller: Controller<K>, term: Term) -> JoinHandle<()>
where
    K: Clone + Eq + std::hash::Hash + std::fmt::Debug + Send + Sync + 'static,
{
    tokio::spawn(async move { controller.run(term).await.unwrap() })
}

pub(crate) fn names(keys: &[ObjectKey]) -> Vec<&str> {
    keys.iter().map(ObjectKey::name).collect()
}
