//! Watches that go on, waits and mappings, against the embedded API server and its faults.

#![expect(clippy::unwrap_used, reason = "a helper that fails is a failed test")]

use std::time::Duration;

use evenkeel_apiserver::{Fault, Server, Verb, When};
use evenkeel_client::wait::{is_deleted, is_established, is_present};
use evenkeel_client::{
    Api, Client, Config, Error, ListOptions, Patch, PatchOptions, RestMapper, RetryWatch,
    WatchEvent, WatchOptions, WriteOptions,
};
use evenkeel_meta::{ApiResource, DeleteOptions, DynamicObject, GroupVersionKind, Scope};
use futures_util::StreamExt;
use serde_json::json;
use tokio::time::Instant;

fn in_process(server: &Server) -> Client {
    Client::from_service(server.clone()).with_field_manager("tests")
}

fn config_maps(client: &Client) -> Api<DynamicObject> {
    let resource = ApiResource::new_static("", "v1", "ConfigMap", "configmaps", Scope::Namespaced);
    client.dynamic(resource, Some("default"))
}

async fn create(api: &Api<DynamicObject>, name: &str) -> DynamicObject {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"app": "tests"}},
    });
    let object = serde_json::from_value(object).unwrap();
    api.create(&object, &WriteOptions::default()).await.unwrap()
}

async fn touch(api: &Api<DynamicObject>, name: &str, value: usize) {
    let patch = Patch::merge(&json!({"data": {"value": value.to_string()}}));
    api.patch(name, &patch, &PatchOptions::default())
        .await
        .unwrap();
}

async fn next(watch: &mut RetryWatch<DynamicObject>) -> String {
    let limit = Duration::from_secs(3600);
    let event = tokio::time::timeout(limit, watch.next()).await;
    match event.unwrap().unwrap().unwrap() {
        WatchEvent::Added(object) => format!("+{}", object.metadata.name),
        WatchEvent::Modified(object) => format!("~{}", object.data["data"]["value"]),
        WatchEvent::Deleted(object) => format!("-{}", object.metadata.name),
        WatchEvent::Error(status) => format!("E{}", status.code),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn tw1_tw2_a_retry_watch_misses_nothing_over_cuts_refusals_and_hangs() {
    let server = Server::new();
    let api = config_maps(&in_process(&server));
    create(&api, "a").await;
    let from = api.list(&ListOptions::default()).await.unwrap();
    let options = WatchOptions::from(from.resource_version).labels("app=tests");
    let mut watch = api.retry_watch(&options).unwrap();
    let faults = [
        Fault::internal_error(),
        Fault::too_many_requests(2),
        Fault::Hang,
        Fault::LoseAnswer,
    ];
    for (nth, fault) in faults.into_iter().enumerate() {
        touch(&api, "a", 2 * nth).await;
        assert_eq!(next(&mut watch).await, format!("~\"{}\"", 2 * nth));
        let watches = When::verb(Verb::Watch).times(3);
        server.faults().inject(watches, fault);
        server.faults().cut_watches();
        touch(&api, "a", 2 * nth + 1).await;
        assert_eq!(next(&mut watch).await, format!("~\"{}\"", 2 * nth + 1));
    }
    api.delete("a", &DeleteOptions::default()).await.unwrap();
    assert_eq!(next(&mut watch).await, "-a");
}

#[tokio::test(start_paused = true)]
async fn tw2_b26_a_retry_watch_that_fell_behind_says_so_and_ends() {
    let server = Server::new();
    let api = config_maps(&in_process(&server));
    let from = create(&api, "a").await.metadata.resource_version.unwrap();
    for name in ["b", "c"] {
        create(&api, name).await;
    }
    server.compact();
    let mut watch = api.retry_watch(&WatchOptions::from(from)).unwrap();
    assert_eq!(next(&mut watch).await, "E410");
    assert!(watch.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn tw3_a_wait_outlives_everything_that_passes() {
    let server = Server::new();
    let api = config_maps(&in_process(&server));
    server
        .faults()
        .inject(When::verb(Verb::List).times(2), Fault::internal_error());
    let (waits, acts) = (api.clone(), api.clone());
    let faults = server.clone();
    let acting = async move {
        tokio::time::sleep(Duration::from_secs(60)).await;
        let made = create(&acts, "a").await;
        for value in 0..5 {
            touch(&acts, "a", value).await;
            faults.faults().cut_watches();
            faults.compact();
            tokio::time::sleep(Duration::from_secs(60)).await;
        }
        acts.delete("a", &DeleteOptions::default()).await.unwrap();
        create(&acts, "a").await;
        made.metadata.uid.unwrap()
    };
    let waiting = async move {
        let mut waiter = waits.waiter("a").unwrap();
        let first = waiter.until(is_present()).await.unwrap().unwrap();
        let uid = first.metadata.uid.clone().unwrap();
        waiter.until(is_deleted(uid.clone())).await.unwrap();
        uid
    };
    let both = futures_util::future::join(acting, waiting);
    let (made, seen) = tokio::time::timeout(Duration::from_secs(3600), both)
        .await
        .unwrap();
    assert_eq!(made, seen);
}

#[tokio::test(start_paused = true)]
async fn d3_d5_tw3_a_definition_is_waited_for_and_found_by_its_kind() {
    let server = Server::new();
    let client = in_process(&server);
    let mapper = RestMapper::new(client.clone());
    let widget = GroupVersionKind::from_api_version("x.io/v1", "Widget");
    assert!(mapper.by_kind(&widget).await.is_err());
    let definitions = mapper.find("crd").await.unwrap().resource.api_resource;
    assert_eq!(definitions.plural, "customresourcedefinitions");
    let definitions = client.dynamic(definitions, None);
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.x.io"},
        "spec": {
            "group": "x.io", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": ["wd"]},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    });
    let definition: DynamicObject = serde_json::from_value(definition).unwrap();
    definitions
        .create(&definition, &WriteOptions::default())
        .await
        .unwrap();
    let limit = Duration::from_secs(60);
    let established = definitions.wait_for("widgets.x.io", is_established());
    tokio::time::timeout(limit, established)
        .await
        .unwrap()
        .unwrap();
    // What was discovered before is not fresh any more.
    tokio::time::advance(Duration::from_secs(2)).await;
    let found = mapper.by_kind(&widget).await.unwrap();
    assert_eq!(found.api_resource.to_string(), "widgets.x.io");
    let by_short_name = mapper.find("wd").await.unwrap();
    assert_eq!(by_short_name.resource, found);
    let widgets = client.dynamic(found.api_resource, Some("default"));
    assert!(widgets.list(&ListOptions::default()).await.is_ok());
}

#[tokio::test]
async fn kube_rs_21_a_hundred_watches_that_came_and_went_are_not_in_the_way_of_the_next() {
    let server = Server::new();
    let listener = server.listen("127.0.0.1:0").await.unwrap();
    let config = Config::from_kubeconfig_text(&listener.kubeconfig(), None).unwrap();
    let client = Client::connect(&config)
        .unwrap()
        .with_field_manager("tests");
    let api = config_maps(&client);
    for _ in 0..100 {
        let watch = api.watch(&WatchOptions::default()).await.unwrap();
        drop(watch);
    }
    let from = api.list(&ListOptions::default()).await.unwrap();
    let mut watch = api
        .watch(&WatchOptions::from(from.resource_version))
        .await
        .unwrap();
    create(&api, "a").await;
    let start = Instant::now();
    let event = tokio::time::timeout(Duration::from_secs(20), watch.next()).await;
    assert!(matches!(event, Ok(Some(Ok(WatchEvent::Added(_))))));
    assert!(
        start.elapsed() < Duration::from_secs(1),
        "{:?}",
        start.elapsed()
    );
    drop(watch);
    listener.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_wait_has_no_bound_but_the_callers() {
    let server = Server::new();
    let api = config_maps(&in_process(&server));
    let day = Duration::from_secs(86_400);
    let waited = tokio::time::timeout(day, api.wait_for("a", is_present())).await;
    assert!(waited.is_err());
    let elsewhere = api.in_all_namespaces();
    let error = elsewhere.wait_for("a", is_present()).await.unwrap_err();
    assert!(matches!(
        error,
        evenkeel_client::WaitError::Request(Error::Request(_))
    ));
}
