//! One blanket bridge: every `kube_core::Resource` is an [`Object`] here.
//!
//! Such types never implement the traits by hand. This is the only place below the facade
//! that knows kube-core and k8s-openapi.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    Condition as KubeCondition, ObjectMeta, OwnerReference as KubeOwner, Time,
};

use crate::ownership::put;
use crate::{
    ApiResource, Complete, Condition, ConditionEntry, MetaMut, MetaView, Object, OwnerReference,
    OwnerView, Resource, ResourceVersion, Scope, Timestamp,
};

impl<K: kube_core::Resource> Object for K {
    type Meta = ObjectMeta;

    const MANAGED_FIELDS: bool = true;

    fn metadata(&self) -> &ObjectMeta {
        self.meta()
    }
}

impl<K> Resource for K
where
    K: kube_core::Resource<DynamicType = ()>,
    K::Scope: StaticScope,
{
    fn api_resource() -> ApiResource {
        let own = |text: std::borrow::Cow<'_, str>| text.into_owned().into();
        ApiResource {
            group: own(K::group(&())),
            version: own(K::version(&())),
            kind: own(K::kind(&())),
            plural: own(K::plural(&())),
            scope: K::Scope::SCOPE,
        }
    }
}

// A metadata-only type of kube's carries no spec, but neither can it be PUT through a typed
// client of ours by accident: its dynamic type is not `()` unless the caller says so.
impl<K: kube_core::Resource<DynamicType = ()>> Complete for K {}

/// The scopes that are known when the program is compiled.
pub trait StaticScope {
    /// The scope as a value.
    const SCOPE: Scope;
}

impl StaticScope for k8s_openapi::ClusterResourceScope {
    const SCOPE: Scope = Scope::Cluster;
}

impl StaticScope for k8s_openapi::NamespaceResourceScope {
    const SCOPE: Scope = Scope::Namespaced;
}

impl MetaView for ObjectMeta {
    const WHOLE: bool = true;

    fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    fn uid(&self) -> Option<&str> {
        self.uid.as_deref()
    }

    fn resource_version(&self) -> Option<ResourceVersion> {
        self.resource_version.as_deref().map(ResourceVersion::parse)
    }

    fn generation(&self) -> Option<i64> {
        self.generation
    }

    fn creation_timestamp(&self) -> Option<Timestamp> {
        self.creation_timestamp.as_ref().map(|time| time.0.into())
    }

    fn deletion_timestamp(&self) -> Option<Timestamp> {
        self.deletion_timestamp.as_ref().map(|time| time.0.into())
    }

    fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.labels
            .iter()
            .flatten()
            .map(|(k, v)| (k.as_str(), v.as_str()))
    }

    fn annotations(&self) -> impl Iterator<Item = (&str, &str)> {
        self.annotations
            .iter()
            .flatten()
            .map(|(k, v)| (k.as_str(), v.as_str()))
    }

    fn label(&self, key: &str) -> Option<&str> {
        self.labels.as_ref()?.get(key).map(String::as_str)
    }

    fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.as_ref()?.get(key).map(String::as_str)
    }

    fn finalizers(&self) -> impl Iterator<Item = &str> {
        self.finalizers.iter().flatten().map(String::as_str)
    }

    fn owners(&self) -> impl Iterator<Item = OwnerView<'_>> {
        self.owner_references.iter().flatten().map(view)
    }
}

fn view(owner: &KubeOwner) -> OwnerView<'_> {
    OwnerView {
        api_version: &owner.api_version,
        kind: &owner.kind,
        name: &owner.name,
        uid: &owner.uid,
        controller: owner.controller.unwrap_or_default(),
        block_owner_deletion: owner.block_owner_deletion.unwrap_or_default(),
    }
}

impl From<OwnerReference> for KubeOwner {
    fn from(owner: OwnerReference) -> Self {
        Self {
            api_version: owner.api_version,
            kind: owner.kind,
            name: owner.name,
            uid: owner.uid.to_string(),
            controller: owner.controller,
            block_owner_deletion: owner.block_owner_deletion,
        }
    }
}

impl MetaMut for ObjectMeta {
    fn put_owner(&mut self, reference: OwnerReference) {
        let owners = self.owner_references.get_or_insert_default();
        put(owners, reference.into(), |one: &KubeOwner| &one.uid);
    }

    fn remove_owner(&mut self, uid: &str) -> bool {
        let Some(owners) = &mut self.owner_references else {
            return false;
        };
        let before = owners.len();
        owners.retain(|one| one.uid != uid);
        owners.len() < before
    }
}

impl ConditionEntry for KubeCondition {
    fn type_(&self) -> &str {
        &self.type_
    }

    fn status(&self) -> &str {
        &self.status
    }

    fn last_transition_time(&self) -> Option<Timestamp> {
        Some(self.last_transition_time.0.into())
    }

    fn from_condition(condition: Condition) -> Self {
        let since = condition.last_transition_time;
        Self {
            type_: condition.type_,
            status: condition.status.as_str().to_owned(),
            observed_generation: condition.observed_generation,
            last_transition_time: Time(since.unwrap_or(Timestamp::from_second(0)).into()),
            reason: condition.reason,
            message: condition.message,
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::Deployment;
    use k8s_openapi::api::core::v1::{ConfigMap, Node};
    use serde_json::json;

    use super::KubeCondition;
    use crate::{Condition, Conditions, MetaMut, MetaView, Object, Resource, Scope, Timestamp};

    #[test]
    fn k8s_openapi_types_are_resources() {
        let resource = Deployment::api_resource();
        assert_eq!(resource.to_string(), "deployments.apps");
        assert_eq!(resource.scope, Scope::Namespaced);
        assert_eq!(Node::api_resource().scope, Scope::Cluster);
        let node: Node = serde_json::from_str(
            r#"{"metadata":{"name":"n","resourceVersion":"7","deletionTimestamp":"2026-01-01T00:00:00Z"}}"#,
        )
        .unwrap();
        assert_eq!(
            node.metadata().resource_version().unwrap().as_number(),
            Some(7)
        );
        assert!(node.metadata().is_terminating());
    }

    #[test]
    fn owners_of_k8s_openapi_types_are_set_beside_others() {
        let owner: Node =
            serde_json::from_value(json!({"metadata": {"name": "n", "uid": "u1"}})).unwrap();
        let other = json!({"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u0"});
        let mut map: ConfigMap = serde_json::from_value(json!({"metadata":
            {"name": "m", "namespace": "ns", "ownerReferences": [other]}}))
        .unwrap();
        map.metadata.add_owner(&owner).unwrap();
        map.metadata.set_controller(&owner).unwrap();
        let ours = json!({"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u1",
            "controller": true, "blockOwnerDeletion": true});
        assert_eq!(json!(map.metadata.owner_references), json!([other, ours]));
        assert!(map.metadata.remove_owner("u0"));
        assert!(!map.metadata.remove_owner("u0"));
        assert_eq!(json!(map.metadata.owner_references), json!([ours]));
        let twice = map.metadata.owner_references.as_mut().unwrap();
        twice.extend_from_within(..);
        map.metadata.set_controller(&owner).unwrap();
        assert_eq!(json!(map.metadata.owner_references), json!([ours]));
    }

    #[test]
    fn conditions_of_k8s_openapi_keep_the_time_of_their_change() {
        let mut conditions: Vec<KubeCondition> = Vec::new();
        let found = |holds: bool| Condition::new("Ready", holds, "Why").observed(Some(2));
        let second = Timestamp::from_second;
        assert!(conditions.set_condition(found(true), second(1_800_000_000)));
        assert!(!conditions.set_condition(found(true), second(1_800_000_001)));
        assert_eq!(
            json!(conditions),
            json!([{"type": "Ready", "status": "True", "observedGeneration": 2, "reason": "Why",
                "lastTransitionTime": "2027-01-15T08:00:00Z", "message": ""}])
        );
        assert!(conditions.set_condition(found(false), second(1_800_000_002)));
        let since = conditions[0].last_transition_time.0;
        assert_eq!(Timestamp::from(since), second(1_800_000_002));
    }
}
