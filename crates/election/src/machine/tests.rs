//! The machine alone, against a Lease in memory and a clock that is set by hand.

mod campaigning;
mod coordinated;
mod leading;
mod legacy;
mod releasing;
mod table;
mod watching;

pub(super) use self::table::{Table, candidate};

use std::time::Duration;

use evenkeel_meta::Timestamp;

use super::*;

pub(super) const SECOND: Duration = Duration::from_secs(1);

pub(super) fn at(seconds: f64) -> Now {
    let since = Duration::from_secs_f64(seconds);
    Now {
        moment: Moment::from(since),
        wall: Timestamp::from_second(1_000_000).saturating_add(since),
    }
}

/// A candidate and what it has said so far.
pub(super) struct Player {
    pub(super) machine: Machine,
    /// Names of the requests that were carried out, in order.
    pub(super) sent: Vec<&'static str>,
    /// Everything else that was given out.
    pub(super) said: Vec<Action>,
    steps: usize,
}

/// More steps than any test needs. A machine that takes them gets nowhere.
const STEPS: usize = 100_000;

impl Player {
    pub(super) fn new(name: &str, now: f64) -> Self {
        Self::of(candidate(name), now)
    }

    fn of(candidate: Candidate, now: f64) -> Self {
        Self {
            machine: Machine::new(candidate, Rng::seeded(7), at(now).moment),
            sent: Vec::new(),
            said: Vec::new(),
            steps: 0,
        }
    }

    pub(super) fn tell(&mut self, now: f64, input: Input) {
        self.step();
        self.machine.handle(at(now), input);
    }

    fn step(&mut self) {
        self.steps += 1;
        assert!(self.steps < STEPS, "the machine goes round in circles");
    }

    /// Takes the request in flight without answering it.
    pub(super) fn take(&mut self) -> Option<Request> {
        let mut request = None;
        while let Some(action) = self.machine.poll() {
            self.step();
            match action {
                Action::Send(sent) => request = Some(sent),
                other => self.said.push(other),
            }
        }
        request
    }

    /// Carries out requests at once until nothing is asked for at `now`.
    pub(super) fn settle(&mut self, now: f64, table: &mut Table) {
        if self
            .machine
            .wake_at()
            .is_some_and(|wake| wake <= at(now).moment)
        {
            self.tell(now, Input::Tick);
        }
        while let Some(request) = self.take() {
            let (name, result) = table.carry_out(&request.operation);
            self.sent.push(name);
            self.tell(
                now,
                Input::Answered {
                    request: request.id,
                    result,
                },
            );
            if self.machine.awaiting().is_none()
                && self
                    .machine
                    .wake_at()
                    .is_some_and(|wake| wake <= at(now).moment)
            {
                self.tell(now, Input::Tick);
            }
        }
    }

    /// Lets the time run to `until`, answering at once.
    pub(super) fn run(&mut self, until: f64, table: &mut Table) {
        while let Some(wake) = self
            .machine
            .wake_at()
            .filter(|wake| *wake <= at(until).moment)
        {
            self.settle(wake.since_origin().as_secs_f64(), table);
        }
    }

    pub(super) fn leads(&self) -> bool {
        matches!(self.machine.role, Role::Leading(_))
    }

    pub(super) fn fence(&self) -> Option<f64> {
        self.said.iter().rev().find_map(|action| match action {
            Action::Elected { fence, .. } | Action::Renewed { fence } => {
                Some(fence.since_origin().as_secs_f64())
            }
            _ => None,
        })
    }

    pub(super) fn lost(&self) -> Option<&LossCause> {
        self.said.iter().find_map(|action| match action {
            Action::Lost(cause) => Some(cause),
            _ => None,
        })
    }

    pub(super) fn finished(&self) -> Option<Resignation> {
        self.said.iter().find_map(|action| match action {
            Action::Finished(how) => Some(*how),
            _ => None,
        })
    }

    pub(super) fn leader(&self) -> Option<&str> {
        self.said.iter().rev().find_map(|action| match action {
            Action::LeaderChanged(leader) => Some(leader.as_deref()),
            _ => None,
        })?
    }
}
