use std::fmt::Write;

use super::Graph;
use super::export::{Exported, ExportedNode};

impl Graph {
    /// The graph in DOT, for Graphviz: nodes with owners or dependents, an edge from each
    /// dependent to its owner (G49).
    ///
    /// With `uids`, only what is connected to one of them. Nodes are sorted by UID.
    #[must_use]
    pub fn to_dot(&self, uids: &[&str]) -> String {
        self.export(uids).to_dot()
    }
}

impl Exported {
    /// The same in DOT, in the form of kube-controller-manager's debug endpoint (G49).
    ///
    /// Each missing owner is a vertex of its own, where upstream draws all of a dependent's as one.
    #[must_use]
    pub fn to_dot(&self) -> String {
        let mut dot = String::from("strict digraph full {\n");
        for node in &self.nodes {
            write_vertex(&mut dot, node);
        }
        for edge in &self.edges {
            // Writing into a String cannot fail.
            let _ = writeln!(
                dot,
                "  {} -> {};",
                quote(&edge.dependent),
                quote(&edge.owner)
            );
        }
        dot.push_str("}\n");
        dot
    }
}

fn write_vertex(dot: &mut String, node: &ExportedNode) {
    let ExportedNode {
        uid,
        group,
        version,
        kind,
        namespace,
        name,
        ..
    } = node;
    let dot_group = if group.is_empty() { "" } else { "." };
    let mut label =
        format!("uid={uid}\nnamespace={namespace}\n{kind}.{version}{dot_group}{group}/{name}\n");
    if node.is_virtual {
        label.push_str("virtual\n");
    }
    let attributes = [
        ("label", label.as_str()),
        ("group", group),
        ("version", version),
        ("kind", kind),
        ("namespace", namespace),
        ("name", name),
        ("uid", uid),
        ("missing", bool_text(node.missing)),
        ("beingDeleted", bool_text(node.being_deleted)),
        ("deletingDependents", bool_text(node.deleting_dependents)),
        ("virtual", bool_text(node.is_virtual)),
    ];
    let _ = writeln!(dot, "  {} [", quote(uid));
    for (key, value) in attributes {
        let _ = writeln!(dot, "    {key}={}", quote(value));
    }
    dot.push_str("  ];\n");
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
            // References may say anything, and this may be printed on a terminal.
            other if other.is_control() => quoted.push('\u{fffd}'),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
