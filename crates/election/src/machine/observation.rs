use std::cmp::Ordering;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_pace::Moment;

use super::{Action, LossCause, Machine, Now, Role};
use crate::{Lease, LeaseRecord};

/// The last state of the Lease that was seen.
///
/// Whether its holder is alive is told from this alone: the record must change within its
/// own duration, by the local clock, from when it was first seen (client-go L4, L5). The
/// times that the holder wrote are never compared with anything, so clocks may differ by
/// any offset.
#[derive(Debug)]
pub(super) struct Observed {
    pub(super) lease: Lease,
    /// When the record was first seen as it is; always after the holder wrote it.
    pub(super) since: Moment,
    /// Whether the object is gone since. Its holder may still be leading.
    pub(super) deleted: bool,
}

impl Observed {
    pub(super) fn expires_at(&self, own: Duration) -> Moment {
        self.since + self.lease.record.duration_or(own)
    }
}

/// What another lock says that must be free as well, judged in the same way.
#[derive(Debug)]
pub(super) struct Elsewhere {
    record: LeaseRecord,
    since: Moment,
    /// Whether it was said that it is waited for.
    said: bool,
}

/// How a state of the Lease relates to the one seen before it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Age {
    Newer,
    Same,
    Older,
    /// The server promises no order between the two.
    Unknown,
}

impl Machine {
    pub(super) fn age(&self, lease: &Lease) -> Age {
        let Some(observed) = &self.observed else {
            return Age::Newer;
        };
        let versions = (lease.resource_version(), observed.lease.resource_version());
        let (Some(this), Some(seen)) = versions else {
            return Age::Unknown;
        };
        match this.order(seen) {
            Some(Ordering::Less) => Age::Older,
            Some(Ordering::Equal) => Age::Same,
            Some(Ordering::Greater) => Age::Newer,
            None => Age::Unknown,
        }
    }

    /// Takes over a state of the Lease. Only a change of the record tells that its holder is
    /// alive: labels and annotations may be anybody's (client-go L6).
    pub(super) fn observe(&mut self, now: Now, lease: Lease) {
        let unchanged = self
            .observed
            .as_ref()
            .filter(|observed| observed.lease.says_the_same(&lease));
        let since = unchanged.map_or(now.moment, |observed| observed.since);
        self.report(&lease.record.holder);
        self.observed = Some(Observed {
            lease,
            since,
            deleted: false,
        });
    }

    pub(super) fn observe_elsewhere(&mut self, now: Now, record: &LeaseRecord) {
        if self.elsewhere.as_ref().map(|elsewhere| &elsewhere.record) != Some(record) {
            self.elsewhere = Some(Elsewhere {
                record: record.clone(),
                since: now.moment,
                said: false,
            });
        }
    }

    fn report(&mut self, holder: &str) {
        if self.reported.as_deref().unwrap_or_default() != holder {
            self.reported = (!holder.is_empty()).then(|| Arc::from(holder));
            self.actions
                .push_back(Action::LeaderChanged(self.reported.clone()));
        }
    }

    /// Whether somebody else holds the Lease and, as far as I can know at `at`, is alive.
    pub(super) fn is_held_by_other(&self, at: Moment) -> bool {
        self.observed.as_ref().is_some_and(|observed| {
            self.is_other(&observed.lease.record) && observed.expires_at(self.me.timing.lease) > at
        })
    }

    /// Until when another lock keeps this one from being taken.
    pub(super) fn held_elsewhere_until(&self) -> Option<Moment> {
        let elsewhere = self.elsewhere.as_ref();
        let held = elsewhere.filter(|elsewhere| self.is_other(&elsewhere.record))?;
        Some(held.since + held.record.duration_or(self.me.timing.lease))
    }

    /// Whether another lock is held at `at`; says so once.
    pub(super) fn is_held_elsewhere(&mut self, at: Moment) -> bool {
        let is_held = self.held_elsewhere_until().is_some_and(|until| until > at);
        if let Some(elsewhere) = self.elsewhere.as_mut().filter(|e| is_held && !e.said) {
            elsewhere.said = true;
            let holder = Arc::from(elsewhere.record.holder.as_str());
            self.actions.push_back(Action::HeldElsewhere(holder));
        }
        is_held
    }

    pub(super) fn is_other(&self, record: &LeaseRecord) -> bool {
        !record.holder.is_empty() && !self.is_me(record)
    }

    /// The watch shows a state. It may be late, but it is never invented.
    pub(super) fn seen(&mut self, now: Now, lease: Lease) {
        match self.age(&lease) {
            Age::Older | Age::Same => return,
            // Cannot be told from an old state: go and read.
            Age::Unknown => {
                self.look(now);
                return;
            }
            Age::Newer => self.observe(now, lease),
        }
        let Some(observed) = &self.observed else {
            return;
        };
        let record = &observed.lease.record;
        let is_free = record.holder.is_empty();
        let is_other = self.is_other(record);
        let preferred = self.preferred_over_me(record);
        match &mut self.role {
            Role::Campaigning(campaign) => {
                campaign.knows_holder = is_other;
                if !is_other {
                    self.look(now);
                }
            }
            Role::Leading(_) if is_other => self.superseded(),
            Role::Leading(_) if preferred.is_some() => self.end_of_term(preferred),
            Role::Leading(_) if is_free => self.look(now),
            Role::Leading(_) | Role::Lost | Role::Resigning(_) | Role::Finished => {}
        }
    }

    /// A deletion frees nothing for those who have seen the holder: it may be leading still.
    pub(super) fn seen_deleted(&mut self, now: Now, lease: &Lease) {
        if self.age(lease) == Age::Older {
            return;
        }
        if let Some(observed) = &mut self.observed {
            observed.deleted = true;
        }
        if !self.is_held_by_other(now.moment) {
            self.look(now);
        }
    }

    pub(super) fn watch_closed(&mut self, now: Now) {
        self.watching = false;
        // What the watch would have told must be asked for now, but not all candidates at once.
        let retry_at = now.moment + self.retry_delay();
        if let Role::Campaigning(campaign) = &mut self.role {
            campaign.retry_at = campaign.retry_at.max(retry_at);
        }
    }

    /// Attempts at once, unless a request is on its way.
    fn look(&mut self, now: Now) {
        if self.pending.is_some() {
            return;
        }
        match &mut self.role {
            Role::Campaigning(_) => self.attempt(now),
            Role::Leading(term) => {
                term.begin_attempt(now.moment);
                self.read(now, now.moment);
            }
            Role::Lost | Role::Resigning(_) | Role::Finished => {}
        }
    }

    /// Whom a coordinated candidate must make way for (client-go L21).
    pub(super) fn preferred_over_me(&self, record: &LeaseRecord) -> Option<Arc<str>> {
        let preferred = record.preferred_holder()?;
        self.me.coordinated.then(|| Arc::from(preferred))
    }

    pub(super) fn end_of_term(&mut self, preferred: Option<Arc<str>>) {
        if let Some(preferred) = preferred {
            self.lose(LossCause::EndOfTerm { preferred });
        }
    }

    /// The end of the term, by what was observed.
    pub(super) fn superseded(&mut self) {
        let holder = self
            .observed
            .as_ref()
            .map(|observed| &observed.lease.record.holder);
        let by = holder
            .filter(|name| !name.is_empty())
            .map(|name| Arc::from(name.as_str()));
        self.lose(LossCause::Superseded { by });
    }
}
