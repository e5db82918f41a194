//! Revision numbers and the other annotations that a Deployment keeps on its ReplicaSets (contract kcm D5).

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::limits::Limits;

pub(crate) const REVISION: &str = "deployment.kubernetes.io/revision";
pub(crate) const REVISION_HISTORY: &str = "deployment.kubernetes.io/revision-history";
pub(crate) const DESIRED_REPLICAS: &str = "deployment.kubernetes.io/desired-replicas";
pub(crate) const MAX_REPLICAS: &str = "deployment.kubernetes.io/max-replicas";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Rollback requests of the extensions/v1beta1 time; never copied to a ReplicaSet.
pub(crate) const ROLLBACK_TO: &str = "deprecated.deployment.rollback.to";

/// Annotations of the Deployment that say something about the Deployment alone.
const NOT_COPIED: [&str; 6] = [
    LAST_APPLIED,
    REVISION,
    REVISION_HISTORY,
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    ROLLBACK_TO,
];

/// The revision that a ReplicaSet or Deployment carries; 0 when it carries none.
pub(crate) fn revision(meta: &ObjectMeta) -> i64 {
    annotation(meta, REVISION)
        .and_then(|text| text.parse().ok())
        .unwrap_or(0)
}

/// The highest revision among these sets; 0 when there is none.
pub(crate) fn highest<'a>(sets: impl IntoIterator<Item = &'a ReplicaSet>) -> i64 {
    sets.into_iter()
        .map(|set| revision(&set.metadata))
        .max()
        .unwrap_or(0)
}

/// The annotation that tells for how many replicas a set was last sized, if it is there.
pub(crate) fn desired_replicas(set: &ReplicaSet) -> Option<i32> {
    annotation(&set.metadata, DESIRED_REPLICAS)?.parse().ok()
}

/// The annotation that tells how many replicas were allowed when a set was last sized.
pub(crate) fn max_replicas(set: &ReplicaSet) -> Option<i32> {
    annotation(&set.metadata, MAX_REPLICAS)?.parse().ok()
}

/// Writes the Deployment's numbers into a set's annotations; answers whether they changed.
pub(crate) fn set_replicas_annotations(set: &mut ReplicaSet, limits: Limits) -> bool {
    let annotations = set.metadata.annotations.get_or_insert_default();
    let desired = put(annotations, DESIRED_REPLICAS, limits.replicas.to_string());
    let max = put(annotations, MAX_REPLICAS, limits.max_total().to_string());
    desired | max
}

/// Brings the new set's annotations up to date: those of the Deployment, and its revision,
/// which is one more than the highest of the others. Answers whether anything changed.
///
/// A set that becomes the newest once more (a rollback) gets a new revision and remembers
/// the old one.
pub(crate) fn update_new_set(
    set: &mut ReplicaSet,
    deployment: &Deployment,
    highest_old: i64,
) -> bool {
    let before = set.metadata.annotations.clone();
    let old = revision(&set.metadata);
    let annotations = set.metadata.annotations.get_or_insert_default();
    for (key, value) in deployment.metadata.annotations.iter().flatten() {
        if !NOT_COPIED.contains(&key.as_str()) {
            put(annotations, key, value.clone());
        }
    }
    let new = highest_old + 1;
    if old < new {
        put(annotations, REVISION, new.to_string());
        if old > 0 {
            let history = match annotations.get(REVISION_HISTORY) {
                Some(history) if !history.is_empty() => format!("{history},{old}"),
                _ => old.to_string(),
            };
            put(annotations, REVISION_HISTORY, history);
        }
    }
    before.unwrap_or_default() != *annotations
}

fn annotation<'a>(meta: &'a ObjectMeta, key: &str) -> Option<&'a str> {
    meta.annotations.as_ref()?.get(key).map(String::as_str)
}

fn put(annotations: &mut BTreeMap<String, String>, key: &str, value: String) -> bool {
    if annotations.get(key) == Some(&value) {
        return false;
    }
    annotations.insert(key.to_owned(), value);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(annotations: &[(&str, &str)]) -> ReplicaSet {
        let annotations = annotations
            .iter()
            .map(|&(k, v)| (k.to_owned(), v.to_owned()));
        let mut set = ReplicaSet::default();
        set.metadata.annotations = Some(annotations.collect());
        set
    }

    fn get<'a>(set: &'a ReplicaSet, key: &str) -> Option<&'a str> {
        annotation(&set.metadata, key)
    }

    #[test]
    fn kcm_d5_a_new_set_gets_the_next_revision_and_the_deployments_annotations() {
        let mut deployment = Deployment::default();
        deployment.metadata.annotations = Some(BTreeMap::from(
            [
                ("note", "x"),
                (LAST_APPLIED, "{}"),
                (REVISION, "7"),
                (ROLLBACK_TO, "1"),
            ]
            .map(|(k, v)| (k.to_owned(), v.to_owned())),
        ));
        let mut new = ReplicaSet::default();
        assert!(update_new_set(&mut new, &deployment, 1));
        assert_eq!(get(&new, REVISION), Some("2"));
        assert_eq!(get(&new, "note"), Some("x"));
        assert_eq!(get(&new, LAST_APPLIED), None);
        assert_eq!(get(&new, ROLLBACK_TO), None);
        assert_eq!(get(&new, REVISION_HISTORY), None);
        assert!(
            !update_new_set(&mut new, &deployment, 1),
            "nothing is left to change"
        );
    }

    #[test]
    fn kcm_d5_a_reused_set_remembers_its_former_revisions() {
        let deployment = Deployment::default();
        let mut reused = set(&[(REVISION, "1")]);
        assert!(update_new_set(&mut reused, &deployment, 2));
        assert_eq!(
            (get(&reused, REVISION), get(&reused, REVISION_HISTORY)),
            (Some("3"), Some("1"))
        );
        assert!(update_new_set(&mut reused, &deployment, 4));
        assert_eq!(
            (get(&reused, REVISION), get(&reused, REVISION_HISTORY)),
            (Some("5"), Some("1,3"))
        );
    }

    #[test]
    fn kcm_d5_sizes_are_written_as_text() {
        let limits = Limits {
            replicas: 10,
            max_surge: 3,
            max_unavailable: 2,
            recreate: false,
        };
        let mut set = ReplicaSet::default();
        assert!(set_replicas_annotations(&mut set, limits));
        assert!(!set_replicas_annotations(&mut set, limits));
        assert_eq!(
            (desired_replicas(&set), max_replicas(&set)),
            (Some(10), Some(13))
        );
    }
}
