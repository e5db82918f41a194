//! A graph with two kinds of objects and short ways to feed it.

use std::collections::BTreeSet;

use evenkeel_meta::{Meta, OwnerReference, ResourceVersion, Scope, Timestamp};

use super::super::{ClaimId, FOREGROUND_FINALIZER, Graph, KindId, ORPHAN_FINALIZER, Verdict, Work};
use crate::decide::{Decision, Deletion};
use crate::patch::{OwnersChange, OwnersPatch};

pub(crate) struct Fixture {
    pub(crate) graph: Graph,
    /// Work that was asked for and is not done.
    queue: BTreeSet<Work>,
    pub(crate) maps: KindId,
    pub(crate) nodes: KindId,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let mut graph = Graph::new();
        Self {
            maps: graph.kind("v1", "ConfigMap", Some(Scope::Namespaced)),
            nodes: graph.kind("v1", "Node", Some(Scope::Cluster)),
            graph,
            queue: BTreeSet::new(),
        }
    }

    fn queued(&mut self) -> BTreeSet<Work> {
        self.queue.extend(self.graph.take_work());
        self.queue.clone()
    }

    pub(crate) fn map(&mut self, object: &Object) -> &mut Self {
        self.graph.observe(self.maps, &object.0);
        self.checked()
    }

    pub(crate) fn node(&mut self, object: &Object) -> &mut Self {
        self.graph.observe(self.nodes, &object.0);
        self.checked()
    }

    pub(crate) fn deleted(&mut self, uid: &str) -> &mut Self {
        self.graph.deleted(uid);
        self.checked()
    }

    pub(crate) fn checked(&mut self) -> &mut Self {
        self.graph.assert_consistent();
        self
    }

    /// The lookups that are asked for, each once.
    pub(crate) fn lookups(&mut self) -> Vec<ClaimId> {
        let mut claims = Vec::new();
        for work in self.queued() {
            if let Work::Verify(claim) = work {
                self.queue.remove(&work);
                claims.push(claim);
            }
        }
        claims
    }

    /// Answers every lookup that is asked for.
    pub(crate) fn answer(&mut self, answer: impl Fn(&super::super::Lookup) -> Verdict) -> usize {
        let claims = self.lookups();
        for &claim in &claims {
            if let Some(lookup) = self.graph.lookup(claim) {
                self.graph.verified(claim, answer(&lookup));
            }
        }
        self.checked();
        claims.len()
    }

    /// What is to be done now, by name, each once, in order of names.
    pub(crate) fn decisions(&mut self) -> Vec<(String, Decision)> {
        let mut decisions = Vec::new();
        for work in self.queued() {
            let (Work::Collect(node) | Work::Orphan(node)) = work else {
                continue;
            };
            let decision = self.graph.decide(node);
            let name = match &decision {
                Decision::Settled => {
                    self.queue.remove(&work);
                    continue;
                }
                Decision::Delete(deletion) => &deletion.target.name,
                Decision::Patch(patch) => &patch.target.name,
                Decision::RemoveFinalizer(removal) => &removal.target.name,
                Decision::Release(release) => &release.finish.target.name,
            };
            decisions.push((name.clone(), decision.clone()));
        }
        decisions.sort_by(|(a, _), (b, _)| a.cmp(b));
        decisions
    }

    pub(crate) fn names(&mut self) -> Vec<String> {
        self.decisions().into_iter().map(|(name, _)| name).collect()
    }

    pub(crate) fn decision(&mut self) -> Decision {
        let mut decisions = self.decisions();
        assert_eq!(decisions.len(), 1, "{decisions:?}");
        decisions.remove(0).1
    }

    pub(crate) fn deletion(&mut self) -> Deletion {
        match self.decision() {
            Decision::Delete(deletion) => deletion,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn removal(&mut self) -> (OwnersPatch, Vec<String>) {
        match self.decision() {
            Decision::Patch(patch) if patch.change == OwnersChange::Remove => {
                let uids = patch.selected().map(ToString::to_string).collect();
                (patch, uids)
            }
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn reports(&mut self) -> usize {
        let queued = self.queued();
        self.queue
            .retain(|work| !matches!(work, Work::Misplaced { .. }));
        queued.len() - self.queue.len()
    }
}

/// An object of whatever kind, in namespace `n`, with UID = name and resource version 1.
#[derive(Clone)]
pub(crate) struct Object(pub(crate) Meta);

impl Object {
    pub(crate) fn new(name: &str) -> Self {
        Self(Meta {
            name: name.into(),
            namespace: Some("n".into()),
            uid: Some(name.into()),
            resource_version: Some(ResourceVersion::from(1)),
            ..Meta::default()
        })
    }

    pub(crate) fn uid(mut self, uid: &str) -> Self {
        self.0.uid = Some(uid.into());
        self
    }

    pub(crate) fn within(mut self, namespace: &str) -> Self {
        self.0.namespace = Some(namespace.into());
        self
    }

    pub(crate) fn cluster(mut self) -> Self {
        self.0.namespace = None;
        self
    }

    pub(crate) fn version(mut self, version: u64) -> Self {
        self.0.resource_version = Some(version.into());
        self
    }

    /// Owned by the ConfigMap whose name and UID are `owner`.
    pub(crate) fn owned_by(self, owner: &str) -> Self {
        self.refers("v1", "ConfigMap", owner, owner, false)
    }

    pub(crate) fn blocks(self, owner: &str) -> Self {
        self.refers("v1", "ConfigMap", owner, owner, true)
    }

    pub(crate) fn refers(
        mut self,
        version: &str,
        kind: &str,
        name: &str,
        uid: &str,
        block: bool,
    ) -> Self {
        self.0.owner_references.push(OwnerReference {
            api_version: version.into(),
            kind: kind.into(),
            name: name.into(),
            uid: uid.into(),
            controller: None,
            block_owner_deletion: block.then_some(true),
        });
        self
    }

    pub(crate) fn unowned(mut self) -> Self {
        self.0.owner_references.clear();
        self
    }

    pub(crate) fn finalizer(mut self, finalizer: &str) -> Self {
        self.0.finalizers.push(finalizer.into());
        self
    }

    pub(crate) fn terminating(mut self) -> Self {
        self.0.deletion_timestamp = Some(Timestamp::from_second(1));
        self
    }

    pub(crate) fn foreground(self) -> Self {
        self.terminating().finalizer(FOREGROUND_FINALIZER)
    }

    pub(crate) fn orphaning(self) -> Self {
        self.terminating().finalizer(ORPHAN_FINALIZER)
    }
}
