//! The election as a state machine without I/O.

mod campaign;
mod lead;
mod message;
mod observation;
mod resign;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use evenkeel_meta::MicroTime;
use evenkeel_pace::{Moment, Rng};

pub use self::message::{
    Action, Failure, Input, LossCause, Now, Operation, Request, RequestId, Resignation,
};

use self::campaign::Campaign;
use self::lead::Term;
use self::observation::{Elsewhere, Observed};
use self::resign::Resigning;
use crate::{Lease, LeaseRecord, Timing};

/// What a candidate is and wants.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Namespace of the Lease.
    pub namespace: String,
    /// Name of the Lease.
    pub name: String,
    /// Who this is; unique per process.
    pub identity: Arc<str>,
    /// The durations.
    pub timing: Timing,
    /// How long before the lease runs out the fence closes.
    pub margin: Duration,
    /// Labels to set on the Lease.
    pub labels: BTreeMap<String, String>,
    /// Whether the control plane assigns the lead: this candidate then never creates or takes
    /// a Lease, and ends its term when another is preferred (client-go L21).
    pub coordinated: bool,
}

/// One candidate of an election, from its first attempt to the end of at most one term.
///
/// Sans-IO: [`handle`](Self::handle) takes what happened and the time, [`poll`](Self::poll)
/// gives out what to do, [`wake_at`](Self::wake_at) says when to send the next
/// [`Input::Tick`]. It reads no clock, draws jitter from its seed, and has at most one
/// request in flight: [`awaiting`](Self::awaiting) names it, answers to any other are ignored.
///
/// The driver's part: send the requests, stop those that are no longer awaited, start the
/// work on [`Action::Elected`], stop and join it on [`Action::Lost`], and only when it is
/// joined hand in [`Input::Resign`].
#[derive(Debug)]
pub struct Machine {
    me: Candidate,
    rng: Rng,
    role: Role,
    /// The last state of the Lease that was seen, and since when it is unchanged.
    observed: Option<Observed>,
    /// The same for a lock that must be free as well.
    elsewhere: Option<Elsewhere>,
    pending: Option<Pending>,
    next_request: u64,
    /// Whether changes of the Lease are told to this candidate.
    watching: bool,
    /// The leader that was reported last.
    reported: Option<Arc<str>>,
    actions: VecDeque<Action>,
    /// The positive control of the simulation: release what one believes to hold, unread.
    #[cfg(test)]
    pub(crate) release_unchecked: bool,
}

#[derive(Debug)]
enum Role {
    /// Waiting for the Lease to become free.
    Campaigning(Campaign),
    Leading(Term),
    /// The term is over; the work may still be ending.
    Lost,
    /// The work is joined; the Lease is being given back.
    Resigning(Resigning),
    Finished,
}

/// The request in flight.
#[derive(Debug)]
struct Pending {
    id: RequestId,
    step: Step,
    sent: Moment,
    /// When to treat it as unanswered.
    give_up: Moment,
    /// When the attempt that it belongs to began.
    attempt: Moment,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Read,
    /// An update of a Lease that was just read, or the creation of one.
    Write,
    /// A renewal without a read before it.
    FastWrite,
    /// The blanking of a Lease that was just read.
    Release,
}

impl Machine {
    /// A candidate that makes its first attempt at once.
    #[must_use]
    pub fn new(me: Candidate, rng: Rng, now: Moment) -> Self {
        Self {
            me,
            rng,
            role: Role::Campaigning(Campaign::new(now)),
            observed: None,
            elsewhere: None,
            pending: None,
            next_request: 0,
            watching: false,
            reported: None,
            actions: VecDeque::new(),
            #[cfg(test)]
            release_unchecked: false,
        }
    }

    /// Takes in what happened at `now`.
    pub fn handle(&mut self, now: Now, input: Input) {
        match input {
            Input::Tick => self.tick(now),
            Input::Answered { request, result } => {
                if self.awaiting() == Some(request)
                    && let Some(pending) = self.pending.take()
                {
                    self.answered(now, &pending, result);
                }
            }
            Input::WatchOpened => self.watching = true,
            Input::WatchClosed => self.watch_closed(now),
            Input::Seen(lease) => self.seen(now, lease),
            Input::SeenDeleted(lease) => self.seen_deleted(now, &lease),
            Input::Resign => self.resign(now),
        }
    }

    /// The next thing to do, in order; `None` when all has been given out.
    pub fn poll(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// When the next [`Input::Tick`] is due; `None` when nothing is waited for.
    #[must_use]
    pub fn wake_at(&self) -> Option<Moment> {
        let give_up = self.pending.as_ref().map(|pending| pending.give_up);
        match &self.role {
            Role::Campaigning(campaign) => give_up.or_else(|| Some(self.next_attempt_at(campaign))),
            Role::Leading(term) => {
                let next = give_up.unwrap_or(term.next_attempt);
                Some(next.min(term.ends_at(&self.me.timing)))
            }
            Role::Resigning(_) => give_up,
            Role::Lost | Role::Finished => None,
        }
    }

    /// The request whose answer is wanted. The driver drops any other.
    #[must_use]
    pub fn awaiting(&self) -> Option<RequestId> {
        self.pending.as_ref().map(|pending| pending.id)
    }

    /// How often the Lease has gone from one holder to another, as far as was seen.
    #[must_use]
    pub fn transitions(&self) -> i32 {
        let observed = self.observed.as_ref();
        observed.map_or(0, |observed| observed.lease.record.transitions)
    }

    fn tick(&mut self, now: Now) {
        if self.term_is_over(now) {
            return;
        }
        if let Some(pending) = self
            .pending
            .take_if(|pending| now.moment >= pending.give_up)
        {
            self.answered(now, &pending, Err(Failure::Unanswered));
            return;
        }
        if self.pending.is_none() {
            match &self.role {
                Role::Campaigning(campaign) if now.moment >= self.next_attempt_at(campaign) => {
                    self.attempt(now);
                }
                Role::Leading(term) if now.moment >= term.next_attempt => self.renew(now),
                _ => {}
            }
        }
    }

    fn answered(&mut self, now: Now, pending: &Pending, result: Result<Lease, Failure>) {
        // Whoever answered, a write that made me the holder is answered with a Lease that says so: a proxy's
        // `200 {}` reads as one that nobody holds.
        let is_claim = matches!(pending.step, Step::Write | Step::FastWrite);
        let result = match result {
            Ok(lease) if is_claim && !self.is_me(&lease.record) => Err(Failure::Unanswered),
            result => result,
        };
        match self.role {
            Role::Campaigning(_) => self.campaign_answered(now, pending, result),
            Role::Leading(_) => self.term_answered(now, pending, result),
            Role::Resigning(_) => self.resign_answered(now, pending, result),
            Role::Lost | Role::Finished => {}
        }
    }

    fn send(&mut self, now: Now, attempt: Moment, step: Step, operation: Operation) {
        let id = RequestId(self.next_request);
        self.next_request += 1;
        let mut give_up = now.moment + self.me.timing.request_timeout();
        match &self.role {
            Role::Leading(term) => give_up = give_up.min(term.ends_at(&self.me.timing)),
            Role::Resigning(resigning) => give_up = resigning.until,
            Role::Campaigning(_) | Role::Lost | Role::Finished => {}
        }
        self.pending = Some(Pending {
            id,
            step,
            sent: now.moment,
            give_up,
            attempt,
        });
        self.actions
            .push_back(Action::Send(Request { id, operation }));
    }

    fn read(&mut self, now: Now, attempt: Moment) {
        self.send(now, attempt, Step::Read, Operation::Get);
    }

    /// Writes a Lease that says me.
    fn claim(&mut self, now: Now, attempt: Moment, step: Step, base: &Lease) {
        let mut lease = base.with_record(self.record(now, &base.record));
        lease.merge_labels(&self.me.labels);
        self.send(now, attempt, step, Operation::Update(Box::new(lease)));
    }

    /// Creates a Lease that says me.
    fn create(&mut self, now: Now, attempt: Moment) {
        let record = LeaseRecord {
            transitions: 0,
            ..self.record(now, &LeaseRecord::default())
        };
        let mut lease = Lease::new(&self.me.namespace, &self.me.name, record);
        lease.merge_labels(&self.me.labels);
        self.send(
            now,
            attempt,
            Step::Write,
            Operation::Create(Box::new(lease)),
        );
    }

    /// What I write over `before`: a renewal if it says me, a new acquisition otherwise.
    fn record(&self, now: Now, before: &LeaseRecord) -> LeaseRecord {
        let mine = self.is_me(before);
        let wall = MicroTime(now.wall);
        LeaseRecord {
            holder: self.me.identity.to_string(),
            duration_seconds: i32::try_from(self.me.timing.lease.as_secs()).ok(),
            acquired: before.acquired.filter(|_| mine).or(Some(wall)),
            renewed: Some(unlike(before.renewed, wall)),
            transitions: before.transitions.saturating_add(i32::from(!mine)),
            rest: before.rest.clone(),
        }
    }

    fn is_me(&self, record: &LeaseRecord) -> bool {
        *record.holder == *self.me.identity
    }
}

/// A renewal must never look like the record before it, even if the wall clock stands still:
/// others would take the holder for dead.
fn unlike(before: Option<MicroTime>, wall: MicroTime) -> MicroTime {
    if before.is_some_and(|before| before.0.as_microsecond() == wall.0.as_microsecond()) {
        MicroTime(wall.0.saturating_add(Duration::from_micros(1)))
    } else {
        wall
    }
}

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
