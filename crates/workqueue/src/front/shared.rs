//! What all handles of a queue share.

use std::borrow::Cow;
use std::task::Context;

use evenkeel_observe::{Descriptor, Metrics};
use evenkeel_pace::Moment;

use super::clock::Clock;
use super::intake::Intake;
use super::metering::{self, Durations, Meter};
use super::state::{AnyLimiter, AnyOrder, Found, GiveBack, Hand, State, Wakes};
use super::sync::{Arc, Mutex, MutexGuard};
use crate::{Added, Key};

pub(super) struct Shared<K> {
    state: Mutex<State<K>>,
    intake: Intake<K>,
    clock: Clock,
    is_measured: bool,
    durations: Durations,
    name: Option<Box<str>>,
}

impl<K: Key> Shared<K> {
    pub(super) fn new(
        name: Option<String>,
        order: AnyOrder<K>,
        limiter: AnyLimiter<K>,
        metrics: &Metrics,
    ) -> Self {
        let measured = name.as_deref().filter(|_| metrics.is_enabled());
        let clock = Clock::start();
        let meter = measured.map(|_| Meter::default());
        Self {
            state: Mutex::new(State::new(order, limiter, meter, clock)),
            intake: Intake::new(),
            clock,
            is_measured: measured.is_some(),
            durations: measured
                .map(|name| Durations::new(metrics, name))
                .unwrap_or_default(),
            name: name.map(String::into_boxed_str),
        }
    }

    /// Registers the metrics that are computed when somebody reads them.
    pub(super) fn register(self: &Arc<Self>, metrics: &Metrics)
    where
        K: Send + 'static,
    {
        let Some(name) = self.name() else { return };
        let compute = |descriptor: &'static Descriptor,
                       read: fn(&State<K>, &Meter, Moment) -> f64| {
            let shared = Arc::downgrade(self);
            metrics.computed(descriptor, &[name], move || shared.upgrade()?.measure(read));
        };
        compute(&metering::DEPTH, |state, _, _| state.machine.depth() as f64);
        compute(&metering::ADDS, |state, _, _| state.machine.adds() as f64);
        compute(&metering::RETRIES, |state, _, _| {
            state.machine.retries() as f64
        });
        compute(&metering::UNFINISHED, |_, meter, now| {
            meter.unfinished(now).as_secs_f64()
        });
        compute(&metering::LONGEST_RUNNING, |_, meter, now| {
            meter.longest_running(now).as_secs_f64()
        });
    }

    pub(super) fn clock(&self) -> Clock {
        self.clock
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// An add without a delay. It waits for nobody who works on the queue, unless the intake is full.
    pub(super) fn add(&self, key: Cow<'_, K>, priority: i32) {
        let now = || self.is_measured.then(|| self.clock.now());
        let Err(key) = self.intake.push(key, priority, now) else {
            return;
        };
        let mut held = self.hold();
        held.receive();
        let added = match key {
            Cow::Owned(key) => held.state.machine.add(key, priority),
            Cow::Borrowed(key) => held.state.machine.add_ref(key, priority),
        };
        // Many adds change nothing, and those end here. What the intake had woke nobody: it had something only if
        // nobody waits.
        if matches!(added, Added::Marked(_)) {
            held.state.note(added);
        } else {
            held.is_changed = false;
        }
    }

    /// Changes the state, and wakes whom that concerns.
    pub(super) fn change<R>(&self, change: impl FnOnce(&mut State<K>) -> R) -> R {
        let mut held = self.hold();
        held.receive();
        change(&mut held.state)
    }

    /// A getter looks for a key. It keeps its `place` among those who wait as long as it finds none.
    pub(super) fn look(
        &self,
        place: &mut Option<usize>,
        sleeping: Option<Moment>,
        cx: &Context<'_>,
    ) -> Found<K> {
        let mut held = self.hold();
        held.receive();
        let mut found = held.state.look(place, sleeping, cx);
        while matches!(found, Found::Nothing(_)) && !held.state.close(&self.intake) {
            held.receive();
            found = held.state.look(place, sleeping, cx);
        }
        found
    }

    /// Reads the state as it is now: what is due counts as ready.
    pub(super) fn read<R>(&self, read: impl FnOnce(&State<K>) -> R) -> R {
        self.change(|state| {
            state.advance();
            read(state)
        })
    }

    pub(super) fn give_back(&self, hand: Hand<K>, how: GiveBack) {
        if let Some(worked) = self.change(|state| state.give_back(hand, how)) {
            self.durations.work.observe_duration(worked);
        }
    }

    pub(super) fn observe_wait(&self, waited: Option<std::time::Duration>) {
        if let Some(waited) = waited {
            self.durations.queue.observe_duration(waited);
        }
    }

    fn hold(&self) -> Held<'_, K> {
        Held {
            state: self.state.lock(),
            wakes: Wakes::default(),
            intake: &self.intake,
            is_changed: true,
        }
    }

    fn measure(&self, read: fn(&State<K>, &Meter, Moment) -> f64) -> Option<f64> {
        self.read(|state| Some(read(state, state.meter.as_ref()?, state.clock.now())))
    }
}

/// The state, locked. Whom a change concerns is woken when this is dropped, in a panic too: keys, orders and limiters
/// are foreign code, and what was done before one of them panicked must not wait for the next call.
struct Held<'a, K: Key> {
    /// Dropped first, so that the lock is free when somebody is woken.
    state: MutexGuard<'a, State<K>>,
    wakes: Wakes,
    intake: &'a Intake<K>,
    is_changed: bool,
}

impl<K: Key> Held<'_, K> {
    fn receive(&mut self) {
        self.state.receive(self.intake);
    }
}

impl<K: Key> Drop for Held<'_, K> {
    fn drop(&mut self) {
        if self.is_changed {
            self.wakes = self.state.rouse();
            self.state.reopen(self.intake);
        }
    }
}
