//! A key that a worker has.

use std::fmt;
use std::thread;
use std::time::Duration;

use super::shared::Shared;
use super::state::{GiveBack, Hand};
use super::sync::Arc;
use crate::Key;

/// A key that a worker has. Nobody else gets the key until this is dropped.
///
/// Dropping it means done: whatever was added meanwhile makes the key ready again. Dropping it in a panic means
/// failed, as [`retry`](Self::retry). So done can be neither forgotten nor said twice.
#[must_use = "dropping an item means that its key is done"]
pub struct Item<K: Key> {
    shared: Arc<Shared<K>>,
    /// `None` once it was given back.
    hand: Option<Hand<K>>,
}

impl<K: Key> Item<K> {
    pub(super) fn new(shared: Arc<Shared<K>>, hand: Hand<K>) -> Self {
        Self {
            shared,
            hand: Some(hand),
        }
    }

    /// The key.
    #[must_use]
    pub fn key(&self) -> &K {
        self.hand().taken.key()
    }

    /// The priority at which it was handed out, and at which a retry is added.
    #[must_use]
    pub fn priority(&self) -> i32 {
        self.hand().taken.priority()
    }

    /// Changes the priority of a retry.
    pub fn set_priority(&mut self, priority: i32) {
        if let Some(hand) = &mut self.hand {
            hand.taken.set_priority(priority);
        }
    }

    /// How many failures of the key the limiter counted when it was handed out.
    #[must_use]
    pub fn failures(&self) -> u32 {
        self.hand().taken.failures()
    }

    /// Forgets the key's failures, while the worker goes on with it.
    pub fn forget(&self) {
        self.shared.change(|state| state.machine.forget(self.key()));
    }

    /// Keeps the key out of workers' hands from when this is dropped, until [`Queue::unpark`](crate::Queue::unpark),
    /// but no longer than `bound` from now.
    pub fn park(&self, bound: Duration) {
        self.shared.change(|state| {
            let until = state.clock.now() + bound;
            state.machine.park(self.key(), until);
        });
    }

    /// Done.
    pub fn done(self) {
        drop(self);
    }

    /// Done, and the key's failures are forgotten. One change, where [`forget`](Self::forget) and
    /// [`done`](Self::done) are two.
    pub fn succeed(self) {
        self.give_back(GiveBack::Success);
    }

    /// Failed: the key is added again after the limiter's delay. Ignored if the queue is shutting down.
    pub fn retry(self) {
        self.give_back(GiveBack::Retry);
    }

    /// Done for now: the key is added again after `delay`. Ignored if the queue is shutting down.
    ///
    /// This neither counts a failure nor forgets one.
    pub fn retry_after(self, delay: Duration) {
        self.give_back(GiveBack::RetryAfter(delay));
    }

    fn give_back(mut self, how: GiveBack) {
        if let Some(hand) = self.hand.take() {
            self.shared.give_back(hand, how);
        }
    }

    fn hand(&self) -> &Hand<K> {
        let Some(hand) = &self.hand else {
            unreachable!("an item is given back only by value")
        };
        hand
    }
}

impl<K: Key> Drop for Item<K> {
    fn drop(&mut self) {
        if let Some(hand) = self.hand.take() {
            let how = if thread::panicking() {
                GiveBack::Retry
            } else {
                GiveBack::Done
            };
            self.shared.give_back(hand, how);
        }
    }
}

impl<K: Key + fmt::Debug> fmt::Debug for Item<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Item")
            .field("key", self.key())
            .field("priority", &self.priority())
            .finish_non_exhaustive()
    }
}
