//! The pods that a ReplicaSet makes (contract kcm C4).

use std::sync::Arc;

use evenkeel_meta::{ApiResource, Complete, Meta, Object, OwnerReference, Resource};
use k8s_openapi::api::apps::v1::ReplicaSet;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::pod::Pod;

/// A pod to create, encoded once for all pods of its ReplicaSet; of the answer the metadata.
#[derive(Clone)]
pub(super) struct NewPod {
    metadata: Meta,
    body: Option<Arc<RawValue>>,
}

impl NewPod {
    /// The pod of a ReplicaSet's template: its labels, annotations and finalizers, and the set
    /// as owner. The API server makes the name.
    pub(super) fn from_template(
        set: &ReplicaSet,
        owner: OwnerReference,
    ) -> serde_json::Result<Self> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Body<'a, S> {
            api_version: &'a str,
            kind: &'a str,
            metadata: &'a Meta,
            #[serde(skip_serializing_if = "Option::is_none")]
            spec: Option<&'a S>,
        }
        let template = set.spec.template.as_ref();
        let template_meta = template.and_then(|template| template.metadata.as_ref());
        let metadata = Meta {
            generate_name: Some(format!(
                "{}-",
                set.metadata.name.as_deref().unwrap_or_default()
            )),
            namespace: set.metadata.namespace.clone(),
            labels: template_meta
                .and_then(|meta| meta.labels.clone())
                .unwrap_or_default(),
            annotations: template_meta
                .and_then(|meta| meta.annotations.clone())
                .unwrap_or_default(),
            finalizers: template_meta
                .and_then(|meta| meta.finalizers.clone())
                .unwrap_or_default(),
            owner_references: vec![owner],
            ..Meta::default()
        };
        let body = serde_json::value::to_raw_value(&Body {
            api_version: "v1",
            kind: "Pod",
            metadata: &metadata,
            spec: template.and_then(|template| template.spec.as_ref()),
        })?;
        Ok(Self {
            metadata,
            body: Some(body.into()),
        })
    }
}

impl Object for NewPod {
    type Meta = Meta;

    fn metadata(&self) -> &Meta {
        &self.metadata
    }
}

impl Resource for NewPod {
    fn api_resource() -> ApiResource {
        Pod::api_resource()
    }
}

// What is written is the template's pod, whole.
impl Complete for NewPod {}

impl Serialize for NewPod {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.body.as_deref().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for NewPod {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Answer {
            metadata: Meta,
        }
        let Answer { metadata } = Answer::deserialize(deserializer)?;
        Ok(Self {
            metadata,
            body: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kcm_c4_a_pod_is_the_template_with_the_set_as_owner() {
        let set: ReplicaSet = serde_json::from_value(serde_json::json!({
            "metadata": {"name": "web-7b4", "namespace": "shop", "uid": "u"},
            "spec": {"selector": {}, "template": {
                "metadata": {"labels": {"app": "web"}, "annotations": {"a": "b"}, "finalizers": ["x.y/z"]},
                "spec": {"containers": [{"name": "c", "image": "img:1"}]}}},
        }))
        .unwrap();
        let owner = OwnerReference {
            api_version: "apps/v1".into(),
            kind: "ReplicaSet".into(),
            name: "web-7b4".into(),
            uid: "u".into(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        };
        let pod = NewPod::from_template(&set, owner).unwrap();
        assert_eq!(
            serde_json::to_value(&pod).unwrap(),
            serde_json::json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {"generateName": "web-7b4-", "namespace": "shop", "labels": {"app": "web"},
                    "annotations": {"a": "b"}, "finalizers": ["x.y/z"],
                    "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-7b4",
                        "uid": "u", "controller": true, "blockOwnerDeletion": true}]},
                "spec": {"containers": [{"name": "c", "image": "img:1"}]},
            })
        );
    }
}
