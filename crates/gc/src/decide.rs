//! From a judgement to the request that carries it out, as data.

use std::fmt;

use evenkeel_meta::{
    DeleteOptions, MetaView, ObjectKey, OwnerReference, Preconditions, PropagationPolicy,
    ResourceVersion, Uid,
};

use crate::graph::{ClaimId, FOREGROUND_FINALIZER, KindId, NodeId, ORPHAN_FINALIZER};
use crate::patch::OwnersPatch;

/// What is to be done about a node now.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// Nothing. An event will put the node on the work list again when that changes.
    Settled,
    /// Delete the object.
    Delete(Deletion),
    /// Change its owner references and keep it.
    Patch(OwnersPatch),
    /// Take one of the collector's finalizers away.
    RemoveFinalizer(FinalizerRemoval),
    /// Release its dependents, then take `orphan` away.
    Release(Release),
}

impl Decision {
    /// The claims whose owners were found to wait for their dependents, where the decision rests
    /// on that. Look them up again ([`Graph::doubt`](crate::Graph::doubt)) before the request is
    /// sent if that was a while ago: an owner may be told to keep its dependents at any time.
    #[must_use]
    pub fn waiting_owners(&self) -> &[ClaimId] {
        match self {
            Self::Delete(deletion) => &deletion.waits_for_it,
            Self::Patch(patch) => &patch.waits_for_it,
            Self::Settled | Self::RemoveFinalizer(_) | Self::Release(_) => &[],
        }
    }
}

/// The object that a request is about, in the state that the decision was made on.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Its node.
    pub node: NodeId,
    /// Its kind as a handle of the graph.
    pub kind_id: KindId,
    /// `group/version`, or `version` for the core group.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// `None` for cluster-scoped objects.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
    /// The identity; every request is conditional on it.
    pub uid: Uid,
    /// The state.
    pub resource_version: ResourceVersion,
}

impl fmt::Display for Target {
    /// `ConfigMap n/a`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = ObjectKey::new(self.namespace.as_deref(), &self.name);
        write!(f, "{} {key}", self.kind)
    }
}

/// A DELETE without a GET before it: the preconditions make sure that what is deleted is what
/// was judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Deletion {
    /// What to delete.
    pub target: Target,
    /// What is to happen to its own dependents.
    pub policy: PropagationPolicy,
    /// The claims on owners that wait for this object to go.
    pub waits_for_it: Vec<ClaimId>,
    /// An owner waits and the object has dependents: foreground whatever its finalizers say (G35).
    pub(crate) in_foreground: bool,
    /// The references that were judged.
    pub(crate) owners: Vec<OwnerReference>,
}

/// What to do when a DELETE was answered with 409.
#[derive(Clone, Debug, PartialEq)]
pub enum AfterConflict {
    /// The object changed, its owners did not: send this.
    Retry(DeleteOptions),
    /// The name belongs to another object now, so ours is gone.
    Gone,
    /// Its owners changed, or it is terminating: judge again when the graph has seen that.
    Stop,
}

/// Taking one finalizer away.
#[derive(Clone, Debug, PartialEq)]
pub struct FinalizerRemoval {
    /// The object.
    pub target: Target,
    /// `foregroundDeletion` or `orphan`.
    pub finalizer: &'static str,
    /// It is the only one, so the remaining list is known without reading the object.
    pub alone: bool,
}

/// Releasing the dependents of an orphaning owner.
#[derive(Clone, Debug, PartialEq)]
pub struct Release {
    /// One patch a dependent.
    pub dependents: Vec<OwnersPatch>,
    /// What follows once all of them are done.
    pub finish: FinalizerRemoval,
}

impl Deletion {
    /// The body of the first try: UID and resource version of the judged state.
    #[must_use]
    pub fn options(&self) -> DeleteOptions {
        DeleteOptions::with_policy(self.policy).only_if(Preconditions {
            uid: Some(self.target.uid.clone()),
            resource_version: Some(self.target.resource_version.clone()),
        })
    }

    /// What to do after the `conflicts`th 409, given the object as the server has it now (G37).
    ///
    /// The second try names the state that was just read, so nothing can slip in between. An
    /// object that changes faster than that would never be collected, so the third one names
    /// the UID alone.
    #[must_use]
    pub fn after_conflict<M: MetaView>(&self, live: &M, conflicts: u32) -> AfterConflict {
        if live.uid() != Some(self.target.uid.as_str()) {
            return AfterConflict::Gone;
        }
        let unchanged = live
            .owners()
            .eq(self.owners.iter().map(OwnerReference::view));
        if !unchanged || live.is_terminating() {
            return AfterConflict::Stop;
        }
        let policy = match policy_by_finalizers(live) {
            PropagationPolicy::Background if self.in_foreground => PropagationPolicy::Foreground,
            policy => policy,
        };
        let preconditions = match conflicts {
            0 | 1 => Preconditions::exactly(live),
            _ => Preconditions::same_object(live),
        };
        AfterConflict::Retry(DeleteOptions::with_policy(policy).only_if(preconditions))
    }
}

/// G36.
fn policy_by_finalizers<M: MetaView>(meta: &M) -> PropagationPolicy {
    if meta.has_finalizer(ORPHAN_FINALIZER) {
        PropagationPolicy::Orphan
    } else if meta.has_finalizer(FOREGROUND_FINALIZER) {
        PropagationPolicy::Foreground
    } else {
        PropagationPolicy::Background
    }
}
