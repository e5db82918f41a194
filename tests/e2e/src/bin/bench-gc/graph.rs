//! The owner graph alone: events a second, bytes a node.

use std::time::Duration;

use evenkeel_e2e::bench::proc;
use evenkeel_e2e::bench::table::{Samples, Table};
use evenkeel_gc::{Graph, KindId};
use evenkeel_meta::{Meta, OwnerReference, Scope};
use tokio::time::Instant;

/// Events are made and applied in batches: as in an informer they are fresh in the cache, and
/// their making is not measured.
const BATCH: usize = 256;

#[derive(Default)]
struct Figures {
    bytes: Samples,
    reference_bytes: Samples,
    resident: Samples,
    added: Samples,
    updated: Samples,
    deleted: Samples,
}

pub(crate) fn measure(rounds: u32, nodes: usize, table: &mut Table) -> anyhow::Result<()> {
    let mut figures = Figures::default();
    for _ in 0..rounds {
        run(nodes, &mut figures)?;
    }
    let name = |what: &str| format!("graph of {nodes} nodes: {what}");
    table.ours(&name("bytes a node"), &figures.bytes, "<= 150");
    table.ours(&name("bytes a reference"), &figures.reference_bytes, "");
    table.ours(
        &name("resident bytes a node and its reference"),
        &figures.resident,
        "",
    );
    table.ours(&name("additions (M/s)"), &figures.added, ">= 1");
    table.ours(
        &name("updates in random order (M/s)"),
        &figures.updated,
        ">= 1",
    );
    table.ours(
        &name("deletions in random order (M/s)"),
        &figures.deleted,
        ">= 1",
    );
    Ok(())
}

fn run(nodes: usize, figures: &mut Figures) -> anyhow::Result<()> {
    let before = proc::resident_megabytes(std::process::id())?;
    let mut graph = Graph::new();
    let kind = graph.kind("apps/v1", "ReplicaSet", Some(Scope::Namespaced));
    let mut order: Vec<usize> = (0..nodes).collect();
    let spent = observe(&mut graph, kind, &order, 1);
    figures.added.push(rate(nodes, spent));
    let grown = proc::resident_megabytes(std::process::id())? - before;
    let size = graph.size();
    figures
        .bytes
        .push(size.node_bytes as f64 / size.observed as f64);
    let references = size.references as f64;
    figures
        .reference_bytes
        .push(size.reference_bytes as f64 / references);
    // The order of the events is not the graph's.
    let order_bytes = (order.capacity() * size_of::<usize>()) as f64;
    figures
        .resident
        .push((grown * 1e6 - order_bytes) / nodes as f64);

    fastrand::seed(7);
    fastrand::shuffle(&mut order);
    let spent = observe(&mut graph, kind, &order, 2);
    figures.updated.push(rate(nodes, spent));

    let mut spent = Duration::ZERO;
    for batch in order.chunks(BATCH) {
        let uids: Vec<String> = batch.iter().map(|&n| uid(n)).collect();
        let start = Instant::now();
        for uid in &uids {
            graph.deleted(uid);
        }
        let _ = graph.take_work();
        spent += start.elapsed();
    }
    figures.deleted.push(rate(nodes, spent));
    anyhow::ensure!(graph.size().observed == 0, "some nodes are left");
    Ok(())
}

fn observe(graph: &mut Graph, kind: KindId, order: &[usize], version: u64) -> Duration {
    let mut spent = Duration::ZERO;
    for batch in order.chunks(BATCH) {
        let fresh: Vec<Meta> = batch.iter().map(|&n| object(n, version)).collect();
        let start = Instant::now();
        for meta in &fresh {
            graph.observe(kind, meta);
        }
        let _ = graph.take_work();
        spent += start.elapsed();
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

fn rate(events: usize, spent: Duration) -> f64 {
    events as f64 / spent.as_secs_f64() / 1e6
}
