//! A controller's own metrics, under controller-runtime's names.

use evenkeel_observe::{Counter, Descriptor, Gauge, Histogram, Metrics};

static RUNS: Descriptor = Descriptor::counter(
    "controller_runtime_reconcile_total",
    "Runs by how they ended.",
    &["controller", "result"],
);
static ERRORS: Descriptor = Descriptor::counter(
    "controller_runtime_reconcile_errors_total",
    "Runs that ended with an error, permanent ones included.",
    &["controller"],
);
static PERMANENT: Descriptor = Descriptor::counter(
    "controller_runtime_terminal_reconcile_errors_total",
    "Runs that ended with an error that is not tried again.",
    &["controller"],
);
static PANICS: Descriptor = Descriptor::counter(
    "controller_runtime_reconcile_panics_total",
    "Runs that panicked.",
    &["controller"],
);
static TIMEOUTS: Descriptor = Descriptor::counter(
    "controller_runtime_reconcile_timeouts_total",
    "Runs that took longer than the controller allows.",
    &["controller"],
);
static TIME: Descriptor = Descriptor::histogram(
    "controller_runtime_reconcile_time_seconds",
    "How long runs take.",
    &["controller"],
    &[
        0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8,
        0.9, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0,
        15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0,
    ],
);
static WORKERS: Descriptor = Descriptor::gauge(
    "controller_runtime_max_concurrent_reconciles",
    "How many keys may be reconciled at once.",
    &["controller"],
);
static ACTIVE: Descriptor = Descriptor::gauge(
    "controller_runtime_active_workers",
    "How many keys are being reconciled.",
    &["controller"],
);
static UNSEEN: Descriptor = Descriptor::counter(
    "evenkeel_own_writes_unseen_total",
    "Keys that were handed out although the stores had not shown their own writes in time.",
    &["controller"],
);

/// The handles of one controller. All series exist from the start, at zero (contract
/// controller-runtime C26).
pub(super) struct ControllerMetrics {
    pub(super) success: Counter,
    pub(super) error: Counter,
    pub(super) requeue: Counter,
    pub(super) requeue_after: Counter,
    pub(super) errors: Counter,
    pub(super) permanent: Counter,
    pub(super) panics: Counter,
    pub(super) timeouts: Counter,
    pub(super) time: Histogram,
    pub(super) active: Gauge,
    pub(super) unseen: Counter,
}

impl ControllerMetrics {
    pub(super) fn new(metrics: &Metrics, controller: &str, workers: usize) -> Self {
        let labels = &[controller];
        let runs = |result| metrics.counter(&RUNS, &[controller, result]);
        #[expect(clippy::cast_precision_loss, reason = "a count of workers is small")]
        metrics.gauge(&WORKERS, labels).set(workers as f64);
        Self {
            success: runs("success"),
            error: runs("error"),
            requeue: runs("requeue"),
            requeue_after: runs("requeue_after"),
            errors: metrics.counter(&ERRORS, labels),
            permanent: metrics.counter(&PERMANENT, labels),
            panics: metrics.counter(&PANICS, labels),
            timeouts: metrics.counter(&TIMEOUTS, labels),
            time: metrics.histogram(&TIME, labels),
            active: metrics.gauge(&ACTIVE, labels),
            unseen: metrics.counter(&UNSEEN, labels),
        }
    }
}
