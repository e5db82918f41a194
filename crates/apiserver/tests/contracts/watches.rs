//! WATCH.

use std::time::Duration;

use evenkeel_apiserver::{Fault, Verb, When};
use serde_json::json;

use crate::harness::{CONFIG_MAPS, Client, config_map, version};

#[tokio::test(start_paused = true)]
async fn a_watch_sees_every_change_behind_its_revision() {
    let client = Client::new();
    let start = client.0.revision();
    let mut watch = client
        .watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={start}"))
        .await;
    client.config_map("a").await;
    client
        .merge(&format!("{CONFIG_MAPS}/a"), json!({"data": {"a": "2"}}))
        .await
        .ok();
    client
        .delete(&format!("{CONFIG_MAPS}/a"), json!({}))
        .await
        .ok();
    assert_eq!(watch.line().await, format!("ADDED a@{}", start + 1));
    assert_eq!(watch.line().await, format!("MODIFIED a@{}", start + 2));
    assert_eq!(watch.line().await, format!("DELETED a@{}", start + 3));
    // Afterwards it waits; what comes then is seen too.
    let late = tokio::spawn(async move { watch.line().await });
    tokio::time::sleep(Duration::from_millis(10)).await;
    client.config_map("b").await;
    assert_eq!(late.await.unwrap(), format!("ADDED b@{}", start + 4));
}

#[tokio::test(start_paused = true)]
async fn an_object_enters_and_leaves_a_selector() {
    let client = Client::new();
    let start = client.0.revision();
    let uri = format!("{CONFIG_MAPS}?watch=1&resourceVersion={start}&labelSelector=app%3Dx");
    let mut watch = client.watch(&uri).await;
    client.config_map("a").await;
    for app in ["x", "y", "x"] {
        client
            .merge(
                &format!("{CONFIG_MAPS}/a"),
                json!({"metadata": {"labels": {"app": app}}}),
            )
            .await
            .ok();
    }
    assert_eq!(watch.line().await, format!("ADDED a@{}", start + 2));
    let left = watch.next().await.unwrap();
    assert_eq!(left["type"], "DELETED");
    assert_eq!(
        left["object"]["metadata"]["labels"]["app"], "x",
        "its last matching state"
    );
    assert_eq!(
        version(&left["object"]),
        start + 3,
        "under the revision of leaving"
    );
    assert_eq!(watch.line().await, format!("ADDED a@{}", start + 4));
}

#[tokio::test(start_paused = true)]
async fn client_go_r23_a_watch_from_zero_begins_with_the_state() {
    let client = Client::new();
    client.config_map("a").await;
    client.config_map("b").await;
    for query in ["watch=1", "watch=1&resourceVersion=0"] {
        let mut watch = client.watch(&format!("{CONFIG_MAPS}?{query}")).await;
        assert!(watch.line().await.starts_with("ADDED a@"));
        assert!(watch.line().await.starts_with("ADDED b@"));
    }
}

const WATCH_LIST: &str =
    "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

#[tokio::test(start_paused = true)]
async fn client_go_wl4_a_watch_list_marks_the_end_of_its_initial_events() {
    let client = Client::new();
    client.config_map("a").await;
    let revision = client.0.revision();
    let mut watch = client.watch(&format!("{CONFIG_MAPS}?{WATCH_LIST}")).await;
    assert_eq!(watch.line().await, format!("ADDED a@{revision}"));
    let marker = watch.next().await.unwrap();
    assert_eq!(marker["type"], "BOOKMARK");
    assert_eq!(marker["object"]["kind"], "ConfigMap");
    assert_eq!(
        marker["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"],
        "true"
    );
    assert_eq!(version(&marker["object"]), revision);
    client.config_map("b").await;
    assert_eq!(watch.line().await, format!("ADDED b@{}", revision + 1));
}

#[tokio::test(start_paused = true)]
async fn client_go_wl2_initial_events_need_not_older_than() {
    let client = Client::new();
    client
        .get(&format!("{CONFIG_MAPS}?watch=1&sendInitialEvents=true"))
        .await
        .refused(422, "Invalid");
    client
        .get(&format!(
            "{CONFIG_MAPS}?watch=1&resourceVersion=1&resourceVersionMatch=NotOlderThan"
        ))
        .await
        .refused(422, "Invalid");
    client
        .get(&format!("{CONFIG_MAPS}?sendInitialEvents=true"))
        .await
        .refused(422, "Invalid");
}

#[tokio::test(start_paused = true)]
async fn client_go_wl6_a_watch_list_from_the_future_ends_with_504_in_the_stream() {
    let client = Client::new();
    let mut watch = client
        .watch(&format!("{CONFIG_MAPS}?{WATCH_LIST}&resourceVersion=999"))
        .await;
    let error = watch.next().await.unwrap();
    assert_eq!(
        (error["type"].as_str(), error["object"]["code"].as_u64()),
        (Some("ERROR"), Some(504))
    );
    assert!(watch.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn client_go_r22_bookmarks_come_each_minute_and_before_the_end() {
    let client = Client::new();
    let start = client.0.revision();
    let uri = format!(
        "{CONFIG_MAPS}?watch=1&resourceVersion={start}&allowWatchBookmarks=true&timeoutSeconds=100"
    );
    let mut watch = client.watch(&uri).await;
    let begun = tokio::time::Instant::now();
    // A write to another resource moves the bookmark on.
    client
        .post("/api/v1/namespaces", json!({"metadata": {"name": "n"}}))
        .await
        .ok();
    assert_eq!(watch.line().await, format!("BOOKMARK -@{}", start + 1));
    assert_eq!(begun.elapsed().as_secs(), 60);
    assert_eq!(watch.line().await, format!("BOOKMARK -@{}", start + 1));
    assert_eq!(begun.elapsed().as_secs(), 98);
    assert!(watch.next().await.is_none());
    assert_eq!(begun.elapsed().as_secs(), 100);
}

#[tokio::test(start_paused = true)]
async fn client_go_r17_an_old_revision_ends_with_410_in_the_stream() {
    let client = Client::new();
    let start = client.0.revision();
    client.config_map("a").await;
    client.0.compact();
    let mut watch = client
        .watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={start}"))
        .await;
    let error = watch.next().await.unwrap();
    assert_eq!(error["type"], "ERROR");
    assert_eq!(
        (
            error["object"]["code"].as_u64(),
            error["object"]["reason"].as_str()
        ),
        (Some(410), Some("Expired"))
    );
    assert_eq!(error["object"]["kind"], "Status");
    assert!(watch.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_watcher_that_falls_behind_the_window_gets_410() {
    let client = Client(
        evenkeel_apiserver::Server::builder()
            .history(2, 1 << 20)
            .build(),
    );
    let start = client.0.revision();
    let mut watch = client
        .watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={start}"))
        .await;
    for name in ["a", "b", "c"] {
        client.post(CONFIG_MAPS, config_map(name)).await.ok();
    }
    assert_eq!(watch.next().await.unwrap()["object"]["code"], 410);
}

#[tokio::test(start_paused = true)]
async fn faults_cut_and_silence_watches() {
    let client = Client::new();
    let start = client.0.revision();
    let uri = format!("{CONFIG_MAPS}?{WATCH_LIST}&resourceVersion={start}&timeoutSeconds=30");
    let mut watch = client.watch(&uri).await;
    assert!(watch.line().await.starts_with("BOOKMARK"));
    client.0.faults().cut_watches();
    assert!(watch.is_cut().await);

    client
        .0
        .faults()
        .inject(When::verb(Verb::Watch).times(1), Fault::NoInitialEventsEnd);
    let mut watch = client.watch(&uri).await;
    let event = watch.next().await.unwrap();
    assert!(
        event["object"]["metadata"]["annotations"].is_null(),
        "a bookmark, but not the marker"
    );

    client
        .0
        .faults()
        .inject(When::verb(Verb::Watch).times(1), Fault::SilentWatch);
    let mut watch = client.watch(&uri).await;
    client.config_map("a").await;
    assert!(watch.next().await.is_none(), "nothing until the time-out");
}
