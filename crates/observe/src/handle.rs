//! The handles that measuring code holds.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Where a [`Counter`] keeps its count. Implemented by sinks.
pub trait CounterCell: Send + Sync {
    /// Adds `count`.
    fn add(&self, count: u64);
}

/// Where a [`Gauge`] keeps its value. Implemented by sinks.
pub trait GaugeCell: Send + Sync {
    /// Replaces the value.
    fn set(&self, value: f64);
    /// Adds to the value; `delta` may be negative.
    fn add(&self, delta: f64);
}

/// Where a [`Histogram`] keeps its observations. Implemented by sinks.
pub trait HistogramCell: Send + Sync {
    /// Counts one observation.
    fn observe(&self, value: f64);
}

/// A count that only grows. Cheap to clone; clones feed the same series.
#[derive(Clone, Default)]
pub struct Counter(Option<Arc<dyn CounterCell>>);

impl Counter {
    /// A handle to the sink's cell.
    #[must_use]
    pub fn new(cell: Arc<dyn CounterCell>) -> Self {
        Self(Some(cell))
    }

    /// A handle that counts nothing.
    #[must_use]
    pub const fn none() -> Self {
        Self(None)
    }

    /// Adds one.
    pub fn inc(&self) {
        self.add(1);
    }

    /// Adds `count`.
    pub fn add(&self, count: u64) {
        if let Some(cell) = &self.0 {
            cell.add(count);
        }
    }
}

/// A value that goes up and down. Cheap to clone; clones feed the same series.
#[derive(Clone, Default)]
pub struct Gauge(Option<Arc<dyn GaugeCell>>);

impl Gauge {
    /// A handle to the sink's cell.
    #[must_use]
    pub fn new(cell: Arc<dyn GaugeCell>) -> Self {
        Self(Some(cell))
    }

    /// A handle that keeps nothing.
    #[must_use]
    pub const fn none() -> Self {
        Self(None)
    }

    /// Replaces the value.
    pub fn set(&self, value: f64) {
        if let Some(cell) = &self.0 {
            cell.set(value);
        }
    }

    /// Adds to the value; `delta` may be negative.
    pub fn add(&self, delta: f64) {
        if let Some(cell) = &self.0 {
            cell.add(delta);
        }
    }

    /// Adds one.
    pub fn inc(&self) {
        self.add(1.0);
    }

    /// Takes one away.
    pub fn dec(&self) {
        self.add(-1.0);
    }
}

/// A distribution. Cheap to clone; clones feed the same series.
#[derive(Clone, Default)]
pub struct Histogram(Option<Arc<dyn HistogramCell>>);

impl Histogram {
    /// A handle to the sink's cell.
    #[must_use]
    pub fn new(cell: Arc<dyn HistogramCell>) -> Self {
        Self(Some(cell))
    }

    /// A handle that keeps nothing.
    #[must_use]
    pub const fn none() -> Self {
        Self(None)
    }

    /// Counts one observation.
    pub fn observe(&self, value: f64) {
        if let Some(cell) = &self.0 {
            cell.observe(value);
        }
    }

    /// Counts one observation, in seconds.
    pub fn observe_duration(&self, duration: Duration) {
        self.observe(duration.as_secs_f64());
    }
}

/// Prints whether anybody listens: a cell need not be printable.
macro_rules! debug_handle {
    ($($handle:ident),*) => {$(
        impl fmt::Debug for $handle {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($handle)).field(&self.0.as_ref().map(|_| "..")).finish()
            }
        }
    )*};
}

debug_handle!(Counter, Gauge, Histogram);
