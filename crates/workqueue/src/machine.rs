//! The whole queue as a state machine.

use std::time::Duration;

use evenkeel_pace::{ItemBackoff, Limiter, Moment};

use crate::core::Core;
use crate::delaying::Delaying;
use crate::{Add, Added, Id, Key, Order, Priority};

/// The queue without a clock, locks or tasks: for other runtimes, and for simulations.
///
/// Feed it adds, results and the time; ask it for the next key and for when it wants to be woken.
///
/// ```
/// use std::time::Duration;
/// use evenkeel_pace::{ItemBackoff, Moment};
/// use evenkeel_workqueue::{Fifo, Machine};
///
/// let mut queue = Machine::new(Fifo::new(), ItemBackoff::default());
/// queue.add("a", 0);
/// queue.add("a", 0);
/// let taken = queue.take().unwrap();
/// assert_eq!((*taken.key(), queue.len()), ("a", 0));
///
/// // An event during the run: the key runs once more, but not before the first run is done.
/// queue.add("a", 0);
/// assert!(queue.take().is_none());
/// queue.done(taken);
/// let again = queue.take().unwrap();
///
/// // It failed: try again in 5 ms.
/// let now = Moment::ORIGIN;
/// queue.retry(again, now);
/// assert_eq!(queue.next_due(), Some(now + Duration::from_millis(5)));
/// queue.advance(now + Duration::from_millis(5), |_, _| {});
/// assert_eq!(queue.take().map(|taken| *taken.key()), Some("a"));
/// ```
///
/// # Order of calls
///
/// [`take`](Self::take) hands out what is ready; what is due becomes ready in [`advance`](Self::advance). A driver
/// calls `advance` before `take`, and sleeps until [`next_due`](Self::next_due) at the latest.
#[derive(Debug)]
pub struct Machine<K, O = Priority, L = ItemBackoff<K>> {
    stack: Delaying<K, O>,
    limiter: L,
    retries: u64,
    dropped: u64,
}

/// A key that was handed out. Give it back with [`Machine::done`] or one of the retries: until then nobody
/// else gets the key.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a key that is never given back is never handed out again"]
pub struct Taken<K> {
    id: Id,
    key: K,
    priority: i32,
    failures: u32,
}

impl<K> Taken<K> {
    /// The key.
    pub fn key(&self) -> &K {
        &self.key
    }

    /// The number that stands for the key while it is handed out.
    pub fn id(&self) -> Id {
        self.id
    }

    /// The priority at which it was handed out, and at which a retry is added.
    pub fn priority(&self) -> i32 {
        self.priority
    }

    /// How many failures of the key the limiter counted when it was handed out.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Changes the priority of a retry.
    pub fn set_priority(&mut self, priority: i32) {
        self.priority = priority;
    }
}

impl<K: Key, O: Order<K>, L: Limiter<K>> Machine<K, O, L> {
    /// An empty queue.
    pub fn new(order: O, limiter: L) -> Self {
        Self {
            stack: Delaying::new(order),
            limiter,
            retries: 0,
            dropped: 0,
        }
    }

    /// Says that there is work for `key`. If it waits already its priority may rise and nothing else changes;
    /// if a worker has it, it is handed out again once that worker is done.
    pub fn add(&mut self, key: K, priority: i32) -> Added {
        self.stack.core.add(key, priority)
    }

    /// As [`add`](Self::add), but clones the key only if the queue does not know it.
    pub fn add_ref(&mut self, key: &K, priority: i32) -> Added {
        self.stack.core.add_ref(key, priority)
    }

    /// Adds `key` now, after a delay or after the limiter's delay.
    ///
    /// Of several delays of one key the one that ends first counts. A plain add in between does not end
    /// the delay: the key runs for the add, and again when the delay ends.
    pub fn add_with(&mut self, key: K, how: Add, now: Moment) -> Added {
        if self.is_shut_down() {
            return Added::Refused;
        }
        let limit = how.is_rate_limited.then(|| self.limiter.when(&key, now));
        let delay = match (limit, how.after) {
            (Some(limit), Some(after)) => Some(limit.min(after)),
            (limit, after) => limit.or(after),
        };
        self.retries += u64::from(delay.is_some());
        match delay {
            Some(delay) if !delay.is_zero() => self.stack.add_at(key, now + delay, how.priority),
            _ => self.stack.core.add(key, how.priority),
        }
    }

    /// Forgets the failures of `key`.
    pub fn forget(&mut self, key: &K) {
        self.limiter.forget(key);
    }

    /// How many failures of `key` the limiter counts.
    pub fn failures(&self, key: &K) -> u32 {
        self.limiter.failures(key)
    }

    /// Whether a worker has `key` and it is to run once more afterwards.
    pub fn will_rerun(&self, key: &K) -> bool {
        self.stack.core.reruns(key)
    }

    /// Keeps `key` out of workers' hands until it is unparked, but no longer than `until`. Adds are kept: if its
    /// turn comes meanwhile, it goes first once it is released. Parking again moves the bound.
    pub fn park(&mut self, key: &K, until: Moment) {
        self.stack.park(key, until);
    }

    /// Releases a parked key. Nothing happens if it is not parked.
    pub fn unpark(&mut self, key: &K) {
        self.stack.unpark(key);
    }

    /// Makes ready what is due. Tells `marked` of each key that got new work by it, and since when.
    pub fn advance(&mut self, now: Moment, marked: impl FnMut(Id, Moment)) {
        self.stack.advance(now, marked);
    }

    /// When [`advance`](Self::advance) has something to do next.
    pub fn next_due(&self) -> Option<Moment> {
        self.stack.next_due()
    }

    /// Hands out the key that is next. Nobody else gets it until it is given back.
    pub fn take(&mut self) -> Option<Taken<K>> {
        let core = &mut self.stack.core;
        let (id, priority) = core.take()?;
        let untold = Untold { core, id, priority };
        let key = untold.core.key(id).clone();
        let failures = self.limiter.failures(&key);
        std::mem::forget(untold);
        Some(Taken {
            id,
            key,
            priority,
            failures,
        })
    }

    /// Gives a key back. If it was added meanwhile it is ready again.
    pub fn done(&mut self, taken: Taken<K>) {
        let Taken { id, key, .. } = taken;
        self.stack.core.done(id);
        drop(key);
    }

    /// Gives a key back, and forgets its failures.
    pub fn succeed(&mut self, taken: Taken<K>) {
        let Taken { id, key, .. } = taken;
        let back = GivenBack { machine: self, id };
        back.machine.limiter.forget(&key);
    }

    /// Gives a key back as failed: it is added again after the limiter's delay.
    pub fn retry(&mut self, taken: Taken<K>, now: Moment) -> Added {
        self.give_back(taken, Add::rate_limited(), now)
    }

    /// Gives a key back: it is added again after `delay`.
    pub fn retry_after(&mut self, taken: Taken<K>, delay: Duration, now: Moment) -> Added {
        self.give_back(taken, Add::now().after(delay), now)
    }

    /// Refuses adds from now on. Ready keys are still handed out; delayed ones are dropped and counted.
    pub fn shut_down(&mut self) {
        self.dropped += self.stack.close() as u64;
    }

    /// As [`shut_down`](Self::shut_down), and drops ready keys too: no run starts any more.
    pub fn shut_down_now(&mut self) {
        self.shut_down();
        self.dropped += self.stack.core.discard() as u64;
    }

    /// Whether adds are refused.
    pub fn is_shut_down(&self) -> bool {
        self.stack.core.is_closed()
    }

    /// Whether nothing will be handed out any more: shut down, and all work has been started.
    pub fn is_finished(&self) -> bool {
        self.is_shut_down() && self.stack.core.dirty() == 0
    }

    /// Whether all work is done after a shutdown.
    pub fn is_drained(&self) -> bool {
        self.is_finished() && self.in_flight() == 0
    }

    /// How many keys wait for a worker, parked ones included. Delayed ones are not.
    pub fn len(&self) -> usize {
        self.stack.core.len()
    }

    /// Whether no key waits for a worker.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many keys [`take`](Self::take) could hand out now.
    pub fn runnable(&self) -> usize {
        self.stack.core.runnable()
    }

    /// How many keys have work that nobody has started, those that a worker has now included.
    pub fn depth(&self) -> usize {
        self.stack.core.dirty()
    }

    /// How many delayed adds wait for their time.
    pub fn delayed(&self) -> usize {
        self.stack.delayed()
    }

    /// How many keys are handed out and not given back.
    pub fn in_flight(&self) -> usize {
        self.stack.core.processing()
    }

    /// How many keys the queue knows: waiting, delayed, parked or handed out.
    pub fn known(&self) -> usize {
        self.stack.core.known()
    }

    /// How many adds found new work, since the beginning.
    pub fn adds(&self) -> u64 {
        self.stack.core.adds()
    }

    /// How many delayed or rate-limited adds were accepted, since the beginning.
    pub fn retries(&self) -> u64 {
        self.retries
    }

    /// How much accepted work shutdown dropped: delayed adds and, with
    /// [`shut_down_now`](Self::shut_down_now), ready keys.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    fn give_back(&mut self, taken: Taken<K>, how: Add, now: Moment) -> Added {
        let Taken {
            id, key, priority, ..
        } = taken;
        // Added first: the key must not be forgotten in between.
        let back = GivenBack { machine: self, id };
        back.machine.add_with(key, how.with_priority(priority), now)
    }
}

/// A key that was taken and that nobody has been told of. Keys and limiters are foreign code: if one of them panics, it
/// is ready again.
struct Untold<'a, K: Key, O: Order<K>> {
    core: &'a mut Core<K, O>,
    id: Id,
    priority: i32,
}

impl<K: Key, O: Order<K>> Drop for Untold<'_, K, O> {
    fn drop(&mut self) {
        self.core.mark(self.id, self.priority);
        self.core.done(self.id);
    }
}

/// A limiter is foreign code: even if it panics, the key is given back, and may be added again.
struct GivenBack<'a, K: Key, O: Order<K>, L> {
    machine: &'a mut Machine<K, O, L>,
    id: Id,
}

impl<K: Key, O: Order<K>, L> Drop for GivenBack<'_, K, O, L> {
    fn drop(&mut self) {
        self.machine.stack.core.done(self.id);
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod scenarios;
#[cfg(test)]
mod tests;
