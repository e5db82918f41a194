//! The error of a drain that took too long.

use std::error::Error;
use std::fmt;

/// A drain's time was up before all work was done.
///
/// The queue is shut down all the same, and workers go on: draining again waits on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DrainTimeout {
    /// How many keys still waited for a worker.
    pub queued: usize,
    /// How many keys were still with a worker.
    pub in_flight: usize,
}

impl fmt::Display for DrainTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { queued, in_flight } = self;
        write!(
            f,
            "the queue was not drained in time: {queued} keys waiting, {in_flight} with a worker"
        )
    }
}

impl Error for DrainTimeout {}
