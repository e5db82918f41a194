use std::time::Duration;

use evenkeel_pace::Moment;

use super::observation::Age;
use super::{Action, Failure, Machine, Now, Pending, Role, Step};
use crate::Lease;
use crate::lease::Beside;
use crate::timing::JITTER_FACTOR;

/// What a candidate knows that does not lead.
#[derive(Debug)]
pub(super) struct Campaign {
    /// When to try again, if nothing else tells.
    pub(super) retry_at: Moment,
    /// Whether the last news was that somebody holds the Lease. While a watch is open, there
    /// is nothing to do then until that holder's time is up.
    pub(super) knows_holder: bool,
    /// Whether the Lease was read once: a watch does not show what another lock says.
    pub(super) has_read: bool,
    /// How long after that time to try, so that candidates do not all come at once.
    pub(super) spread: Duration,
    /// Whether a write of mine may have happened, or still happen, without my knowing.
    pub(super) may_hold: bool,
}

impl Campaign {
    pub(super) fn new(now: Moment) -> Self {
        Self {
            retry_at: now,
            knows_holder: false,
            has_read: false,
            spread: Duration::ZERO,
            may_hold: false,
        }
    }
}

impl Machine {
    /// With a watch: when the holder's time is up. Without: after the retry delay.
    pub(super) fn next_attempt_at(&self, campaign: &Campaign) -> Moment {
        match &self.observed {
            Some(observed) if self.watching && campaign.knows_holder && campaign.has_read => {
                let expires = observed.expires_at(self.me.timing.lease);
                let elsewhere = self.held_elsewhere_until().unwrap_or(expires);
                expires.max(elsewhere) + campaign.spread
            }
            _ => campaign.retry_at,
        }
    }

    /// Uniform in [retry, 2.2 retry) (client-go L9).
    pub(super) fn retry_delay(&mut self) -> Duration {
        self.rng
            .jittered(self.me.timing.retry_period, JITTER_FACTOR)
    }

    /// One attempt: read, decide, write (client-go L7).
    pub(super) fn attempt(&mut self, now: Now) {
        self.read(now, now.moment);
    }

    pub(super) fn campaign_answered(
        &mut self,
        now: Now,
        pending: &Pending,
        result: Result<Lease, Failure>,
    ) {
        match (pending.step, result) {
            (Step::Read, Ok(lease)) => {
                self.take_reading(now, pending, lease);
                self.decide(now, pending.attempt);
            }
            (Step::Read, Err(Failure::NotFound)) => {
                if self.is_held_by_other(pending.attempt) {
                    self.wait_for_holder(now);
                } else if self.me.coordinated {
                    self.attempt_failed(now);
                } else {
                    self.create(now, pending.attempt);
                }
            }
            (Step::Write | Step::FastWrite | Step::Release, Ok(lease)) => {
                self.won(now, pending, lease);
            }
            (step, Err(failure)) => {
                if step != Step::Read && failure == Failure::Unanswered {
                    self.note_may_hold();
                }
                self.attempt_failed(now);
            }
        }
    }

    fn take_reading(&mut self, now: Now, pending: &Pending, lease: Lease) {
        if let Role::Campaigning(campaign) = &mut self.role {
            campaign.has_read = true;
        }
        if let Beside::Legacy(record) = lease.beside() {
            self.observe_elsewhere(now, record);
        }
        let age = self.age(&lease);
        let news_since = self
            .observed
            .as_ref()
            .is_some_and(|observed| observed.since > pending.sent);
        if age == Age::Older && news_since {
            // The watch has overtaken the answer.
            return;
        }
        if age == Age::Newer
            && self.watching
            && self.observed.is_some()
            && !self.is_held_by_other(pending.attempt)
        {
            // The holder had renewed and the watch has not said so.
            self.watching = false;
            self.actions.push_back(Action::RestartWatch);
        }
        self.observe(now, lease);
    }

    fn decide(&mut self, now: Now, attempt: Moment) {
        let is_held = self.is_held_by_other(attempt);
        if is_held || self.is_held_elsewhere(attempt) {
            self.wait(now, is_held);
        } else if self.me.coordinated && !self.is_assigned(attempt) {
            self.attempt_failed(now);
        } else if let Some(base) = self.observed.as_ref().map(|seen| seen.lease.clone()) {
            match base.resource_version() {
                Some(_) => self.claim(now, attempt, Step::Write, &base),
                None => self.create(now, attempt),
            }
        }
    }

    /// Whether the control plane has made me the holder, not long ago, and wants no other
    /// (client-go L21).
    fn is_assigned(&self, at: Moment) -> bool {
        self.observed.as_ref().is_some_and(|observed| {
            let record = &observed.lease.record;
            self.is_me(record)
                && record.preferred_holder().is_none()
                && observed.expires_at(self.me.timing.lease) > at
        })
    }

    fn wait_for_holder(&mut self, now: Now) {
        self.wait(now, true);
    }

    fn attempt_failed(&mut self, now: Now) {
        self.wait(now, false);
    }

    fn wait(&mut self, now: Now, knows_holder: bool) {
        let retry_at = now.moment + self.retry_delay();
        let spread = self
            .rng
            .between(Duration::ZERO..self.me.timing.retry_period / 2);
        if let Role::Campaigning(campaign) = &mut self.role {
            campaign.knows_holder = knows_holder;
            campaign.retry_at = retry_at;
            campaign.spread = spread;
        }
    }

    fn note_may_hold(&mut self) {
        if let Role::Campaigning(campaign) = &mut self.role {
            campaign.may_hold = true;
        }
    }

    fn won(&mut self, now: Now, pending: &Pending, lease: Lease) {
        if now.moment >= self.fence_of(pending.sent) {
            // The answer took so long that the term is over before it began.
            self.observe(now, lease);
            self.note_may_hold();
            self.attempt_failed(now);
        } else {
            self.begin_term(now, pending.sent, lease);
        }
    }
}
