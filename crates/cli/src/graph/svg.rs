use std::fmt::Write;

use evenkeel_gc::{Exported, ExportedNode};

use super::layers::arrange;
use super::tree::state;

/// Pixels.
const HEIGHT: usize = 40;
const GAP: usize = 14;
const BETWEEN_LAYERS: usize = 70;
const MARGIN: usize = 20;
const CHARACTER: usize = 7;
const PADDING: usize = 24;

/// Colours that can be told apart on white and by those who see few of them; shape says the same.
const STYLE: &str = "text{font:12px sans-serif}.kind{fill:#555}\
    rect{fill:#f4f7fb;stroke:#44617f}path{fill:none;stroke:#8aa0b6}\
    .missing rect{fill:#fdeceb;stroke:#b3261e;stroke-dasharray:4 3}\
    .virtual rect{stroke-dasharray:4 3}.deleted rect{fill:#eee;stroke:#777}\
    .waiting rect{fill:#fff4dd;stroke:#9a6700}path.dangling{stroke:#b3261e;stroke-dasharray:4 3}";

/// The graph as a picture: owners on the left, what they own to their right.
///
/// It needs nothing but itself: no script, no fonts, no links.
pub(super) fn render(graph: &Exported) -> String {
    let arranged = arrange(graph);
    let mut places = vec![(0, 0, 0); graph.nodes.len()];
    let tallest = arranged.layers.iter().map(Vec::len).max().unwrap_or(0);
    let height = 2 * MARGIN + tallest * (HEIGHT + GAP);
    let mut x = MARGIN;
    for layer in &arranged.layers {
        let widths = layer.iter().map(|&node| width(&graph.nodes[node]));
        let widest = widths.max().unwrap_or(0);
        // Short layers stand in the middle.
        let top = (height - layer.len() * (HEIGHT + GAP)) / 2;
        for (at, &node) in layer.iter().enumerate() {
            places[node] = (x, top + at * (HEIGHT + GAP), widest);
        }
        x += widest + BETWEEN_LAYERS;
    }
    let width = (x + MARGIN).saturating_sub(BETWEEN_LAYERS).max(2 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\">\n<style>{STYLE}</style>\n"
    );
    for &(owner, dependent) in &arranged.edges {
        write_edge(
            &mut svg,
            places[owner],
            places[dependent],
            is_dangling(graph, owner, dependent),
        );
    }
    for (node, &place) in graph.nodes.iter().zip(&places) {
        write_node(&mut svg, node, place);
    }
    svg.push_str("</svg>\n");
    svg
}

fn is_dangling(graph: &Exported, owner: usize, dependent: usize) -> bool {
    let (owner, dependent) = (&graph.nodes[owner].uid, &graph.nodes[dependent].uid);
    let same =
        |edge: &&evenkeel_gc::ExportedEdge| edge.owner == *owner && edge.dependent == *dependent;
    let start = graph
        .edges
        .partition_point(|edge| edge.dependent < *dependent);
    let end = graph
        .edges
        .partition_point(|edge| edge.dependent <= *dependent);
    graph.edges[start..end]
        .iter()
        .filter(same)
        .all(|edge| edge.dangling)
}

fn write_edge(
    svg: &mut String,
    from: (usize, usize, usize),
    to: (usize, usize, usize),
    dangling: bool,
) {
    let (x1, y1) = (from.0 + from.2, from.1 + HEIGHT / 2);
    let (x2, y2) = (to.0, to.1 + HEIGHT / 2);
    let bend = BETWEEN_LAYERS / 2;
    let class = if dangling { " class=\"dangling\"" } else { "" };
    // Writing into a String cannot fail.
    let _ = writeln!(
        svg,
        "<path{class} d=\"M{x1} {y1} C{} {y1} {} {y2} {x2} {y2}\"/>",
        x1 + bend,
        x2.saturating_sub(bend)
    );
}

fn write_node(svg: &mut String, node: &ExportedNode, (x, y, width): (usize, usize, usize)) {
    let class = if node.missing {
        "missing"
    } else if node.deleting_dependents {
        "waiting"
    } else if node.being_deleted {
        "deleted"
    } else if node.is_virtual {
        "virtual"
    } else {
        "node"
    };
    let state = state(node).unwrap_or_default();
    let text = x + PADDING / 2;
    let _ = writeln!(
        svg,
        "<g class=\"{class}\"><title>{} {}/{}\nuid {}\n{state}</title>\
         <rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{HEIGHT}\" rx=\"5\"/>\
         <text class=\"kind\" x=\"{text}\" y=\"{}\">{}</text>\
         <text x=\"{text}\" y=\"{}\">{}</text></g>",
        escape(&node.kind),
        escape(&node.namespace),
        escape(&node.name),
        escape(&node.uid),
        y + 16,
        escape(&kind(node)),
        y + 32,
        escape(&node.name),
    );
}

fn kind(node: &ExportedNode) -> String {
    match node.group.as_str() {
        "" => node.kind.clone(),
        group => format!("{} ({group})", node.kind),
    }
}

fn width(node: &ExportedNode) -> usize {
    let longest = node.name.chars().count().max(kind(node).chars().count());
    longest * CHARACTER + PADDING
}

/// For text and attributes. Names come from whoever may write objects.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // XML has no way to write these.
            char if char.is_control() => escaped.push('\u{fffd}'),
            char => escaped.push(char),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::super::fixture::graph;
    use super::*;

    #[test]
    fn every_node_has_a_box_and_every_reference_a_line() {
        let svg = render(&graph(&[("a", &[]), ("b", &["a"]), ("c", &["a", "z"])]));
        assert_eq!(svg.matches("<rect").count(), 4);
        assert_eq!(svg.matches("<path").count(), 3);
        assert_eq!(svg.matches("<path class=\"dangling\"").count(), 1);
        assert_eq!(svg.matches("<g class=\"missing\"").count(), 1);
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    }

    #[test]
    fn no_two_boxes_of_a_layer_overlap() {
        let names: Vec<String> = (0..50).map(|n| format!("child-{n}")).collect();
        let mut objects: Vec<(&str, &[&str])> = vec![("owner", &[])];
        objects.extend(names.iter().map(|name| (&**name, &["owner"][..])));
        let svg = render(&graph(&objects));
        let mut corners: Vec<(usize, usize)> = svg
            .split("<rect x=\"")
            .skip(1)
            .map(|rest| {
                let mut numbers = rest.split('"').filter_map(|part| part.parse().ok());
                (numbers.next().unwrap(), numbers.next().unwrap())
            })
            .collect();
        corners.sort_unstable();
        assert_eq!(corners.len(), 51);
        for pair in corners.windows(2) {
            assert!(
                pair[0].0 != pair[1].0 || pair[1].1 >= pair[0].1 + HEIGHT,
                "{pair:?}"
            );
        }
    }

    #[test]
    fn names_cannot_leave_their_place() {
        let svg = render(&graph(&[(
            "a",
            &["</text><script>alert(1)</script>\"'&\u{7}"],
        )]));
        assert!(!svg.contains("<script>") && !svg.contains('\u{7}'), "{svg}");
        assert!(svg.contains("&lt;script&gt;"));
        assert!(render(&Exported::default()).starts_with("<svg "));
    }
}
