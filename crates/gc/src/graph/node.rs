use evenkeel_meta::ResourceVersion;

use super::arena::NONE;
use super::uid::CompactUid;

/// One UID that an object has, had, or is said to have.
///
/// A node is *observed* while an informer shows its object. It is *virtual* while only
/// references name it: then everything known about it is in its claims.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) uid: CompactUid,
    pub(crate) name: Box<str>,
    pub(crate) version: ResourceVersion,
    /// `NONE` as long as the object has never been observed.
    pub(crate) kind: u32,
    /// `NONE` for cluster-scoped objects.
    pub(crate) namespace: u32,
    /// A hash of the node's own references, in the order of the object: most events leave them
    /// as they are, and comparing the texts would touch all owners.
    pub(crate) references: u64,
    pub(crate) first_edge: u32,
    /// What references say about this node.
    pub(crate) first_claim: u32,
    pub(crate) flags: Flags,
}

impl Node {
    pub(crate) fn unobserved(uid: CompactUid) -> Self {
        Self {
            uid,
            name: Box::default(),
            version: ResourceVersion::any(),
            kind: NONE,
            namespace: NONE,
            references: 0,
            first_edge: NONE,
            first_claim: NONE,
            flags: Flags::default(),
        }
    }

    pub(crate) fn is_observed(&self) -> bool {
        self.flags.has(Flags::OBSERVED)
    }

    /// Terminating, and its dependents go first (G12).
    pub(crate) fn is_deleting_dependents(&self) -> bool {
        self.flags
            .has_all(Flags::OBSERVED | Flags::TERMINATING | Flags::FOREGROUND)
    }

    /// Terminating, and its dependents are to be released first. Tested before foreground (G19).
    pub(crate) fn is_orphaning(&self) -> bool {
        self.flags
            .has_all(Flags::OBSERVED | Flags::TERMINATING | Flags::ORPHAN)
    }
}

/// What the graph knows about a node besides its links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags(u16);

impl Flags {
    /// An informer shows the object.
    pub(crate) const OBSERVED: u16 = 1;
    /// `deletionTimestamp` is set.
    pub(crate) const TERMINATING: u16 = 1 << 1;
    /// The finalizer `foregroundDeletion` is there.
    pub(crate) const FOREGROUND: u16 = 1 << 2;
    /// The finalizer `orphan` is there.
    pub(crate) const ORPHAN: u16 = 1 << 3;
    /// So are finalizers that are not the collector's.
    pub(crate) const OTHER_FINALIZERS: u16 = 1 << 4;
    /// What an event brings anew; the other flags are the graph's own memory.
    pub(crate) const FROM_OBJECT: u16 =
        Self::TERMINATING | Self::FOREGROUND | Self::ORPHAN | Self::OTHER_FINALIZERS;

    /// The server said that this very UID is gone. The node keeps its identity.
    pub(crate) const GONE: u16 = 1 << 5;
    /// The server accepted the request that the node's state asked for; it is on its way.
    pub(crate) const ACCEPTED: u16 = 1 << 6;
    /// The state comes from the answer to a write, so informers may still show older ones.
    pub(crate) const WRITTEN: u16 = 1 << 7;
    /// Its dependents have been released: one that shows up late is released too, not collected.
    pub(crate) const RELEASED: u16 = 1 << 8;

    pub(crate) fn has(self, flag: u16) -> bool {
        self.0 & flag != 0
    }

    pub(crate) fn has_all(self, flags: u16) -> bool {
        self.0 & flags == flags
    }

    pub(crate) fn set(&mut self, flags: u16) {
        self.0 |= flags;
    }

    pub(crate) fn clear(&mut self, flags: u16) {
        self.0 &= !flags;
    }

    /// Takes over what an event brings; says whether that changed anything.
    pub(crate) fn take_over(&mut self, from_object: u16) -> bool {
        let before = *self;
        self.0 = self.0 & !Self::FROM_OBJECT | from_object;
        *self != before
    }
}

/// One identity that references give to a UID: "U is the ConfigMap `a` in namespace `n`".
///
/// All references that say the same share one claim, so it is looked up once for all of them.
/// A node may have several: the object's true identity, other versions under which it is
/// served, and plain mistakes. Each is judged by its own coordinates, so the outcome does not
/// depend on which reference was seen first.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(crate) owner: u32,
    pub(crate) kind: u32,
    /// The dependents' namespace: an owner is in it or in none.
    pub(crate) namespace: u32,
    pub(crate) name: Box<str>,
    pub(crate) verdict: Verdict,
    pub(crate) first_edge: u32,
    pub(crate) previous: u32,
    pub(crate) next: u32,
}

/// What a live lookup has said about a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing yet, or what it said is no longer sure.
    Unverified,
    /// It was tried and got no answer: the kind is not served (yet), or the server failed.
    /// Never the same as absent (G32).
    Unanswered,
    /// There is no such object: 404, another UID under that name, or its deletion was observed.
    Absent,
    /// The object is there.
    Alive,
    /// The object is there, terminating, and its dependents go first.
    DeletingDependents,
    /// A cluster-scoped dependent names an owner of a namespaced kind. Nobody can look that
    /// up, so the dependent is kept.
    Unresolvable,
}

/// One owner reference of one dependent.
#[derive(Debug)]
pub(crate) struct Edge {
    pub(crate) dependent: u32,
    pub(crate) claim: u32,
    /// The next reference of the same dependent.
    pub(crate) next_out: u32,
    /// The neighbours among the references that make the same claim.
    pub(crate) previous_in: u32,
    pub(crate) next_in: u32,
    pub(crate) controller: bool,
    pub(crate) blocks: bool,
    /// Its wrong namespace has been reported.
    pub(crate) reported: bool,
}
