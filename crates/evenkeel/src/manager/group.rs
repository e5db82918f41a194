//! Runnables that start and stop together.

use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::{BoxError, ManagerError};
use crate::Term;

type Start = dyn Fn(Term) -> BoxFuture<'static, Result<(), BoxError>> + Send + Sync;
type StandBy = dyn Fn() -> BoxFuture<'static, ()> + Send + Sync;

/// Something that runs for a term, and again for the next.
pub(super) struct Work {
    name: Arc<str>,
    start: Box<Start>,
    /// What it does meanwhile.
    stand_by: Option<Box<StandBy>>,
}

impl Work {
    pub(super) fn new<F>(name: String, work: impl Fn(Term) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        Self {
            name: name.into(),
            start: Box::new(move |term| Box::pin(work(term))),
            stand_by: None,
        }
    }

    /// Prepares for the next term, between terms, for as long as that takes.
    pub(super) fn standing_by<F>(mut self, work: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.stand_by = Some(Box::new(move || Box::pin(work())));
        self
    }
}

/// A group of them, which grows until it is closed.
#[derive(Default)]
pub(super) struct Group {
    works: Mutex<Works>,
    grown: Notify,
}

#[derive(Default)]
struct Works {
    works: Vec<Arc<Work>>,
    closed: bool,
}

/// The group stops, or has stopped.
#[derive(Debug)]
pub(super) struct Closed;

impl Group {
    pub(super) fn push(&self, work: Work) -> Result<(), Closed> {
        let mut works = self.works.lock();
        if works.closed {
            return Err(Closed);
        }
        works.works.push(Arc::new(work));
        drop(works);
        self.grown.notify_waiters();
        Ok(())
    }

    pub(super) fn close(&self) {
        self.works.lock().closed = true;
    }

    /// Those from the `from`th on.
    fn since(&self, from: usize) -> Vec<Arc<Work>> {
        let works = self.works.lock();
        works.works.iter().skip(from).cloned().collect()
    }

    /// Starts all of them for one term.
    pub(super) fn start(&self, term: Term) -> Running<'_> {
        let mut running = Running {
            group: self,
            term,
            started: 0,
            names: Vec::new(),
            tasks: JoinSet::new(),
            failures: Ok(()),
        };
        running.start_new();
        running
    }

    /// Lets all of them prepare while `meanwhile` goes on. When it returns they have stopped.
    pub(super) async fn stand_by<T>(&self, meanwhile: impl Future<Output = T>) -> T {
        let mut tasks = JoinSet::new();
        let mut started = 0;
        let warm_up = async {
            loop {
                let grown = self.grown.notified();
                for work in self.since(started) {
                    started += 1;
                    if let Some(stand_by) = &work.stand_by {
                        tasks.spawn(stand_by());
                    }
                }
                grown.await;
            }
        };
        let outcome = tokio::select! {
            outcome = meanwhile => outcome,
            () = warm_up => unreachable!("warming up never ends"),
        };
        tasks.shutdown().await;
        outcome
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let works = self.works.lock();
        f.debug_list()
            .entries(works.works.iter().map(|work| &work.name))
            .finish()
    }
}

/// A started group. Dropping it aborts what still runs.
pub(super) struct Running<'a> {
    group: &'a Group,
    term: Term,
    started: usize,
    names: Vec<Arc<str>>,
    tasks: JoinSet<(Arc<str>, Option<ManagerError>)>,
    /// What failed during the stop.
    failures: Result<(), ManagerError>,
}

impl Running<'_> {
    fn start_new(&mut self) {
        for work in self.group.since(self.started) {
            self.started += 1;
            self.names.push(Arc::clone(&work.name));
            let name = Arc::clone(&work.name);
            let run = AssertUnwindSafe((work.start)(self.term.clone())).catch_unwind();
            self.tasks.spawn(async move {
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
    }

    /// Waits until one fails, for ever if none does. Starts what is added meanwhile.
    ///
    /// # Cancel safety
    ///
    /// A failure is lost only if the future is dropped after it resolved.
    pub(super) async fn failed(&mut self) -> ManagerError {
        loop {
            let grown = self.group.grown.notified();
            self.start_new();
            tokio::select! {
                Some(ended) = self.tasks.join_next() => {
                    if let Some(failure) = self.ended(ended) {
                        return failure;
                    }
                }
                () = grown => {}
            }
        }
    }

    /// Tells all of them to stop.
    pub(super) fn tell(&self) {
        self.term.stop.cancel();
    }

    /// Tells all of them that there is no time left for the rest of the grace period.
    pub(super) fn cut_short(&self) {
        self.term.cut_short.cancel();
    }

    /// Waits until all of them have returned, `limit` at most; answers whether they have.
    ///
    /// # Cancel safety
    ///
    /// Yes: what has failed by then is kept for [`finish`](Self::finish).
    pub(super) async fn joined(&mut self, limit: Duration) -> bool {
        let all = async {
            while let Some(ended) = self.tasks.join_next().await {
                if let Some(failure) = self.ended(ended) {
                    self.fails(failure);
                }
            }
        };
        tokio::time::timeout(limit, all).await.is_ok()
    }

    /// What has become of the stop, for which there was `limit`.
    ///
    /// # Errors
    ///
    /// What failed, and the names of those that still run: they are aborted.
    pub(super) fn finish(mut self, limit: Duration) -> Result<(), ManagerError> {
        if !self.names.is_empty() {
            let names = self.names.iter().map(ToString::to_string).collect();
            self.fails(ManagerError::Overrun { names, limit });
        }
        self.failures
    }

    /// Tells all of them to stop, and waits until they have returned, `limit` at most.
    ///
    /// # Errors
    ///
    /// As [`finish`](Self::finish).
    pub(super) async fn stop(mut self, limit: Duration) -> Result<(), ManagerError> {
        self.tell();
        self.joined(limit).await;
        self.finish(limit)
    }

    fn fails(&mut self, failure: ManagerError) {
        let before = std::mem::replace(&mut self.failures, Ok(()));
        self.failures = ManagerError::both(before, Err(failure));
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
