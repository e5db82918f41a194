//! What objects have beside themselves.

use evenkeel::client::{Patch, PatchOptions, WriteOptions};
use evenkeel::meta::{ApiResource, Scope, Status};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::autoscaling::v1::Scale;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use k8s_openapi::api::policy::v1::Eviction;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::intercept::Interceptor;
use super::{DEPLOYMENTS, PODS, deployment, dynamic, pod, world};

const CSRS: ApiResource = ApiResource::new_static(
    "certificates.k8s.io",
    "v1",
    "CertificateSigningRequest",
    "certificatesigningrequests",
    Scope::Cluster,
);

fn typed<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

#[tokio::test(start_paused = true)]
async fn controller_runtime_t46_statuses_and_scales_are_read_replaced_and_patched() {
    let (_server, client) = world();
    let (write, patching) = (WriteOptions::default(), PatchOptions::default());
    let api = client.dynamic(DEPLOYMENTS, Some("default"));
    let typed_api = client.namespaced::<Deployment>("default");
    let made: Deployment = typed(deployment("d"));
    let mut one = typed_api.create(&made, &write).await.unwrap();

    one.status = Some(typed(json!({"replicas": 1})));
    one.spec.replicas = Some(9);
    let updated = typed_api.update_status(&one, &write).await.unwrap();
    assert_eq!(updated.status.unwrap().replicas, Some(1));
    assert_eq!(updated.spec.replicas, Some(2), "of the rest nothing");
    let mut other = api.get("d").await.unwrap();
    other.data["status"]["replicas"] = json!(2);
    let updated = api.update_status(&other, &write).await.unwrap();
    assert_eq!(updated.data["status"]["replicas"], 2);
    let patch = Patch::merge(&json!({"status": {"replicas": 3}}));
    let patched = typed_api
        .patch_status("d", &patch, &patching)
        .await
        .unwrap();
    assert_eq!(patched.status.unwrap().replicas, Some(3));
    let applied = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
        "status": {"readyReplicas": 1}});
    let applied = api
        .patch_status("d", &Patch::apply(&applied), &patching)
        .await;
    let status = &applied.unwrap().data["status"];
    assert_eq!(
        (&status["replicas"], &status["readyReplicas"]),
        (&json!(3), &json!(1))
    );

    let scales = typed_api.subresource::<Scale>("scale");
    let values = api.subresource::<Value>("scale");
    let mut scale = scales.get("d").await.unwrap();
    assert_eq!(scale.spec.as_ref().unwrap().replicas, Some(2));
    scale.spec.as_mut().unwrap().replicas = Some(4);
    let scaled = scales.update("d", &scale, &write).await.unwrap();
    assert_eq!(scaled.spec.unwrap().replicas, Some(4));
    let stale = scales.update("d", &scale, &write).await.unwrap_err();
    assert!(stale.is_conflict(), "{stale}");
    let patch = Patch::merge(&json!({"spec": {"replicas": 5}}));
    let scaled = values.patch("d", &patch, &patching).await.unwrap();
    assert_eq!(scaled["spec"]["replicas"], 5);
    let there = typed_api.get("d").await.unwrap();
    assert_eq!(there.spec.replicas, Some(5));
}

#[tokio::test(start_paused = true)]
async fn controller_runtime_t46_bindings_evictions_and_tokens_are_posted() {
    let (_server, client) = world();
    let write = WriteOptions::default();
    let (pods, values) = (
        client.namespaced::<Pod>("default"),
        client.dynamic(PODS, Some("default")),
    );
    for name in ["p", "q"] {
        values.create(&dynamic(pod(name)), &write).await.unwrap();
    }
    for (name, node) in [("p", "n1"), ("q", "n2")] {
        let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
            "target": {"kind": "Node", "name": node}});
        let bound = match name {
            "p" => {
                let binding: k8s_openapi::api::core::v1::Binding = typed(binding);
                let api = pods.subresource::<Status>("binding");
                api.create(name, &binding, &write).await.unwrap()
            }
            _ => {
                let api = values.subresource::<Status>("binding");
                api.create(name, &binding, &write).await.unwrap()
            }
        };
        assert!(bound.is_success());
        let there = pods.get(name).await.unwrap();
        assert_eq!(there.spec.unwrap().node_name.as_deref(), Some(node));
        let other = json!({"metadata": {"name": name}, "target": {"kind": "Node", "name": "n3"}});
        let again = pods.subresource::<Status>("binding");
        let again = again.create(name, &other, &write).await.unwrap_err();
        assert!(again.is_conflict(), "{again}");
    }
    let eviction =
        json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}});
    let as_type: Eviction = typed(eviction.clone());
    let evictions = pods.subresource::<Status>("eviction");
    assert!(
        evictions
            .create("p", &as_type, &write)
            .await
            .unwrap()
            .is_success()
    );
    let evictions = values.subresource::<Status>("eviction");
    assert!(
        evictions
            .create("q", &eviction, &write)
            .await
            .unwrap()
            .is_success()
    );
    let gone = evictions
        .create("none", &eviction, &write)
        .await
        .unwrap_err();
    assert!(gone.is_not_found(), "{gone}");

    let accounts = client.namespaced::<ServiceAccount>("default");
    let mut account = ServiceAccount::default();
    account.metadata.name = Some("robot".to_owned());
    accounts.create(&account, &write).await.unwrap();
    let request = json!({"spec": {"audiences": ["here"], "expirationSeconds": 600}});
    let as_type: TokenRequest = typed(request.clone());
    let tokens = accounts.subresource::<TokenRequest>("token");
    let issued = tokens.create("robot", &as_type, &write).await.unwrap();
    assert!(issued.status.unwrap().token.is_some());
    let tokens = accounts.subresource::<Value>("token");
    let issued = tokens.create("robot", &request, &write).await.unwrap();
    assert!(
        issued["status"]["token"]
            .as_str()
            .is_some_and(|token| !token.is_empty())
    );
}

/// The embedded server applies no scales: what would be sent is looked at.
#[tokio::test(start_paused = true)]
async fn controller_runtime_t46_a_scale_is_applied_under_its_own_path() {
    let (_server, client) = world();
    let (between, noted) = Interceptor::around(&client, |request| {
        let kind = request.headers()["content-type"].to_str().unwrap();
        assert_eq!(kind, "application/apply-patch+yaml");
        let query = request.uri().query().unwrap();
        assert!(query.contains("fieldManager=tests") && query.contains("force=true"));
        serde_json::from_slice(request.body()).ok()
    });
    let scale = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d"},
        "spec": {"replicas": 6}});
    let forced = PatchOptions::default().force();
    let api = between.namespaced::<Deployment>("default");
    let scales = api.subresource::<Scale>("scale");
    let scaled = scales.patch("d", &Patch::apply(&scale), &forced).await;
    assert_eq!(scaled.unwrap().spec.unwrap().replicas, Some(6));
    let api = between.dynamic(DEPLOYMENTS, Some("default"));
    let scales = api.subresource::<Value>("scale");
    let scaled = scales.patch("d", &Patch::apply(&scale), &forced).await;
    assert_eq!(scaled.unwrap(), scale);
    assert_eq!(*noted.lock(), ["PATCH deployments/d/scale"; 2]);
}

/// The embedded server signs nothing: what would be sent is looked at.
#[tokio::test(start_paused = true)]
async fn controller_runtime_t46_an_approval_replaces_the_request_under_its_own_path() {
    let (server, client) = world();
    let (between, noted) = Interceptor::around(&client, |request| {
        let path = "/apis/certificates.k8s.io/v1/certificatesigningrequests/c/approval";
        assert_eq!(request.uri().path(), path);
        serde_json::from_slice(request.body()).ok()
    });
    let condition = json!({"type": "Approved", "status": "True", "reason": "Known"});
    let request = json!({"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
        "metadata": {"name": "c"}, "spec": {"request": "cmVx", "signerName": "s/s"},
        "status": {"conditions": [condition]}});
    let as_type: CertificateSigningRequest = typed(request.clone());
    let write = WriteOptions::default();
    let api = between.all::<CertificateSigningRequest>();
    let approvals = api.subresource::<CertificateSigningRequest>("approval");
    let approved = approvals.update("c", &as_type, &write).await.unwrap();
    assert_eq!(approved, as_type);
    let api = between.dynamic(CSRS, None);
    let approvals = api.subresource::<Value>("approval");
    let approved = approvals.update("c", &request, &write).await.unwrap();
    assert_eq!(approved["status"]["conditions"][0]["type"], "Approved");
    assert!(noted.lock().iter().all(|note| note.starts_with("PUT ")));
    assert!(server.take_requests().is_empty());
}
