use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_meta::{Object, ObjectKey};
use evenkeel_store::Store;

use crate::Context;

/// Brings the world one step closer to what one object asks for.
///
/// A reconciler is given a *key*, never an event: it reads the level (what is wanted, what
/// is there) and acts on the difference. The same key may come again for any reason or for
/// none, so a second run with nothing to do must write nothing. One key is never reconciled
/// by two workers at once; whatever happens to it meanwhile is one further run (contracts
/// controller-runtime C1, client-go W1).
///
/// The future may be dropped at an await point when the controller has been told to stop
/// and its grace period is over; until then it sees [`Context::stopping`].
pub trait Reconciler<K = ObjectKey>: Send + Sync + 'static {
    /// Reconciles `key`.
    ///
    /// # Errors
    ///
    /// Any error makes the key come again with backoff; see [`ReconcileError`] for the two
    /// other kinds. Errors are logged and counted by the controller, so do not log them here.
    fn reconcile(
        &self,
        context: &Context<K>,
        key: &K,
    ) -> impl Future<Output = ReconcileResult> + Send;
}

/// As [`Reconciler`], for controllers to which an object that is gone means no work.
///
/// Given to [`Builder::object_reconciler`](crate::ControllerBuilder::object_reconciler).
pub trait ObjectReconciler<T>: Send + Sync + 'static {
    /// Reconciles an object, in the state that the store shows.
    ///
    /// # Errors
    ///
    /// As [`Reconciler::reconcile`].
    fn reconcile(
        &self,
        context: &Context,
        object: Arc<T>,
    ) -> impl Future<Output = ReconcileResult> + Send;
}

/// Reads objects from the stores before it asks.
pub(crate) struct OfObjects<T, R> {
    pub(crate) stores: Vec<Store<T>>,
    pub(crate) reconciler: R,
}

impl<T, R> Reconciler for OfObjects<T, R>
where
    T: Object + Send + Sync + 'static,
    R: ObjectReconciler<T>,
{
    async fn reconcile(&self, context: &Context, key: &ObjectKey) -> ReconcileResult {
        match self.stores.iter().find_map(|store| store.get(key)) {
            Some(object) => self.reconciler.reconcile(context, object).await,
            None => Ok(Outcome::Done),
        }
    }
}

/// What a run comes to.
pub type ReconcileResult = Result<Outcome, ReconcileError>;

/// When a key is looked at again after a run that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    /// When something changes. Resets the backoff (contract controller-runtime C10).
    Done,
    /// After this long, or when something changes. Resets the backoff (C8).
    After(Duration),
    /// After the next backoff delay, although nothing failed (C9).
    Backoff,
}

/// Why a run failed, and what that means for the next one.
///
/// `?` turns any error into a transient one. Deliberately no [`std::error::Error`] itself:
/// that is what makes the conversion possible.
pub struct ReconcileError {
    retry: Retry,
    source: Box<dyn std::error::Error + Send + Sync>,
}

/// What a failed run means for the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Comes again with backoff (contract controller-runtime C5).
    Backoff,
    /// Comes again after this long; counted as an error all the same.
    After(Duration),
    /// Comes again only when something changes (contract controller-runtime C6).
    Never,
}

impl ReconcileError {
    /// An error that a later run may not meet.
    pub fn transient(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self {
            retry: Retry::Backoff,
            source: source.into(),
        }
    }

    /// An error that is worth another run only after `delay`.
    pub fn transient_after(
        delay: Duration,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self {
            retry: Retry::After(delay),
            source: source.into(),
        }
    }

    /// An error that no retry will mend: the key waits for the next change.
    pub fn permanent(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self {
            retry: Retry::Never,
            source: source.into(),
        }
    }

    /// What the error means for the next run.
    #[must_use]
    pub fn retry(&self) -> Retry {
        self.retry
    }

    /// The error itself.
    #[must_use]
    pub fn source(&self) -> &(dyn std::error::Error + Send + Sync + 'static) {
        &*self.source
    }
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for ReconcileError {
    fn from(error: E) -> Self {
        Self::transient(error)
    }
}

impl fmt::Display for ReconcileError {
    /// The error and its causes, on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.source)?;
        let mut cause = self.source.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

impl fmt::Debug for ReconcileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} (retry: {:?})", self.retry)
    }
}
