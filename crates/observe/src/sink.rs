//! The trait that applications implement, and the handle to it that libraries take.

use std::fmt;
use std::sync::Arc;

use crate::{Counter, Descriptor, Gauge, Histogram};

/// Computes a value when somebody reads it; `None` once its subject is gone, after which the sink drops the
/// reader.
pub type Reader = Box<dyn Fn() -> Option<f64> + Send + Sync>;

/// Where metrics go. Implemented once over an application's metrics library.
///
/// `labels` are the values for [`Descriptor::labels`], in that order and of that number. A second call with
/// the same descriptor and labels returns a handle to the same series.
pub trait Sink: Send + Sync {
    /// The series of a counter.
    fn counter(&self, descriptor: &'static Descriptor, labels: &[&str]) -> Counter;

    /// The series of a gauge.
    fn gauge(&self, descriptor: &'static Descriptor, labels: &[&str]) -> Gauge;

    /// The series of a histogram.
    fn histogram(&self, descriptor: &'static Descriptor, labels: &[&str]) -> Histogram;

    /// Registers a counter or gauge whose value `read` computes at each collection.
    ///
    /// A sink must not call `read` while it holds a lock that [`counter`](Self::counter) and the others need:
    /// readers take locks of their own.
    fn computed(&self, descriptor: &'static Descriptor, labels: &[&str], read: Reader);
}

/// The handle through which a library reports: to a [`Sink`], or nowhere. Cheap to clone.
#[derive(Clone, Default)]
pub struct Metrics(Option<Arc<dyn Sink>>);

impl Metrics {
    /// Reports to `sink`.
    #[must_use]
    pub fn new(sink: impl Sink + 'static) -> Self {
        Self(Some(Arc::new(sink)))
    }

    /// Reports to a sink that is shared already.
    #[must_use]
    pub fn shared(sink: Arc<dyn Sink>) -> Self {
        Self(Some(sink))
    }

    /// Reports nowhere. This is the default.
    #[must_use]
    pub const fn none() -> Self {
        Self(None)
    }

    /// Whether there is a sink: for a caller that would have to read a clock only to report.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.0.is_some()
    }

    /// A counter's handle; one that does nothing if there is no sink.
    #[must_use]
    pub fn counter(&self, descriptor: &'static Descriptor, labels: &[&str]) -> Counter {
        check(descriptor, labels);
        self.0
            .as_ref()
            .map_or_else(Counter::none, |sink| sink.counter(descriptor, labels))
    }

    /// A gauge's handle; one that does nothing if there is no sink.
    #[must_use]
    pub fn gauge(&self, descriptor: &'static Descriptor, labels: &[&str]) -> Gauge {
        check(descriptor, labels);
        self.0
            .as_ref()
            .map_or_else(Gauge::none, |sink| sink.gauge(descriptor, labels))
    }

    /// A histogram's handle; one that does nothing if there is no sink.
    #[must_use]
    pub fn histogram(&self, descriptor: &'static Descriptor, labels: &[&str]) -> Histogram {
        check(descriptor, labels);
        self.0
            .as_ref()
            .map_or_else(Histogram::none, |sink| sink.histogram(descriptor, labels))
    }

    /// Registers a counter or gauge whose value is computed when somebody reads it.
    ///
    /// `read` returns `None` once its subject is gone; hold the subject by a `Weak` reference.
    pub fn computed(
        &self,
        descriptor: &'static Descriptor,
        labels: &[&str],
        read: impl Fn() -> Option<f64> + Send + Sync + 'static,
    ) {
        check(descriptor, labels);
        if let Some(sink) = &self.0 {
            sink.computed(descriptor, labels, Box::new(read));
        }
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Metrics")
            .field(&self.0.as_ref().map(|_| ".."))
            .finish()
    }
}

fn check(descriptor: &Descriptor, labels: &[&str]) {
    debug_assert_eq!(
        descriptor.labels.len(),
        labels.len(),
        "labels of {}",
        descriptor.name
    );
}
