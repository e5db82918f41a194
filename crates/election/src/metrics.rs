use evenkeel_observe::{Counter, Descriptor, Gauge, Metrics};

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

/// The metrics of one election, by their upstream names (client-go M4).
#[derive(Clone, Debug)]
pub(crate) struct Meters {
    pub(crate) leading: Gauge,
    pub(crate) slow_path: Counter,
}

impl Meters {
    pub(crate) fn new(metrics: &Metrics, name: &str) -> Self {
        let meters = Self {
            leading: metrics.gauge(&MASTER, &[name]),
            slow_path: metrics.counter(&SLOW_PATH, &[name]),
        };
        meters.leading.set(0.0);
        meters
    }
}
