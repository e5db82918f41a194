//! What all handles of a queue share.

use std::borrow::Cow;
use std::task::Context;

use evenkeel_observe::{Descriptor, Metrics};
use evenkeel_pace::Moment;

use super::clock::Clock;
use super::intake::Intake;
use super::metering::{self, Durations, Meter};
use super::state::{AnyLimiter, AnyOrder, Found, GiveBack, Hand, State};
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
        let mut state = self.state.lock();
        state.receive(&self.intake);
        let added = match key {
            Cow::Owned(key) => state.machine.add(key, priority),
            Cow::Borrowed(key) => state.machine.add_ref(key, priority),
        };
        // Many adds change nothing, and those end here. What the intake had woke nobody: it had something only if
        // nobody waits.
        if matches!(added, Added::Marked(_)) {
            state.note(added);
            self.release(state);
        }
    }

    /// Changes the state, and wakes whom that concerns.
    pub(super) fn change<R>(&self, change: impl FnOnce(&mut State<K>) -> R) -> R {
        let mut state = self.state.lock();
        state.receive(&self.intake);
        let result = change(&mut state);
        self.release(state);
        result
    }

    /// A getter looks for a key. It keeps its `place` among those who wait as long as it finds none.
    pub(super) fn look(
        &self,
        place: &mut Option<usize>,
        sleeping: Option<Moment>,
        cx: &Context<'_>,
    ) -> Found<K> {
        let mut state = self.state.lock();
        state.receive(&self.intake);
        let mut found = state.look(place, sleeping, cx);
        while matches!(found, Found::Nothing(_)) && !state.close(&self.intake) {
            state.receive(&self.intake);
            found = state.look(place, sleeping, cx);
        }
        self.release(state);
        found
    }

    fn release(&self, mut state: MutexGuard<'_, State<K>>) {
        let wakes = state.rouse();
        state.reopen(&self.intake);
        drop(state);
        wakes.wake();
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

    fn measure(&self, read: fn(&State<K>, &Meter, Moment) -> f64) -> Option<f64> {
        self.read(|state| Some(read(state, state.meter.as_ref()?, state.clock.now())))
    }
}
