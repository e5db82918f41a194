//! A namespace that is deleted takes everything in it along.

use std::time::Duration;

use anyhow::ensure;
use evenkeel_client::{Patch, PatchOptions};
use evenkeel_e2e::manifest::NAMESPACES;
use evenkeel_e2e::observe::{condition, field};
use evenkeel_e2e::{Env, eventually};
use evenkeel_meta::{ApiResource, DeleteOptions, Scope};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(60);

/// Fifty objects of ten kinds, one of which holds the end up with a finalizer.
pub(crate) async fn fifty_objects_of_ten_kinds_go(env: Env) -> anyhow::Result<()> {
    let _manager = env.start_manager("manager", &[])?;
    let _nodes = env.start_nodes(1, Duration::ZERO)?;
    env.create_namespace("full").await?;
    for (resource, body) in ten_kinds() {
        for number in 0..5 {
            let mut object = body.clone();
            object["apiVersion"] = Value::from(resource.api_version());
            object["kind"] = Value::from(resource.kind.clone());
            object["metadata"] = json!({"name": format!("thing-{number}")});
            if resource.plural == "configmaps" && number == 0 {
                object["metadata"]["finalizers"] = json!(["example.com/hold"]);
            }
            env.create(&resource, Some("full"), object).await?;
        }
    }

    let namespaces = env.client().dynamic(NAMESPACES, None);
    namespaces.delete("full", &DeleteOptions::default()).await?;
    eventually(SOON, "the namespace says what holds it up", async || {
        let namespace = namespaces.get("full").await?;
        let phase = field(&namespace, "/status/phase").clone();
        Ok(
            if phase == "Terminating" && condition(&namespace, "NamespaceFinalizersRemaining") {
                Ok(())
            } else {
                Err(format!("{}", field(&namespace, "/status")))
            },
        )
    })
    .await?;
    for (resource, _) in ten_kinds() {
        let left = env.client().dynamic(resource.clone(), Some("full"));
        let left = left
            .list(&evenkeel_client::ListOptions::default())
            .await?
            .items;
        let expected = usize::from(resource.plural == "configmaps");
        ensure!(
            left.len() == expected,
            "{} left: {}",
            resource.plural,
            left.len()
        );
    }

    let release = Patch::merge(&json!({"metadata": {"finalizers": null}}));
    env.client()
        .dynamic(ten_kinds()[0].0.clone(), Some("full"))
        .patch("thing-0", &release, &PatchOptions::default())
        .await?;
    eventually(SOON, "the namespace is gone", async || {
        Ok(match namespaces.get_opt("full").await? {
            None => Ok(()),
            Some(namespace) => Err(format!("{}", field(&namespace, "/status"))),
        })
    })
    .await
}

fn ten_kinds() -> [(ApiResource, Value); 10] {
    let kind = |group: &'static str, kind: &'static str, plural: &'static str| {
        ApiResource::new_static(group, "v1", kind, plural, Scope::Namespaced)
    };
    let template = json!({
        "metadata": {"labels": {"app": "thing"}},
        "spec": {"terminationGracePeriodSeconds": 1, "containers": [{"name": "main", "image": "thing:1"}]}
    });
    let selector = json!({"matchLabels": {"app": "thing"}});
    [
        (
            kind("", "ConfigMap", "configmaps"),
            json!({"data": {"key": "value"}}),
        ),
        (
            kind("", "Secret", "secrets"),
            json!({"stringData": {"key": "value"}}),
        ),
        (
            kind("", "Service", "services"),
            json!({"spec": {"ports": [{"port": 80}]}}),
        ),
        (kind("", "ServiceAccount", "serviceaccounts"), json!({})),
        (kind("", "Pod", "pods"), json!({"spec": template["spec"]})),
        (
            kind("apps", "ReplicaSet", "replicasets"),
            json!({"spec": {"replicas": 0, "selector": selector, "template": template}}),
        ),
        (
            kind("apps", "Deployment", "deployments"),
            json!({"spec": {"replicas": 0, "selector": selector, "template": template}}),
        ),
        (
            kind("coordination.k8s.io", "Lease", "leases"),
            json!({"spec": {"holderIdentity": "nobody"}}),
        ),
        (
            kind("rbac.authorization.k8s.io", "Role", "roles"),
            json!({"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}),
        ),
        (
            kind("", "LimitRange", "limitranges"),
            json!({"spec": {"limits": [{"type": "Pod"}]}}),
        ),
    ]
}
