//! A reconciler made of a function.

use evenkeel::{Context, ReconcileResult, Reconciler};
use futures_util::future::BoxFuture;

/// A reconciler made of a function, which may keep the context.
pub(crate) struct Act<K>(Box<Function<K>>);

type Function<K> =
    dyn for<'a> Fn(&'a Context<K>, &'a K) -> BoxFuture<'a, ReconcileResult> + Send + Sync;

impl<K: Send + Sync + 'static> Act<K> {
    pub(crate) fn new(
        act: impl for<'a> Fn(&'a Context<K>, &'a K) -> BoxFuture<'a, ReconcileResult>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self(Box::new(act))
    }
}

impl<K: Send + Sync + 'static> Reconciler<K> for Act<K> {
    async fn reconcile(&self, context: &Context<K>, key: &K) -> ReconcileResult {
        (self.0)(context, key).await
    }
}

pub(crate) fn boom() -> std::io::Error {
    std::io::Error::other("boom")
}
