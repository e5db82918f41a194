use evenkeel_client::{Api, Client};
use evenkeel_events::Recorder;
use evenkeel_meta::{ApiResource, MetaView, Metadata};
use evenkeel_observe::{Counter, Metrics};
use evenkeel_store::MetadataEvent;
use evenkeel_workqueue::Queue;
use hashbrown::HashMap;
use parking_lot::Mutex;
use tokio::time::{Duration, Instant};

use super::kinds::Kinds;
use super::sweep::Sweeps;
use crate::graph::{ClaimId, Graph, KindId, NodeId, Work};
use crate::metrics;

/// For how long it counts that an owner was found waiting for its dependents. Long enough for
/// one lookup to serve all of them, too short for a user to change their mind unnoticed.
const FOUND_WAITING_FOR: Duration = Duration::from_secs(2);

/// What informers, workers and the sync loop share.
pub(crate) struct Shared {
    pub(crate) client: Client,
    pub(crate) graph: Mutex<Graph>,
    pub(crate) kinds: Kinds,
    pub(crate) sweeps: Sweeps,
    pub(crate) queues: Queues,
    pub(crate) recorder: Mutex<Option<Recorder>>,
    pub(crate) sync_errors: Counter,
    found_waiting: Mutex<HashMap<ClaimId, Instant>>,
}

/// The queues, under the names that dashboards know (G2).
pub(crate) struct Queues {
    /// Nodes to delete, patch or finish, and owners to look up.
    pub(crate) delete: Queue<Work>,
    /// Owners whose dependents are to be released.
    pub(crate) orphan: Queue<Work>,
}

impl Queues {
    pub(crate) fn new(metrics: &Metrics) -> Self {
        let queue = |name: &str| Queue::builder().name(name).metrics(metrics.clone()).build();
        Self {
            delete: queue("garbage_collector_attempt_to_delete"),
            orphan: queue("garbage_collector_attempt_to_orphan"),
        }
    }

    pub(crate) fn shut_down_now(&self) {
        self.delete.shut_down_now();
        self.orphan.shut_down_now();
    }
}

impl Shared {
    pub(crate) fn new(client: Client, metrics: &Metrics, recorder: Option<Recorder>) -> Self {
        Self {
            client,
            graph: Mutex::new(Graph::new()),
            kinds: Kinds::default(),
            sweeps: Sweeps::default(),
            queues: Queues::new(metrics),
            recorder: Mutex::new(recorder),
            sync_errors: metrics.counter(&metrics::SYNC_ERRORS, &[]),
            found_waiting: Mutex::new(HashMap::new()),
        }
    }

    /// Changes the graph, and queues what comes of it.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Graph) -> T) -> T {
        let (answer, work) = {
            let mut graph = self.graph.lock();
            (change(&mut graph), graph.take_work())
        };
        for work in work {
            match work {
                Work::Collect(_) | Work::Verify(_) => self.queues.delete.add(work),
                Work::Orphan(_) => self.queues.orphan.add(work),
                Work::Misplaced { dependent, claim } => self.report_misplaced(dependent, claim),
            }
        }
        answer
    }

    /// An informer's news.
    pub(crate) fn inform(&self, kind: KindId, event: MetadataEvent<'_>) {
        self.change(|graph| match event {
            MetadataEvent::Present { object, .. } => graph.observe(kind, &object),
            MetadataEvent::Gone {
                last_known,
                reported,
            } => match last_known.as_ref().and_then(MetaView::uid) {
                Some(uid) if reported => graph.deleted(uid),
                Some(uid) => graph.vanished(uid),
                // Nothing of it was ever decoded, so the graph does not know it either.
                None => {}
            },
        });
    }

    pub(crate) fn api(&self, resource: &ApiResource, namespace: Option<&str>) -> Api<Metadata> {
        self.client.metadata(resource.clone(), namespace)
    }

    pub(crate) fn absent(&self, node: NodeId, kind: KindId) {
        self.change(|graph| graph.absent(node, kind));
    }

    /// Remembers that the owner behind a claim was seen waiting just now.
    pub(crate) fn found_waiting(&self, claim: ClaimId) {
        let mut found = self.found_waiting.lock();
        let now = Instant::now();
        found.retain(|_, at| now.duration_since(*at) < FOUND_WAITING_FOR);
        found.insert(claim, now);
    }

    /// Whether that is too long ago.
    pub(crate) fn is_doubtful(&self, claim: &ClaimId) -> bool {
        let found = self.found_waiting.lock();
        found
            .get(claim)
            .is_none_or(|at| at.elapsed() >= FOUND_WAITING_FOR)
    }
}
