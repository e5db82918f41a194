use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use evenkeel_observe::HistogramCell;
use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::family::MetricConstructor;
use prometheus_client::metrics::{MetricType, TypedMetric};

/// How often values fell into each bucket, and their sum.
///
/// Without a lock, which prometheus-client's own has: several are written to in every run of every
/// worker, and what waits for a lock there sleeps and is woken. A reader that comes between a bucket and the
/// sum sees one value less in the latter.
#[derive(Clone, Debug)]
pub(super) struct Histogram {
    bounds: &'static [f64],
    cells: Arc<Cells>,
}

#[derive(Debug)]
struct Cells {
    /// One more than there are bounds: the last is for what is above all of them.
    counts: Box<[AtomicU64]>,
    /// The bits of a float.
    sum: AtomicU64,
}

impl Histogram {
    fn new(bounds: &'static [f64]) -> Self {
        Self {
            bounds,
            cells: Arc::new(Cells {
                counts: (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect(),
                sum: AtomicU64::new(0),
            }),
        }
    }
}

impl HistogramCell for Histogram {
    fn observe(&self, value: f64) {
        // What is no number is in no bucket but the last.
        let is_above = |bound: &f64| value > *bound || value.is_nan();
        let bucket = self.bounds.partition_point(is_above);
        self.cells.counts[bucket].fetch_add(1, Relaxed);
        let add = |sum| Some((f64::from_bits(sum) + value).to_bits());
        let _ = self.cells.sum.fetch_update(Relaxed, Relaxed, add);
    }
}

impl EncodeMetric for Histogram {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        // The encoder adds the buckets up.
        let bounds = self.bounds.iter().copied().chain([f64::INFINITY]);
        let counts = self.cells.counts.iter().map(|count| count.load(Relaxed));
        let buckets: Vec<(f64, u64)> = bounds.zip(counts).collect();
        let count = buckets.iter().map(|(_, count)| count).sum();
        let sum = f64::from_bits(self.cells.sum.load(Relaxed));
        encoder.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

impl TypedMetric for Histogram {
    const TYPE: MetricType = MetricType::Histogram;
}

/// Makes histograms with these upper bounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds(pub(super) &'static [f64]);

impl MetricConstructor<Histogram> for Bounds {
    fn new_metric(&self) -> Histogram {
        Histogram::new(self.0)
    }
}
