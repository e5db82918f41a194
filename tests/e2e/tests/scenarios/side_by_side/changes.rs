//! What is done to one object, in every way that a server offers.

use anyhow::Context;
use evenkeel_client::{
    Client, Error, FieldValidation, ListOptions, Patch, PatchOptions, WriteOptions,
};
use evenkeel_meta::{ApiResource, DeleteOptions, PropagationPolicy};
use serde_json::{Map, Value, json};

/// An object of a manifest, and where it belongs.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) resource: ApiResource,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    pub(super) value: Value,
}

/// One request, or a read and a write.
#[derive(Clone, Debug)]
pub(super) enum Write {
    /// Server-side apply by this manager.
    Apply(&'static str, Value),
    Patch(Patch),
    /// Read, given this annotation, and put back.
    Put(&'static str),
    Delete(Option<PropagationPolicy>),
    /// Of all that carry this label.
    DeleteCollection(&'static str),
}

impl Item {
    pub(super) fn is(&self, kind: &str) -> bool {
        self.resource.kind == kind
    }

    /// As it is in the manifest.
    pub(super) fn apply(&self) -> Write {
        Write::Apply("first", self.value.clone())
    }

    /// How it is changed: each object in one general way, and each of some kinds in its own.
    pub(super) fn changes(&self, index: usize) -> Vec<Write> {
        let general = match index % 5 {
            0 => Write::Apply("first", self.with_labels(json!({"round": "two"}))),
            1 => {
                let metadata = json!({"name": self.name, "labels": self.seized()});
                Write::Apply(
                    "second",
                    json!({
                        "apiVersion": self.value["apiVersion"], "kind": self.value["kind"],
                        "metadata": metadata
                    }),
                )
            }
            2 => Write::Patch(Patch::merge(&json!({"metadata": {
                "labels": {"round": "two", "app.kubernetes.io/part-of": null}
            }}))),
            3 => {
                let annotations = json!({"round": "two"});
                Write::Patch(Patch::json(&json!([
                    {"op": "add", "path": "/metadata/annotations", "value": annotations}
                ])))
            }
            _ => Write::Put("round"),
        };
        std::iter::once(general).chain(self.own_change()).collect()
    }

    pub(super) fn delete(&self) -> Write {
        // There is no collector: who goes in the foreground stays, on its way out.
        let foreground = self.is("StatefulSet");
        Write::Delete(foreground.then_some(PropagationPolicy::Foreground))
    }

    fn own_change(&self) -> Option<Write> {
        let spec = |spec: Value| json!({"spec": spec});
        Some(Write::Patch(match &*self.resource.kind {
            "Deployment" | "StatefulSet" | "DaemonSet" => {
                let container = &self.value["spec"]["template"]["spec"]["containers"][0]["name"];
                let containers = json!([{
                    "name": container, "image": "example.com/other:2",
                    "env": [{"name": "ROUND", "value": "two"}]
                }]);
                Patch::strategic(&spec(
                    json!({"template": {"spec": {"containers": containers}}}),
                ))
            }
            "Service" => Patch::strategic(&spec(json!({"sessionAffinity": "ClientIP"}))),
            "ConfigMap" => Patch::merge(&json!({"data": {"round": "two"}})),
            "Secret" => Patch::merge(&json!({"stringData": {"round": "two"}})),
            "NetworkPolicy" => {
                Patch::merge(&spec(json!({"policyTypes": ["Ingress"], "egress": null})))
            }
            "ServiceMonitor" => Patch::merge(&spec(json!({"jobLabel": "round"}))),
            "PrometheusRule" => Patch::json(&json!([{"op": "remove", "path": "/spec/groups/0"}])),
            "ClusterRole" => {
                let rule = json!({"verbs": ["get"], "nonResourceURLs": ["/round"]});
                Patch::json(&json!([{"op": "add", "path": "/rules/0", "value": rule}]))
            }
            _ => return None,
        }))
    }

    fn with_labels(&self, labels: Value) -> Value {
        let mut value = self.value.clone();
        value["metadata"]["labels"] = labels;
        value
    }

    /// A label that it has, with another value, and a new one.
    fn seized(&self) -> Value {
        let mut labels = Map::new();
        let own = self.value["metadata"]["labels"].as_object();
        if let Some(label) = own.and_then(|own| own.keys().next()) {
            labels.insert(label.clone(), "seized".into());
        }
        labels.insert("round".into(), "two".into());
        labels.into()
    }
}

impl Write {
    /// Carries it out.
    pub(super) async fn run(&self, client: &Client, item: &Item) -> anyhow::Result<()> {
        let api = client.dynamic(item.resource.clone(), item.namespace.as_deref());
        let patch_options = PatchOptions::default().field_manager("patcher");
        let done: Result<(), Error> = match self {
            Self::Apply(manager, value) => {
                let options = PatchOptions::default()
                    .field_manager(*manager)
                    .field_validation(FieldValidation::Strict)
                    .force();
                api.apply(&item.name, value, &options).await.map(drop)
            }
            Self::Patch(patch) => api.patch(&item.name, patch, &patch_options).await.map(drop),
            Self::Put(annotation) => {
                let mut object = api.get(&item.name).await?;
                let annotations = &mut object.metadata.annotations;
                annotations.insert((*annotation).to_owned(), "put".to_owned());
                let options = WriteOptions::default().field_manager("putter");
                api.update(&object, &options).await.map(drop)
            }
            Self::Delete(policy) => {
                let options = DeleteOptions {
                    propagation_policy: *policy,
                    ..DeleteOptions::default()
                };
                api.delete(&item.name, &options).await.map(drop)
            }
            Self::DeleteCollection(label) => {
                let which = ListOptions::default().labels(*label);
                api.delete_collection(&DeleteOptions::default(), &which)
                    .await
            }
        };
        done.with_context(|| format!("{} {}", item.resource.plural, item.name))
    }
}
