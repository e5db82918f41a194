use std::time::Duration;

use evenkeel_pace::{Backoff, Moment, Rng};

/// How often the object is renewed without being asked (client-go C1).
const PERIOD: Duration = Duration::from_secs(300);
/// Between two openings of the watch, at least.
const WATCH_SPACING: Duration = Duration::from_secs(1);

/// What to do next about the object. Sans-IO.
#[derive(Debug)]
pub(super) struct Keeper {
    renew_at: Moment,
    watch_at: Option<Moment>,
    failures: Backoff,
    watch_failures: Backoff,
    rng: Rng,
}

#[derive(Debug, PartialEq)]
pub(super) enum Errand {
    Renew,
    Watch,
    /// Until then, or until something happens.
    Wait(Moment),
}

impl Keeper {
    /// The object first, then the watch: the first event tells of pings that came before.
    pub(super) fn new(rng: Rng) -> Self {
        Self {
            renew_at: Moment::ORIGIN,
            watch_at: Some(Moment::ORIGIN),
            // As client-go's queue does by default.
            failures: Backoff::new(Duration::from_millis(5), Duration::from_secs(1000)),
            watch_failures: Backoff::new(WATCH_SPACING, Duration::from_secs(60)).jitter(0.5),
            rng,
        }
    }

    pub(super) fn next(&self, now: Moment) -> Errand {
        if self.renew_at <= now {
            return Errand::Renew;
        }
        match self.watch_at {
            Some(at) if at <= now => Errand::Watch,
            Some(at) => Errand::Wait(at.min(self.renew_at)),
            None => Errand::Wait(self.renew_at),
        }
    }

    pub(super) fn renewed(&mut self, now: Moment) {
        self.failures.reset();
        self.renew_at = now + PERIOD;
    }

    pub(super) fn renewal_failed(&mut self, now: Moment) {
        self.renew_at = now + self.failures.next(&mut self.rng);
    }

    /// The control plane asks whether this candidate is alive.
    pub(super) fn pinged(&mut self) {
        self.renew_at = Moment::ORIGIN;
    }

    pub(super) fn watching(&mut self) {
        self.watch_failures.reset();
        self.watch_at = None;
    }

    pub(super) fn watch_ended(&mut self, now: Moment) {
        self.watch_at = Some(now + self.watch_failures.next(&mut self.rng));
    }
}
