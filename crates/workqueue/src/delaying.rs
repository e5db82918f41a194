//! Keys that become ready later.

use evenkeel_pace::Moment;

use crate::core::Core;
use crate::timers::Timers;
use crate::{Added, Id, Key, Order};

/// Adds to the core what waits for a time: delayed adds, and the bounds of parked keys.
///
/// A key has at most one delayed add: the earliest, at the highest priority asked for. A plain add leaves it
/// alone, so that a key that is polled every minute still is after an event.
#[derive(Debug)]
pub(crate) struct Delaying<K, O> {
    pub(crate) core: Core<K, O>,
    /// Delayed adds, with their priorities.
    delays: Timers<i32>,
    /// Until when keys are parked.
    holds: Timers<()>,
}

impl<K: Key, O: Order<K>> Delaying<K, O> {
    pub(crate) fn new(order: O) -> Self {
        Self {
            core: Core::new(order),
            delays: Timers::new(),
            holds: Timers::new(),
        }
    }

    /// Adds a key when `at` has come.
    pub(crate) fn add_at(&mut self, key: K, at: Moment, priority: i32) -> Added {
        let Some(id) = self.core.retain(key) else {
            return Added::Refused;
        };
        match self.delays.get_mut(id) {
            Some(waiting) if waiting.at <= at => waiting.value = waiting.value.max(priority),
            Some(waiting) => {
                let priority = waiting.value.max(priority);
                self.delays.set(id, at, priority);
            }
            None => self.delays.set(id, at, priority),
        }
        Added::Delayed
    }

    /// Keeps a key out of workers' hands until it is unparked, but no longer than `until`.
    pub(crate) fn park(&mut self, key: &K, until: Moment) {
        let id = self.core.park(key);
        self.holds.set(id, until, ());
    }

    pub(crate) fn unpark(&mut self, key: &K) {
        if let Some(id) = self.core.find(key)
            && self.holds.cancel(id)
        {
            self.core.unpark(id);
        }
    }

    /// Adds what is due, and releases keys that were parked long enough. Tells `marked` of each key that got
    /// new work, and since when.
    pub(crate) fn advance(&mut self, now: Moment, mut marked: impl FnMut(Id, Moment)) {
        while let Some((id, due)) = self.delays.pop_due(now) {
            if let Added::Marked(id) = self.core.release_and_mark(id, due.value) {
                marked(id, due.at);
            }
        }
        while let Some((id, _)) = self.holds.pop_due(now) {
            self.core.unpark(id);
        }
    }

    /// When [`advance`](Self::advance) has something to do next.
    pub(crate) fn next_due(&self) -> Option<Moment> {
        match (self.delays.next(), self.holds.next()) {
            (Some(delay), Some(hold)) => Some(delay.min(hold)),
            (delay, hold) => delay.or(hold),
        }
    }

    /// How many delayed adds wait.
    pub(crate) fn delayed(&self) -> usize {
        self.delays.len()
    }

    /// Refuses adds from now on and drops delayed ones. Says how many were dropped.
    pub(crate) fn close(&mut self) -> usize {
        self.core.close();
        let dropped = self.delays.clear();
        for id in &dropped {
            self.core.release(*id);
        }
        dropped.len()
    }
}
