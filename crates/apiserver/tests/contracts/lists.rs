//! LIST.

use serde_json::json;

use crate::harness::{CONFIG_MAPS, Client, config_map, version};

fn names(list: &serde_json::Value) -> Vec<&str> {
    let items = list["items"].as_array().unwrap();
    items
        .iter()
        .map(|item| item["metadata"]["name"].as_str().unwrap())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn client_go_p2_pages_are_of_one_revision() {
    let client = Client::new();
    for name in ["b", "a", "d", "c"] {
        client.config_map(name).await;
    }
    let first = client.get(&format!("{CONFIG_MAPS}?limit=2")).await.ok();
    assert_eq!(names(&first), ["a", "b"]);
    assert_eq!(first["metadata"]["remainingItemCount"], 2);
    client.config_map("bb").await;
    client
        .delete(&format!("{CONFIG_MAPS}/d"), json!({}))
        .await
        .ok();
    let token = first["metadata"]["continue"].as_str().unwrap();
    let second = client
        .get(&format!("{CONFIG_MAPS}?limit=2&continue={token}"))
        .await
        .ok();
    assert_eq!(names(&second), ["c", "d"], "the state of the first page");
    assert_eq!(version(&second), version(&first));
    assert!(second["metadata"]["continue"].is_null());
    let now = client.get(CONFIG_MAPS).await.ok();
    assert_eq!(names(&now), ["a", "b", "bb", "c"]);

    client.0.compact();
    let expired = client
        .get(&format!("{CONFIG_MAPS}?limit=2&continue={token}"))
        .await;
    expired.refused(410, "Expired");
}

#[tokio::test(start_paused = true)]
async fn client_go_r9_a_version_from_the_future_is_too_large() {
    let client = Client::new();
    let answer = client
        .get(&format!("{CONFIG_MAPS}?resourceVersion=999"))
        .await;
    assert_eq!(answer.headers["retry-after"], "1");
    let status = answer.refused(504, "Timeout");
    assert_eq!(
        status["details"]["causes"][0]["reason"],
        "ResourceVersionTooLarge"
    );
    assert_eq!(status["details"]["retryAfterSeconds"], 1);
}

#[tokio::test(start_paused = true)]
async fn client_go_r10_any_version_is_never_paged() {
    let client = Client::new();
    for name in ["a", "b", "c"] {
        client.config_map(name).await;
    }
    let list = client
        .get(&format!("{CONFIG_MAPS}?limit=1&resourceVersion=0"))
        .await
        .ok();
    assert_eq!(names(&list).len(), 3);
    assert!(list["metadata"]["continue"].is_null());
}

#[tokio::test(start_paused = true)]
async fn an_exact_version_is_served_from_history() {
    let client = Client::new();
    let then = version(&client.config_map("a").await);
    client.config_map("b").await;
    let uri = format!("{CONFIG_MAPS}?resourceVersion={then}&resourceVersionMatch=Exact");
    let list = client.get(&uri).await.ok();
    assert_eq!((names(&list), version(&list)), (vec!["a"], then));
    client.0.compact();
    client.get(&uri).await.refused(410, "Expired");
    let bad = format!("{CONFIG_MAPS}?resourceVersionMatch=Exact");
    client.get(&bad).await.refused(422, "Invalid");
}

#[tokio::test(start_paused = true)]
async fn selectors_narrow_a_list() {
    let client = Client::new();
    for name in ["a", "b"] {
        let mut object = config_map(name);
        object["metadata"]["labels"] = json!({"app": name});
        client.post(CONFIG_MAPS, object).await.ok();
    }
    let by_label = client
        .get("/api/v1/configmaps?labelSelector=app%20in%20(b,c)")
        .await
        .ok();
    assert_eq!(names(&by_label), ["b"]);
    let by_name = client
        .get("/api/v1/configmaps?fieldSelector=metadata.name%3Da")
        .await
        .ok();
    assert_eq!(names(&by_name), ["a"]);
    client
        .get("/api/v1/configmaps?fieldSelector=spec.x%3Da")
        .await
        .refused(400, "BadRequest");
    client
        .get("/api/v1/configmaps?labelSelector=%21%21")
        .await
        .refused(400, "BadRequest");
}
