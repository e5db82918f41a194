//! What informers measure. The names of the first three are client-go's (contract M5).

use std::sync::Weak;
use std::time::Duration;

use evenkeel_meta::ApiResource;
use evenkeel_observe::{Counter, Descriptor, Histogram, Metrics};

use crate::reflector::{RelistCause, Step};

const LABELS: &[&str] = &["name", "group", "version", "resource"];

static QUEUED_ITEMS: Descriptor = Descriptor::gauge(
    "informer_queued_items",
    "Objects with changes that a slow handler or a subscription has not taken yet.",
    LABELS,
);
static PENDING: Descriptor = Descriptor::gauge(
    "informer_pending_notifications",
    "Objects with changes that the handler which is furthest behind has not taken yet.",
    LABELS,
);
pub(crate) static PROCESSING_LATENCY: Descriptor = Descriptor::histogram(
    "informer_processing_latency_seconds",
    "Time to apply a batch of changes to the store and to tell the handlers.",
    LABELS,
    &[
        0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
    ],
);
static STORE_RESOURCE_VERSION: Descriptor = Descriptor::gauge(
    "informer_store_resource_version",
    "The resource version that the store shows the state of (last 15 digits).",
    LABELS,
);
static OBJECTS: Descriptor = Descriptor::gauge("informer_objects", "Objects in the store.", LABELS);
static SET_ASIDE: Descriptor = Descriptor::gauge(
    "informer_set_aside_objects",
    "Objects that the store could not take, and keeps by their metadata.",
    LABELS,
);
static UNDECODABLE: Descriptor = Descriptor::counter(
    "informer_set_aside_total",
    "States of objects that the store could not take: undecodable, or an index function failed.",
    LABELS,
);
static PANICS: Descriptor = Descriptor::counter(
    "informer_handler_panics_total",
    "Calls of handlers that panicked.",
    LABELS,
);
static PASSES: Descriptor = Descriptor::counter(
    "reflector_lists_total",
    "Fetches of the whole contents, by list or watch-list, by cause.",
    &["name", "group", "version", "resource", "cause"],
);
static WATCHES: Descriptor =
    Descriptor::counter("reflector_watches_total", "Watches asked for.", LABELS);
static EVENTS: Descriptor =
    Descriptor::counter("reflector_events_total", "Watch events received.", LABELS);
static LIST_DURATION: Descriptor = Descriptor::histogram(
    "reflector_list_duration_seconds",
    "Time from asking for the whole contents to having them, tries that failed included.",
    LABELS,
    &[
        0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
    ],
);
static ITEMS_PER_LIST: Descriptor = Descriptor::histogram(
    "reflector_items_per_list",
    "Objects that the whole contents had.",
    LABELS,
    COUNTS,
);
static SHORT_WATCHES: Descriptor = Descriptor::counter(
    "reflector_short_watches_total",
    "Watches that ended within a second, without an event.",
    LABELS,
);
static WATCH_DURATION: Descriptor = Descriptor::histogram(
    "reflector_watch_duration_seconds",
    "Time from the opening of a watch to its end.",
    LABELS,
    &[1.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0],
);
static ITEMS_PER_WATCH: Descriptor = Descriptor::histogram(
    "reflector_items_per_watch",
    "Events of objects that one watch brought.",
    LABELS,
    COUNTS,
);
const COUNTS: &[f64] = &[0.0, 1.0, 10.0, 100.0, 1000.0, 10_000.0, 100_000.0];
static FAILURES: Descriptor = Descriptor::counter(
    "reflector_failures_total",
    "Lists and watches that failed, by verb.",
    &["name", "group", "version", "resource", "verb"],
);

/// One informer's series.
pub(crate) struct InformerMetrics {
    metrics: Metrics,
    labels: [String; 4],
    pub(crate) latency: Histogram,
    pub(crate) set_aside: Counter,
    pub(crate) panics: Counter,
    pub(crate) watches: Counter,
    pub(crate) events: Counter,
    list_duration: Histogram,
    items_per_list: Histogram,
    short_watches: Counter,
    watch_duration: Histogram,
    items_per_watch: Histogram,
}

/// What is read off an informer when somebody collects metrics.
pub(crate) trait Gauges: Send + Sync + 'static {
    fn queued(&self) -> usize;
    fn most_queued(&self) -> usize;
    fn store_version(&self) -> Option<u64>;
    fn objects(&self) -> usize;
    fn set_aside(&self) -> usize;
}

impl InformerMetrics {
    pub(crate) fn new(metrics: &Metrics, name: &str, resource: &ApiResource) -> Self {
        let labels = [
            name.to_owned(),
            resource.group.clone().into_owned(),
            resource.version.clone().into_owned(),
            resource.plural.clone().into_owned(),
        ];
        let values = labels.each_ref().map(String::as_str);
        Self {
            latency: metrics.histogram(&PROCESSING_LATENCY, &values),
            set_aside: metrics.counter(&UNDECODABLE, &values),
            panics: metrics.counter(&PANICS, &values),
            watches: metrics.counter(&WATCHES, &values),
            events: metrics.counter(&EVENTS, &values),
            list_duration: metrics.histogram(&LIST_DURATION, &values),
            items_per_list: metrics.histogram(&ITEMS_PER_LIST, &values),
            short_watches: metrics.counter(&SHORT_WATCHES, &values),
            watch_duration: metrics.histogram(&WATCH_DURATION, &values),
            items_per_watch: metrics.histogram(&ITEMS_PER_WATCH, &values),
            metrics: metrics.clone(),
            labels,
        }
    }

    /// Whether anybody looks.
    pub(crate) fn is_enabled(&self) -> bool {
        self.metrics.is_enabled()
    }

    pub(crate) fn expose<G: Gauges>(&self, gauges: &Weak<G>) {
        self.gauge(&QUEUED_ITEMS, gauges, |gauges| {
            Some(as_f64(gauges.queued()))
        });
        self.gauge(&PENDING, gauges, |gauges| {
            Some(as_f64(gauges.most_queued()))
        });
        self.gauge(&OBJECTS, gauges, |gauges| Some(as_f64(gauges.objects())));
        self.gauge(&SET_ASIDE, gauges, |gauges| {
            Some(as_f64(gauges.set_aside()))
        });
        self.gauge(&STORE_RESOURCE_VERSION, gauges, |gauges| {
            // Fifteen digits fit a double exactly.
            #[expect(clippy::cast_precision_loss, reason = "cut to what fits")]
            gauges
                .store_version()
                .map(|v| (v % 1_000_000_000_000_000) as f64)
        });
    }

    fn gauge<G: Gauges>(
        &self,
        descriptor: &'static Descriptor,
        gauges: &Weak<G>,
        read: impl Fn(&G) -> Option<f64> + Send + Sync + 'static,
    ) {
        let gauges = Weak::clone(gauges);
        let values = self.labels.each_ref().map(String::as_str);
        self.metrics.computed(descriptor, &values, move || {
            gauges.upgrade().map(|gauges| read(&gauges).unwrap_or(0.0))
        });
    }

    /// What tells this informer's series from others'.
    pub(crate) fn name(&self) -> &str {
        &self.labels[0]
    }

    pub(crate) fn list(&self, took: Duration, items: usize) {
        self.list_duration.observe_duration(took);
        self.items_per_list.observe(as_f64(items));
    }

    pub(crate) fn watch(&self, took: Duration, items: usize) {
        self.watch_duration.observe_duration(took);
        self.items_per_watch.observe(as_f64(items));
    }

    pub(crate) fn pass(&self, cause: RelistCause) {
        if cause == RelistCause::ShortWatch {
            self.short_watches.inc();
        }
        self.with_label(&PASSES, cause.as_str()).inc();
    }

    pub(crate) fn failure(&self, step: Step) {
        self.with_label(&FAILURES, step.as_str()).inc();
    }

    fn with_label(&self, descriptor: &'static Descriptor, last: &str) -> Counter {
        let [name, group, version, resource] = self.labels.each_ref().map(String::as_str);
        self.metrics
            .counter(descriptor, &[name, group, version, resource, last])
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of objects are far below 2^52"
)]
fn as_f64(count: usize) -> f64 {
    count as f64
}
