//! A sink that keeps its values, for tests.

#![expect(
    clippy::disallowed_types,
    reason = "this crate has no dependencies, and a poisoned lock is ignored"
)]

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError};

use crate::{
    Counter, CounterCell, Descriptor, Gauge, GaugeCell, Histogram, HistogramCell, MetricKind,
    Reader, Sink,
};

/// A sink that keeps everything in memory, so that a test can read it. Clones share their values.
///
/// ```
/// use evenkeel_observe::{Descriptor, MemorySink, Metrics};
///
/// static LATENCY: Descriptor = Descriptor::histogram("latency_seconds", "Latency.", &[], &[0.1, 1.0]);
///
/// let sink = MemorySink::new();
/// let latency = Metrics::new(sink.clone()).histogram(&LATENCY, &[]);
/// latency.observe(0.5);
/// latency.observe(7.0);
/// let snapshot = sink.histogram_snapshot("latency_seconds", &[]).unwrap();
/// assert_eq!((snapshot.count, snapshot.sum), (2, 7.5));
/// assert_eq!(snapshot.buckets, [0, 1, 1]);
/// ```
#[derive(Clone, Default)]
pub struct MemorySink(Arc<Registry>);

#[derive(Default)]
struct Registry {
    series: Mutex<BTreeMap<Id, Series>>,
}

/// A metric's name and the values of its labels.
type Id = (&'static str, Vec<String>);

#[derive(Clone)]
enum Series {
    Counter(Arc<MemoryCounter>),
    Gauge(Arc<MemoryGauge>),
    Histogram(Arc<MemoryHistogram>),
    /// Several subjects may share their labels: their values add up.
    Computed(Vec<Arc<Reader>>),
}

/// What a [`MemorySink`] has seen of one histogram.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistogramSnapshot {
    /// How many observations there were.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
    /// How many fell into each bucket, not cumulated; the last is the one without an upper bound.
    pub buckets: Vec<u64>,
}

impl MemorySink {
    /// An empty sink.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The value of a counter or gauge, computed ones included. `None` if there is no such series.
    #[must_use]
    pub fn value(&self, name: &str, labels: &[&str]) -> Option<f64> {
        let (id, series) = self.find(name, labels)?;
        match series {
            Series::Counter(cell) => Some(cell.0.load(Ordering::Relaxed) as f64),
            Series::Gauge(cell) => Some(cell.load()),
            Series::Computed(readers) => self.compute(&id, &readers),
            Series::Histogram(_) => None,
        }
    }

    /// What a histogram has seen. `None` if there is no such series.
    #[must_use]
    pub fn histogram_snapshot(&self, name: &str, labels: &[&str]) -> Option<HistogramSnapshot> {
        match self.find(name, labels)?.1 {
            Series::Histogram(cell) => Some(lock(&cell.seen).clone()),
            _ => None,
        }
    }

    /// The labels of every series with this name, in order.
    #[must_use]
    pub fn series(&self, name: &str) -> Vec<Vec<String>> {
        let series = lock(&self.0.series);
        series
            .keys()
            .filter(|(found, _)| *found == name)
            .map(|(_, labels)| labels.clone())
            .collect()
    }

    fn find(&self, name: &str, labels: &[&str]) -> Option<(Id, Series)> {
        let series = lock(&self.0.series);
        let found = series
            .iter()
            .find(|((found, values), _)| *found == name && values == labels)?;
        Some((found.0.clone(), found.1.clone()))
    }

    /// Reads outside the lock, then drops the readers whose subjects are gone.
    fn compute(&self, id: &Id, readers: &[Arc<Reader>]) -> Option<f64> {
        let mut sum = None;
        for reader in readers {
            match reader() {
                Some(value) => *sum.get_or_insert(0.0) += value,
                None => self.drop_reader(id, reader),
            }
        }
        sum
    }

    fn drop_reader(&self, id: &Id, gone: &Arc<Reader>) {
        let mut series = lock(&self.0.series);
        let Some(Series::Computed(readers)) = series.get_mut(id) else {
            return;
        };
        readers.retain(|reader| !Arc::ptr_eq(reader, gone));
        if readers.is_empty() {
            series.remove(id);
        }
    }

    fn entry<T>(
        &self,
        descriptor: &'static Descriptor,
        labels: &[&str],
        new: impl FnOnce() -> Series,
        pick: impl FnOnce(&mut Series) -> Option<T>,
    ) -> Option<T> {
        let id = (
            descriptor.name,
            labels.iter().map(ToString::to_string).collect(),
        );
        pick(lock(&self.0.series).entry(id).or_insert_with(new))
    }
}

impl Sink for MemorySink {
    fn counter(&self, descriptor: &'static Descriptor, labels: &[&str]) -> Counter {
        let new = || Series::Counter(Arc::default());
        let cell = self.entry(descriptor, labels, new, |series| match series {
            Series::Counter(cell) => Some(Arc::clone(cell)),
            _ => None,
        });
        cell.map_or_else(Counter::none, |cell| Counter::new(cell))
    }

    fn gauge(&self, descriptor: &'static Descriptor, labels: &[&str]) -> Gauge {
        let new = || Series::Gauge(Arc::default());
        let cell = self.entry(descriptor, labels, new, |series| match series {
            Series::Gauge(cell) => Some(Arc::clone(cell)),
            _ => None,
        });
        cell.map_or_else(Gauge::none, |cell| Gauge::new(cell))
    }

    fn histogram(&self, descriptor: &'static Descriptor, labels: &[&str]) -> Histogram {
        let new = || Series::Histogram(Arc::new(MemoryHistogram::new(descriptor)));
        let cell = self.entry(descriptor, labels, new, |series| match series {
            Series::Histogram(cell) => Some(Arc::clone(cell)),
            _ => None,
        });
        cell.map_or_else(Histogram::none, |cell| Histogram::new(cell))
    }

    fn computed(&self, descriptor: &'static Descriptor, labels: &[&str], read: Reader) {
        self.entry(
            descriptor,
            labels,
            || Series::Computed(Vec::new()),
            |series| match series {
                Series::Computed(readers) => {
                    readers.push(Arc::new(read));
                    Some(())
                }
                _ => None,
            },
        );
    }
}

#[derive(Default)]
struct MemoryCounter(AtomicU64);

impl CounterCell for MemoryCounter {
    fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }
}

/// The bits of an `f64`.
#[derive(Default)]
struct MemoryGauge(AtomicU64);

impl MemoryGauge {
    fn load(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }
}

impl GaugeCell for MemoryGauge {
    fn set(&self, value: f64) {
        self.0.store(value.to_bits(), Ordering::Relaxed);
    }

    fn add(&self, delta: f64) {
        let add = |bits| Some((f64::from_bits(bits) + delta).to_bits());
        // The closure never refuses, so neither does the update.
        let _ = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }
}

struct MemoryHistogram {
    bounds: &'static [f64],
    seen: Mutex<HistogramSnapshot>,
}

impl MemoryHistogram {
    fn new(descriptor: &Descriptor) -> Self {
        let bounds = match descriptor.kind {
            MetricKind::Histogram { buckets } => buckets,
            _ => &[],
        };
        let seen = HistogramSnapshot {
            buckets: vec![0; bounds.len() + 1],
            ..HistogramSnapshot::default()
        };
        Self {
            bounds,
            seen: Mutex::new(seen),
        }
    }
}

impl HistogramCell for MemoryHistogram {
    fn observe(&self, value: f64) {
        let bucket = self
            .bounds
            .iter()
            .position(|bound| value <= *bound)
            .unwrap_or(self.bounds.len());
        let mut seen = lock(&self.seen);
        seen.count += 1;
        seen.sum += value;
        seen.buckets[bucket] += 1;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Metrics;

    static ADDS: Descriptor = Descriptor::counter("adds_total", "Adds.", &["name"]);
    static DEPTH: Descriptor = Descriptor::gauge("depth", "Depth.", &["name"]);
    static TOOK: Descriptor =
        Descriptor::histogram("took_seconds", "Took.", &["name"], &[1.0, 10.0]);

    fn memory() -> (MemorySink, Metrics) {
        let sink = MemorySink::new();
        (sink.clone(), Metrics::new(sink))
    }

    #[test]
    fn handles_of_one_series_share_it() {
        let (sink, metrics) = memory();
        metrics.counter(&ADDS, &["a"]).add(2);
        metrics.counter(&ADDS, &["a"]).inc();
        metrics.counter(&ADDS, &["b"]).inc();
        assert_eq!(sink.value("adds_total", &["a"]), Some(3.0));
        assert_eq!(sink.value("adds_total", &["c"]), None);
        assert_eq!(sink.series("adds_total"), [["a"], ["b"]]);
    }

    #[test]
    fn gauges_move_both_ways_and_histograms_sort() {
        let (sink, metrics) = memory();
        let depth = metrics.gauge(&DEPTH, &["a"]);
        depth.set(2.0);
        depth.inc();
        depth.dec();
        depth.add(-1.5);
        assert_eq!(sink.value("depth", &["a"]), Some(0.5));
        let took = metrics.histogram(&TOOK, &["a"]);
        took.observe_duration(std::time::Duration::from_secs(1));
        took.observe(11.0);
        let snapshot = HistogramSnapshot {
            count: 2,
            sum: 12.0,
            buckets: vec![1, 0, 1],
        };
        assert_eq!(
            sink.histogram_snapshot("took_seconds", &["a"]),
            Some(snapshot)
        );
        assert_eq!(sink.value("took_seconds", &["a"]), None);
    }

    #[test]
    fn computed_values_vanish_with_their_subject() {
        let (sink, metrics) = memory();
        let subject = Arc::new(4.0);
        let weak = Arc::downgrade(&subject);
        metrics.computed(&DEPTH, &["a"], move || weak.upgrade().map(|value| *value));
        assert_eq!(sink.value("depth", &["a"]), Some(4.0));
        drop(subject);
        assert_eq!(sink.value("depth", &["a"]), None);
        assert!(sink.series("depth").is_empty());
    }

    #[test]
    fn without_a_sink_nothing_happens() {
        let metrics = Metrics::none();
        assert!(!metrics.is_enabled());
        metrics.counter(&ADDS, &["a"]).inc();
        metrics.gauge(&DEPTH, &["a"]).set(1.0);
        metrics.histogram(&TOOK, &["a"]).observe(1.0);
        metrics.computed(&DEPTH, &["a"], || Some(1.0));
    }
}
