use evenkeel_meta::{OwnerReference, PropagationPolicy};

use super::judge::{Judgement, Standing};
use super::node::Flags;
use super::{ClaimId, FOREGROUND_FINALIZER, Graph, KindId, NodeId, ORPHAN_FINALIZER};
use crate::decide::{Decision, Deletion, FinalizerRemoval, Release, Target};
use crate::patch::{OwnersChange, OwnersPatch};

impl Graph {
    /// What is to be done about a node, by what the graph holds at this moment.
    #[must_use]
    pub fn decide(&self, node: NodeId) -> Decision {
        let Some(index) = self.resolve_node(node) else {
            return Decision::Settled;
        };
        match self.judge(index) {
            Judgement::Settled => Decision::Settled,
            Judgement::Delete(policy) => Decision::Delete(self.deletion(index, policy)),
            Judgement::Detach => self.detach(index),
            Judgement::Finish => {
                Decision::RemoveFinalizer(self.finalizer_removal(index, FOREGROUND_FINALIZER))
            }
            Judgement::Unblock => self.unblock(index),
            Judgement::Orphan => Decision::Release(self.release(index)),
        }
    }

    fn deletion(&self, index: u32, policy: PropagationPolicy) -> Deletion {
        let by_finalizer = self.nodes[index]
            .flags
            .has(Flags::FOREGROUND | Flags::ORPHAN);
        Deletion {
            target: self.target(index),
            policy,
            waits_for_it: self.waiting_owners(index),
            in_foreground: policy == PropagationPolicy::Foreground && !by_finalizer,
            owners: self.owner_references(index),
        }
    }

    fn waiting_owners(&self, index: u32) -> Vec<ClaimId> {
        self.references(index)
            .map(|edge| self.edges[edge].claim)
            .filter(|&claim| self.standing(claim) == Standing::Waiting)
            .map(|claim| self.claim_id(claim))
            .collect()
    }

    /// G34: with a solid owner, what dangles or waits goes; what was released goes in any case.
    fn detach(&self, index: u32) -> Decision {
        let standings: Vec<Standing> = self
            .references(index)
            .map(|edge| self.standing(self.edges[edge].claim))
            .collect();
        let held = standings
            .iter()
            .any(|standing| matches!(standing, Standing::Solid | Standing::Unresolvable));
        let selected = standings.iter().enumerate().filter_map(|(at, standing)| {
            let goes = match standing {
                Standing::Released => true,
                Standing::Dangling | Standing::Waiting => held,
                Standing::Solid | Standing::Unresolvable | Standing::Unknown => false,
            };
            goes.then_some(at)
        });
        Decision::Patch(OwnersPatch {
            waits_for_it: match held {
                true => self.waiting_owners(index),
                false => Vec::new(),
            },
            ..self.patch(index, selected.collect(), OwnersChange::Remove)
        })
    }

    fn unblock(&self, index: u32) -> Decision {
        let selected = self
            .references(index)
            .enumerate()
            .filter_map(|(at, edge)| self.closes_circle(edge, index).then_some(at));
        Decision::Patch(self.patch(index, selected.collect(), OwnersChange::Unblock))
    }

    /// G41. Who names the owner wrongly is left to its own judgement.
    fn release(&self, index: u32) -> Release {
        let mut dependents: Vec<u32> = self
            .sure_claims(index)
            .flat_map(|claim| self.claimants(claim))
            .map(|edge| self.edges[edge].dependent)
            .collect();
        dependents.sort_unstable();
        dependents.dedup();
        let patch = |dependent: u32| {
            let selected = self
                .references(dependent)
                .enumerate()
                .filter_map(|(at, edge)| {
                    let claim = self.edges[edge].claim;
                    (self.claims[claim].owner == index && self.is_sure(claim)).then_some(at)
                });
            OwnersPatch {
                only_this_state: false,
                ..self.patch(dependent, selected.collect(), OwnersChange::Remove)
            }
        };
        Release {
            dependents: dependents.into_iter().map(patch).collect(),
            finish: self.finalizer_removal(index, ORPHAN_FINALIZER),
        }
    }

    fn finalizer_removal(&self, index: u32, finalizer: &'static str) -> FinalizerRemoval {
        let flags = self.nodes[index].flags;
        let both = flags.has_all(Flags::ORPHAN | Flags::FOREGROUND);
        FinalizerRemoval {
            target: self.target(index),
            finalizer,
            alone: !both && !flags.has(Flags::OTHER_FINALIZERS),
        }
    }

    fn patch(&self, index: u32, selected: Vec<usize>, change: OwnersChange) -> OwnersPatch {
        OwnersPatch {
            target: self.target(index),
            owners: self.owner_references(index),
            selected,
            change,
            only_this_state: true,
            waits_for_it: Vec::new(),
        }
    }

    pub(super) fn target(&self, index: u32) -> Target {
        let node = &self.nodes[index];
        let kind = self.kinds[node.kind].name();
        Target {
            node: self.node_id(index),
            kind_id: KindId(node.kind),
            api_version: kind.api_version.to_owned(),
            kind: kind.kind.to_owned(),
            namespace: self.namespace(node.namespace).map(str::to_owned),
            name: node.name.to_string(),
            uid: node.uid.to_uid(),
            resource_version: node.version.clone(),
        }
    }

    fn owner_references(&self, index: u32) -> Vec<OwnerReference> {
        let reference = |edge: u32| {
            let edge = &self.edges[edge];
            let claim = &self.claims[edge.claim];
            let kind = self.kinds[claim.kind].name();
            OwnerReference {
                api_version: kind.api_version.to_owned(),
                kind: kind.kind.to_owned(),
                name: claim.name.to_string(),
                uid: self.nodes[claim.owner].uid.to_uid(),
                // Absent and false mean the same, and the graph does not tell them apart.
                controller: edge.controller.then_some(true),
                block_owner_deletion: edge.blocks.then_some(true),
            }
        };
        self.references(index).map(reference).collect()
    }
}
