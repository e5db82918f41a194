//! The wall clock, as tokio's clock moves it.

use evenkeel_meta::Timestamp;
use tokio::time::Instant;

/// Wall-clock time that stands still and jumps with a paused tokio clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    origin: Timestamp,
    started: Instant,
}

impl Clock {
    pub(crate) fn starting_at(origin: Timestamp) -> Self {
        Self {
            origin,
            started: Instant::now(),
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.origin.saturating_add(self.started.elapsed())
    }
}
