//! Scale, binding, eviction and tokens.

use serde_json::{Value, json};

use crate::harness::{Client, PODS, pod};

const SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";

fn set(name: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    })
}

#[tokio::test(start_paused = true)]
async fn scale_reads_and_writes_the_replicas() {
    let client = Client::new();
    client.post(SETS, set("s")).await.ok();
    let uri = format!("{SETS}/s/scale");
    let scale = client.get(&uri).await.ok();
    assert_eq!(
        (scale["kind"].as_str(), scale["spec"]["replicas"].as_i64()),
        (Some("Scale"), Some(2))
    );
    assert_eq!(
        scale["status"],
        json!({"replicas": 0, "selector": "app=web"})
    );

    let patched = client
        .merge(&uri, json!({"spec": {"replicas": 5}}))
        .await
        .ok();
    assert_eq!(patched["spec"]["replicas"], 5);
    let object = client.get(&format!("{SETS}/s")).await.ok();
    assert_eq!(object["spec"]["replicas"], 5);
    assert_eq!(object["metadata"]["generation"], 2);

    client
        .put(&uri, scale.clone())
        .await
        .refused(409, "Conflict");
    let mut current = patched;
    current["spec"]["replicas"] = 0.into();
    let none = client.put(&uri, current).await.ok();
    assert!(none["spec"]["replicas"].is_null(), "zero is left out");
    client
        .merge(&uri, json!({"spec": {"replicas": -1}}))
        .await
        .refused(422, "Invalid");
    client
        .get(&format!("{SETS}/none/scale"))
        .await
        .refused(404, "NotFound");
    client
        .get(&format!("{PODS}/p/scale"))
        .await
        .refused(404, "NotFound");
}

#[tokio::test(start_paused = true)]
async fn a_pod_is_bound_once() {
    let client = Client::new();
    client.post(PODS, pod("p")).await.ok();
    let binding = json!({"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}});
    let uri = format!("{PODS}/p/binding");
    assert_eq!(client.post(&uri, binding.clone()).await.code, 201);
    let bound = client.get(&format!("{PODS}/p")).await.ok();
    assert_eq!(bound["spec"]["nodeName"], "n1");
    assert_eq!(bound["status"]["conditions"][0]["type"], "PodScheduled");
    let refused = client.post(&uri, binding).await.refused(409, "Conflict");
    assert!(
        refused["message"]
            .as_str()
            .unwrap()
            .ends_with("pod p is already assigned to node \"n1\"")
    );
    let on_node = client
        .get("/api/v1/pods?fieldSelector=spec.nodeName%3Dn1")
        .await
        .ok();
    assert_eq!(on_node["items"].as_array().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_eviction_asks_the_budget() {
    let client = Client::new();
    let budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
    let budget = json!({"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}});
    client.post(budgets, budget).await.ok();
    let mut labelled = pod("p");
    labelled["metadata"]["labels"] = json!({"a": "b"});
    client.post(PODS, labelled).await.ok();
    client
        .merge(
            &format!("{PODS}/p/status"),
            json!({"status": {"phase": "Running"}}),
        )
        .await
        .ok();
    let eviction = json!({"metadata": {"name": "p"}});
    let uri = format!("{PODS}/p/eviction");
    let refused = client
        .post(&uri, eviction.clone())
        .await
        .refused(429, "TooManyRequests");
    assert_eq!(
        refused["details"]["causes"][0]["reason"],
        "DisruptionBudget"
    );
    let status = json!({"status": {"disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2}});
    client
        .merge(&format!("{budgets}/b/status"), status)
        .await
        .ok();
    assert_eq!(client.post(&uri, eviction).await.code, 201);
    client
        .get(&format!("{PODS}/p"))
        .await
        .refused(404, "NotFound");
    let spent = client.get(&format!("{budgets}/b")).await.ok();
    assert_eq!(spent["status"]["disruptionsAllowed"], 0);
}

#[tokio::test(start_paused = true)]
async fn a_service_account_gets_a_token_that_expires() {
    let client = Client::new();
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    client
        .post(accounts, json!({"metadata": {"name": "robot"}}))
        .await
        .ok();
    let request = json!({"spec": {"expirationSeconds": 600}});
    let answer = client
        .post(&format!("{accounts}/robot/token"), request)
        .await
        .ok();
    assert!(answer["status"]["token"].as_str().unwrap().len() >= 32);
    assert!(answer["status"]["expirationTimestamp"].is_string());
}
