//! Metric descriptors, and the sink that the evenkeel crates report through.
//!
//! A library says *what* it measures with a static [`Descriptor`] and gets cheap handles ([`Counter`],
//! [`Gauge`], [`Histogram`]) from the [`Metrics`] that its caller gave it. The caller decides *where* values
//! go by implementing [`Sink`] over the metrics library of their choice. Nothing is global, and without a
//! sink nothing is stored or counted.
//!
//! # When to use it
//!
//! In a library that wants to be observed without choosing a metrics library for its users. In an
//! application, use your metrics library directly and implement [`Sink`] once. In a test, use [`MemorySink`].
//!
//! # Example
//!
//! ```
//! use evenkeel_observe::{Descriptor, MemorySink, Metrics};
//!
//! static REQUESTS: Descriptor = Descriptor::counter("requests_total", "Requests by verb.", &["verb"]);
//! static DEPTH: Descriptor = Descriptor::gauge("depth", "How much is waiting.", &[]);
//!
//! let sink = MemorySink::new();
//! let metrics = Metrics::new(sink.clone());
//!
//! let requests = metrics.counter(&REQUESTS, &["get"]);
//! requests.inc();
//! metrics.computed(&DEPTH, &[], || Some(3.0));
//!
//! assert_eq!(sink.value("requests_total", &["get"]), Some(1.0));
//! assert_eq!(sink.value("depth", &[]), Some(3.0));
//!
//! // A library that was given no sink does the same calls; they do nothing.
//! Metrics::none().counter(&REQUESTS, &["get"]).inc();
//! ```
//!
//! # Guarantees
//!
//! - A handle without a sink costs one branch; making one allocates nothing.
//! - Values that are cheap to know and dear to keep current are [computed](Metrics::computed) when somebody
//!   reads, so that nothing ticks in the background.
//! - Two handles for the same descriptor and labels feed the same series.

mod descriptor;
mod handle;
mod memory;
mod sink;

pub use descriptor::{Descriptor, MetricKind};
pub use handle::{Counter, CounterCell, Gauge, GaugeCell, Histogram, HistogramCell};
pub use memory::{HistogramSnapshot, MemorySink};
pub use sink::{Metrics, Reader, Sink};
