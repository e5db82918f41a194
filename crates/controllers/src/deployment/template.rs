//! Which ReplicaSet a template belongs to (contracts kcm D2, D3).

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::PodTemplateSpec;

/// The label that tells the pods of one template from those of another.
pub(crate) const HASH_LABEL: &str = "pod-template-hash";

/// The longest name that the API server takes.
const MAX_NAME: usize = 253;

/// The digits that hashes are written in.
const DIGITS: [char; 10] = ['4', '5', '6', '7', '8', '9', 'b', 'c', 'd', 'f'];

/// Whether two templates describe the same pods. The hash label is ours, not theirs.
///
/// Equality decides, not the hash: so this takes over a cluster whose ReplicaSets were named
/// by another hash function.
pub(crate) fn same_template(a: &PodTemplateSpec, b: &PodTemplateSpec) -> bool {
    if a.spec != b.spec {
        return false;
    }
    let (empty_a, empty_b) = Default::default();
    let a = a.metadata.as_ref().unwrap_or(&empty_a);
    let b = b.metadata.as_ref().unwrap_or(&empty_b);
    let labels = |labels: &Option<std::collections::BTreeMap<String, String>>| {
        let mut labels = labels.clone().unwrap_or_default();
        labels.remove(HASH_LABEL);
        labels
    };
    labels(&a.labels) == labels(&b.labels)
        && a.annotations.as_ref().filter(|map| !map.is_empty())
            == b.annotations.as_ref().filter(|map| !map.is_empty())
        && a.finalizers.as_ref().filter(|list| !list.is_empty())
            == b.finalizers.as_ref().filter(|list| !list.is_empty())
        && (&a.name, &a.namespace, &a.generate_name) == (&b.name, &b.namespace, &b.generate_name)
}

/// The hash of a Deployment's template, in the form of the label and of the name's end.
pub(crate) fn template_hash(deployment: &Deployment) -> String {
    // Structs serialize in field order and maps in key order: the text is deterministic.
    let template = serde_json::to_vec(&deployment.spec.template);
    let mut hash = Fnv1a::new();
    hash.write(&template.unwrap_or_default());
    let collisions = deployment
        .status
        .as_ref()
        .and_then(|status| status.collision_count);
    if let Some(collisions) = collisions {
        hash.write(collisions.to_string().as_bytes());
    }
    let digit = |byte: u8| DIGITS[usize::from(byte - b'0')];
    hash.0.to_string().bytes().map(digit).collect()
}

/// `<deployment>-<hash>`, cut to what the API server takes.
pub(crate) fn replica_set_name(deployment: &str, hash: &str) -> String {
    let room = MAX_NAME - hash.len() - 1;
    let mut cut = room.min(deployment.len());
    while !deployment.is_char_boundary(cut) {
        cut -= 1;
    }
    format!("{}-{hash}", &deployment[..cut])
}

/// The ReplicaSet of the Deployment's present template: the oldest whose template is equal.
pub(crate) fn find_new<'a>(
    deployment: &Deployment,
    sets: &'a [ReplicaSet],
) -> Option<&'a ReplicaSet> {
    let wanted = &deployment.spec.template;
    sets.iter()
        .filter(|set| {
            let template = set.spec.template.as_ref();
            template.is_some_and(|template| same_template(template, wanted))
        })
        .min_by(|a, b| by_age(a, b))
}

/// Oldest first; of equal age by name, so that the order is the same in every run.
pub(crate) fn by_age(a: &ReplicaSet, b: &ReplicaSet) -> std::cmp::Ordering {
    let age = |set: &ReplicaSet| set.metadata.creation_timestamp.as_ref().map(|time| time.0);
    (age(a), &a.metadata.name).cmp(&(age(b), &b.metadata.name))
}

/// 32-bit FNV-1a.
struct Fnv1a(u32);

impl Fnv1a {
    fn new() -> Self {
        Self(0x811c_9dc5)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deployment(image: &str, collisions: Option<i32>) -> Deployment {
        serde_json::from_value(serde_json::json!({
            "metadata": {"name": "web"},
            "spec": {"selector": {}, "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": image}]}}},
            "status": {"collisionCount": collisions},
        }))
        .unwrap()
    }

    fn set(name: &str, created: &str, image: &str) -> ReplicaSet {
        serde_json::from_value(serde_json::json!({
            "metadata": {"name": name, "creationTimestamp": created},
            "spec": {"selector": {}, "template": {
                "metadata": {"labels": {"app": "web", "pod-template-hash": name}},
                "spec": {"containers": [{"name": "c", "image": image}]}}},
        }))
        .unwrap()
    }

    #[test]
    fn kcm_d2_equality_decides_and_the_oldest_wins() {
        let sets = [
            set("b", "2026-01-02T00:00:00Z", "img:1"),
            set("a", "2026-01-01T00:00:00Z", "img:1"),
            set("c", "2025-01-01T00:00:00Z", "img:2"),
        ];
        let found = find_new(&deployment("img:1", None), &sets).unwrap();
        assert_eq!(found.metadata.name.as_deref(), Some("a"));
        assert!(find_new(&deployment("img:3", None), &sets).is_none());
    }

    #[test]
    fn kcm_d3_hashes_use_ten_digits_and_change_with_collisions() {
        let hash = template_hash(&deployment("img:1", None));
        assert!((1..=10).contains(&hash.len()));
        assert!(hash.chars().all(|c| DIGITS.contains(&c)), "{hash}");
        assert_eq!(hash, template_hash(&deployment("img:1", None)));
        assert_ne!(hash, template_hash(&deployment("img:2", None)));
        assert_ne!(hash, template_hash(&deployment("img:1", Some(1))));
    }

    #[test]
    fn kcm_d3_names_are_cut_to_what_the_server_takes() {
        assert_eq!(replica_set_name("web", "7b4"), "web-7b4");
        let long = replica_set_name(&"a".repeat(253), "7b4");
        assert_eq!(long.len(), 253);
        assert!(long.ends_with("a-7b4"));
    }
}
