//! What is measured, under controller-runtime's names.

use std::collections::BTreeMap;

use evenkeel_observe::{Counter, Descriptor, Gauge, Histogram, Metrics};
use http::StatusCode;

static REQUESTS: Descriptor = Descriptor::counter(
    "controller_runtime_webhook_requests_total",
    "Requests by path and HTTP status; a denial has the status 200.",
    &["webhook", "code"],
);
static IN_FLIGHT: Descriptor = Descriptor::gauge(
    "controller_runtime_webhook_requests_in_flight",
    "Requests that are being answered, by path.",
    &["webhook"],
);
static LATENCY: Descriptor = Descriptor::histogram(
    "controller_runtime_webhook_latency_seconds",
    "Time to answer a request, its body included, by path.",
    &["webhook"],
    &[
        1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0,
    ],
);
static PANICS: Descriptor = Descriptor::counter(
    "controller_runtime_webhook_panics_total",
    "Panics in admission webhooks.",
    &[],
);
static CONVERSION_PANICS: Descriptor = Descriptor::counter(
    "controller_runtime_conversion_webhook_panics_total",
    "Panics in conversion webhooks.",
    &[],
);
static DENIALS: Descriptor = Descriptor::counter(
    "evenkeel_webhook_denials_total",
    "Requests that were denied or failed, by path and the code that the API server was told.",
    &["webhook", "code"],
);

/// Of all paths together.
#[derive(Clone)]
pub(crate) struct Panics {
    pub(crate) admission: Counter,
    pub(crate) conversion: Counter,
}

impl Panics {
    pub(crate) fn new(metrics: &Metrics) -> Self {
        Self {
            admission: metrics.counter(&PANICS, &[]),
            conversion: metrics.counter(&CONVERSION_PANICS, &[]),
        }
    }
}

/// Of one path.
pub(crate) struct PathMetrics {
    metrics: Metrics,
    path: String,
    requests: BTreeMap<u16, Counter>,
    pub(crate) in_flight: Gauge,
    pub(crate) latency: Histogram,
}

impl PathMetrics {
    pub(crate) fn new(metrics: &Metrics, path: &str) -> Self {
        // Series that are there from the start show a rate from the first request on.
        let requests = [200, 500].map(|code| {
            let counter = metrics.counter(&REQUESTS, &[path, &code.to_string()]);
            (code, counter)
        });
        let _ = metrics.counter(&DENIALS, &[path, "403"]);
        Self {
            metrics: metrics.clone(),
            path: path.to_owned(),
            requests: BTreeMap::from(requests),
            in_flight: metrics.gauge(&IN_FLIGHT, &[path]),
            latency: metrics.histogram(&LATENCY, &[path]),
        }
    }

    pub(crate) fn answered(&self, status: StatusCode) {
        match self.requests.get(&status.as_u16()) {
            Some(counter) => counter.inc(),
            None => {
                let labels = [self.path.as_str(), status.as_str()];
                self.metrics.counter(&REQUESTS, &labels).inc();
            }
        }
    }

    pub(crate) fn denied(&self, code: u16) {
        let labels = [self.path.as_str(), &code.to_string()];
        self.metrics.counter(&DENIALS, &labels).inc();
    }
}

/// One request that is being answered; dropping it ends it, whatever the reason.
pub(crate) struct InFlight<'a>(&'a Gauge);

impl<'a> InFlight<'a> {
    pub(crate) fn enter(gauge: &'a Gauge) -> Self {
        gauge.inc();
        Self(gauge)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.dec();
    }
}
