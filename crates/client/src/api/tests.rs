use std::time::Duration;

use evenkeel_meta::{
    ApiResource, DeleteOptions, DynamicObject, Metadata, ObjectKey, Preconditions,
    PropagationPolicy, ResourceVersion, Scope, Status,
};
use futures_util::StreamExt;
use http::Method;

use crate::testing::{Answer, Pod, Scripted};
use crate::transport::Lane;
use crate::{
    Api, Deleted, Error, FieldValidation, ListOptions, Patch, PatchOptions, RequestError,
    VersionMatch, WatchEvent, WatchOptions, WriteOptions,
};

const POD: &str = r#"{"metadata":{"name":"a","namespace":"ns","uid":"u"}}"#;
const EMPTY: &str = r#"{"kind":"PodList","metadata":{"resourceVersion":"5"},"items":[]}"#;

fn pod_server() -> Scripted {
    Scripted::new(|_, _| Answer::ok(POD))
}

fn widgets() -> ApiResource {
    ApiResource::new_static("x.io", "v1", "Widget", "widgets", Scope::Namespaced)
}

async fn listed(options: &ListOptions) -> String {
    let server = Scripted::new(|_, _| Answer::ok(EMPTY));
    server.client().all::<Pod>().list(options).await.unwrap();
    server.targets().remove(0)
}

async fn watched(options: &WatchOptions) -> String {
    let server = Scripted::new(|_, _| Answer::ok(""));
    let api = server.client().all::<Pod>();
    api.watch(options).await.unwrap();
    assert_eq!(server.seen()[0].lane, Lane::Watch);
    server.targets().remove(0)
}

#[tokio::test]
async fn r7_r10_what_lists_ask_for() {
    let first = ListOptions::default().at(ResourceVersion::any());
    assert_eq!(
        listed(&first).await,
        "/api/v1/pods?limit=500&resourceVersion=0"
    );
    let again = ListOptions::default().at(77.into()).unpaged();
    assert_eq!(listed(&again).await, "/api/v1/pods?resourceVersion=77");
    let recent = ListOptions::default().unpaged();
    assert_eq!(listed(&recent).await, "/api/v1/pods");
    let exact = ListOptions::default()
        .labels("app=web")
        .fields("status.phase!=Failed")
        .at(77.into())
        .matching(VersionMatch::Exact);
    assert_eq!(
        listed(&exact).await,
        "/api/v1/pods?labelSelector=app%3Dweb&fieldSelector=status.phase%21%3DFailed\
         &limit=500&resourceVersion=77&resourceVersionMatch=Exact"
    );
}

#[tokio::test]
async fn r15_what_watches_ask_for() {
    let options = WatchOptions::from(77.into()).timeout(Duration::from_secs(421));
    assert_eq!(
        watched(&options).await,
        "/api/v1/pods?watch=true&allowWatchBookmarks=true&resourceVersion=77&timeoutSeconds=421"
    );
}

#[tokio::test]
async fn a_watch_is_asked_to_last_for_a_time_that_servers_can_count() {
    for (limit, seconds) in [
        (Duration::ZERO, 1),
        (Duration::from_millis(500), 1),
        (Duration::from_millis(1500), 1),
        (Duration::MAX, 946_080_000),
    ] {
        let target = watched(&WatchOptions::default().timeout(limit)).await;
        let expected = format!("&timeoutSeconds={seconds}");
        assert!(target.ends_with(&expected), "{target}");
    }
}

#[tokio::test]
async fn wl2_what_watch_lists_ask_for() {
    let wire = "/api/v1/pods?watch=true&allowWatchBookmarks=true";
    let tail = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=300";
    let first = WatchOptions::initial_events(ResourceVersion::unset());
    assert_eq!(watched(&first).await, format!("{wire}&{tail}"));
    let again = WatchOptions::initial_events(9.into());
    assert_eq!(
        watched(&again).await,
        format!("{wire}&resourceVersion=9&{tail}")
    );
}

#[tokio::test]
async fn rc8_segments_that_would_change_the_path_are_refused() {
    let server = pod_server();
    let pods = server.client().namespaced::<Pod>("ns");
    for name in ["", ".", "..", "a/b", "a%2fb"] {
        let refused = [
            pods.get(name).await.map(drop),
            pods.delete(name, &DeleteOptions::default()).await.map(drop),
            pods.in_namespace(name).get("a").await.map(drop),
            pods.in_namespace(name)
                .list(&ListOptions::default())
                .await
                .map(drop),
            pods.subresource::<Pod>(name).get("a").await.map(drop),
        ];
        for outcome in refused {
            let refusal = outcome.unwrap_err();
            assert!(matches!(
                refusal,
                Error::Request(RequestError::InvalidPathSegment { .. })
            ));
        }
    }
    assert!(server.seen().is_empty());
    pods.get("system:node a?").await.unwrap();
    assert_eq!(
        server.targets(),
        ["/api/v1/namespaces/ns/pods/system:node%20a%3F"]
    );
}

#[tokio::test]
async fn rc8_a_namespaced_object_needs_a_namespace() {
    let server = pod_server();
    let pods = server.client().all::<Pod>();
    let error = pods.get("a").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "pods are namespaced: choose a namespace first"
    );
    let mut homeless = Pod::named("", "a");
    homeless.metadata.namespace = None;
    let created = pods.create(&homeless, &WriteOptions::default()).await;
    assert!(matches!(
        created,
        Err(Error::Request(RequestError::NamespaceRequired { .. }))
    ));
    assert!(server.seen().is_empty());

    pods.create(&Pod::named("ns", "a"), &WriteOptions::default())
        .await
        .unwrap();
    pods.update(&Pod::named("ns", "a"), &WriteOptions::default())
        .await
        .unwrap();
    assert_eq!(
        server.targets(),
        ["/api/v1/namespaces/ns/pods", "/api/v1/namespaces/ns/pods/a"],
        "the object's own namespace is taken"
    );
}

#[tokio::test]
async fn writes_carry_their_options() {
    let server = pod_server();
    let client = server.client().with_field_manager("me");
    let pods = client.namespaced::<Pod>("ns");
    let strict = WriteOptions::default()
        .field_validation(FieldValidation::Strict)
        .dry_run();
    let pod = Pod::named("ns", "a");
    pods.create(&pod, &strict).await.unwrap();
    let other = WriteOptions::default().field_manager("other");
    pods.update_status(&pod, &other).await.unwrap();
    let patch = Patch::strategic(&serde_json::json!({"spec": {}}));
    pods.patch("a", &patch, &PatchOptions::default())
        .await
        .unwrap();
    pods.apply("a", &pod, &PatchOptions::default().force())
        .await
        .unwrap();
    let scale = Patch::merge(&serde_json::json!({"spec": {"replicas": 1}}));
    pods.subresource::<Pod>("scale")
        .patch("a", &scale, &PatchOptions::default())
        .await
        .unwrap();

    let seen = server.seen();
    let wire: Vec<_> = seen
        .iter()
        .map(|s| (s.method.as_str(), s.target.as_str()))
        .collect();
    let base = "/api/v1/namespaces/ns/pods";
    assert_eq!(
        wire,
        [
            (
                "POST",
                &*format!("{base}?dryRun=All&fieldManager=me&fieldValidation=Strict")
            ),
            ("PUT", &*format!("{base}/a/status?fieldManager=other")),
            ("PATCH", &*format!("{base}/a?fieldManager=me")),
            ("PATCH", &*format!("{base}/a?fieldManager=me&force=true")),
            ("PATCH", &*format!("{base}/a/scale?fieldManager=me")),
        ]
    );
    let kinds: Vec<_> = seen.iter().map(|s| s.header("content-type")).collect();
    assert_eq!(
        kinds,
        [
            "application/json",
            "application/json",
            "application/strategic-merge-patch+json",
            "application/apply-patch+yaml",
            "application/merge-patch+json",
        ]
    );
    assert!(seen.iter().all(|s| s.lane == Lane::Write));
    assert_eq!(serde_json::from_slice::<Pod>(&seen[0].body).unwrap(), pod);
}

#[tokio::test]
async fn apply_needs_a_field_manager() {
    let server = pod_server();
    let pods = server.client().namespaced::<Pod>("ns");
    let error = pods
        .apply("a", &Pod::default(), &PatchOptions::default())
        .await;
    assert!(matches!(
        error,
        Err(Error::Request(RequestError::FieldManagerRequired))
    ));
}

#[tokio::test]
async fn deletes_carry_their_options_and_tell_what_is_left() {
    let gone = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}"#;
    let server = Scripted::new(move |nth, _| Answer::ok(if nth == 0 { POD } else { gone }));
    let pods = server.client().namespaced::<Pod>("ns");
    let options =
        DeleteOptions::with_policy(PropagationPolicy::Foreground).only_if(Preconditions {
            uid: Some("u".into()),
            resource_version: Some(7.into()),
        });
    let left = pods.delete("a", &options).await.unwrap();
    assert!(matches!(left, Deleted::Object(pod) if pod.metadata.name == "a"));
    let left = pods.delete("a", &DeleteOptions::default()).await.unwrap();
    assert!(matches!(left, Deleted::Status(status) if status.is_success()));
    let selection = ListOptions::default().labels("app=web");
    pods.delete_collection(&DeleteOptions::default(), &selection)
        .await
        .unwrap();

    let seen = server.seen();
    assert!(seen.iter().all(|s| s.method == Method::DELETE));
    assert_eq!(
        seen[0].body,
        r#"{"propagationPolicy":"Foreground","preconditions":{"uid":"u","resourceVersion":"7"}}"#
    );
    assert_eq!(
        seen[2].target,
        "/api/v1/namespaces/ns/pods?labelSelector=app%3Dweb"
    );
}

#[tokio::test]
async fn evictions_answer_with_a_status() {
    let server = Scripted::new(|_, _| {
        Answer::new(201).chunk(r#"{"kind":"Status","status":"Success","code":201}"#)
    });
    let pods = server.client().namespaced::<Pod>("ns");
    let eviction = pods.subresource::<Status>("eviction");
    let body = serde_json::json!({"metadata": {"name": "a"}});
    let status = eviction
        .create("a", &body, &WriteOptions::default())
        .await
        .unwrap();
    assert!(status.is_success());
    assert_eq!(server.targets(), ["/api/v1/namespaces/ns/pods/a/eviction"]);
}

#[tokio::test]
async fn dy1_dynamic_objects_take_the_kind_that_lists_leave_out() {
    let list = r#"{"kind":"WidgetList","items":[{"metadata":{"name":"a"},"spec":{"size":3}}]}"#;
    let server = Scripted::new(move |_, _| Answer::ok(list));
    let api: Api<DynamicObject> = server.client().dynamic(widgets(), Some("ns"));
    let list = api.list(&ListOptions::default()).await.unwrap();
    let widget = &list.items[0];
    assert_eq!(
        (&*widget.types.api_version, &*widget.types.kind),
        ("x.io/v1", "Widget")
    );
    assert_eq!(widget.data["spec"]["size"], 3);
    assert_eq!(server.seen()[0].header("accept"), "application/json");
}

#[tokio::test]
async fn dy2_metadata_only_asks_for_it_and_takes_plain_objects_too() {
    let whole = r#"{"kind":"Pod","metadata":{"name":"a","namespace":"ns"},"spec":{"x":[1,2]}}"#;
    let server = Scripted::new(move |_, seen| match &*seen.target {
        target if target.contains("watch=true") => {
            Answer::ok(format!("{{\"type\":\"ADDED\",\"object\":{whole}}}\n"))
        }
        target if target.ends_with("pods/a") => Answer::ok(whole),
        _ => Answer::ok(format!("{{\"items\":[{whole}]}}")),
    });
    let pods = ApiResource::new_static("", "v1", "Pod", "pods", Scope::Namespaced);
    let api: Api<Metadata> = server.client().metadata(pods, Some("ns"));
    let name = ObjectKey::namespaced("ns", "a");
    let key = |object: &Metadata| evenkeel_meta::MetaView::key(&object.metadata);
    assert_eq!(key(&api.get("a").await.unwrap()), name);
    assert_eq!(
        key(&api.list(&ListOptions::default()).await.unwrap().items[0]),
        name
    );
    let mut watch = api.watch(&WatchOptions::default()).await.unwrap();
    let Some(Ok(WatchEvent::Added(object))) = watch.next().await else {
        panic!("no event")
    };
    assert_eq!(key(&object), name);

    let accept: Vec<_> = server
        .seen()
        .iter()
        .map(|s| s.header("accept").to_owned())
        .collect();
    let one = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
    let many = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
    assert_eq!(accept, [one, many, one]);
}

#[tokio::test]
async fn get_opt_takes_a_missing_object_for_an_answer() {
    let server = Scripted::new(|nth, _| Answer::new(if nth == 0 { 404 } else { 403 }));
    let pods = server.client().namespaced::<Pod>("ns");
    assert_eq!(pods.get_opt("a").await.unwrap(), None);
    assert!(pods.get_opt("a").await.unwrap_err().is_forbidden());
}

#[tokio::test]
async fn a_namespace_means_nothing_to_a_cluster_scoped_kind() {
    let nodes = ApiResource::new_static("", "v1", "Node", "nodes", Scope::Cluster);
    let server = pod_server();
    let api = server
        .client()
        .dynamic(nodes, Some("ns"))
        .in_namespace("other");
    api.get("n1").await.unwrap();
    assert_eq!(server.targets(), ["/api/v1/nodes/n1"]);
    assert_eq!(api.namespace(), None);
}

#[tokio::test]
async fn every_writing_verb_takes_dry_run_manager_and_validation() {
    let server = pod_server();
    let pods = server.client().namespaced::<Pod>("ns");
    let pod = Pod::named("ns", "a");
    let write = WriteOptions::default()
        .dry_run()
        .field_manager("me")
        .field_validation(FieldValidation::Warn);
    let patching = PatchOptions::default()
        .dry_run()
        .field_manager("me")
        .field_validation(FieldValidation::Warn);
    let patch = Patch::merge(&serde_json::json!({}));
    let scale = pods.subresource::<Pod>("scale");
    pods.create(&pod, &write).await.unwrap();
    pods.update(&pod, &write).await.unwrap();
    pods.update_status(&pod, &write).await.unwrap();
    pods.patch("a", &patch, &patching).await.unwrap();
    pods.patch_status("a", &patch, &patching).await.unwrap();
    pods.apply("a", &pod, &patching).await.unwrap();
    scale.create("a", &pod, &write).await.unwrap();
    scale.update("a", &pod, &write).await.unwrap();
    scale.patch("a", &patch, &patching).await.unwrap();
    for target in server.targets() {
        let (_, query) = target.split_once('?').unwrap();
        assert_eq!(
            query, "dryRun=All&fieldManager=me&fieldValidation=Warn",
            "{target}"
        );
    }
    let rehearsed = DeleteOptions {
        dry_run: vec!["All".into()],
        ..DeleteOptions::default()
    };
    pods.delete("a", &rehearsed).await.unwrap();
    pods.delete_collection(&rehearsed, &ListOptions::default())
        .await
        .unwrap();
    let seen = server.seen();
    assert_eq!(seen.len(), 11);
    assert!(seen[9..].iter().all(|s| s.body == r#"{"dryRun":["All"]}"#));
}
