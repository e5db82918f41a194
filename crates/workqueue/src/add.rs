//! How a key is added, and what came of it.

use std::time::Duration;

use crate::Id;

/// How a key is added: when, and how urgently. The default is now, at priority 0.
///
/// ```
/// use std::time::Duration;
/// use evenkeel_workqueue::Add;
///
/// // What a resync adds must not delay what users do.
/// let background = Add::priority(-100);
/// // Whichever comes first: the limiter's delay, or ten seconds.
/// let soon = Add::rate_limited().after(Duration::from_secs(10));
/// # let _ = (background, soon);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Add {
    pub(crate) priority: i32,
    pub(crate) after: Option<Duration>,
    pub(crate) is_rate_limited: bool,
}

impl Add {
    /// Now, at priority 0.
    pub fn now() -> Self {
        Self::default()
    }

    /// Now, at the given priority. Higher is more urgent.
    pub fn priority(priority: i32) -> Self {
        Self::now().with_priority(priority)
    }

    /// After the delay that the limiter says; counts a failure of the key.
    pub fn rate_limited() -> Self {
        Self {
            is_rate_limited: true,
            ..Self::default()
        }
    }

    /// After a delay. If the add is rate limited too, the shorter delay counts.
    pub fn after(mut self, delay: Duration) -> Self {
        self.after = Some(delay);
        self
    }

    /// At the given priority. Higher is more urgent.
    pub fn with_priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }
}

/// What came of an add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// There is new work: the key goes in line now or, if a worker has it, when that worker is done.
    Marked(Id),
    /// The key was waiting already.
    Merged,
    /// The key waits for its delay.
    Delayed,
    /// The queue is shutting down.
    Refused,
}
