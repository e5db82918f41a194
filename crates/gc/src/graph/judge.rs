//! The rules: what is to be done about a node, from what the graph holds right now.
//!
//! Nothing here looks at events. A judgement is a function of the current state, so it comes
//! out the same however the graph got there, and a lost event delays it at most.

use evenkeel_meta::PropagationPolicy;
use hashbrown::HashSet;

use super::Graph;
use super::arena::NONE;
use super::node::{Claim, Flags, Node, Verdict};

/// How one reference counts (G31).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The owner is there and stays, as far as this reference is concerned.
    Solid,
    /// The owner waits for its dependents to go.
    Waiting,
    /// There is no such owner.
    Dangling,
    /// There is no such owner any more, and it was deleted with the wish to keep its dependents.
    Released,
    /// Nobody can tell, ever.
    Unresolvable,
    /// A lookup will tell.
    Unknown,
}

/// What is to be done about a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// Nothing, until something changes.
    Settled,
    /// Delete the object.
    Delete(PropagationPolicy),
    /// Take references away that hold nothing, and keep the object.
    Detach,
    /// Its dependents are gone: take `foregroundDeletion` away.
    Finish,
    /// It waits for itself: stop blocking the owners on the circle.
    Unblock,
    /// Release its dependents, then take `orphan` away.
    Orphan,
}

impl Graph {
    pub(super) fn judge(&self, index: u32) -> Judgement {
        let node = &self.nodes[index];
        if !node.is_observed() || node.flags.has(Flags::ACCEPTED) {
            return Judgement::Settled;
        }
        if node.is_orphaning() {
            return self.judge_orphaning(index);
        }
        if node.is_deleting_dependents() {
            return self.judge_foreground(index);
        }
        if node.flags.has(Flags::TERMINATING) {
            return Judgement::Settled;
        }
        self.judge_dependent(index)
    }

    /// G34 to G36, G46.
    fn judge_dependent(&self, index: u32) -> Judgement {
        let mut seen = Seen::default();
        for edge in self.references(index) {
            seen.count(self.standing(self.edges[edge].claim));
        }
        if seen.released {
            return Judgement::Detach;
        }
        if seen.held {
            return match seen.dangling || seen.waiting {
                true => Judgement::Detach,
                false => Judgement::Settled,
            };
        }
        if seen.unknown || !(seen.dangling || seen.waiting) {
            return Judgement::Settled;
        }
        let flags = self.nodes[index].flags;
        // The finalizer first: whether the owner still waits when this is judged is a race, and
        // the wish to keep the dependents must not depend on it.
        Judgement::Delete(if flags.has(Flags::ORPHAN) {
            PropagationPolicy::Orphan
        } else if flags.has(Flags::FOREGROUND) || seen.waiting && self.has_dependents(index) {
            PropagationPolicy::Foreground
        } else {
            PropagationPolicy::Background
        })
    }

    /// Waits until each identity that may lead here has been looked up once: who names the
    /// owner by another version is to be released, and who names it falsely is not.
    fn judge_orphaning(&self, index: u32) -> Judgement {
        let open = self.claims_on(index).any(|claim| {
            self.claims[claim].verdict == Verdict::Unverified && !self.is_identity_of(claim)
        });
        match open {
            true => Judgement::Settled,
            false => Judgement::Orphan,
        }
    }

    /// G29, and the exact form of G44.
    fn judge_foreground(&self, index: u32) -> Judgement {
        if !self.is_blocked(index) {
            Judgement::Finish
        } else if self
            .references(index)
            .any(|edge| self.closes_circle(edge, index))
        {
            Judgement::Unblock
        } else {
            Judgement::Settled
        }
    }

    fn is_blocked(&self, index: u32) -> bool {
        self.true_claims(index)
            .flat_map(|claim| self.claimants(claim))
            .any(|edge| self.edges[edge].blocks)
    }

    fn has_dependents(&self, index: u32) -> bool {
        self.true_claims(index).next().is_some()
    }

    /// The claims on a node that have not been disproved.
    pub(super) fn true_claims(&self, index: u32) -> impl Iterator<Item = u32> {
        self.claims_on(index).filter(|&claim| {
            !matches!(
                self.claims[claim].verdict,
                Verdict::Absent | Verdict::Unresolvable
            )
        })
    }

    /// The claims that lead to this very object. What nobody could look up is not among them.
    pub(super) fn sure_claims(&self, index: u32) -> impl Iterator<Item = u32> {
        self.claims_on(index)
            .filter(move |&claim| self.is_sure(claim))
    }

    pub(super) fn is_sure(&self, claim: u32) -> bool {
        let found = self.claims[claim].verdict;
        self.is_identity_of(claim) || matches!(found, Verdict::Alive | Verdict::DeletingDependents)
    }

    /// Whether the owner behind a blocking reference waits, over any number of steps, for `start`.
    ///
    /// Owners are few and most have none themselves, so walking upwards is cheap where walking
    /// down to all descendants would not be.
    pub(super) fn closes_circle(&self, edge: u32, start: u32) -> bool {
        let mut seen = HashSet::new();
        let mut open: Vec<u32> = self.waiting_owner(edge).into_iter().collect();
        while let Some(index) = open.pop() {
            if index == start {
                return true;
            }
            if seen.insert(index) {
                open.extend(
                    self.references(index)
                        .filter_map(|edge| self.waiting_owner(edge)),
                );
            }
        }
        false
    }

    fn waiting_owner(&self, edge: u32) -> Option<u32> {
        let edge = &self.edges[edge];
        let claim = &self.claims[edge.claim];
        let waits = edge.blocks
            && self.nodes[claim.owner].is_deleting_dependents()
            && !matches!(claim.verdict, Verdict::Absent | Verdict::Unresolvable);
        waits.then_some(claim.owner)
    }

    pub(super) fn standing(&self, index: u32) -> Standing {
        let claim = &self.claims[index];
        let owner = &self.nodes[claim.owner];
        let shown = owner.is_observed() && self.is_identity_of(index);
        if shown && !owner.is_deleting_dependents() {
            return Standing::Solid;
        }
        match claim.verdict {
            Verdict::Absent
                if owner.flags.has(Flags::RELEASED) && self.may_be_identity_of(index) =>
            {
                Standing::Released
            }
            Verdict::Unverified | Verdict::Unanswered => Standing::Unknown,
            Verdict::Absent => Standing::Dangling,
            Verdict::Alive => Standing::Solid,
            Verdict::DeletingDependents => Standing::Waiting,
            Verdict::Unresolvable => Standing::Unresolvable,
        }
    }

    /// Whether a claim says of its owner what the graph knows of it (G15; the scope decides
    /// about the namespace).
    pub(super) fn is_identity_of(&self, index: u32) -> bool {
        let claim = &self.claims[index];
        let owner = &self.nodes[claim.owner];
        owner.kind == claim.kind && is_place_of(claim, owner)
    }

    /// The same, in whatever version the kind is written: nobody can look up any more whether
    /// an object that is gone was served under it.
    fn may_be_identity_of(&self, index: u32) -> bool {
        let claim = &self.claims[index];
        let owner = &self.nodes[claim.owner];
        owner.kind != NONE
            && self.kinds[owner.kind].kind == self.kinds[claim.kind].kind
            && is_place_of(claim, owner)
    }
}

fn is_place_of(claim: &Claim, owner: &Node) -> bool {
    (owner.namespace == claim.namespace || owner.namespace == NONE) && owner.name == claim.name
}

/// Which standings a node's references have.
#[derive(Default)]
struct Seen {
    held: bool,
    waiting: bool,
    dangling: bool,
    released: bool,
    unknown: bool,
}

impl Seen {
    fn count(&mut self, standing: Standing) {
        match standing {
            Standing::Solid | Standing::Unresolvable => self.held = true,
            Standing::Waiting => self.waiting = true,
            Standing::Dangling => self.dangling = true,
            Standing::Released => self.released = true,
            Standing::Unknown => self.unknown = true,
        }
    }
}
