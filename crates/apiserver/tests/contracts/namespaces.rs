//! Namespaces: initial, protected, terminating.

use serde_json::json;

use crate::harness::{Client, config_map};

#[tokio::test(start_paused = true)]
async fn a_server_starts_with_its_namespaces() {
    let client = Client::new();
    let list = client.get("/api/v1/namespaces").await.ok();
    let names: Vec<&str> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["metadata"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        ["default", "kube-node-lease", "kube-public", "kube-system"]
    );
    let managers = &list["items"][0]["metadata"]["managedFields"];
    assert_eq!(managers[0]["manager"], "kube-apiserver");
    assert_eq!(
        managers[0]["fieldsV1"],
        json!({"f:metadata": {"f:labels": {".": {}, "f:kubernetes.io/metadata.name": {}}}})
    );
    assert!(managers[1].is_null(), "{managers}");
}

#[tokio::test(start_paused = true)]
async fn g53_protected_namespaces_stay() {
    let client = Client::new();
    for name in ["default", "kube-system", "kube-public"] {
        let refused = client
            .delete(&format!("/api/v1/namespaces/{name}"), json!({}))
            .await
            .refused(403, "Forbidden");
        assert!(
            refused["message"]
                .as_str()
                .unwrap()
                .ends_with("this namespace may not be deleted")
        );
    }
}

#[tokio::test(start_paused = true)]
async fn g53_a_namespace_terminates_until_it_is_finalized() {
    let client = Client::new();
    let created = client
        .post("/api/v1/namespaces", json!({"metadata": {"name": "n"}}))
        .await
        .ok();
    assert_eq!(created["spec"]["finalizers"], json!(["kubernetes"]));
    assert_eq!(
        created["metadata"]["labels"]["kubernetes.io/metadata.name"],
        "n"
    );
    client
        .post("/api/v1/namespaces/n/configmaps", config_map("early"))
        .await
        .ok();
    let first = client
        .delete(
            "/api/v1/namespaces/n",
            json!({"propagationPolicy": "Foreground"}),
        )
        .await
        .ok();
    assert_eq!(first["status"]["phase"], "Terminating");
    assert!(first["metadata"]["deletionTimestamp"].is_string());
    assert!(first["metadata"]["deletionGracePeriodSeconds"].is_null());
    let again = client
        .delete(
            "/api/v1/namespaces/n",
            json!({"propagationPolicy": "Orphan"}),
        )
        .await
        .ok();
    assert_eq!(again, first, "later deletions change nothing");

    let refused = client
        .post("/api/v1/namespaces/n/configmaps", config_map("late"))
        .await
        .refused(403, "Forbidden");
    assert_eq!(
        refused["details"]["causes"],
        json!([{
            "reason": "NamespaceTerminating",
            "message": "namespace n is being terminated",
            "field": "metadata.namespace",
        }])
    );
    // What is there may still change and go.
    client
        .merge(
            "/api/v1/namespaces/n/configmaps/early",
            json!({"data": {"x": "y"}}),
        )
        .await
        .ok();
    client
        .delete("/api/v1/namespaces/n/configmaps/early", json!({}))
        .await
        .ok();

    client
        .merge("/api/v1/namespaces/n", json!({"spec": {"finalizers": []}}))
        .await
        .ok();
    client.get("/api/v1/namespaces/n").await.ok();
    let mut last = again;
    last["spec"]["finalizers"] = json!([]);
    client.put("/api/v1/namespaces/n/finalize", last).await.ok();
    client
        .get("/api/v1/namespaces/n")
        .await
        .refused(404, "NotFound");
}

#[tokio::test(start_paused = true)]
async fn a_namespace_with_its_own_finalizers_waits_for_both() {
    let client = Client::new();
    let namespace = json!({"metadata": {"name": "n", "finalizers": ["a.b/c"]}});
    client.post("/api/v1/namespaces", namespace).await.ok();
    client.delete("/api/v1/namespaces/n", json!({})).await.ok();
    let finalize = json!({"metadata": {"name": "n", "finalizers": ["a.b/c"]}, "spec": {}});
    client
        .put("/api/v1/namespaces/n/finalize", finalize)
        .await
        .ok();
    client.get("/api/v1/namespaces/n").await.ok();
    client
        .merge(
            "/api/v1/namespaces/n",
            json!({"metadata": {"finalizers": null}}),
        )
        .await
        .ok();
    client
        .get("/api/v1/namespaces/n")
        .await
        .refused(404, "NotFound");
}
