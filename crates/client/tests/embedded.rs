//! The client against the embedded API server: in process with a paused clock, and over TLS.

#![expect(clippy::unwrap_used, reason = "a helper that fails is a failed test")]

use std::time::Duration;

use evenkeel_apiserver::{Fault, Server, Verb, When};
use evenkeel_client::{
    Api, Client, Config, Deleted, ListOptions, Patch, PatchOptions, WatchEvent, WatchOptions,
    WatchStream, WriteOptions,
};
use evenkeel_meta::{
    ApiResource, DeleteOptions, DynamicObject, MetaView, Metadata, Preconditions, ResourceVersion,
    Scope,
};
use futures_util::StreamExt;
use serde_json::json;
use tokio::time::Instant;

fn config_maps() -> ApiResource {
    ApiResource::new_static("", "v1", "ConfigMap", "configmaps", Scope::Namespaced)
}

fn in_process(server: &Server) -> Api<DynamicObject> {
    let client = Client::from_service(server.clone()).with_field_manager("tests");
    client.dynamic(config_maps(), Some("default"))
}

fn config_map(name: &str) -> DynamicObject {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"app": "tests"}}, "data": {"a": "b"},
    });
    serde_json::from_value(object).unwrap()
}

async fn create(api: &Api<DynamicObject>, names: &[&str]) {
    for name in names {
        let object = config_map(name);
        api.create(&object, &WriteOptions::default()).await.unwrap();
    }
}

fn names(items: &[DynamicObject]) -> Vec<&str> {
    items.iter().map(|item| &*item.metadata.name).collect()
}

fn ours() -> ListOptions {
    ListOptions::default().labels("app=tests")
}

async fn next(watch: &mut WatchStream<DynamicObject>) -> String {
    match watch.next().await.unwrap().unwrap() {
        WatchEvent::Added(object) => format!("+{}", object.metadata.name),
        WatchEvent::Modified(object) => format!("~{}", object.metadata.name),
        WatchEvent::Deleted(object) => format!("-{}", object.metadata.name),
        WatchEvent::Bookmark {
            initial_events_end, ..
        } => format!("={initial_events_end}"),
        WatchEvent::Error(status) => format!("E{}", status.code),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn the_life_of_an_object() {
    let server = Server::new();
    let api = in_process(&server);
    let created = api
        .create(&config_map("a"), &WriteOptions::default())
        .await
        .unwrap();
    assert_eq!(created.types.kind, "ConfigMap");
    let again = api.create(&config_map("a"), &WriteOptions::default()).await;
    assert!(again.unwrap_err().is_already_exists());

    let patch = Patch::merge(&json!({"data": {"a": "c"}}));
    let patched = api
        .patch("a", &patch, &PatchOptions::default())
        .await
        .unwrap();
    assert_eq!(patched.data["data"]["a"], "c");
    let stale = api.update(&created, &WriteOptions::default()).await;
    assert!(stale.unwrap_err().is_conflict());
    let applied = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "y"}});
    let applied = api
        .apply("a", &applied, &PatchOptions::default())
        .await
        .unwrap();
    assert_eq!(applied.data["data"], json!({"a": "c", "x": "y"}));

    let other = DeleteOptions::default().only_if(Preconditions {
        uid: Some("other".into()),
        resource_version: None,
    });
    assert!(api.delete("a", &other).await.unwrap_err().is_conflict());
    let exactly = DeleteOptions::default().only_if(Preconditions::exactly(&applied.metadata));
    let left = api.delete("a", &exactly).await.unwrap();
    assert!(matches!(left, Deleted::Status(status) if status.is_success()));
    assert!(api.get_opt("a").await.unwrap().is_none());
    assert!(api.delete("a", &exactly).await.unwrap_err().is_not_found());
}

#[tokio::test(start_paused = true)]
async fn p2_pages_show_one_state() {
    let server = Server::new();
    let api = in_process(&server);
    create(&api, &["a", "b", "c"]).await;
    let first = api.list_page(&ours().page_size(2)).await.unwrap();
    assert_eq!(names(&first.items), ["a", "b"]);
    assert_eq!(first.info.remaining_item_count.unwrap_or(1), 1);
    create(&api, &["d"]).await;
    let rest = ours().page_size(2).continue_from(first.info.continue_token);
    let second = api.list_page(&rest).await.unwrap();
    assert_eq!(names(&second.items), ["c"], "not the later one");
    assert_eq!(second.info.resource_version, first.info.resource_version);
    let joined = api.list(&ours().page_size(2)).await.unwrap();
    assert_eq!(names(&joined.items), ["a", "b", "c", "d"]);
    assert!(joined.paged);
}

#[tokio::test(start_paused = true)]
async fn p3_an_expired_continue_token_ends_in_a_full_list() {
    let server = Server::new();
    let api = in_process(&server);
    create(&api, &["a", "b", "c"]).await;
    let second_page = When::verb(Verb::List).after(1).times(1);
    server.faults().inject(second_page, Fault::expired());
    let list = api.list(&ours().page_size(2)).await.unwrap();
    assert_eq!(names(&list.items), ["a", "b", "c"]);
    assert!(list.paged);
}

#[tokio::test(start_paused = true)]
async fn wl2_wl5_a_watch_list_goes_on_as_a_watch() {
    let server = Server::new();
    let api = in_process(&server);
    create(&api, &["a"]).await;
    let options = WatchOptions::initial_events(ResourceVersion::unset()).labels("app=tests");
    let mut watch = api.watch(&options).await.unwrap();
    assert_eq!(next(&mut watch).await, "+a");
    assert_eq!(next(&mut watch).await, "=true");
    create(&api, &["b"]).await;
    api.delete("a", &DeleteOptions::default()).await.unwrap();
    assert_eq!(next(&mut watch).await, "+b");
    assert_eq!(next(&mut watch).await, "-a");
}

#[tokio::test(start_paused = true)]
async fn r15_the_server_ends_a_watch_after_its_time() {
    let server = Server::new();
    let api = in_process(&server);
    let start = Instant::now();
    let options = WatchOptions::default()
        .timeout(Duration::from_secs(20))
        .labels("app=tests");
    let watch = api.watch(&options).await.unwrap();
    let bookmarks = watch
        .filter(|event| std::future::ready(event.is_err()))
        .count()
        .await;
    assert_eq!(bookmarks, 0, "no error");
    assert_eq!(start.elapsed(), Duration::from_secs(20));
}

#[tokio::test(start_paused = true)]
async fn kube_rs_d1_a_compacted_version_is_expired() {
    let server = Server::new();
    let api = in_process(&server);
    create(&api, &["a"]).await;
    let old = api.list(&ours()).await.unwrap().resource_version;
    create(&api, &["b", "c"]).await;
    server.compact();
    match api.watch(&WatchOptions::from(old)).await {
        Err(error) => assert!(error.is_expired(), "{error}"),
        Ok(mut watch) => assert_eq!(next(&mut watch).await, "E410"),
    }
}

#[tokio::test(start_paused = true)]
async fn r9_a_version_of_the_future_is_too_large() {
    let server = Server::new();
    let api = in_process(&server);
    let future = ours().at((server.revision() + 1000).into()).unpaged();
    let error = api.list(&future).await.unwrap_err();
    assert!(error.is_too_large_resource_version(), "{error}");
}

#[tokio::test(start_paused = true)]
async fn kube_rs_d6_a_server_that_hangs() {
    let server = Server::new();
    let api = in_process(&server);
    server.faults().inject(When::verb(Verb::List), Fault::Hang);
    let start = Instant::now();
    assert!(api.list(&ours()).await.unwrap_err().is_timeout());
    assert_eq!(start.elapsed(), Duration::from_secs(65));
}

#[tokio::test(start_paused = true)]
async fn rc2_too_many_requests_are_waited_out() {
    let server = Server::new();
    let api = in_process(&server);
    let busy = When::verb(Verb::Create).times(2);
    server.faults().inject(busy, Fault::too_many_requests(3));
    let start = Instant::now();
    create(&api, &["a"]).await;
    assert!(start.elapsed() >= Duration::from_secs(6));
}

#[tokio::test(start_paused = true)]
async fn rc3_a_write_whose_answer_is_lost_is_not_repeated() {
    let server = Server::new();
    let api = in_process(&server);
    let lost = When::verb(Verb::Create).times(1);
    server.faults().inject(lost, Fault::LoseAnswer);
    let error = api
        .create(&config_map("a"), &WriteOptions::default())
        .await
        .unwrap_err();
    assert!(error.is_retryable(), "{error}");
    assert!(
        api.get_opt("a").await.unwrap().is_some(),
        "it had taken effect"
    );
}

#[tokio::test(start_paused = true)]
async fn d1_discovery() {
    let client = Client::from_service(Server::new());
    let discovery = client.discover().await.unwrap();
    assert!(discovery.failures.is_empty());
    let deployments = discovery.find("deploy").unwrap();
    assert_eq!(deployments.api_resource.api_version(), "apps/v1");
    assert!(deployments.has_subresource("scale") && deployments.can("watch"));
    assert!(discovery.with_verbs(&["delete", "list", "watch"]).count() > 10);
}

#[tokio::test(start_paused = true)]
async fn dy2_metadata_only() {
    let server = Server::new();
    let api = in_process(&server);
    create(&api, &["a"]).await;
    let metadata: Api<Metadata> = api.client().metadata(config_maps(), Some("default"));
    let list = metadata.list(&ours()).await.unwrap();
    assert_eq!(list.items[0].metadata.label("app"), Some("tests"));
    let mut watch = metadata
        .watch(&WatchOptions::from(list.resource_version))
        .await
        .unwrap();
    create(&api, &["b"]).await;
    let event = watch.next().await.unwrap().unwrap();
    assert!(matches!(event, WatchEvent::Added(object) if object.metadata.name() == "b"));
}

#[tokio::test]
async fn a_listener_is_reached_by_its_kubeconfig_and_by_nothing_less() {
    let server = Server::new();
    let listener = server.listen("127.0.0.1:0").await.unwrap();
    let config = Config::from_kubeconfig_text(&listener.kubeconfig(), None).unwrap();
    let client = Client::connect(&config)
        .unwrap()
        .with_field_manager("tests");
    let api = client.dynamic(config_maps(), Some("default"));
    create(&api, &["a", "b", "c"]).await;
    let list = api.list(&ours().page_size(2)).await.unwrap();
    assert_eq!(names(&list.items), ["a", "b", "c"]);
    let mut watch = api
        .watch(&WatchOptions::from(list.resource_version))
        .await
        .unwrap();
    api.delete("b", &DeleteOptions::default()).await.unwrap();
    assert_eq!(next(&mut watch).await, "-b");

    let wrong_token = Client::connect(&config.clone().token("wrong")).unwrap();
    let error = wrong_token
        .dynamic(config_maps(), None)
        .list(&ours())
        .await
        .unwrap_err();
    assert!(error.is_unauthorized(), "{error}");

    let stranger = Config::new(&listener.url()).unwrap();
    let error = Client::connect(&stranger)
        .unwrap()
        .discover()
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("invalid peer certificate"),
        "{error}"
    );
    drop(watch);
    listener.shutdown().await;
}
