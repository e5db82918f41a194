//! Where each node stands: in layers, owners before what they own.

use std::collections::HashMap;

use evenkeel_gc::Exported;

/// How often the order within the layers is improved.
const SWEEPS: usize = 4;

/// The nodes of a graph, by their position in it, layer by layer.
pub(super) struct Layers {
    pub(super) layers: Vec<Vec<usize>>,
    /// From owner to dependent.
    pub(super) edges: Vec<(usize, usize)>,
}

/// Puts every node behind all of its owners (of a circle, behind all but one), and those of one
/// layer near their owners.
pub(super) fn arrange(graph: &Exported) -> Layers {
    let at: HashMap<&str, usize> = graph
        .nodes
        .iter()
        .enumerate()
        .map(|(at, node)| (&*node.uid, at))
        .collect();
    let mut edges: Vec<(usize, usize)> = graph
        .edges
        .iter()
        .filter_map(|edge| Some((*at.get(&*edge.owner)?, *at.get(&*edge.dependent)?)))
        .collect();
    edges.sort_unstable();
    edges.dedup();
    let count = graph.nodes.len();
    let (mut owners, mut dependents) = (vec![Vec::new(); count], vec![Vec::new(); count]);
    for &(owner, dependent) in &edges {
        owners[dependent].push(owner);
        dependents[owner].push(dependent);
    }
    let depths = depths(&owners, &dependents);
    let mut layers = vec![Vec::new(); depths.iter().max().map_or(0, |deepest| deepest + 1)];
    for (node, depth) in depths.iter().enumerate() {
        layers[*depth].push(node);
    }
    for sweep in 0..SWEEPS {
        let neighbours = if sweep % 2 == 0 { &owners } else { &dependents };
        improve(&mut layers, neighbours, sweep % 2 == 0);
    }
    Layers { layers, edges }
}

/// The longest way from a node without owners. Nodes are taken when all of their owners have been;
/// when only circles are left, the one with the fewest open owners is taken all the same.
fn depths(owners: &[Vec<usize>], dependents: &[Vec<usize>]) -> Vec<usize> {
    let mut open: Vec<usize> = owners.iter().map(Vec::len).collect();
    let mut depths = vec![0; owners.len()];
    let mut taken = vec![false; owners.len()];
    let mut ready: Vec<usize> = (0..owners.len())
        .filter(|&node| open[node] == 0)
        .rev()
        .collect();
    let mut left = owners.len();
    while left > 0 {
        let next = ready.pop().filter(|&node| !taken[node]).or_else(|| {
            let waiting = (0..owners.len()).filter(|&node| !taken[node]);
            waiting.min_by_key(|&node| open[node])
        });
        let Some(node) = next else { break };
        taken[node] = true;
        left -= 1;
        for &dependent in &dependents[node] {
            if !taken[dependent] {
                depths[dependent] = depths[dependent].max(depths[node] + 1);
                open[dependent] -= 1;
                if open[dependent] == 0 {
                    ready.push(dependent);
                }
            }
        }
    }
    depths
}

/// Orders each layer by the mean place of its nodes' neighbours.
fn improve(layers: &mut [Vec<usize>], neighbours: &[Vec<usize>], downwards: bool) {
    let mut places: HashMap<usize, f64> = HashMap::new();
    for layer in layers.iter() {
        places.extend(
            layer
                .iter()
                .enumerate()
                .map(|(at, &node)| (node, at as f64)),
        );
    }
    let count = layers.len();
    for turn in 0..count {
        let layer = &mut layers[if downwards { turn } else { count - 1 - turn }];
        let mean = |node: usize| {
            let near = &neighbours[node];
            match near.len() {
                0 => places[&node],
                several => near.iter().map(|other| places[other]).sum::<f64>() / several as f64,
            }
        };
        let mut ordered: Vec<(f64, usize)> = layer.iter().map(|&node| (mean(node), node)).collect();
        ordered.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        *layer = ordered.into_iter().map(|(_, node)| node).collect();
        places.extend(
            layer
                .iter()
                .enumerate()
                .map(|(at, &node)| (node, at as f64)),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::graph;
    use super::*;

    fn depths_of(objects: &[(&str, &[&str])]) -> Vec<Vec<String>> {
        let graph = graph(objects);
        let names = |layer: Vec<usize>| {
            let mut names: Vec<String> = layer
                .into_iter()
                .map(|node| graph.nodes[node].name.clone())
                .collect();
            names.sort();
            names
        };
        arrange(&graph).layers.into_iter().map(names).collect()
    }

    #[test]
    fn every_node_is_behind_all_of_its_owners() {
        let layers = depths_of(&[
            ("a", &[]),
            ("b", &["a"]),
            ("c", &["a", "b"]),
            ("d", &["c", "z"]),
        ]);
        assert_eq!(layers, [vec!["a", "z"], vec!["b"], vec!["c"], vec!["d"]]);
    }

    #[test]
    fn a_circle_is_cut_once() {
        let layers = depths_of(&[("a", &["c"]), ("b", &["a"]), ("c", &["b"])]);
        assert_eq!(layers.len(), 3);
        assert!(layers.iter().all(|layer| layer.len() == 1));
        assert!(arrange(&Exported::default()).layers.is_empty());
    }

    #[test]
    fn children_stand_by_their_parents() {
        let graph = graph(&[
            ("a", &[]),
            ("b", &[]),
            ("a1", &["a"]),
            ("a2", &["a"]),
            ("b1", &["b"]),
            ("b0", &["b"]),
            ("a0", &["a"]),
        ]);
        let arranged = arrange(&graph);
        let parents: Vec<char> = arranged.layers[1]
            .iter()
            .filter_map(|&node| graph.nodes[node].name.chars().next())
            .collect();
        assert!(
            parents == ['a', 'a', 'a', 'b', 'b'] || parents == ['b', 'b', 'a', 'a', 'a'],
            "{parents:?}"
        );
    }
}
