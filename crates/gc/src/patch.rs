//! The bodies of patches.

use evenkeel_meta::{OwnerReference, ResourceVersion, Uid};
use serde_json::{Value, json};

use crate::decide::Target;
use crate::graph::ClaimId;

/// A change of some of an object's owner references.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnersPatch {
    /// The object.
    pub target: Target,
    /// All of its references, as the graph has them.
    pub(crate) owners: Vec<OwnerReference>,
    /// The positions in `owners` that change.
    pub(crate) selected: Vec<usize>,
    /// How they change.
    pub change: OwnersChange,
    /// Whether it holds only for the state that was judged.
    pub(crate) only_this_state: bool,
    /// The claims on owners that wait for this object to go, and that it no longer names after
    /// this.
    pub waits_for_it: Vec<ClaimId>,
}

/// How the selected references change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnersChange {
    /// They go.
    Remove,
    /// They no longer block their owner's deletion.
    Unblock,
}

impl OwnersPatch {
    /// Takes the references to `owner` away from an object, in whatever state it is: those that
    /// say of it what it is. `None` if there is none.
    pub(crate) fn release(
        target: Target,
        owners: Vec<OwnerReference>,
        owner: &Target,
    ) -> Option<Self> {
        let names_it = |reference: &OwnerReference| {
            reference.uid == owner.uid
                && reference.kind == owner.kind
                && reference.name == owner.name
        };
        let selected: Vec<usize> = (0..owners.len())
            .filter(|&at| names_it(&owners[at]))
            .collect();
        (!selected.is_empty()).then_some(Self {
            target,
            owners,
            selected,
            change: OwnersChange::Remove,
            only_this_state: false,
            waits_for_it: Vec::new(),
        })
    }

    /// The UIDs of the owners whose references change.
    pub fn selected(&self) -> impl Iterator<Item = &Uid> {
        self.selected.iter().map(|&at| &self.owners[at].uid)
    }

    /// The strategic merge patch (G42), which names references by UID.
    ///
    /// With the resource version where the object's other references had a say: they may have
    /// changed since. Without it for the dependents of an orphaning owner, which are to lose that
    /// one reference in any state.
    ///
    /// `None` where the UID does not tell which reference is meant: an object may name one UID
    /// twice under different kinds.
    #[must_use]
    pub fn strategic(&self) -> Option<Value> {
        let ambiguous = self.selected.iter().any(|&at| {
            let uid = &self.owners[at].uid;
            self.owners
                .iter()
                .enumerate()
                .any(|(other, owner)| other != at && owner.uid == *uid)
        });
        if ambiguous {
            return None;
        }
        let change = |&at: &usize| match self.change {
            OwnersChange::Remove => json!({"$patch": "delete", "uid": self.owners[at].uid}),
            OwnersChange::Unblock => json!(unblock(&self.owners[at])),
        };
        let changes: Vec<Value> = self.selected.iter().map(change).collect();
        let mut metadata = json!({"uid": self.target.uid, "ownerReferences": changes});
        if self.only_this_state {
            metadata["resourceVersion"] = json!(self.target.resource_version);
        }
        Some(json!({"metadata": metadata}))
    }

    /// The JSON merge patch with the complete new list, for kinds that know no strategic merge.
    #[must_use]
    pub fn merge(&self) -> Value {
        let change = |(at, owner): (usize, &OwnerReference)| match (
            self.selected.contains(&at),
            self.change,
        ) {
            (false, _) => Some(owner.clone()),
            (true, OwnersChange::Remove) => None,
            (true, OwnersChange::Unblock) => Some(unblock(owner)),
        };
        let owners: Vec<OwnerReference> =
            self.owners.iter().enumerate().filter_map(change).collect();
        json!({"metadata": {
            "resourceVersion": self.target.resource_version,
            "ownerReferences": null_if_empty(&owners),
        }})
    }
}

/// The merge patch that leaves an object with these finalizers (G43).
pub(crate) fn finalizers(version: &ResourceVersion, remaining: &[String]) -> Value {
    json!({"metadata": {
        "resourceVersion": version,
        "finalizers": null_if_empty(remaining),
    }})
}

fn unblock(owner: &OwnerReference) -> OwnerReference {
    OwnerReference {
        block_owner_deletion: Some(false),
        ..owner.clone()
    }
}

/// A merge patch removes a field by `null`; an empty list would stay behind as one.
fn null_if_empty<T: serde::Serialize>(list: &[T]) -> Value {
    match list {
        [] => Value::Null,
        _ => json!(list),
    }
}
