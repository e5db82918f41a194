use std::collections::BTreeSet;

use evenkeel_meta::Uid;
use hashbrown::HashSet;
use serde::Serialize;

use super::Graph;
use super::node::{Flags, Verdict};

/// A part of the graph as plain data, to be drawn, sent or searched. Costs a few strings a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Exported {
    /// Nodes with owners or dependents, in order of UIDs.
    pub nodes: Vec<ExportedNode>,
    /// Their references, in order of the dependents' UIDs, then as the object has them.
    pub edges: Vec<ExportedEdge>,
}

/// A node: what an informer shows, or what references say of it.
///
/// As JSON its fields have the names that they have in DOT.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ExportedNode {
    /// The UID.
    pub uid: String,
    /// The API group; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The namespace; empty for cluster-scoped objects.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// Known not to exist, by the words of at least one reference.
    pub missing: bool,
    /// `deletionTimestamp` is set.
    pub being_deleted: bool,
    /// It waits for its dependents to go.
    pub deleting_dependents: bool,
    /// No informer shows it; only references name it.
    #[serde(rename = "virtual")]
    pub is_virtual: bool,
}

/// One owner reference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ExportedEdge {
    /// The UID of the object that has the reference.
    pub dependent: String,
    /// The UID that it names.
    pub owner: String,
    /// `controller` is true.
    pub controller: bool,
    /// `blockOwnerDeletion` is true.
    #[serde(rename = "blockOwnerDeletion")]
    pub blocks: bool,
    /// There is no such owner, as far as this reference describes it.
    pub dangling: bool,
}

impl Graph {
    /// The graph as data: nodes with owners or dependents, and their references. With `uids`, only
    /// what is connected to one of them, over any number of steps.
    #[must_use]
    pub fn export(&self, uids: &[&str]) -> Exported {
        let wanted = (!uids.is_empty()).then(|| self.connected(uids));
        let mut nodes: Vec<(Uid, u32)> = self
            .nodes
            .indices()
            .filter(|&index| self.is_linked(index))
            .filter(|index| wanted.as_ref().is_none_or(|set| set.contains(index)))
            .map(|index| (self.nodes[index].uid.to_uid(), index))
            .collect();
        nodes.sort_unstable();
        Exported {
            edges: nodes
                .iter()
                .flat_map(|(uid, index)| self.exported_edges(uid, *index))
                .collect(),
            nodes: nodes
                .iter()
                .map(|(uid, index)| self.exported_node(uid, *index))
                .collect(),
        }
    }

    fn exported_node(&self, uid: &Uid, index: u32) -> ExportedNode {
        let node = &self.nodes[index];
        // What was never observed is shown as its first reference describes it.
        let seen = node.kind != super::NONE;
        let claim = (!seen).then(|| &self.claims[node.first_claim]);
        let (kind, namespace, name) = match claim {
            Some(claim) => (claim.kind, claim.namespace, &claim.name),
            None => (node.kind, node.namespace, &node.name),
        };
        let kind = self.kinds[kind].name();
        let (group, version) = kind
            .api_version
            .split_once('/')
            .unwrap_or(("", kind.api_version));
        let is_virtual = !node.is_observed();
        let absent = |claim: u32| self.claims[claim].verdict == Verdict::Absent;
        ExportedNode {
            uid: uid.to_string(),
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.kind.to_owned(),
            namespace: self.namespace(namespace).unwrap_or_default().to_owned(),
            name: name.to_string(),
            missing: is_virtual && self.claims_on(index).any(absent),
            being_deleted: node.flags.has(Flags::TERMINATING),
            deleting_dependents: node.is_deleting_dependents(),
            is_virtual,
        }
    }

    fn exported_edges(&self, uid: &Uid, index: u32) -> impl Iterator<Item = ExportedEdge> {
        self.references(index).map(move |edge| {
            let edge = &self.edges[edge];
            let claim = &self.claims[edge.claim];
            ExportedEdge {
                dependent: uid.to_string(),
                owner: self.nodes[claim.owner].uid.to_string(),
                controller: edge.controller,
                blocks: edge.blocks,
                dangling: claim.verdict == Verdict::Absent,
            }
        })
    }

    fn is_linked(&self, index: u32) -> bool {
        self.references(index).next().is_some() || self.claims_on(index).next().is_some()
    }

    fn connected(&self, uids: &[&str]) -> HashSet<u32> {
        let mut open: Vec<u32> = uids
            .iter()
            .filter_map(|uid| self.find(&super::CompactUid::parse(uid)))
            .collect();
        let mut seen = HashSet::new();
        while let Some(index) = open.pop() {
            if seen.insert(index) {
                let owners = self
                    .references(index)
                    .map(|edge| self.claims[self.edges[edge].claim].owner);
                let dependents = self
                    .claims_on(index)
                    .flat_map(|claim| self.claimants(claim))
                    .map(|edge| self.edges[edge].dependent);
                open.extend(owners.chain(dependents));
            }
        }
        seen
    }
}

impl Exported {
    /// Only what is in one of these namespaces, and what that is directly connected to.
    #[must_use]
    pub fn within(self, namespaces: &[&str]) -> Self {
        let inside: BTreeSet<&str> = self
            .nodes
            .iter()
            .filter(|node| namespaces.contains(&node.namespace.as_str()))
            .map(|node| node.uid.as_str())
            .collect();
        let touches = |edge: &&ExportedEdge| {
            inside.contains(edge.dependent.as_str()) || inside.contains(edge.owner.as_str())
        };
        let edges: Vec<ExportedEdge> = self.edges.iter().filter(touches).cloned().collect();
        let mut kept: BTreeSet<String> = inside.iter().map(|uid| (*uid).to_owned()).collect();
        for edge in &edges {
            kept.insert(edge.dependent.clone());
            kept.insert(edge.owner.clone());
        }
        let nodes = self.nodes.into_iter();
        Self {
            nodes: nodes.filter(|node| kept.contains(&node.uid)).collect(),
            edges,
        }
    }

    /// The same as JSON: `{"nodes": [...], "edges": [...]}`, on one line.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Strings and booleans only: nothing of it can fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}
