//! Events in the form of `events.k8s.io/v1`.

mod cache;
mod event;
mod recorder;
mod writer;

pub use self::cache::SeriesCache;
pub use self::event::{Series, SeriesEvent, SeriesOccurrence};
pub use self::recorder::SeriesRecorder;
