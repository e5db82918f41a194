use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use evenkeel_meta::Timestamp;
use evenkeel_pace::{Moment, Rng};

use super::world::Schedule;
use crate::machine::tests::candidate;
use crate::machine::{Candidate, Input, Machine, Now};
use crate::{Clock, Fence};

/// One process with its own clock.
pub(super) struct Node {
    schedule: Schedule,
    pub(super) machine: Machine,
    pub(super) identity: String,
    /// How fast its clock runs.
    rate: f64,
    /// What its clock showed at the beginning.
    offset: u64,
    /// The clock's reading, for the fence.
    hand: Arc<AtomicU64>,
    pub(super) fence: Option<Fence>,
    /// Whether it believes to lead: the machine has said nothing else yet.
    pub(super) believes: bool,
    /// Whether its work is about to write.
    pub(super) works: bool,
    /// Until when the whole process stands still.
    pub(super) stopped_until: u64,
    /// Counts the watches that it opened; events of earlier ones are dropped.
    pub(super) watch: u64,
    pub(super) watching: bool,
    /// Counts its processes.
    incarnation: u64,
    /// Counts its campaigns; what belongs to an earlier one is dropped.
    pub(super) life: u64,
    /// The only tick that counts.
    pub(super) tick: u64,
}

impl Node {
    pub(super) fn new(index: usize, schedule: Schedule, rng: &mut Rng) -> Self {
        let drift = schedule.drift;
        let mut node = Self {
            schedule,
            machine: Machine::new(candidate(""), rng.fork(), Moment::ORIGIN),
            identity: String::new(),
            rate: 1.0 - drift + 2.0 * drift * rng.fraction(),
            offset: rng.below(1_000_000_000_000),
            hand: Arc::default(),
            fence: None,
            believes: false,
            works: false,
            stopped_until: 0,
            watch: 0,
            watching: false,
            incarnation: 0,
            life: 0,
            tick: 0,
        };
        node.start(index, 0, rng);
        node
    }

    /// A new process with a new identity.
    pub(super) fn start(&mut self, index: usize, now: u64, rng: &mut Rng) {
        self.incarnation += 1;
        let letter = char::from(b'A' + index as u8);
        self.identity = format!("{letter}{}", self.incarnation);
        self.campaign(now, rng);
    }

    /// A new campaign of the same process.
    pub(super) fn campaign(&mut self, now: u64, rng: &mut Rng) {
        self.life += 1;
        let now = self.now(now).moment;
        let me = Candidate {
            margin: self.schedule.margin,
            ..candidate(&self.identity)
        };
        self.machine = Machine::new(me, rng.fork(), now);
        self.machine.release_unchecked = !self.schedule.check_release;
        self.fence = None;
        self.believes = false;
        self.watching = false;
        self.watch += 1;
    }

    pub(super) fn now(&self, real: u64) -> Now {
        let local = self.offset + (real as f64 * self.rate) as u64;
        self.hand.store(local, Ordering::Relaxed);
        Now {
            moment: Moment::from(Duration::from_nanos(local)),
            wall: Timestamp::from_microsecond(i64::try_from(local / 1_000).unwrap_or_default()),
        }
    }

    /// When its clock will show `moment`.
    pub(super) fn real(&self, moment: Moment) -> u64 {
        let local = u64::try_from(moment.since_origin().as_nanos()).unwrap_or(u64::MAX);
        // Rounded up: a tick must not come before its time.
        (local.saturating_sub(self.offset) as f64 / self.rate) as u64 + 1_000
    }

    pub(super) fn clock(&self) -> Clock {
        let hand = Arc::clone(&self.hand);
        Clock::from_fn(move || Moment::from(Duration::from_nanos(hand.load(Ordering::Relaxed))))
    }

    pub(super) fn tell(&mut self, real: u64, input: Input) {
        let now = self.now(real);
        self.machine.handle(now, input);
    }

    /// Whether a write may start now.
    pub(super) fn may_write(&self, real: u64, fenced: bool) -> bool {
        self.now(real);
        if fenced {
            self.fence
                .as_ref()
                .is_some_and(|fence| fence.check().is_ok())
        } else {
            self.believes
        }
    }
}
