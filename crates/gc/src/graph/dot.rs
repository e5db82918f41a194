use std::fmt::Write;

use hashbrown::HashSet;

use super::Graph;
use super::node::{Flags, Verdict};

impl Graph {
    /// The graph in DOT, for Graphviz: nodes with owners or dependents, an edge from each
    /// dependent to its owner (G49).
    ///
    /// With `uids`, only what is connected to one of them. Nodes are sorted by UID.
    #[must_use]
    pub fn to_dot(&self, uids: &[&str]) -> String {
        let wanted = (!uids.is_empty()).then(|| self.connected(uids));
        let mut nodes: Vec<(String, u32)> = self
            .nodes
            .indices()
            .filter(|&index| self.is_linked(index))
            .filter(|index| wanted.as_ref().is_none_or(|set| set.contains(index)))
            .map(|index| (self.nodes[index].uid.to_string(), index))
            .collect();
        nodes.sort_unstable();
        let mut dot = String::from("strict digraph full {\n");
        for (uid, index) in &nodes {
            self.write_vertex(&mut dot, uid, *index);
        }
        for (uid, index) in &nodes {
            for edge in self.references(*index) {
                let owner = self.claims[self.edges[edge].claim].owner;
                let owner = self.nodes[owner].uid.to_string();
                // Writing into a String cannot fail.
                let _ = writeln!(dot, "  {} -> {};", quote(uid), quote(&owner));
            }
        }
        dot.push_str("}\n");
        dot
    }

    fn write_vertex(&self, dot: &mut String, uid: &str, index: u32) {
        let node = &self.nodes[index];
        let seen = node.kind != super::NONE;
        // What was never observed is shown as its first reference describes it.
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
        let dot_group = if group.is_empty() { "" } else { "." };
        let namespace = self.namespace(namespace).unwrap_or_default();
        let missing = self
            .claims_on(index)
            .any(|claim| self.claims[claim].verdict == Verdict::Absent);
        let is_virtual = !node.is_observed();
        let mut label = format!(
            "uid={uid}\nnamespace={namespace}\n{}.{version}{dot_group}{group}/{name}\n",
            kind.kind
        );
        if is_virtual {
            label.push_str("virtual\n");
        }
        let attributes = [
            ("label", label.as_str()),
            ("group", group),
            ("version", version),
            ("kind", kind.kind),
            ("namespace", namespace),
            ("name", name),
            ("uid", uid),
            ("missing", bool_text(is_virtual && missing)),
            (
                "beingDeleted",
                bool_text(node.flags.has(Flags::TERMINATING)),
            ),
            (
                "deletingDependents",
                bool_text(node.is_deleting_dependents()),
            ),
            ("virtual", bool_text(is_virtual)),
        ];
        let _ = writeln!(dot, "  {} [", quote(uid));
        for (key, value) in attributes {
            let _ = writeln!(dot, "    {key}={}", quote(value));
        }
        dot.push_str("  ];\n");
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

fn bool_text(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}

/// A DOT string: in double quotes, with line breaks as `\n`.
fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for char in text.chars() {
        match char {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
