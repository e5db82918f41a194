use evenkeel_meta::Resource;
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use serde_json::json;

use crate::plane::{Plane, seconds, settle};

#[tokio::test(start_paused = true)]
async fn kcm_sa1_every_active_namespace_has_a_default_account() {
    let plane = Plane::new();
    let manager = plane.manager();
    settle().await;
    let n = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n", "finalizers": ["example.com/hold"]}});
    plane.create::<Namespace>(n).await;
    settle().await;
    for namespace in ["default", "kube-system", "n"] {
        plane
            .client
            .namespaced::<ServiceAccount>(namespace)
            .get("default")
            .await
            .unwrap();
    }
    let accounts = plane.client.namespaced::<ServiceAccount>("n");
    let old = accounts.get("default").await.unwrap().metadata.uid;
    accounts
        .delete("default", &Default::default())
        .await
        .unwrap();
    settle().await;
    assert_ne!(
        accounts.get("default").await.unwrap().metadata.uid,
        old,
        "made anew"
    );

    plane
        .client
        .all::<Namespace>()
        .delete("n", &Default::default())
        .await
        .unwrap();
    seconds(30).await;
    assert!(
        accounts.get_opt("default").await.unwrap().is_none(),
        "no account for one that goes"
    );
    plane.server.take_requests();
    seconds(30).await;
    let asked = plane.server.take_requests();
    let path = ServiceAccount::api_resource().collection_path(Some("n"));
    assert!(
        !asked
            .iter()
            .any(|request| request.path == path && request.method == http::Method::POST),
        "and none is tried"
    );
    manager.stop().await;
}
