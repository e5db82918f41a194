//! A recorder for Kubernetes events that correlates, bounds and never blocks.

mod correlator;
mod event;
mod metrics;
mod outbox;
mod recorder;
mod reference;
mod writer;

pub use correlator::{Correlated, Correlator, EventKey, SpamFilter, SpamScope};
pub use event::{Event, EventType, Occurrence, Source};
pub use metrics::Stats;
pub use recorder::{Recorder, RecorderOptions, Unwritten};
pub use reference::ObjectReference;
