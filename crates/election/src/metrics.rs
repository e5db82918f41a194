use std::sync::Arc;

use evenkeel_observe::{Counter, Descriptor, Gauge, Metrics};

use crate::LossCause;
use crate::elector::Settings;

static MASTER: Descriptor = Descriptor::gauge(
    "leader_election_master_status",
    "Whether this process leads: 1 while it does, 0 otherwise.",
    &["name"],
);
static SLOW_PATH: Descriptor = Descriptor::counter(
    "leader_election_slowpath_total",
    "Renewals that had to read the Lease again before they could write it.",
    &["name"],
);
static TRANSITIONS: Descriptor = Descriptor::gauge(
    "evenkeel_leader_election_transitions",
    "How often the Lease went from one holder to another, by its own count.",
    &["name"],
);
static LOSSES: Descriptor = Descriptor::counter(
    "evenkeel_leader_election_losses_total",
    "Terms of this process that were lost, not given up, by reason.",
    &["name", "reason"],
);
static SINCE_RENEWAL: Descriptor = Descriptor::gauge(
    "evenkeel_leader_election_seconds_since_renewal",
    "How long ago this process renewed the Lease; 0 while it does not lead.",
    &["name"],
);

/// The metrics of one election: the upstream ones by their names (client-go M4), and ours.
#[derive(Clone, Debug)]
pub(crate) struct Meters {
    pub(crate) leading: Gauge,
    pub(crate) slow_path: Counter,
    pub(crate) transitions: Gauge,
    metrics: Metrics,
    name: String,
}

impl Meters {
    pub(crate) fn new(metrics: &Metrics, name: &str) -> Self {
        let meters = Self {
            leading: metrics.gauge(&MASTER, &[name]),
            slow_path: metrics.counter(&SLOW_PATH, &[name]),
            transitions: metrics.gauge(&TRANSITIONS, &[name]),
            metrics: metrics.clone(),
            name: name.to_owned(),
        };
        meters.leading.set(0.0);
        meters
    }

    pub(crate) fn lost(&self, cause: &LossCause) {
        let labels = [&*self.name, cause.reason()];
        self.metrics.counter(&LOSSES, &labels).inc();
    }
}

/// Computed when it is read, so that it is right even if the election is stuck.
pub(crate) fn since_renewal(metrics: &Metrics, settings: &Arc<Settings>) {
    let name = settings.candidate.name.clone();
    let settings = Arc::downgrade(settings);
    metrics.computed(&SINCE_RENEWAL, &[&name], move || {
        let settings = settings.upgrade()?;
        let since = settings.status.since_renewal(settings.clock.now());
        Some(since.unwrap_or_default().as_secs_f64())
    });
}
