//! What is measured, told once and statically.

/// The kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MetricKind {
    /// A count that only grows.
    Counter,
    /// A value that goes up and down.
    Gauge,
    /// A distribution.
    Histogram {
        /// The upper bounds of the buckets, ascending, without the infinite one.
        buckets: &'static [f64],
    },
}

/// A metric's name, help text, kind and label names. Kept in a `static`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Descriptor {
    /// The name as exported, unit and `_total` included.
    pub name: &'static str,
    /// One sentence for people who read dashboards.
    pub help: &'static str,
    /// What kind of metric it is.
    pub kind: MetricKind,
    /// The names of its labels, in the order in which values are given.
    pub labels: &'static [&'static str],
}

impl Descriptor {
    /// Describes a counter.
    #[must_use]
    pub const fn counter(
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str],
    ) -> Self {
        Self {
            name,
            help,
            kind: MetricKind::Counter,
            labels,
        }
    }

    /// Describes a gauge.
    #[must_use]
    pub const fn gauge(
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str],
    ) -> Self {
        Self {
            name,
            help,
            kind: MetricKind::Gauge,
            labels,
        }
    }

    /// Describes a histogram with the given upper bounds of its buckets, ascending.
    #[must_use]
    pub const fn histogram(
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str],
        buckets: &'static [f64],
    ) -> Self {
        Self {
            name,
            help,
            kind: MetricKind::Histogram { buckets },
            labels,
        }
    }
}
