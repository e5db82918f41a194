//! Graphs for tests.

use evenkeel_gc::{Exported, Graph, Verdict, Work};
use evenkeel_meta::{Meta, OwnerReference, Scope};

/// Objects of kind ConfigMap in `n`: name and UID, and the names of the owners. Owners that are
/// not among them are missing.
pub(super) fn graph(objects: &[(&str, &[&str])]) -> Exported {
    let mut graph = Graph::new();
    let maps = graph.kind("v1", "ConfigMap", Some(Scope::Namespaced));
    for (name, owners) in objects {
        let owner = |owner: &&str| OwnerReference {
            api_version: "v1".into(),
            kind: "ConfigMap".into(),
            name: (*owner).to_owned(),
            uid: (*owner).into(),
            controller: None,
            block_owner_deletion: None,
        };
        let meta = Meta {
            name: (*name).to_owned(),
            namespace: Some("n".to_owned()),
            uid: Some((*name).into()),
            owner_references: owners.iter().map(owner).collect(),
            ..Meta::default()
        };
        graph.observe(maps, &meta);
    }
    for work in graph.take_work() {
        if let Work::Verify(claim) = work
            && graph.lookup(claim).is_some()
        {
            graph.verified(claim, Verdict::Absent);
        }
    }
    graph.export(&[])
}
