use evenkeel_pace::Moment;

use super::{Action, Failure, LossCause, Machine, Now, Pending, Role, Step};
use crate::{Lease, Timing};

/// A term of leadership.
#[derive(Debug)]
pub(super) struct Term {
    /// When the last good renewal was sent.
    renewed: Moment,
    /// Until when no rival can have begun: `renewed` + lease - margin.
    fence: Moment,
    /// When the renewing that is due began, or will begin. The renew deadline counts from it.
    cycle: Moment,
    /// When to try next.
    pub(super) next_attempt: Moment,
    /// The Lease's transitions, as I wrote them.
    transitions: i32,
}

impl Term {
    /// When the term ends unless it is renewed before.
    pub(super) fn ends_at(&self, timing: &Timing) -> Moment {
        self.fence.min(self.cycle + timing.renew_deadline)
    }

    /// An attempt before its time: the deadline counts from it.
    pub(super) fn begin_attempt(&mut self, now: Moment) {
        self.cycle = self.cycle.min(now);
    }
}

impl Machine {
    /// No rival can lead before: it waits for the whole lease from when it first *saw* the
    /// write, which is after the write was sent.
    pub(super) fn fence_of(&self, sent: Moment) -> Moment {
        sent + self.me.timing.lease.saturating_sub(self.me.margin)
    }

    pub(super) fn begin_term(&mut self, now: Now, sent: Moment, lease: Lease) {
        let fence = self.fence_of(sent);
        let transitions = lease.record.transitions;
        self.observe_own(now, lease);
        self.role = Role::Leading(Term {
            renewed: sent,
            fence,
            // The first renewal follows at once (client-go L10).
            cycle: now.moment,
            next_attempt: now.moment,
            transitions,
        });
        self.actions
            .push_back(Action::Elected { fence, transitions });
    }

    /// Ends the term if its time is up.
    pub(super) fn term_is_over(&mut self, now: Now) -> bool {
        let Role::Leading(term) = &self.role else {
            return false;
        };
        let is_over = now.moment >= term.ends_at(&self.me.timing);
        if is_over {
            let since = now.moment - term.renewed;
            self.lose(LossCause::NotRenewed { since });
        }
        is_over
    }

    /// One attempt: write what is cached; if that fails, read and write (client-go L8).
    pub(super) fn renew(&mut self, now: Now) {
        let cached = self
            .observed
            .as_ref()
            .filter(|observed| !observed.deleted && self.is_me(&observed.lease.record))
            // Only a reading shows that another is preferred.
            .filter(|_| !self.me.coordinated)
            .map(|observed| observed.lease.clone());
        match cached {
            Some(base) => self.claim(now, now.moment, Step::FastWrite, &base),
            None => self.read(now, now.moment),
        }
    }

    pub(super) fn term_answered(
        &mut self,
        now: Now,
        pending: &Pending,
        result: Result<Lease, Failure>,
    ) {
        if self.term_is_over(now) {
            return;
        }
        match (pending.step, result) {
            (Step::FastWrite | Step::Write | Step::Release, Ok(lease)) => {
                self.renewed(now, pending.sent, lease);
            }
            (Step::FastWrite, Err(_)) => {
                self.actions.push_back(Action::SlowPath);
                self.read(now, pending.attempt);
            }
            (Step::Read, Ok(lease)) if lease.resource_version().is_some() => {
                self.renew_over(now, pending.attempt, lease);
            }
            (Step::Read, Ok(_) | Err(Failure::NotFound)) if !self.me.coordinated => {
                self.create(now, pending.attempt);
            }
            (Step::Read, Ok(_)) => self.renewal_failed(now, pending.attempt),
            (Step::Read | Step::Write | Step::Release, Err(_)) => {
                self.renewal_failed(now, pending.attempt);
            }
        }
    }

    /// Goes on from a fresh reading, if nobody else has led since my last renewal.
    fn renew_over(&mut self, now: Now, attempt: Moment, lease: Lease) {
        let Role::Leading(term) = &self.role else {
            return;
        };
        let untouched = self.is_me(&lease.record)
            // Somebody blanked it. Each acquisition counts the transitions up, so as long as
            // they are mine nobody has taken it since.
            || (lease.record.holder.is_empty()
                && lease.record.transitions == term.transitions
                && !self.me.coordinated);
        let preferred = self.preferred_over_me(&lease.record);
        if untouched && preferred.is_some() {
            self.observe(now, lease);
            self.end_of_term(preferred);
        } else if untouched {
            self.claim(now, attempt, Step::Write, &lease);
            self.observe(now, lease);
        } else {
            self.observe(now, lease);
            self.superseded();
        }
    }

    fn renewed(&mut self, now: Now, sent: Moment, lease: Lease) {
        let fence = self.fence_of(sent);
        let next = now.moment + self.me.timing.retry_period;
        let transitions = lease.record.transitions;
        self.observe_own(now, lease);
        let Role::Leading(term) = &mut self.role else {
            return;
        };
        term.transitions = transitions;
        term.renewed = sent;
        term.fence = fence;
        term.cycle = next;
        term.next_attempt = next;
        self.actions.push_back(Action::Renewed { fence });
    }

    fn renewal_failed(&mut self, now: Now, attempt: Moment) {
        let next = (attempt + self.me.timing.retry_period).max(now.moment);
        if let Role::Leading(term) = &mut self.role {
            term.next_attempt = next;
        }
    }

    /// My own write: it counts as seen now, even if the record is the same (client-go L4).
    fn observe_own(&mut self, now: Now, lease: Lease) {
        self.observe(now, lease);
        if let Some(observed) = &mut self.observed {
            observed.since = now.moment;
        }
    }

    pub(super) fn lose(&mut self, cause: LossCause) {
        self.pending = None;
        self.role = Role::Lost;
        self.actions.push_back(Action::Lost(cause));
    }
}
