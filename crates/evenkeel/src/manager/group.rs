//! Runnables that start and stop together.

use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::task::JoinSet;

use super::{BoxError, ManagerError};
use crate::Term;

type Start = dyn Fn(Term) -> BoxFuture<'static, Result<(), BoxError>> + Send + Sync;

/// Something that runs for a term, and again for the next.
pub(super) struct Work {
    name: Arc<str>,
    start: Box<Start>,
}

impl Work {
    pub(super) fn new<F>(name: String, work: impl Fn(Term) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        Self {
            name: name.into(),
            start: Box::new(move |term| Box::pin(work(term))),
        }
    }
}

/// A group of them.
#[derive(Default)]
pub(super) struct Works(Vec<Work>);

impl Works {
    pub(super) fn push(&mut self, work: Work) {
        self.0.push(work);
    }

    /// Starts all of them for one term.
    pub(super) fn start(&self, term: &Term) -> Running {
        let mut tasks = JoinSet::new();
        for work in &self.0 {
            let name = Arc::clone(&work.name);
            let run = AssertUnwindSafe((work.start)(term.clone())).catch_unwind();
            tasks.spawn(async move {
                let failure = match run.await {
                    Ok(Ok(())) => None,
                    Ok(Err(source)) => Some(ManagerError::Failed {
                        name: name.to_string(),
                        source,
                    }),
                    Err(_) => Some(ManagerError::Panicked {
                        name: name.to_string(),
                    }),
                };
                (name, failure)
            });
        }
        Running {
            names: self.0.iter().map(|work| Arc::clone(&work.name)).collect(),
            tasks,
        }
    }
}

impl fmt::Debug for Works {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|work| &work.name))
            .finish()
    }
}

/// A started group. Dropping it aborts what still runs.
pub(super) struct Running {
    names: Vec<Arc<str>>,
    tasks: JoinSet<(Arc<str>, Option<ManagerError>)>,
}

impl Running {
    /// Waits until one fails, for ever if none does.
    ///
    /// # Cancel safety
    ///
    /// A failure is lost only if the future is dropped after it resolved.
    pub(super) async fn failed(&mut self) -> ManagerError {
        while let Some(ended) = self.tasks.join_next().await {
            if let Some(failure) = self.ended(ended) {
                return failure;
            }
        }
        std::future::pending().await
    }

    /// Waits until all have returned, `limit` at most.
    ///
    /// # Errors
    ///
    /// The first failure, or the names of those that still run: they are aborted.
    pub(super) async fn join(mut self, limit: Duration) -> Result<(), ManagerError> {
        let mut first = Ok(());
        let all = async {
            while let Some(ended) = self.tasks.join_next().await {
                if let Some(failure) = self.ended(ended) {
                    first = std::mem::replace(&mut first, Ok(())).and(Err(failure));
                }
            }
        };
        if tokio::time::timeout(limit, all).await.is_ok() {
            return first;
        }
        Err(ManagerError::Overrun {
            names: self.names.iter().map(ToString::to_string).collect(),
            limit,
        })
    }

    fn ended(
        &mut self,
        ended: Result<(Arc<str>, Option<ManagerError>), tokio::task::JoinError>,
    ) -> Option<ManagerError> {
        // A task fails to join only when it was aborted, which happens on drop alone.
        let (name, failure) = ended.ok()?;
        if let Some(at) = self.names.iter().position(|other| *other == name) {
            self.names.swap_remove(at);
        }
        failure
    }
}
