use evenkeel_meta::MicroTime;
use evenkeel_pace::Moment;

use super::{Action, Failure, Machine, Now, Operation, Pending, Resignation, Role, Step, unlike};
use crate::{Lease, LeaseRecord};

/// Giving back the Lease: read it, and blank it only if what was *read* says me.
///
/// Deciding from what was last observed would blank a rival's Lease when the release is late
/// (client-go L14).
#[derive(Debug)]
pub(super) struct Resigning {
    /// When to give up giving back.
    pub(super) until: Moment,
}

impl Machine {
    pub(super) fn resign(&mut self, now: Now) {
        match &self.role {
            Role::Campaigning(campaign) => {
                let pending = self.pending.take_if(|pending| pending.step != Step::Read);
                if let Some(write) = pending {
                    // It may win: wait for what comes of it.
                    self.begin_resigning(now);
                    self.pending = Some(write);
                } else if campaign.may_hold {
                    self.release(now);
                } else {
                    self.finish(Resignation::NotHeld);
                }
            }
            // A renewal in flight is not waited for: if it arrives before the release, the
            // release conflicts and is repeated; if after, it conflicts itself.
            Role::Leading(_) | Role::Lost => self.release(now),
            Role::Resigning(_) | Role::Finished => {}
        }
    }

    fn begin_resigning(&mut self, now: Now) {
        let until = now.moment + self.me.timing.renew_deadline;
        self.role = Role::Resigning(Resigning { until });
    }

    fn release(&mut self, now: Now) {
        self.begin_resigning(now);
        self.read(now, now.moment);
    }

    pub(super) fn resign_answered(
        &mut self,
        now: Now,
        pending: &Pending,
        result: Result<Lease, Failure>,
    ) {
        match (pending.step, result) {
            (Step::Read, Ok(lease)) => {
                #[cfg(test)]
                let lease = self.believed(lease);
                if self.is_me(&lease.record) {
                    self.blank(now, &lease);
                } else {
                    self.observe(now, lease);
                    self.finish(Resignation::NotHeld);
                }
            }
            (Step::Release, Ok(lease)) => {
                self.observe(now, lease);
                self.finish(Resignation::Released);
            }
            // The last write of the campaign: whatever came of it, the Lease tells.
            (Step::Write | Step::FastWrite, _) => self.read(now, now.moment),
            (Step::Release, Err(Failure::Conflict)) => self.read(now, now.moment),
            (Step::Read | Step::Release, Err(Failure::NotFound)) => {
                self.finish(Resignation::NotHeld);
            }
            (Step::Read | Step::Release, Err(failure)) => {
                self.finish(Resignation::Failed(failure));
            }
        }
    }

    /// Holder empty, one second, the transitions kept (client-go L13).
    fn blank(&mut self, now: Now, held: &Lease) {
        let wall = MicroTime(now.wall);
        let lease = held.with_record(LeaseRecord {
            holder: String::new(),
            duration_seconds: Some(1),
            acquired: Some(wall),
            renewed: Some(unlike(held.record.renewed, wall)),
            ..held.record.clone()
        });
        self.send(
            now,
            now.moment,
            Step::Release,
            Operation::Update(Box::new(lease)),
        );
    }

    fn finish(&mut self, how: Resignation) {
        self.pending = None;
        self.role = Role::Finished;
        self.actions.push_back(Action::Finished(how));
    }

    /// The defect of client-go L14, on purpose: what was observed decides, and what was read
    /// only lends its resource version.
    #[cfg(test)]
    fn believed(&self, read: Lease) -> Lease {
        match &self.observed {
            Some(observed) if self.release_unchecked => {
                read.with_record(observed.lease.record.clone())
            }
            _ => read,
        }
    }
}
