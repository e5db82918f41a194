//! The metrics of one process, in the OpenMetrics text format.

mod histogram;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use evenkeel_observe::{
    Counter, CounterCell, Descriptor, Gauge, GaugeCell, Histogram, MetricKind, Metrics, Reader,
    Sink,
};
use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::{counter, gauge};

use histogram::Bounds;

/// Where all crates of a process report to, and what `/metrics` shows.
///
/// A value, not a global: two Managers in one process have two registries. Cheap to clone.
#[derive(Clone, Default)]
pub struct Registry {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    registry: prometheus_client::registry::Registry,
    families: BTreeMap<&'static str, Series>,
}

type Labels = Vec<(&'static str, String)>;
type FloatGauge = gauge::Gauge<f64, AtomicU64>;

#[derive(Clone)]
enum Series {
    Counter(Family<Labels, counter::Counter>),
    Gauge(Family<Labels, FloatGauge>),
    Histogram(Family<Labels, histogram::Histogram, Bounds>),
    Computed(Computed),
}

impl Series {
    fn computed(&self) -> Option<Computed> {
        match self {
            Self::Computed(computed) => Some(computed.clone()),
            _ => None,
        }
    }
}

impl Registry {
    /// The media type of [`encode`](Self::encode)'s text.
    pub const CONTENT_TYPE: &'static str =
        "application/openmetrics-text; version=1.0.0; charset=utf-8";

    /// An empty registry.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The handle that other crates report through.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        Metrics::new(self.clone())
    }

    /// All series as text. Computed values are read now.
    #[must_use]
    pub fn encode(&self) -> String {
        // Readers may take locks whose holders report here, so they run before the lock is taken.
        let computed: Vec<Computed> = self
            .inner
            .lock()
            .families
            .values()
            .filter_map(Series::computed)
            .collect();
        computed.iter().for_each(Computed::collect);
        let mut text = String::new();
        let encoded =
            prometheus_client::encoding::text::encode(&mut text, &self.inner.lock().registry);
        if encoded.is_err() {
            tracing::warn!("A metric could not be encoded");
        }
        text
    }

    /// The series of `descriptor`; the first call registers it.
    fn series(&self, descriptor: &'static Descriptor, make: impl FnOnce() -> Series) -> Series {
        let mut inner = self.inner.lock();
        if let Some(series) = inner.families.get(descriptor.name) {
            return series.clone();
        }
        let series = make();
        let help = descriptor.help.trim_end_matches('.');
        // The encoder adds `_total` to the name of a counter.
        let name = match descriptor.kind {
            MetricKind::Counter => descriptor.name.trim_end_matches("_total"),
            _ => descriptor.name,
        };
        match series.clone() {
            Series::Counter(family) => inner.registry.register(name, help, family),
            Series::Gauge(family) => inner.registry.register(name, help, family),
            Series::Histogram(family) => inner.registry.register(name, help, family),
            Series::Computed(computed) => inner.registry.register_collector(Box::new(computed)),
        }
        inner.families.insert(descriptor.name, series.clone());
        series
    }
}

fn labels(descriptor: &'static Descriptor, values: &[&str]) -> Labels {
    let values = values.iter().map(|&value| value.to_owned());
    descriptor.labels.iter().copied().zip(values).collect()
}

impl Sink for Registry {
    fn counter(&self, descriptor: &'static Descriptor, values: &[&str]) -> Counter {
        match self.series(descriptor, || Series::Counter(Family::default())) {
            Series::Counter(family) => Counter::new(Arc::new(CounterSeries(
                family.get_or_create_owned(&labels(descriptor, values)),
            ))),
            _ => Counter::none(),
        }
    }

    fn gauge(&self, descriptor: &'static Descriptor, values: &[&str]) -> Gauge {
        match self.series(descriptor, || Series::Gauge(Family::default())) {
            Series::Gauge(family) => Gauge::new(Arc::new(GaugeSeries(
                family.get_or_create_owned(&labels(descriptor, values)),
            ))),
            _ => Gauge::none(),
        }
    }

    fn histogram(&self, descriptor: &'static Descriptor, values: &[&str]) -> Histogram {
        let MetricKind::Histogram { buckets } = descriptor.kind else {
            return Histogram::none();
        };
        let make = || Series::Histogram(Family::new_with_constructor(Bounds(buckets)));
        match self.series(descriptor, make) {
            Series::Histogram(family) => Histogram::new(Arc::new(
                family.get_or_create_owned(&labels(descriptor, values)),
            )),
            _ => Histogram::none(),
        }
    }

    fn computed(&self, descriptor: &'static Descriptor, values: &[&str], read: Reader) {
        let make = || Series::Computed(Computed::new(descriptor));
        if let Series::Computed(computed) = self.series(descriptor, make) {
            let entry = (labels(descriptor, values), Arc::new(read));
            computed.readers.lock().push(entry);
        }
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = self.inner.lock();
        f.debug_list().entries(inner.families.keys()).finish()
    }
}

struct CounterSeries(counter::Counter);

impl CounterCell for CounterSeries {
    fn add(&self, count: u64) {
        self.0.inc_by(count);
    }
}

struct GaugeSeries(FloatGauge);

impl GaugeCell for GaugeSeries {
    fn set(&self, value: f64) {
        self.0.set(value);
    }

    fn add(&self, delta: f64) {
        self.0.inc_by(delta);
    }
}

/// Series whose values are computed at each collection.
#[derive(Clone)]
struct Computed {
    descriptor: &'static Descriptor,
    readers: Arc<Mutex<Readers>>,
    collected: Arc<Mutex<BTreeMap<Labels, f64>>>,
}

type Readers = Vec<(Labels, Arc<Reader>)>;

impl Computed {
    fn new(descriptor: &'static Descriptor) -> Self {
        Self {
            descriptor,
            readers: Arc::default(),
            collected: Arc::default(),
        }
    }

    /// Reads the values; several readers of the same labels add up. Drops readers whose
    /// subjects are gone.
    fn collect(&self) {
        let readers = self.readers.lock().clone();
        let mut values = BTreeMap::new();
        let mut gone = Vec::new();
        for (labels, read) in readers {
            match read() {
                Some(value) => *values.entry(labels).or_insert(0.0) += value,
                None => gone.push(read),
            }
        }
        if !gone.is_empty() {
            let stays = |read: &Arc<Reader>| !gone.iter().any(|gone| Arc::ptr_eq(gone, read));
            self.readers.lock().retain(|(_, read)| stays(read));
        }
        *self.collected.lock() = values;
    }
}

impl Collector for Computed {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let Descriptor {
            name, help, kind, ..
        } = self.descriptor;
        let (name, metric_type) = match kind {
            MetricKind::Counter => (name.trim_end_matches("_total"), MetricType::Counter),
            _ => (*name, MetricType::Gauge),
        };
        let mut family =
            encoder.encode_descriptor(name, help.trim_end_matches('.'), None, metric_type)?;
        for (labels, value) in &*self.collected.lock() {
            let series = family.encode_family(labels)?;
            match kind {
                MetricKind::Counter => counter::ConstCounter::new(*value).encode(series)?,
                _ => ConstGauge::new(*value).encode(series)?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Computed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Computed")
            .field(&self.descriptor.name)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static RUNS: Descriptor = Descriptor::counter("runs_total", "Runs.", &["result"]);
    static DEPTH: Descriptor = Descriptor::gauge("depth", "Depth.", &["name"]);
    static TIME: Descriptor = Descriptor::histogram("time_seconds", "Time.", &[], &[0.5, 1.0]);

    #[test]
    fn names_are_exported_as_described() {
        let registry = Registry::new();
        let metrics = registry.metrics();
        metrics.counter(&RUNS, &["success"]).add(2);
        metrics.counter(&RUNS, &["success"]).inc();
        metrics.histogram(&TIME, &[]).observe(0.7);
        let subject = Arc::new(7.0);
        let weak = Arc::downgrade(&subject);
        metrics.computed(&DEPTH, &["q"], move || weak.upgrade().map(|value| *value));

        let text = registry.encode();
        assert!(
            text.contains("runs_total{result=\"success\"} 3\n"),
            "{text}"
        );
        assert!(
            text.contains("time_seconds_bucket{le=\"1.0\"} 1\n")
                && text.contains("time_seconds_sum 0.7\n"),
            "{text}"
        );
        assert!(text.contains("depth{name=\"q\"} 7.0\n"), "{text}");
        assert!(text.contains("# TYPE runs counter"), "{text}");

        let histogram = metrics.histogram(&TIME, &[]);
        for value in [0.5, 0.1, 1.0, 1.5, f64::NAN] {
            histogram.observe(value);
        }
        let text = registry.encode();
        for line in [
            "time_seconds_sum NaN\n",
            "time_seconds_count 6\n",
            "time_seconds_bucket{le=\"0.5\"} 2\n",
            "time_seconds_bucket{le=\"1.0\"} 4\n",
            "time_seconds_bucket{le=\"+Inf\"} 6\n",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }

        drop(subject);
        assert!(!registry.encode().contains("depth{name=\"q\"}"));
    }
}
