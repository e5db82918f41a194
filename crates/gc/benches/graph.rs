//! `cargo bench -p evenkeel-gc [-- nodes]`: events a second and bytes a node of the owner graph.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a measuring program"
)]

use std::time::{Duration, Instant};

use evenkeel_gc::{Graph, KindId};
use evenkeel_meta::{Meta, OwnerReference, Scope};

/// Events are made and applied in batches: as in an informer they are fresh in the cache, and
/// their making is not measured.
const BATCH: usize = 256;

fn main() {
    let nodes = std::env::args().find_map(|argument| argument.parse().ok());
    let nodes: usize = nodes.unwrap_or(1_000_000);
    let mut graph = Graph::new();
    let kind = graph.kind("apps/v1", "ReplicaSet", Some(Scope::Namespaced));
    let mut order: Vec<usize> = (0..nodes).collect();

    let spent = observe(&mut graph, kind, &order, 1);
    report("added", nodes, spent);
    let size = graph.size();
    println!(
        "{:.1} bytes a node, {:.1} a reference",
        size.node_bytes as f64 / size.observed as f64,
        size.reference_bytes as f64 / size.references as f64
    );
    fastrand::shuffle(&mut order);
    let spent = observe(&mut graph, kind, &order, 2);
    report("updated, in random order", nodes, spent);

    let uids: Vec<String> = order.iter().map(|&n| uid(n)).collect();
    let start = Instant::now();
    for uid in &uids {
        graph.deleted(uid);
    }
    report("deleted, in random order", nodes, start.elapsed());
    assert_eq!(graph.size().observed, 0);
}

fn observe(graph: &mut Graph, kind: KindId, order: &[usize], version: u64) -> Duration {
    let mut spent = Duration::ZERO;
    for batch in order.chunks(BATCH) {
        let fresh: Vec<Meta> = batch.iter().map(|&n| object(n, version)).collect();
        let start = Instant::now();
        for meta in &fresh {
            graph.observe(kind, meta);
        }
        spent += start.elapsed();
        let _ = graph.take_work();
    }
    spent
}

/// A tree of ten children each.
fn object(n: usize, version: u64) -> Meta {
    let mut root = n;
    while root >= 10 {
        root /= 10;
    }
    let owner = (n >= 10).then(|| OwnerReference {
        api_version: "apps/v1".into(),
        kind: "ReplicaSet".into(),
        name: name(n / 10),
        uid: uid(n / 10).as_str().into(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    });
    Meta {
        name: name(n),
        namespace: Some(format!("namespace-{root}")),
        uid: Some(uid(n).as_str().into()),
        resource_version: Some(version.into()),
        owner_references: owner.into_iter().collect(),
        ..Meta::default()
    }
}

fn name(n: usize) -> String {
    format!("web-7b4696b95-{n:05}")
}

fn uid(n: usize) -> String {
    let mixed = (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    format!(
        "{:08x}-{:04x}-4000-8000-{n:012x}",
        mixed >> 32,
        mixed & 0xffff
    )
}

fn report(what: &str, events: usize, spent: Duration) {
    let rate = events as f64 / spent.as_secs_f64() / 1e6;
    println!("{what}: {rate:.2} million events a second");
}
