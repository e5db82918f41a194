//! A Deployment's ReplicaSets: the one of its present template, and the others.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, ReplicaSetStatus};

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

    /// How many pods there may be of all sets together: those that are wanted, or those that
    /// were seen where a set has yet to remove some.
    ///
    /// By the wanted numbers alone (contract kcm D7) the new set could grow before the pods in
    /// whose place it grows have been removed, and there would be more than the surge allows.
    pub(crate) fn occupied(&self) -> i32 {
        self.all()
            .map(|set| wanted(set).max(set.status.as_ref().map_or(0, |status| status.replicas)))
            .fold(0, i32::saturating_add)
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
///
/// A set that has yet to remove pods may show more available ones than it wants. Those that
/// are about to go keep nobody's place.
pub(crate) fn size(set: &ReplicaSet) -> SetSize {
    let status = set.status.as_ref();
    let available = status.and_then(|status| status.available_replicas);
    SetSize {
        wanted: wanted(set),
        available: available.unwrap_or(0).min(wanted(set)),
    }
}

/// Whether a set has been scaled to nothing, its controller has seen that, and its last pod is
/// gone.
pub(crate) fn is_empty(set: &ReplicaSet) -> bool {
    let status = set.status.as_ref();
    let observed = status.and_then(|status| status.observed_generation);
    let pods = |status: &ReplicaSetStatus| {
        i64::from(status.replicas) + i64::from(status.terminating_replicas.unwrap_or(0))
    };
    wanted(set) == 0
        && status.map_or(0, pods) == 0
        && observed.unwrap_or(0) >= set.metadata.generation.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scaled from `before` to `wanted`; its controller has removed nothing yet.
    fn shrinking(wanted: i32, before: i32) -> ReplicaSet {
        serde_json::from_value(serde_json::json!({
            "metadata": {"name": "s", "generation": 2},
            "spec": {"replicas": wanted, "selector": {}},
            "status": {"replicas": before, "availableReplicas": before, "observedGeneration": 1},
        }))
        .unwrap()
    }

    #[test]
    fn kcm_d7_pods_that_have_yet_to_be_removed_take_room() {
        let children = Children {
            new: Some(shrinking(3, 0)),
            old: vec![shrinking(8, 10)],
        };
        assert_eq!(children.occupied(), 13, "and not 11");
    }

    #[test]
    fn kcm_d8_pods_that_have_yet_to_be_removed_are_not_available() {
        let size = size(&shrinking(8, 10));
        assert_eq!((size.wanted, size.available), (8, 8));
    }

    #[test]
    fn kcm_d10_a_set_is_empty_when_its_controller_says_so_of_this_generation() {
        let mut set = shrinking(0, 1);
        assert!(!is_empty(&set), "a pod is left");
        let status = set.status.as_mut().unwrap();
        status.replicas = 0;
        assert!(!is_empty(&set), "the last scaling was not seen");
        let status = set.status.as_mut().unwrap();
        status.observed_generation = Some(2);
        status.terminating_replicas = Some(1);
        assert!(!is_empty(&set), "a pod is still going");
        set.status.as_mut().unwrap().terminating_replicas = Some(0);
        assert!(is_empty(&set));
    }
}
