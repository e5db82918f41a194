//! Which old ReplicaSets go once a rollout is complete (contract kcm D15).

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};

use super::revision::revision;

/// The old sets beyond the history limit, lowest revision first.
///
/// A set goes only when it is scaled down, its controller has seen that, and nobody is
/// deleting it already.
pub(crate) fn surplus<'a>(deployment: &Deployment, old: &'a [ReplicaSet]) -> Vec<&'a ReplicaSet> {
    let limit = deployment.spec.revision_history_limit;
    let Some(limit) = limit.and_then(|limit| usize::try_from(limit).ok()) else {
        return Vec::new();
    };
    let mut cleanable: Vec<_> = old
        .iter()
        .filter(|set| set.metadata.deletion_timestamp.is_none())
        .collect();
    cleanable.sort_by_key(|set| revision(&set.metadata));
    let surplus = cleanable.len().saturating_sub(limit);
    cleanable.truncate(surplus);
    cleanable.retain(|set| is_idle(set));
    cleanable
}

fn is_idle(set: &ReplicaSet) -> bool {
    let wanted = set.spec.replicas.unwrap_or(0);
    let status = set.status.as_ref();
    let observed = status
        .and_then(|status| status.observed_generation)
        .unwrap_or(0);
    wanted == 0
        && status.is_none_or(|status| status.replicas == 0)
        && observed >= set.metadata.generation.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(revision: i64, replicas: i32) -> ReplicaSet {
        serde_json::from_value(serde_json::json!({
            "metadata": {"name": format!("r{revision}"), "generation": 1,
                "annotations": {"deployment.kubernetes.io/revision": revision.to_string()}},
            "spec": {"replicas": replicas, "selector": {}},
            "status": {"replicas": replicas, "observedGeneration": 1},
        }))
        .unwrap()
    }

    fn names(limit: Option<i32>, old: &[ReplicaSet]) -> Vec<String> {
        let deployment = serde_json::from_value(serde_json::json!({
            "metadata": {}, "spec": {"revisionHistoryLimit": limit, "selector": {}, "template": {}}}))
        .unwrap();
        surplus(&deployment, old)
            .iter()
            .map(|set| set.metadata.name.clone().unwrap())
            .collect()
    }

    #[test]
    fn kcm_d15_the_lowest_revisions_go_first_and_only_idle_ones() {
        let old = [set(3, 0), set(1, 0), set(2, 1), set(10, 0)];
        assert_eq!(names(Some(1), &old), ["r1", "r3"], "r2 still has pods");
        assert_eq!(names(Some(0), &old), ["r1", "r3", "r10"]);
        assert_eq!(names(Some(4), &old), [""; 0]);
        assert_eq!(names(None, &old), [""; 0]);
        let mut unseen = set(1, 0);
        unseen.metadata.generation = Some(2);
        assert_eq!(names(Some(0), &[unseen]), [""; 0]);
    }
}
