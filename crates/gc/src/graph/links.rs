//! References as edges, grouped into claims; nodes come and go with them.

use std::hash::{BuildHasher, Hash, Hasher};

use evenkeel_meta::{MetaView, OwnerView, Scope};

use super::arena::NONE;
use super::intern::KindName;
use super::node::{Claim, Edge, Flags, Node, Verdict};
use super::uid::CompactUid;
use super::{Graph, Work};

impl Graph {
    /// Makes the node's references those of `meta`. Claims that stay keep their verdicts.
    pub(super) fn relink<M: MetaView>(&mut self, dependent: u32, meta: &M) {
        let old = std::mem::replace(&mut self.nodes[dependent].first_edge, NONE);
        let mut last = NONE;
        for reference in meta.owners() {
            let edge = self.link(dependent, &reference);
            self.edges[edge].reported = self.was_reported(old, self.edges[edge].claim);
            match last {
                NONE => self.nodes[dependent].first_edge = edge,
                _ => self.edges[last].next_out = edge,
            }
            last = edge;
        }
        self.unlink_all(old);
    }

    /// Equal for equal references only: 64 bits under a random key.
    pub(super) fn hash_references<M: MetaView>(&self, meta: &M) -> u64 {
        let mut owners = meta.owners().peekable();
        if owners.peek().is_none() {
            return 0;
        }
        let mut hash = self.hasher.build_hasher();
        for owner in owners {
            (owner.uid, owner.name, owner.kind, owner.api_version).hash(&mut hash);
            (owner.controller, owner.block_owner_deletion).hash(&mut hash);
        }
        hash.finish()
    }

    fn was_reported(&self, mut edge: u32, claim: u32) -> bool {
        while edge != NONE {
            if self.edges[edge].claim == claim {
                return self.edges[edge].reported;
            }
            edge = self.edges[edge].next_out;
        }
        false
    }

    fn link(&mut self, dependent: u32, reference: &OwnerView<'_>) -> u32 {
        let uid = CompactUid::parse(reference.uid);
        let owner = self.find(&uid).unwrap_or_else(|| self.add_node(uid));
        let claim = self.claim(owner, dependent, reference);
        let next_in = self.claims[claim].first_edge;
        let edge = self.edges.insert(Edge {
            dependent,
            claim,
            next_out: NONE,
            previous_in: NONE,
            next_in,
            controller: reference.controller,
            blocks: reference.block_owner_deletion,
            reported: false,
        });
        if next_in != NONE {
            self.edges[next_in].previous_in = edge;
        }
        self.claims[claim].first_edge = edge;
        edge
    }

    /// The claim that a reference makes, which may be the first of its words.
    fn claim(&mut self, owner: u32, dependent: u32, reference: &OwnerView<'_>) -> u32 {
        let name = KindName {
            api_version: reference.api_version,
            kind: reference.kind,
        };
        let kind = self.kinds.acquire(&name, || name.into());
        let namespace = match self.kinds[kind].scope {
            Some(Scope::Cluster) => NONE,
            _ => self.nodes[dependent].namespace,
        };
        let hash = self.hash_claim(owner, kind, namespace, reference.name);
        let same = |&claim: &u32| {
            let claim = &self.claims[claim];
            (claim.owner, claim.kind, claim.namespace) == (owner, kind, namespace)
                && *claim.name == *reference.name
        };
        if let Some(&claim) = self.by_claim.find(hash, same) {
            self.kinds.release(kind);
            return claim;
        }
        self.share_namespace(namespace);
        let next = self.nodes[owner].first_claim;
        let claim = self.claims.insert(Claim {
            owner,
            kind,
            namespace,
            name: reference.name.into(),
            verdict: Verdict::Unverified,
            first_edge: NONE,
            previous: NONE,
            next,
        });
        if next != NONE {
            self.claims[next].previous = claim;
        }
        self.nodes[owner].first_claim = claim;
        let (claims, hasher) = (&self.claims, &self.hasher);
        let rehash = |&claim: &u32| {
            let claim = &claims[claim];
            hasher.hash_one((claim.owner, claim.kind, claim.namespace, &*claim.name))
        };
        self.by_claim.insert_unique(hash, claim, rehash);
        if self.nodes[owner].flags.has(Flags::GONE) && self.is_identity_of(claim) {
            self.claims[claim].verdict = Verdict::Absent;
        }
        self.verify_if_unknown(claim);
        claim
    }

    fn hash_claim(&self, owner: u32, kind: u32, namespace: u32, name: &str) -> u64 {
        self.hasher.hash_one((owner, kind, namespace, name))
    }

    /// Removes a chain of references, and the claims and virtual nodes that lived by them.
    pub(super) fn unlink_all(&mut self, mut edge: u32) {
        while edge != NONE {
            let next = self.edges[edge].next_out;
            self.unlink(edge);
            edge = next;
        }
    }

    fn unlink(&mut self, edge: u32) {
        let Edge {
            claim,
            previous_in,
            next_in,
            ..
        } = self.edges[edge];
        match previous_in {
            NONE => self.claims[claim].first_edge = next_in,
            _ => self.edges[previous_in].next_in = next_in,
        }
        if next_in != NONE {
            self.edges[next_in].previous_in = previous_in;
        }
        self.edges.remove(edge);
        let owner = self.claims[claim].owner;
        if self.claims[claim].first_edge == NONE {
            self.drop_claim(claim);
        }
        if self.nodes[owner].flags.has(Flags::TERMINATING) {
            // It may have waited for this reference to go (G18), or to be looked up.
            self.touch(owner);
        }
        self.drop_if_unused(owner);
    }

    fn drop_claim(&mut self, index: u32) {
        let claim = &self.claims[index];
        let (owner, kind, namespace) = (claim.owner, claim.kind, claim.namespace);
        let (previous, next) = (claim.previous, claim.next);
        let hash = self.hash_claim(owner, kind, namespace, &claim.name);
        if let Ok(found) = self.by_claim.find_entry(hash, |&other| other == index) {
            found.remove();
        }
        match previous {
            NONE => self.nodes[owner].first_claim = next,
            _ => self.claims[previous].next = next,
        }
        if next != NONE {
            self.claims[next].previous = previous;
        }
        self.claims.remove(index);
        self.kinds.release(kind);
        self.release_namespace(namespace);
    }

    pub(super) fn add_node(&mut self, uid: CompactUid) -> u32 {
        let hash = self.hasher.hash_one(&uid);
        let node = self.nodes.insert(Node::unobserved(uid));
        let (nodes, hasher) = (&self.nodes, &self.hasher);
        let rehash = |&node: &u32| hasher.hash_one(&nodes[node].uid);
        self.by_uid.insert_unique(hash, node, rehash);
        node
    }

    /// Forgets a node that no informer shows, no reference names, and nothing else remembers.
    pub(super) fn drop_if_unused(&mut self, index: u32) {
        let node = &self.nodes[index];
        if node.first_claim != NONE || node.flags.has(Flags::OBSERVED | Flags::RELEASED) {
            return;
        }
        let (kind, namespace) = (node.kind, node.namespace);
        let hash = self.hasher.hash_one(&node.uid);
        if let Ok(found) = self.by_uid.find_entry(hash, |&other| other == index) {
            found.remove();
        }
        self.nodes.remove(index);
        if kind != NONE {
            self.kinds.release(kind);
        }
        self.release_namespace(namespace);
    }

    pub(super) fn acquire_namespace(&mut self, namespace: Option<&str>) -> u32 {
        namespace.map_or(NONE, |text| self.namespaces.acquire(text, || text.into()))
    }

    fn share_namespace(&mut self, namespace: u32) {
        if namespace != NONE {
            self.namespaces.share(namespace);
        }
    }

    pub(super) fn release_namespace(&mut self, namespace: u32) {
        if namespace != NONE {
            self.namespaces.release(namespace);
        }
    }

    /// Asks for a lookup when nothing is known about a claim.
    pub(super) fn verify_if_unknown(&mut self, claim: u32) {
        if self.standing(claim) == super::judge::Standing::Unknown {
            self.work.push(Work::Verify(self.claim_id(claim)));
        }
    }

    /// The edges of a node's own references.
    pub(super) fn references(&self, node: u32) -> impl Iterator<Item = u32> {
        chain(self.nodes[node].first_edge, |edge| {
            self.edges[edge].next_out
        })
    }

    /// The edges of the references that make one claim.
    pub(super) fn claimants(&self, claim: u32) -> impl Iterator<Item = u32> {
        chain(self.claims[claim].first_edge, |edge| {
            self.edges[edge].next_in
        })
    }

    /// What references say about a node.
    pub(super) fn claims_on(&self, node: u32) -> impl Iterator<Item = u32> {
        chain(self.nodes[node].first_claim, |claim| {
            self.claims[claim].next
        })
    }
}

fn chain(first: u32, next: impl Fn(u32) -> u32) -> impl Iterator<Item = u32> {
    let present = |index: u32| (index != NONE).then_some(index);
    std::iter::successors(present(first), move |&index| present(next(index)))
}
