mod io;
mod members;
mod task;
#[cfg(test)]
mod tests;

pub(crate) use self::task::Task;

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_client::Api;
use evenkeel_meta::{ApiResource, MetaView, Object, ObjectKey};
use evenkeel_pace::Rng;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use self::members::{Join, Member};
use crate::event::Event;
use crate::handler::{Handler, Link, Registration};
use crate::index::{AddIndexError, Index};
use crate::metadata_view::MetadataView;
use crate::metrics::{Gauges, InformerMetrics};
use crate::reflector::ReflectorOptions;
use crate::status::{Freshness, Status, SyncError, SyncPhase, SyncState};
use crate::store::Store;
use crate::subscription::{Line, Subscription};
use crate::transform::{Ingress, Transform};
use crate::watch_lists::WatchListSupport;
use crate::writer::Writer;

/// One collection, mirrored into a [`Store`], for any number of handlers.
///
/// Got from [`Informers`](crate::Informers), which runs it: this is a handle, cheap to clone, and
/// keeps nothing running. One LIST and one WATCH serve all of its handlers and readers.
///
/// Handlers come and go at any time. Each is first told of what is there, marked
/// [`initial`](Event::is_initial), then of everything that changes, without a gap or a double.
pub struct Informer<K> {
    shared: Arc<Shared<K>>,
}

pub(crate) struct Shared<K> {
    cluster: Option<Arc<str>>,
    resource: ApiResource,
    store: Store<K>,
    pub(crate) status: Arc<Status>,
    joining: Mutex<Joining<K>>,
    /// Wakes the task: somebody joins, or has left.
    wake: Arc<Notify>,
    stop: CancellationToken,
    metrics: InformerMetrics,
    /// Kept, so that nobody else's gets its address, by which it is known.
    _transform: Option<Transform<K>>,
    /// What the task takes over when it starts.
    start: Mutex<Option<Start<K>>>,
    /// Lines of slow handlers and subscriptions, for their lengths.
    lines: Mutex<Vec<std::sync::Weak<Line<K>>>>,
}

struct Joining<K> {
    waiting: Vec<Join<K>>,
    /// The task has ended, and takes nobody in any more.
    closed: bool,
}

/// What an informer needs to run.
pub(crate) struct Start<K> {
    pub(crate) api: Api<K>,
    pub(crate) writer: Writer<K>,
    pub(crate) labels: String,
    pub(crate) fields: String,
    pub(crate) options: ReflectorOptions,
    pub(crate) watch_lists: Arc<WatchListSupport>,
    pub(crate) rng: Rng,
    pub(crate) ingress: Ingress<K>,
}

/// The informer was stopped: it takes no more handlers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the informer was stopped")]
pub struct Stopped;

impl<K: Object + Send + Sync + 'static> Informer<K> {
    pub(crate) fn new(
        cluster: Option<Arc<str>>,
        name: &str,
        store: Store<K>,
        metrics: InformerMetrics,
        start: Start<K>,
    ) -> Self {
        let shared = Arc::new(Shared {
            cluster,
            resource: start.api.resource().clone(),
            store,
            status: Arc::new(Status::new(name.into())),
            joining: Mutex::new(Joining {
                waiting: Vec::new(),
                closed: false,
            }),
            wake: Arc::new(Notify::new()),
            stop: CancellationToken::new(),
            metrics,
            _transform: start.ingress.transform.clone(),
            start: Mutex::new(Some(start)),
            lines: Mutex::new(Vec::new()),
        });
        shared.metrics.expose(&Arc::downgrade(&shared));
        Self { shared }
    }

    /// The objects.
    #[must_use]
    pub fn store(&self) -> &Store<K> {
        &self.shared.store
    }

    /// What is mirrored.
    #[must_use]
    pub fn resource(&self) -> &ApiResource {
        &self.shared.resource
    }

    /// The cluster that its factory was [named](crate::InformersBuilder::name) after.
    #[must_use]
    pub fn cluster(&self) -> Option<&str> {
        self.shared.cluster.as_deref()
    }

    /// Adds a handler that the informer calls itself; see [`Handler`] for what it may do.
    ///
    /// # Errors
    ///
    /// The informer was stopped.
    pub fn add_handler(&self, handler: impl Handler<K>) -> Result<Registration, Stopped> {
        let link = self.link();
        self.join(Join {
            link: Arc::clone(&link),
            member: Member::Inline(Box::new(handler)),
        })?;
        Ok(Registration::new(link))
    }

    /// Adds a handler with a task of its own, which may take its time: while it is busy, changes
    /// are folded by object, as for a [`Subscription`].
    ///
    /// The informer owns the task: it ends with the registration, after the call under way, or
    /// with the informer. Changes that were not handled by then are dropped.
    ///
    /// # Errors
    ///
    /// The informer was stopped.
    pub fn add_slow_handler<F, R>(&self, handler: F) -> Result<Registration, Stopped>
    where
        F: FnMut(ObjectKey, Event<K>) -> R + Send + 'static,
        R: Future<Output = ()> + Send + 'static,
    {
        let link = self.link();
        let line = self.line(&link);
        self.join(Join {
            link: Arc::clone(&link),
            member: Member::slow(line, handler, self.shared.metrics.panics.clone()),
        })?;
        Ok(Registration::new(link))
    }

    /// Subscribes to what is there and to every change.
    ///
    /// # Errors
    ///
    /// The informer was stopped.
    pub fn subscribe(&self) -> Result<Subscription<K>, Stopped> {
        let link = self.link();
        let line = self.line(&link);
        self.join(Join {
            link,
            member: Member::Line(Arc::clone(&line)),
        })?;
        Ok(Subscription::new(line))
    }

    fn link(&self) -> Arc<Link> {
        Link::new(
            Arc::clone(&self.shared.wake),
            Arc::clone(&self.shared.status),
        )
    }

    fn line(&self, link: &Arc<Link>) -> Arc<Line<K>> {
        let line = Line::new(Arc::clone(link));
        let mut lines = self.shared.lines.lock();
        lines.retain(|line| line.strong_count() > 0);
        lines.push(Arc::downgrade(&line));
        line
    }

    fn join(&self, join: Join<K>) -> Result<(), Stopped> {
        let mut joining = self.shared.joining.lock();
        if joining.closed {
            return Err(Stopped);
        }
        joining.waiting.push(join);
        drop(joining);
        self.shared.wake.notify_one();
        Ok(())
    }

    /// Adds an index to the store; see [`Store::add_index`].
    ///
    /// # Errors
    ///
    /// As [`Store::add_index`].
    pub fn add_index(&self, index: Index<K>) -> Result<(), AddIndexError> {
        self.shared.store.add_index(index)
    }

    /// Whether the store has had a whole list, and inline handlers were told of it.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.shared.status.phase() == SyncPhase::Synced
    }

    /// Waits until [`has_synced`](Self::has_synced), for as long as it takes.
    ///
    /// # Errors
    ///
    /// The informer was stopped first.
    ///
    /// # Cancel safety
    ///
    /// Yes; nothing is consumed.
    pub async fn synced(&self) -> Result<(), SyncError> {
        self.shared.status.synced().await
    }

    /// As [`synced`](Self::synced), but gives up after `limit` with an error that says what is wrong:
    /// "not synced: list pods: pods is forbidden: ..., 12 s, 4 tries".
    ///
    /// # Errors
    ///
    /// The informer was stopped, or the time is over.
    ///
    /// # Cancel safety
    ///
    /// Yes; nothing is consumed.
    pub async fn synced_within(&self, limit: Duration) -> Result<(), SyncError> {
        self.shared.status.synced_within(limit).await
    }

    /// Whether it has synced, and what fails at the moment.
    #[must_use]
    pub fn sync_state(&self) -> SyncState {
        self.shared.status.sync_state()
    }

    /// How up to date the store is.
    #[must_use]
    pub fn freshness(&self) -> Freshness {
        let version = self.shared.store.resource_version();
        self.shared.status.freshness(version)
    }

    /// Stops this informer alone, for a kind that is no longer served. Handlers get no more
    /// events; the store keeps what it has. It cannot be started again, but its factory makes a
    /// new one when asked.
    pub fn stop(&self) {
        self.shared.stop.cancel();
        // One that was never started has no task to tell those who wait.
        if self.shared.start.lock().take().is_some() {
            self.shared.close();
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.shared.stop.is_cancelled()
    }
}

/// An informer of whatever type, as its factory sees it.
pub(crate) trait Managed: Send + Sync {
    /// The informer's work, once: it ends with `stop`.
    fn start(&self, stop: CancellationToken) -> Option<BoxFuture<'static, ()>>;
    fn stop(&self);
    fn is_stopped(&self) -> bool;
    /// What its metrics are named.
    fn metrics_name(&self) -> &str;
    fn sync_state(&self) -> SyncState;
    /// Resolves when it has synced; needs nothing of the informer's handle.
    fn synced(&self) -> BoxFuture<'static, Result<(), SyncError>>;
    fn metadata_view(&self) -> MetadataView;
    /// Whether the objects keep all of their metadata.
    fn has_whole_metadata(&self) -> bool;
    fn as_any(&self) -> &dyn Any;
}

impl<K: Object + DeserializeOwned + Send + Sync + 'static> Managed for Informer<K> {
    fn start(&self, stop: CancellationToken) -> Option<BoxFuture<'static, ()>> {
        let start = self.shared.start.lock().take()?;
        let task = Task::new(Arc::clone(&self.shared), start);
        Some(Box::pin(task.run(stop)))
    }

    fn stop(&self) {
        Informer::stop(self);
    }

    fn is_stopped(&self) -> bool {
        Informer::is_stopped(self)
    }

    fn metrics_name(&self) -> &str {
        self.shared.metrics.name()
    }

    fn sync_state(&self) -> SyncState {
        Informer::sync_state(self)
    }

    fn synced(&self) -> BoxFuture<'static, Result<(), SyncError>> {
        let informer = self.clone();
        Box::pin(async move { informer.shared.status.synced().await })
    }

    fn metadata_view(&self) -> MetadataView {
        MetadataView::of(self.clone())
    }

    fn has_whole_metadata(&self) -> bool {
        K::Meta::WHOLE
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl<K> Shared<K> {
    /// Nothing will run any more: tells everyone who waits.
    fn close(&self) {
        let joining = {
            let mut joining = self.joining.lock();
            joining.closed = true;
            std::mem::take(&mut joining.waiting)
        };
        for join in joining {
            join.link.mark_ended();
        }
        self.status.enter(SyncPhase::Stopped);
    }
}

impl<K> Shared<K> {
    fn line_lengths(&self) -> Vec<usize> {
        let lines: Vec<_> = self
            .lines
            .lock()
            .iter()
            .filter_map(std::sync::Weak::upgrade)
            .collect();
        lines.iter().map(|line| line.len()).collect()
    }
}

impl<K: Object + Send + Sync + 'static> Gauges for Shared<K> {
    fn queued(&self) -> usize {
        self.line_lengths().iter().sum()
    }

    fn most_queued(&self) -> usize {
        self.line_lengths().into_iter().max().unwrap_or(0)
    }

    fn store_version(&self) -> Option<u64> {
        self.store.resource_version().as_number()
    }

    fn objects(&self) -> usize {
        self.store.len()
    }

    fn set_aside(&self) -> usize {
        self.store.snapshot().contents().set_aside.len()
    }
}

impl<K> Clone for Informer<K> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<K> fmt::Debug for Informer<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Informer")
            .field("resource", &format_args!("{}", self.shared.resource))
            .field("phase", &self.shared.status.phase())
            .finish_non_exhaustive()
    }
}
