use std::fmt;
use std::sync::Arc;

use evenkeel_client::Client;
use evenkeel_events::Recorder;
use evenkeel_meta::GroupResource;
use evenkeel_observe::Metrics;
use evenkeel_store::{Informers, SyncState};
use hashbrown::HashSet;
use tokio::task::JoinSet;
use tokio::time::{Duration, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::driver::{Monitors, Shared, ignored_by_default, work};
use crate::graph::{Exported, Size};

/// The component that events name as their source.
const COMPONENT: &str = "garbage-collector-controller";
/// How often the resources to watch are compared with discovery, and for how long new monitors
/// are waited for.
const SYNC_PERIOD: Duration = Duration::from_secs(30);
/// The wait before the first discovery is tried again.
const FIRST_RETRY: Duration = Duration::from_secs(1);
/// For how long events are still written after the end.
const LAST_EVENTS: Duration = Duration::from_secs(1);

/// Collects what has lost its owners, in background, in foreground, or not at all for orphans.
///
/// See the [crate's documentation](crate) for what it guarantees.
pub struct GarbageCollector {
    shared: Arc<Shared>,
    monitors: Arc<Monitors>,
    concurrency: usize,
    own_recorder: bool,
}

/// Sets a [`GarbageCollector`] up.
#[must_use]
pub struct Builder {
    client: Client,
    informers: Option<Informers>,
    recorder: Option<Recorder>,
    metrics: Metrics,
    concurrency: usize,
    ignored: HashSet<GroupResource>,
}

/// A look into a running collector. Cheap to clone.
#[derive(Clone)]
pub struct Inspector {
    shared: Arc<Shared>,
    monitors: Arc<Monitors>,
}

impl Builder {
    /// Informers of other loops in this process. A resource of which one of them shows every
    /// object, decoded as whatever, is watched through it; the others get informers of the
    /// collector's own, which end with it. Default: all are its own.
    pub fn informers(mut self, informers: Informers) -> Self {
        self.informers = Some(informers);
        self
    }

    /// Who writes events. Default: a recorder of its own.
    pub fn recorder(mut self, recorder: &Recorder) -> Self {
        self.recorder = Some(recorder.component(COMPONENT));
        self
    }

    /// Where to report metrics. Default: nowhere.
    pub fn metrics(mut self, metrics: Metrics) -> Self {
        self.metrics = metrics;
        self
    }

    /// How many workers delete, and how many release orphans. Default: 20 of each.
    pub fn concurrency(mut self, workers: usize) -> Self {
        self.concurrency = workers.max(1);
        self
    }

    /// Resources that are neither watched nor collected. Default: events, of both groups.
    pub fn ignored(mut self, resources: impl IntoIterator<Item = GroupResource>) -> Self {
        self.ignored = resources.into_iter().collect();
        self
    }

    /// The collector; nothing runs yet.
    #[must_use]
    pub fn build(self) -> GarbageCollector {
        let own_recorder = self.recorder.is_none();
        let own = Informers::builder(self.client.clone())
            .metrics(self.metrics.clone())
            .build();
        let shared = Arc::new(Shared::new(self.client, &self.metrics, self.recorder));
        let monitors = Monitors::new(Arc::clone(&shared), self.informers, own, self.ignored);
        GarbageCollector {
            shared,
            monitors: Arc::new(monitors),
            concurrency: self.concurrency,
            own_recorder,
        }
    }
}

impl GarbageCollector {
    /// Sets a collector up that asks and deletes through `client`.
    ///
    /// It needs to get, list, watch, patch, update and delete whatever it is to collect, and to
    /// create and patch events.
    pub fn builder(client: Client) -> Builder {
        Builder {
            client,
            informers: None,
            recorder: None,
            metrics: Metrics::none(),
            concurrency: 20,
            ignored: ignored_by_default(),
        }
    }

    /// A handle to look into it while it runs.
    #[must_use]
    pub fn inspector(&self) -> Inspector {
        Inspector {
            shared: Arc::clone(&self.shared),
            monitors: Arc::clone(&self.monitors),
        }
    }

    /// Runs until `stop`: watches all kinds, and collects as soon as they have synced, or after
    /// 30 seconds what does not depend on those that have not.
    ///
    /// It does not fail. What goes wrong is logged, counted and tried again. When it returns, all
    /// of its tasks have ended: requests under way were waited for, queued work was dropped, and
    /// the next run finds it again.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends all tasks at once, requests under way included.
    pub async fn run(self, stop: CancellationToken) {
        if self.own_recorder {
            let recorder = Recorder::new(self.shared.client.clone(), COMPONENT, "");
            *self.shared.recorder.lock() = Some(recorder);
        }
        let mut workers = JoinSet::new();
        stop.run_until_cancelled(self.collect(&mut workers)).await;
        self.shared.queues.shut_down_now();
        while workers.join_next().await.is_some() {}
        self.monitors.shut_down().await;
        let recorder = self.shared.recorder.lock().take();
        if let Some(recorder) = recorder.filter(|_| self.own_recorder) {
            // What could not be written in time is lost; events are no state.
            let _ = recorder.shutdown(LAST_EVENTS).await;
        }
    }

    async fn collect(&self, workers: &mut JoinSet<()>) {
        while !self.monitors.sync(SYNC_PERIOD).await {
            tokio::time::sleep(FIRST_RETRY).await;
        }
        tracing::info!(workers = self.concurrency, "collecting garbage");
        for queue in [&self.shared.queues.delete, &self.shared.queues.orphan] {
            for _ in 0..self.concurrency {
                workers.spawn(work(Arc::clone(&self.shared), queue.clone()));
            }
        }
        let mut turns = interval(SYNC_PERIOD);
        turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
        turns.tick().await;
        loop {
            turns.tick().await;
            self.monitors.sync(SYNC_PERIOD).await;
        }
    }
}

impl Inspector {
    /// The graph in DOT, for Graphviz; with `uids` only what is connected to one of them (G49).
    #[must_use]
    pub fn to_dot(&self, uids: &[&str]) -> String {
        self.export(uids).to_dot()
    }

    /// The same as data, to be drawn or sent as JSON.
    #[must_use]
    pub fn export(&self, uids: &[&str]) -> Exported {
        self.shared.graph.lock().export(uids)
    }

    /// Whether the object of this UID has been observed.
    #[must_use]
    pub fn contains(&self, uid: &str) -> bool {
        self.shared.graph.lock().contains(uid)
    }

    /// How large the graph is. Walks all of it.
    #[must_use]
    pub fn size(&self) -> Size {
        self.shared.graph.lock().size()
    }

    /// The watched resources that have not synced, and why: nothing of these kinds is collected
    /// meanwhile. Empty before the first discovery.
    #[must_use]
    pub fn unsynced(&self) -> Vec<SyncState> {
        self.monitors.unsynced()
    }

    /// The watched resources that cannot be followed at this moment, and why: those that have not
    /// synced, and those whose informer fails now although it has synced before. What is known
    /// of the latter is true as of then; nothing is deleted for it.
    #[must_use]
    pub fn failing(&self) -> Vec<SyncState> {
        self.monitors.failing()
    }

    /// How much work waits: objects to delete or change and owners to look up, and owners whose
    /// dependents are to be released.
    #[must_use]
    pub fn queued(&self) -> (usize, usize) {
        let queues = &self.shared.queues;
        (queues.delete.len(), queues.orphan.len())
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("concurrency", &self.concurrency)
            .field("ignored", &self.ignored)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for GarbageCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GarbageCollector")
            .field("concurrency", &self.concurrency)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Inspector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inspector")
            .field("size", &self.size())
            .finish_non_exhaustive()
    }
}
