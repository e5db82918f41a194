//! The handle of a queue.

use std::borrow::Cow;
use std::fmt;
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use tokio::task::coop::consume_budget;
use tokio::time::timeout;

use super::builder::Builder;
use super::drain::DrainTimeout;
use super::item::Item;
use super::shared::Shared;
use super::sync::Arc;
use super::turn::Turn;
use crate::{Add, Key};

/// A queue of keys that need work. Cheap to clone: clones are handles of the same queue.
///
/// See the [crate's documentation](crate) for what it guarantees.
pub struct Queue<K> {
    shared: Arc<Shared<K>>,
}

impl<K: Key + Send + 'static> Queue<K> {
    /// A queue without a name, with the default order and limiter.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Sets a queue up.
    pub fn builder() -> Builder<K> {
        Builder::new()
    }
}

impl<K: Key> Queue<K> {
    pub(super) fn new_shared(shared: Arc<Shared<K>>) -> Self {
        Self { shared }
    }

    #[cfg(test)]
    pub(super) fn shared(&self) -> &Shared<K> {
        &self.shared
    }

    /// Says that there is work for `key`.
    ///
    /// If the key waits already nothing changes. If a worker has it, it is handed out once more after that
    /// worker is done, however often it is added meanwhile. Ignored if the queue is shutting down.
    pub fn add(&self, key: K) {
        self.shared.add(Cow::Owned(key), 0);
    }

    /// As [`add`](Self::add), for a key that the caller goes on using. It is cloned unless it was added last; keys
    /// should be cheap to clone, as an `Arc<str>` is.
    pub fn add_ref(&self, key: &K) {
        self.shared.add(Cow::Borrowed(key), 0);
    }

    /// As [`add`](Self::add), with a priority, a delay or the limiter's delay.
    ///
    /// A key that waits already at a lower priority moves up; it never moves down.
    pub fn add_with(&self, key: K, how: Add) {
        if how.after.is_none() && !how.is_rate_limited {
            self.shared.add(Cow::Owned(key), how.priority);
        } else {
            self.shared.change(|state| state.add_with(key, how));
        }
    }

    /// Adds `key` after `delay`; at once if that is zero. Of several delays of one key the one that ends first
    /// counts. An add in between does not end the delay. Ignored if the queue is shutting down.
    pub fn add_after(&self, key: K, delay: Duration) {
        self.add_with(key, Add::now().after(delay));
    }

    /// Adds `key` after the limiter's delay, and counts a failure of it. Ignored if the queue is shutting down.
    pub fn add_rate_limited(&self, key: K) {
        self.add_with(key, Add::rate_limited());
    }

    /// Forgets the failures of `key`. Delayed adds stay.
    pub fn forget(&self, key: &K) {
        self.shared.change(|state| state.machine.forget(key));
    }

    /// How many failures of `key` the limiter counts.
    #[must_use]
    pub fn failures(&self, key: &K) -> u32 {
        self.shared.read(|state| state.machine.failures(key))
    }

    /// Whether a worker has `key` and it is to run once more afterwards: something happened to it during the run.
    #[must_use]
    pub fn will_rerun(&self, key: &K) -> bool {
        self.shared.read(|state| state.machine.will_rerun(key))
    }

    /// Keeps `key` out of workers' hands until it is [unparked](Self::unpark), but no longer than `bound` from now.
    ///
    /// For work that must wait for something else, such as a cache that has yet to see what the last run
    /// wrote: parked keys hold no worker. Adds of a parked key are kept, and so is its place in line; if its
    /// turn comes while it is parked it goes first when it is released. Parking a key that a worker has
    /// takes effect for the next run. Parking again moves the bound.
    ///
    /// What the key waits for may have come before it was parked: look again afterwards, and unpark it then.
    pub fn park(&self, key: &K, bound: Duration) {
        self.shared.change(|state| {
            let until = state.clock.now() + bound;
            state.machine.park(key, until);
        });
    }

    /// Releases a parked key. Nothing happens if it is not parked.
    pub fn unpark(&self, key: &K) {
        self.shared.change(|state| state.machine.unpark(key));
    }

    /// The next key that needs work; waits for one. `None` once the queue is shut down and all work has been handed
    /// out: the worker may end.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: a call that is dropped has taken no key, and whom it was woken for is passed on.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with its timer enabled, if it has to wait while keys are delayed or parked.
    pub async fn get(&self) -> Option<Item<K>> {
        // A worker that always finds a key must let others run now and then.
        consume_budget().await;
        Turn::new(&self.shared).get().await
    }

    /// The next key that needs work, if there is one now.
    #[must_use]
    pub fn try_get(&self) -> Option<Item<K>> {
        let (hand, waited) = self.shared.change(|state| {
            state.advance();
            state.take()
        })?;
        self.shared.observe_wait(waited);
        Some(Item::new(Arc::clone(&self.shared), hand))
    }

    /// Refuses adds from now on and wakes all who wait. Keys that are ready are still handed out; delayed ones are
    /// [dropped](Self::dropped). Does not wait. Doing it twice changes nothing.
    pub fn shut_down(&self) {
        self.shared.change(|state| state.machine.shut_down());
    }

    /// As [`shut_down`](Self::shut_down), and drops keys that are ready too: no run starts any more.
    pub fn shut_down_now(&self) {
        self.shared.change(|state| state.machine.shut_down_now());
    }

    /// Shuts down and waits until all work, queued and in flight, is done.
    ///
    /// Workers must go on calling [`get`](Self::get) until it answers `None`. Parked keys are waited for,
    /// at most until their bounds.
    ///
    /// # Errors
    ///
    /// [`DrainTimeout`] if that takes longer than `deadline`. Workers are not stopped by it.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the queue stays shut down, and draining again waits on.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with its timer enabled.
    pub async fn drain(&self, deadline: Duration) -> Result<(), DrainTimeout> {
        self.shut_down();
        timeout(deadline, self.drained()).await.map_err(|_| {
            self.shared.read(|state| DrainTimeout {
                queued: state.machine.len(),
                in_flight: state.machine.in_flight(),
            })
        })
    }

    /// Waits for the end of all work, which comes only after a shutdown.
    pub(super) async fn drained(&self) {
        poll_fn(
            |cx| match self.shared.change(|state| state.is_drained(cx)) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            },
        )
        .await;
    }

    /// Whether the queue refuses adds.
    #[must_use]
    pub fn is_shutting_down(&self) -> bool {
        self.shared.read(|state| state.machine.is_shut_down())
    }

    /// How many keys wait for a worker, parked ones included. Delayed ones are not. Out of date at once: for
    /// people, not for decisions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.read(|state| state.machine.len())
    }

    /// Whether no key waits for a worker.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many delayed adds wait for their time.
    #[must_use]
    pub fn delayed(&self) -> usize {
        self.shared.read(|state| state.machine.delayed())
    }

    /// How many keys are with a worker.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.shared.read(|state| state.machine.in_flight())
    }

    /// How much accepted work shutdown dropped: delayed adds and, with
    /// [`shut_down_now`](Self::shut_down_now), keys that were ready.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.shared.read(|state| state.machine.dropped())
    }

    /// The queue's name.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.shared.name()
    }
}

impl<K> Clone for Queue<K> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<K: Key + Send + 'static> Default for Queue<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Key> fmt::Debug for Queue<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("name", &self.name())
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
