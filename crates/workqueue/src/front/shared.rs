//! What all handles of a queue share.

use evenkeel_observe::{Descriptor, Metrics};
use evenkeel_pace::Moment;

use super::clock::Clock;
use super::metering::{self, Durations, Meter};
use super::state::{AnyLimiter, AnyOrder, GiveBack, Hand, State};
use super::sync::{Arc, Mutex};
use crate::{Added, Key};

pub(super) struct Shared<K> {
    state: Mutex<State<K>>,
    clock: Clock,
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
            clock,
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

    /// An add without a delay. Most adds of a busy queue change nothing, and those end here.
    pub(super) fn add(&self, add: impl FnOnce(&mut State<K>) -> Added) {
        let mut state = self.state.lock();
        let added = add(&mut state);
        if !matches!(added, Added::Marked(_)) {
            return;
        }
        state.note(added);
        let wakes = state.rouse();
        drop(state);
        wakes.wake();
    }

    /// Changes the state, and wakes whom that concerns.
    pub(super) fn change<R>(&self, change: impl FnOnce(&mut State<K>) -> R) -> R {
        let mut state = self.state.lock();
        let result = change(&mut state);
        let wakes = state.rouse();
        drop(state);
        wakes.wake();
        result
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
