use std::collections::{HashMap, HashSet, VecDeque};

use evenkeel_gc::{Exported, ExportedNode};

use crate::error::one_line;

/// How many owners stand above each other: a line is no longer than that, however long the chain.
const DEEPEST: usize = 50;

/// The graph as text: owners above what they own.
///
/// What has several owners stands in full below the first of them that is shown, and by its name
/// alone below the others. So does what lies too deep, and follows as a tree of its own.
pub(super) fn render(graph: &Exported) -> String {
    if graph.nodes.is_empty() {
        return "nothing here owns or is owned\n".to_owned();
    }
    let mut tree = Tree {
        nodes: graph.nodes.iter().map(|node| (&*node.uid, node)).collect(),
        children: children(graph),
        shown: HashSet::new(),
        deep: VecDeque::new(),
        text: String::new(),
    };
    let owned: HashSet<&str> = graph.edges.iter().map(|edge| &*edge.dependent).collect();
    // What is there comes before what is only named.
    let mut roots: Vec<&ExportedNode> = graph.nodes.iter().collect();
    roots.sort_by_key(|node| {
        let ExportedNode {
            namespace,
            kind,
            name,
            uid,
            ..
        } = node;
        (node.is_virtual, namespace, kind, name, uid)
    });
    let (free, rest): (Vec<_>, Vec<_>) = roots
        .into_iter()
        .partition(|node| !owned.contains(&*node.uid));
    // What is left after the free ones is owned in circles.
    for node in free.into_iter().chain(rest) {
        tree.root(&node.uid);
        while let Some(uid) = tree.deep.pop_front() {
            tree.root(uid);
        }
    }
    tree.text
}

fn children(graph: &Exported) -> HashMap<&str, Vec<&str>> {
    let names: HashMap<&str, _> = graph
        .nodes
        .iter()
        .map(|node| (&*node.uid, (&node.kind, &node.name, &node.uid)))
        .collect();
    let mut children: HashMap<&str, Vec<&str>> = HashMap::new();
    for edge in &graph.edges {
        let below = children.entry(&edge.owner).or_default();
        // The references of one object follow each other.
        if below.last() != Some(&&*edge.dependent) {
            below.push(&edge.dependent);
        }
    }
    for below in children.values_mut() {
        below.sort_by_key(|uid| names.get(uid));
    }
    children
}

struct Tree<'a> {
    nodes: HashMap<&'a str, &'a ExportedNode>,
    children: HashMap<&'a str, Vec<&'a str>>,
    shown: HashSet<&'a str>,
    /// What is to be shown below, in full.
    deep: VecDeque<&'a str>,
    text: String,
}

/// A line that is still to be written.
struct Line<'a> {
    uid: &'a str,
    before: String,
    indent: String,
    level: usize,
}

impl<'a> Tree<'a> {
    /// Not by recursion: chains of owners may be as long as somebody likes.
    fn root(&mut self, uid: &'a str) {
        if self.shown.contains(uid) {
            return;
        }
        let mut open = vec![Line {
            uid,
            before: String::new(),
            indent: String::new(),
            level: 0,
        }];
        while let Some(line) = open.pop() {
            let Some(node) = self.nodes.get(line.uid) else {
                continue;
            };
            self.text.push_str(&line.before);
            self.text.push_str(&label(node, line.level == 0));
            let below = match self.children.get(line.uid) {
                Some(_) if self.shown.contains(line.uid) => {
                    self.text.push_str(" (see above)");
                    &[]
                }
                Some(_) if line.level == DEEPEST => {
                    self.text.push_str(" (see below)");
                    self.deep.push_back(line.uid);
                    &[]
                }
                Some(below) => &below[..],
                None => &[][..],
            };
            if line.level < DEEPEST || !self.children.contains_key(line.uid) {
                self.shown.insert(line.uid);
            }
            self.text.push('\n');
            for (at, uid) in below.iter().enumerate().rev() {
                let is_last = at + 1 == below.len();
                let (fork, indent) = if is_last {
                    ("└─ ", "   ")
                } else {
                    ("├─ ", "│  ")
                };
                open.push(Line {
                    uid,
                    before: format!("{}{fork}", line.indent),
                    indent: format!("{}{indent}", line.indent),
                    level: line.level + 1,
                });
            }
        }
    }
}

fn label(node: &ExportedNode, is_root: bool) -> String {
    let kind = node.kind.to_lowercase();
    let group = if node.group.is_empty() { "" } else { "." };
    let mut label = format!("{kind}{group}{}/{}", node.group, node.name);
    if is_root && !node.namespace.is_empty() {
        label.push_str(&format!(" -n {}", node.namespace));
    }
    // What references say may be anything.
    let mut label = one_line(&label);
    if let Some(state) = state(node) {
        label.push_str(&format!(" ({state})"));
    }
    label
}

/// What is remarkable about a node, if anything.
pub(super) fn state(node: &ExportedNode) -> Option<&'static str> {
    if node.missing {
        Some("missing")
    } else if node.deleting_dependents {
        Some("waits for its dependents to go")
    } else if node.being_deleted {
        Some("being deleted")
    } else if node.is_virtual {
        Some("not listed")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::graph;
    use super::*;

    #[test]
    fn owners_stand_above_what_they_own_and_the_missing_are_marked() {
        let graph = graph(&[("a", &[]), ("b", &["a"]), ("c", &["a", "z"]), ("d", &["c"])]);
        let text = render(&graph);
        let expected = "configmap/a -n n
├─ configmap/b
└─ configmap/c
   └─ configmap/d
configmap/z -n n (missing)
└─ configmap/c (see above)
";
        assert_eq!(text, expected);
    }

    #[test]
    fn circles_end_and_long_chains_do_not_overflow() {
        let text = render(&graph(&[("a", &["b"]), ("b", &["a"])]));
        assert_eq!(
            text,
            "configmap/a -n n\n└─ configmap/b\n   └─ configmap/a (see above)\n"
        );
        let names: Vec<String> = (0..3000).map(|n| format!("{n:05}")).collect();
        let owners: Vec<Vec<&str>> = (0..names.len())
            .map(|n| n.checked_sub(1).map(|n| &*names[n]).into_iter().collect())
            .collect();
        let objects: Vec<(&str, &[&str])> = names
            .iter()
            .zip(&owners)
            .map(|(name, owners)| (&**name, &owners[..]))
            .collect();
        let text = render(&graph(&objects));
        assert!(text.len() < 1_000_000, "{} bytes", text.len());
        let full = text.lines().filter(|line| !line.contains("(see "));
        assert_eq!(full.count(), 3000);
        let (level, deep) = (" ".repeat(3 * 49), "configmap/00050");
        let part = format!("{level}└─ {deep} (see below)\n{deep} -n n\n└─ configmap/00051\n");
        assert!(text.contains(&part), "{}", &text[..10_000]);
    }

    #[test]
    fn what_references_say_does_no_harm_to_a_terminal() {
        let text = render(&graph(&[("a", &["\u{1b}[31m"])]));
        assert!(!text.contains('\u{1b}'), "{text}");
        assert_eq!(
            render(&Exported::default()),
            "nothing here owns or is owned\n"
        );
    }
}
