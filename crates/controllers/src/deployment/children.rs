//! A Deployment's ReplicaSets: the one of its present template, and the others.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};

use super::revision;
use super::rolling::SetSize;
use super::template;

/// The ReplicaSets of one Deployment.
#[derive(Clone, Debug)]
pub(crate) struct Children {
    /// The set of the present template.
    pub(crate) new: Option<ReplicaSet>,
    /// All others, oldest first.
    pub(crate) old: Vec<ReplicaSet>,
}

impl Children {
    pub(crate) fn of(deployment: &Deployment, mut sets: Vec<ReplicaSet>) -> Self {
        sets.sort_by(template::by_age);
        let new = template::find_new(deployment, &sets).map(|set| set.metadata.uid.clone());
        let at = new.and_then(|uid| sets.iter().position(|set| set.metadata.uid == uid));
        let new = at.map(|at| sets.remove(at));
        Self { new, old: sets }
    }

    /// All sets, the old ones first.
    pub(crate) fn all(&self) -> impl Iterator<Item = &ReplicaSet> {
        self.old.iter().chain(&self.new)
    }

    /// `spec.replicas` of all sets together.
    pub(crate) fn total(&self) -> i32 {
        self.all().map(wanted).fold(0, i32::saturating_add)
    }

    /// Whether a set is sized for another number of replicas than the Deployment asks for: the
    /// Deployment was scaled (contract kcm D9).
    pub(crate) fn scaled(&self, replicas: i32) -> bool {
        self.all()
            .filter(|set| wanted(set) > 0)
            .filter_map(revision::desired_replicas)
            .any(|desired| desired != replicas)
    }
}

/// `spec.replicas`.
pub(crate) fn wanted(set: &ReplicaSet) -> i32 {
    set.spec.replicas.unwrap_or(0)
}

/// What the plan of a rolling update needs to know.
pub(crate) fn size(set: &ReplicaSet) -> SetSize {
    let status = set.status.as_ref();
    SetSize {
        wanted: wanted(set),
        available: status
            .and_then(|status| status.available_replicas)
            .unwrap_or(0),
    }
}
