//! What the lock of a queue guards.

use std::collections::VecDeque;
use std::task::{Context, Waker};
use std::time::Duration;

use evenkeel_pace::{Limiter, Moment};

use super::clock::Clock;
use super::intake::{Intake, Pending};
use super::metering::{Meter, Run};
use super::waiters::{Wait, Waiters};
use crate::{Add, Added, Key, Machine, Order, Taken};

pub(super) type AnyOrder<K> = Box<dyn Order<K> + Send>;
pub(super) type AnyLimiter<K> = Box<dyn Limiter<K> + Send>;

/// The machine, who waits for it, and since when.
pub(super) struct State<K> {
    pub(super) machine: Machine<K, AnyOrder<K>, AnyLimiter<K>>,
    pub(super) meter: Option<Meter>,
    waiters: Waiters,
    /// What the intake had, on its way to the machine; empty in between, unless foreign code panicked on the way.
    received: VecDeque<Pending<K>>,
    /// Whether the intake was told that getters wait.
    intake_is_closed: bool,
    pub(super) clock: Clock,
}

/// A key on its way to a worker.
#[derive(Debug)]
pub(super) struct Hand<K> {
    pub(super) taken: Taken<K>,
    pub(super) run: Option<Run>,
}

/// How a key is given back.
#[derive(Clone, Copy, Debug)]
pub(super) enum GiveBack {
    Done,
    Success,
    Retry,
    RetryAfter(Duration),
}

/// What a getter found.
#[derive(Debug)]
pub(super) enum Found<K> {
    Key(Hand<K>, Option<Duration>),
    /// Nothing, and nothing will come.
    End,
    Nothing(Wait),
}

/// Wakes when it is dropped, which is once the lock is released: wakers are foreign code.
#[derive(Debug, Default)]
#[must_use]
pub(super) struct Wakes {
    one: Option<Waker>,
    all: Vec<Waker>,
}

impl Drop for Wakes {
    fn drop(&mut self) {
        if let Some(waker) = self.one.take() {
            waker.wake();
        }
        self.all.drain(..).for_each(Waker::wake);
    }
}

impl<K: Key> State<K> {
    pub(super) fn new(
        order: AnyOrder<K>,
        limiter: AnyLimiter<K>,
        meter: Option<Meter>,
        clock: Clock,
    ) -> Self {
        Self {
            machine: Machine::new(order, limiter),
            meter,
            waiters: Waiters::default(),
            received: VecDeque::new(),
            intake_is_closed: false,
            clock,
        }
    }

    /// Adds what the intake has: whoever takes the lock begins with this.
    pub(super) fn receive(&mut self, intake: &Intake<K>) {
        if self.received.is_empty() {
            intake.fetch(&mut self.received);
        }
        // One at a time: if a key or the order panics, the adds behind it are not lost with that one.
        while let Some(Pending { key, priority, at }) = self.received.pop_front() {
            let added = self.machine.add(key, priority);
            if let (Added::Marked(id), Some(meter), Some(at)) = (added, &mut self.meter, at) {
                meter.mark(id, at);
            }
        }
    }

    /// A getter waits: from now on each add must wake it. Whether that is in time; if not, something came just
    /// before.
    pub(super) fn close(&mut self, intake: &Intake<K>) -> bool {
        self.intake_is_closed |= intake.close_if_empty();
        self.intake_is_closed
    }

    /// If nobody waits any more, adds need not wake anybody.
    pub(super) fn reopen(&mut self, intake: &Intake<K>) {
        if self.intake_is_closed && !self.waiters.are_any() {
            self.intake_is_closed = false;
            intake.open();
        }
    }

    /// Notes since when there is work. The clock is read only if somebody measures.
    pub(super) fn note(&mut self, added: Added) {
        if let (Added::Marked(id), Some(meter)) = (added, &mut self.meter) {
            meter.mark(id, self.clock.now());
        }
    }

    pub(super) fn add_with(&mut self, key: K, how: Add) {
        let added = self.machine.add_with(key, how, self.clock.now());
        self.note(added);
    }

    /// Makes ready what is due.
    pub(super) fn advance(&mut self) {
        let Some(due) = self.machine.next_due() else {
            return;
        };
        let now = self.clock.now();
        if due > now {
            return;
        }
        let meter = &mut self.meter;
        self.machine.advance(now, |id, since| {
            if let Some(meter) = meter {
                meter.mark(id, since);
            }
        });
    }

    /// Hands out the next key; says how long it waited if somebody measures.
    pub(super) fn take(&mut self) -> Option<(Hand<K>, Option<Duration>)> {
        let taken = self.machine.take()?;
        let Some(meter) = &mut self.meter else {
            return Some((Hand { taken, run: None }, None));
        };
        let (run, waited) = meter.start(taken.id(), self.clock.now());
        Some((
            Hand {
                taken,
                run: Some(run),
            },
            Some(waited),
        ))
    }

    /// Takes a key back; says how long the worker had it if somebody measures.
    pub(super) fn give_back(
        &mut self,
        Hand { taken, run }: Hand<K>,
        how: GiveBack,
    ) -> Option<Duration> {
        let added = match how {
            GiveBack::Done => {
                self.machine.done(taken);
                Added::Merged
            }
            GiveBack::Success => {
                self.machine.succeed(taken);
                Added::Merged
            }
            GiveBack::Retry => self.machine.retry(taken, self.clock.now()),
            GiveBack::RetryAfter(delay) => self.machine.retry_after(taken, delay, self.clock.now()),
        };
        self.note(added);
        let meter = self.meter.as_mut()?;
        if self.machine.known() == 0 {
            meter.shrink();
        }
        Some(meter.finish(run?, self.clock.now()))
    }

    /// A getter looks for a key. It keeps its `place` among those who wait as long as it finds none.
    pub(super) fn look(
        &mut self,
        place: &mut Option<usize>,
        sleeping: Option<Moment>,
        cx: &Context<'_>,
    ) -> Found<K> {
        if let Some(place) = *place {
            self.waiters.look(place);
        }
        self.advance();
        let found = match self.take() {
            Some((hand, waited)) => Found::Key(hand, waited),
            None if self.machine.is_finished() => Found::End,
            None => {
                let place = *place.get_or_insert_with(|| self.waiters.enter());
                return Found::Nothing(self.waiters.wait(
                    place,
                    self.machine.next_due(),
                    sleeping,
                    cx,
                ));
            }
        };
        self.leave(place);
        found
    }

    /// A getter goes.
    pub(super) fn leave(&mut self, place: &mut Option<usize>) {
        if let Some(place) = place.take() {
            self.waiters.leave(place);
        }
    }

    /// Whether all work is done after a shutdown; keeps the waker if not.
    pub(super) fn is_drained(&mut self, cx: &Context<'_>) -> bool {
        let is_drained = self.machine.is_drained();
        if !is_drained {
            self.waiters.wait_for_end(cx);
        }
        is_drained
    }

    /// Whom to wake after a change.
    pub(super) fn rouse(&mut self) -> Wakes {
        if self.machine.is_finished() {
            let mut all = self.waiters.rouse_all();
            if self.machine.is_drained() {
                all.append(&mut self.waiters.rouse_drainers());
            }
            return Wakes { one: None, all };
        }
        let one = self
            .waiters
            .rouse(self.machine.runnable(), self.machine.next_due());
        Wakes {
            one,
            all: Vec::new(),
        }
    }
}
