//! tokio's clock as moments.

use std::time::Duration;

use evenkeel_pace::Moment;
use tokio::time::Instant;

/// Stands for "never" where tokio's instants end before ours.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// Counts moments from the making of the queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    origin: Instant,
}

impl Clock {
    pub(super) fn start() -> Self {
        Self {
            origin: Instant::now(),
        }
    }

    pub(super) fn now(self) -> Moment {
        Moment::from(self.origin.elapsed())
    }

    pub(super) fn instant(self, moment: Moment) -> Instant {
        self.origin
            .checked_add(moment.since_origin())
            .unwrap_or_else(|| self.origin + FAR)
    }
}
