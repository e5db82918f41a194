//! What is learned, from informers, lookups and the answers to writes, and what it touches.

use std::cmp::Ordering;

use evenkeel_meta::{MetaView, ResourceVersion};

use super::arena::NONE;
use super::judge::{Judgement, Standing};
use super::node::{Flags, Verdict};
use super::uid::CompactUid;
use super::{ClaimId, Graph, KindId, NodeId, RELEASED_KEPT, Work};

/// The finalizer that keeps an object until its blocking dependents are gone.
pub(crate) const FOREGROUND_FINALIZER: &str = "foregroundDeletion";
/// The finalizer that keeps an object until its dependents have been released.
pub(crate) const ORPHAN_FINALIZER: &str = "orphan";

/// What happened to an owner, as far as the claims on it are concerned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    /// It is shown for the first time, or under another identity.
    Shown,
    /// It began or ceased to wait for its dependents.
    Waiting,
    /// The server said that it is gone.
    Gone,
    /// It is shown no longer; nobody said why.
    Hidden,
}

impl Graph {
    /// An informer shows an object: added, changed, or listed again.
    ///
    /// Objects without a UID are ignored. Repeating an observation changes nothing.
    pub fn observe<M: MetaView>(&mut self, kind: KindId, meta: &M) {
        let Some(uid) = meta.uid().filter(|uid| !uid.is_empty()) else {
            return;
        };
        let uid = CompactUid::parse(uid);
        let version = meta.resource_version().unwrap_or_default();
        let index = self.find(&uid).unwrap_or_else(|| self.add_node(uid));
        let node = &mut self.nodes[index];
        if node.is_observed() && node.flags.has(Flags::WRITTEN) {
            if version.order(&node.version) == Some(Ordering::Less) {
                return;
            }
            node.flags.clear(Flags::WRITTEN);
        }
        self.show(index, kind, version, meta);
    }

    /// The server's answer to one of the collector's own writes.
    ///
    /// It makes the graph as new as the write, so that nothing is decided by a state that the
    /// collector has changed itself; informers catch up later. Ignored for objects that the
    /// graph does not hold or holds in a newer state.
    pub fn written<M: MetaView>(&mut self, kind: KindId, meta: &M) {
        let uid = CompactUid::parse(meta.uid().unwrap_or_default());
        let version = meta.resource_version().unwrap_or_default();
        let Some(index) = self.find(&uid) else { return };
        let node = &mut self.nodes[index];
        let newer = version.order(&node.version) == Some(Ordering::Greater);
        if !node.is_observed() || node.kind != kind.0 || !newer {
            return;
        }
        node.flags.set(Flags::WRITTEN);
        self.show(index, kind, version, meta);
    }

    fn show<M: MetaView>(&mut self, index: u32, kind: KindId, version: ResourceVersion, meta: &M) {
        let references = self.hash_references(meta);
        let shown_anew = self.identify(index, kind, meta);
        let node = &mut self.nodes[index];
        let was_waiting = node.is_deleting_dependents();
        let was_sent = node.flags.has(Flags::ACCEPTED);
        if version != node.version {
            node.flags.clear(Flags::ACCEPTED);
            node.version = version;
        }
        let flags_changed = node.flags.take_over(flags_of(meta));
        node.flags.set(Flags::OBSERVED);
        node.flags.clear(Flags::GONE);
        let waiting_changed = was_waiting != node.is_deleting_dependents();
        let references_changed = node.references != references;
        if !(shown_anew || flags_changed || references_changed || was_sent) {
            // As most events: nothing that a judgement depends on.
            return;
        }
        if references_changed {
            node.references = references;
            self.relink(index, meta);
            self.report_misplaced_references(index);
        }
        if shown_anew {
            self.owner_changed(index, Change::Shown);
        } else if waiting_changed {
            self.owner_changed(index, Change::Waiting);
        }
        self.touch(index);
    }

    /// Takes the identity over; says whether claims have to be compared with it anew. Under one
    /// UID only the version of the kind can change: a CRD may prefer another one.
    fn identify<M: MetaView>(&mut self, index: u32, kind: KindId, meta: &M) -> bool {
        let node = &self.nodes[index];
        if node.kind == kind.0 {
            return !node.is_observed();
        }
        self.kinds.share(kind.0);
        let namespace = self.acquire_namespace(meta.namespace());
        let node = &mut self.nodes[index];
        node.name = meta.name().into();
        let old_kind = std::mem::replace(&mut node.kind, kind.0);
        let old_namespace = std::mem::replace(&mut node.namespace, namespace);
        if old_kind != NONE {
            self.kinds.release(old_kind);
        }
        self.release_namespace(old_namespace);
        true
    }

    /// The server said that the object of this UID is gone: a DELETED event (G20).
    ///
    /// Unknown UIDs are ignored (G21); whoever still names one asks the server.
    pub fn deleted(&mut self, uid: &str) {
        if let Some(index) = self.find(&CompactUid::parse(uid)) {
            self.hide(index, Change::Gone);
        }
    }

    /// A live request for the node's object answered that it is not there, or that its name now
    /// belongs to another UID (G22, G38). As good as a DELETED event.
    ///
    /// `kind` is the one under which the request was made: nothing follows from it if the node
    /// has another one by now.
    pub fn absent(&mut self, node: NodeId, kind: KindId) {
        if let Some(index) = self.resolve_node(node)
            && self.nodes[index].kind == kind.0
        {
            self.hide(index, Change::Gone);
        }
    }

    /// An informer shows the object no longer, and no event said why: it was missing from a
    /// later list. Dependents are not collected for that alone; the server is asked.
    pub fn vanished(&mut self, uid: &str) {
        if let Some(index) = self.find(&CompactUid::parse(uid)) {
            self.hide(index, Change::Hidden);
        }
    }

    /// No informer shows this kind any more. Its objects are forgotten as if they had
    /// [`vanished`](Self::vanished).
    pub fn drop_kind(&mut self, kind: KindId) {
        let nodes: Vec<u32> = self.nodes.indices().collect();
        for index in nodes {
            // An earlier turn may have freed a virtual node further on.
            if self.nodes.contains(index) && self.nodes[index].kind == kind.0 {
                self.hide(index, Change::Hidden);
            }
        }
    }

    fn hide(&mut self, index: u32, change: Change) {
        if !self.nodes[index].is_observed() {
            return;
        }
        // While it still counts as observed: an object may own itself, and its last reference
        // must not take the node along.
        let edges = std::mem::replace(&mut self.nodes[index].first_edge, NONE);
        self.nodes[index].references = 0;
        self.unlink_all(edges);
        let flags = &mut self.nodes[index].flags;
        flags.clear(Flags::OBSERVED | Flags::WRITTEN);
        if change == Change::Gone {
            flags.set(Flags::GONE);
        }
        self.owner_changed(index, change);
        self.drop_if_unused(index);
    }

    /// Judges the claims on a changed owner anew, and with them all dependents.
    fn owner_changed(&mut self, owner: u32, change: Change) {
        let mut claim = self.nodes[owner].first_claim;
        while claim != NONE {
            let true_identity = self.is_identity_of(claim);
            let looked_up = matches!(
                self.claims[claim].verdict,
                Verdict::Alive | Verdict::DeletingDependents
            );
            match change {
                Change::Gone if true_identity => self.claims[claim].verdict = Verdict::Absent,
                // An observation outweighs a lookup of the same identity, older or newer.
                _ if true_identity => self.claims[claim].verdict = Verdict::Unverified,
                // Another identity that turned out to lead to this object, which has changed.
                Change::Gone | Change::Hidden | Change::Waiting if looked_up => {
                    self.claims[claim].verdict = Verdict::Unverified;
                }
                _ => {}
            }
            self.verify_if_unknown(claim);
            self.touch_claimants(claim);
            claim = self.claims[claim].next;
        }
    }

    fn touch_claimants(&mut self, claim: u32) {
        let mut edge = self.claims[claim].first_edge;
        while edge != NONE {
            self.report_if_misplaced(edge);
            self.touch(self.edges[edge].dependent);
            edge = self.edges[edge].next_in;
        }
    }

    /// The result of looking a claim up.
    pub fn verified(&mut self, claim: ClaimId, verdict: Verdict) {
        let Some(index) = self.resolve_claim(claim) else {
            return;
        };
        let owner = self.claims[index].owner;
        let gone = self.nodes[owner].flags.has(Flags::GONE) && self.is_identity_of(index);
        let known = self.claims[index].verdict;
        let unanswered = verdict == Verdict::Unanswered && known != Verdict::Unverified;
        if gone || unanswered || known == verdict {
            // After a deletion was observed, an older answer is no news; nor is none at all.
            return;
        }
        self.claims[index].verdict = verdict;
        self.touch_claimants(index);
        // It may have waited for this: a false claim does not block it.
        self.touch(owner);
    }

    /// That an owner waits for its dependents was found out too long ago to act on: it may have
    /// been changed to keep them since. Asks for a new lookup.
    pub fn doubt(&mut self, claim: ClaimId) {
        if let Some(index) = self.resolve_claim(claim)
            && self.claims[index].verdict == Verdict::DeletingDependents
        {
            self.claims[index].verdict = Verdict::Unverified;
            self.verify_if_unknown(index);
        }
    }

    /// Asks again for all lookups that had no answer, since more kinds are served now, or others.
    pub fn kinds_changed(&mut self) {
        let open: Vec<u32> = self
            .claims
            .indices()
            .filter(|&claim| {
                let verdict = self.claims[claim].verdict;
                matches!(verdict, Verdict::Unanswered | Verdict::Unresolvable)
            })
            .collect();
        for claim in open {
            self.claims[claim].verdict = Verdict::Unverified;
            self.verify_if_unknown(claim);
        }
    }

    /// The server accepted the request that the node's state at `version` asked for. Nothing more
    /// is asked for as long as the graph holds that state: the next one is on its way, if it is
    /// not here already.
    pub fn accepted(&mut self, node: NodeId, version: &ResourceVersion) {
        if let Some(index) = self.resolve_node(node)
            && self.nodes[index].version == *version
        {
            self.nodes[index].flags.set(Flags::ACCEPTED);
        }
    }

    /// All known dependents of an orphaning owner have been released, and `orphan` is about to
    /// be taken away. A dependent that the informers show only after that is released too.
    pub fn released(&mut self, node: NodeId) {
        let Some(index) = self.resolve_node(node) else {
            return;
        };
        if self.nodes[index].flags.has(Flags::RELEASED) {
            return;
        }
        self.nodes[index].flags.set(Flags::RELEASED);
        self.released.push_back(node);
        if self.released.len() > RELEASED_KEPT
            && let Some(oldest) = self.released.pop_front()
            && let Some(index) = self.resolve_node(oldest)
        {
            self.nodes[index].flags.clear(Flags::RELEASED);
            self.owner_changed(index, Change::Hidden);
            self.drop_if_unused(index);
        }
    }

    /// Puts a node on the work list if there is something to do about it.
    pub(super) fn touch(&mut self, index: u32) {
        let id = self.node_id(index);
        match self.judge(index) {
            Judgement::Settled => {}
            Judgement::Orphan => self.work.push(Work::Orphan(id)),
            _ => self.work.push(Work::Collect(id)),
        }
    }

    fn report_misplaced_references(&mut self, node: u32) {
        let mut edge = self.nodes[node].first_edge;
        while edge != NONE {
            self.report_if_misplaced(edge);
            edge = self.edges[edge].next_out;
        }
    }

    /// Says once for a reference that its owner lives in another namespace (G24).
    fn report_if_misplaced(&mut self, index: u32) {
        let edge = &self.edges[index];
        let owner = &self.nodes[self.claims[edge.claim].owner];
        let dependent = &self.nodes[edge.dependent];
        let misplaced = owner.is_observed()
            && owner.namespace != NONE
            && owner.namespace != dependent.namespace;
        if misplaced && !edge.reported {
            let (dependent, claim) = (edge.dependent, edge.claim);
            self.edges[index].reported = true;
            self.work.push(Work::Misplaced {
                dependent: self.node_id(dependent),
                claim: self.claim_id(claim),
            });
        }
    }

    /// Whether a claim still has something to look up: nothing is known, or what is known
    /// came from a lookup and no informer would tell when it changes (G39).
    pub(super) fn wants_lookup(&self, index: u32) -> bool {
        let claim = &self.claims[index];
        let unwatched = !self.nodes[claim.owner].is_observed()
            && matches!(claim.verdict, Verdict::Alive | Verdict::DeletingDependents);
        unwatched || self.standing(index) == Standing::Unknown
    }
}

fn flags_of<M: MetaView>(meta: &M) -> u16 {
    let mut flags = 0;
    if meta.deletion_timestamp().is_some() {
        flags |= Flags::TERMINATING;
    }
    for finalizer in meta.finalizers() {
        flags |= match finalizer {
            FOREGROUND_FINALIZER => Flags::FOREGROUND,
            ORPHAN_FINALIZER => Flags::ORPHAN,
            _ => Flags::OTHER_FINALIZERS,
        };
    }
    flags
}
