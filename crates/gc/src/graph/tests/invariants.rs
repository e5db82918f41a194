//! What must hold between the parts of the graph after every step.

use std::collections::BTreeMap;

use super::super::arena::NONE;
use super::super::judge::Judgement;
use super::super::node::Flags;
use super::super::{Graph, NodeId};

impl Graph {
    pub(crate) fn assert_consistent(&self) {
        let mut edges = 0;
        let mut claims = 0;
        for index in self.nodes.indices() {
            let node = &self.nodes[index];
            assert_eq!(self.find(&node.uid), Some(index));
            let kept =
                node.first_claim != NONE || node.flags.has(Flags::OBSERVED | Flags::RELEASED);
            assert!(kept, "an unused node stays: {node:?}");
            if !node.is_observed() {
                assert_eq!(node.first_edge, NONE, "an unobserved node has owners");
            }
            for edge in self.references(index) {
                edges += 1;
                assert_eq!(self.edges[edge].dependent, index);
                let claim = self.edges[edge].claim;
                assert!(self.claimants(claim).any(|other| other == edge));
            }
            let mut previous = NONE;
            for claim in self.claims_on(index) {
                claims += 1;
                assert_eq!(self.claims[claim].owner, index);
                assert_eq!(self.claims[claim].previous, previous);
                assert_ne!(self.claims[claim].first_edge, NONE, "an unused claim stays");
                previous = claim;
            }
        }
        assert_eq!(edges, self.edges.len());
        assert_eq!(claims, self.claims.len());
        assert_eq!(self.by_claim.len(), self.claims.len());
        assert_eq!(self.by_uid.len(), self.nodes.len());
        self.assert_counts();
    }

    fn assert_counts(&self) {
        let mut namespaces: BTreeMap<u32, u32> = BTreeMap::new();
        let nodes = self
            .nodes
            .indices()
            .map(|index| self.nodes[index].namespace);
        let claims = self
            .claims
            .indices()
            .map(|index| self.claims[index].namespace);
        for namespace in nodes.chain(claims).filter(|&namespace| namespace != NONE) {
            *namespaces.entry(namespace).or_default() += 1;
        }
        assert_eq!(self.namespaces.len(), namespaces.len());
        for (namespace, users) in namespaces {
            assert_eq!(self.namespaces.users(namespace), users);
        }
    }

    /// Nodes about which something is to be done. When no work is open, there must be none.
    pub(crate) fn unsettled(&self) -> Vec<(NodeId, Judgement)> {
        self.nodes
            .indices()
            .map(|index| (self.node_id(index), self.judge(index)))
            .filter(|(_, judgement)| *judgement != Judgement::Settled)
            .collect()
    }
}
