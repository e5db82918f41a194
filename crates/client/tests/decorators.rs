//! Clients around a client, against the embedded API server.

#![expect(clippy::unwrap_used, reason = "a helper that fails is a failed test")]

use bytes::Bytes;
use evenkeel_apiserver::Server;
use evenkeel_client::{
    Api, Client, Error, FieldValidation, ListOptions, Patch, PatchOptions, RequestError,
    WatchOptions, WriteOptions,
};
use evenkeel_meta::{ApiResource, DeleteOptions, DynamicObject, Reason, Scope, Status};
use http::{Method, Request};
use serde_json::{Value, json};

const MAPS: ApiResource =
    ApiResource::new_static("", "v1", "ConfigMap", "configmaps", Scope::Namespaced);
const PODS: ApiResource = ApiResource::new_static("", "v1", "Pod", "pods", Scope::Namespaced);
const NODES: ApiResource = ApiResource::new_static("", "v1", "Node", "nodes", Scope::Cluster);

fn object(kind: &str, namespace: Option<&str>, name: &str) -> DynamicObject {
    let meta = json!({"name": name, "namespace": namespace});
    let spec = json!({"containers": [{"name": "c", "image": "i"}]});
    let text = match kind {
        "Pod" => json!({"apiVersion": "v1", "kind": kind, "metadata": meta, "spec": spec}),
        _ => json!({"apiVersion": "v1", "kind": kind, "metadata": meta}),
    };
    serde_json::from_value(text).unwrap()
}

async fn everything(client: &Client) -> Vec<DynamicObject> {
    let mut all = Vec::new();
    for resource in [MAPS, PODS, NODES] {
        let api = client.dynamic(resource, None);
        all.extend(api.list(&ListOptions::default()).await.unwrap().items);
    }
    all
}

#[tokio::test]
async fn controller_runtime_t50_a_dry_run_stores_nothing_on_any_way_to_write() {
    let server = Server::builder().log_requests(1_000).build();
    let client = Client::from_service(server.clone()).with_field_manager("tests");
    let (write, patching) = (WriteOptions::default(), PatchOptions::default());
    let maps = client.dynamic(MAPS, Some("default"));
    let map = maps
        .create(&object("ConfigMap", None, "a"), &write)
        .await
        .unwrap();
    let pods = client.dynamic(PODS, Some("default"));
    let pod = pods
        .create(&object("Pod", None, "p"), &write)
        .await
        .unwrap();
    let before = everything(&client).await;
    server.take_requests();

    let dry = client.with_dry_run();
    let (maps, pods) = (maps.with_client(dry.clone()), pods.with_client(dry.clone()));
    let patch = Patch::merge(&json!({"data": {"k": "v"}}));
    let mut changed = map.clone();
    changed.data.insert("data".to_owned(), json!({"k": "v"}));
    let made = maps
        .create(&object("ConfigMap", None, "b"), &write)
        .await
        .unwrap();
    assert_eq!(made.metadata.name, "b", "answered as if");
    let updated = maps.update(&changed, &write).await.unwrap();
    assert_eq!(updated.data["data"], json!({"k": "v"}));
    maps.patch("a", &patch, &patching).await.unwrap();
    let apply = object("ConfigMap", None, "a");
    maps.apply("a", &apply, &patching).await.unwrap();
    maps.apply(
        "c",
        &object("ConfigMap", None, "c"),
        &patching.clone().dry_run(),
    )
    .await
    .unwrap();
    let mut running = pod.clone();
    running
        .data
        .insert("status".to_owned(), json!({"phase": "Running"}));
    pods.update_status(&running, &write).await.unwrap();
    let phase = Patch::merge(&json!({"status": {"phase": "Failed"}}));
    pods.patch_status("p", &phase, &patching).await.unwrap();
    let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction",
        "metadata": {"name": "p", "namespace": "default"}});
    let evictions = pods.subresource::<Status>("eviction");
    evictions.create("p", &eviction, &write).await.unwrap();
    maps.delete("a", &DeleteOptions::default()).await.unwrap();
    let rest = ListOptions::default();
    maps.delete_collection(&DeleteOptions::default(), &rest)
        .await
        .unwrap();
    let path = "/api/v1/namespaces/default/configmaps";
    let raw = |method: Method, path: String, body: &Value| {
        let body = if body.is_null() {
            Bytes::new()
        } else {
            body.to_string().into()
        };
        let request = Request::builder().method(method).uri(path);
        request
            .header("content-type", "application/json")
            .body(body)
            .unwrap()
    };
    let posted = json!(object("ConfigMap", None, "d"));
    dry.raw(raw(Method::POST, path.to_owned(), &posted))
        .await
        .unwrap();
    let options = json!({"propagationPolicy": "Background", "dryRun": []});
    dry.raw(raw(Method::DELETE, format!("{path}/a"), &options))
        .await
        .unwrap();
    dry.raw(raw(
        Method::DELETE,
        format!("{path}/a?dryRun=All"),
        &Value::Null,
    ))
    .await
    .unwrap();
    dry.raw(raw(
        Method::DELETE,
        format!("{path}/a?propagationPolicy=Background"),
        &Value::Null,
    ))
    .await
    .unwrap();
    let broken = raw(Method::DELETE, format!("{path}/a"), &json!("no options"));
    let refused = dry.raw(broken).await.unwrap_err();
    assert!(matches!(
        refused,
        Error::Request(RequestError::Malformed(_))
    ));

    let sent = server.take_requests();
    assert_eq!(sent.len(), 14, "and the last one was not sent");
    assert!(
        sent.iter()
            .all(|one| one.method != Method::GET && one.code < 300)
    );
    assert_eq!(everything(&client).await, before);
}

fn refused<T: std::fmt::Debug>(outcome: Result<T, Error>) -> String {
    match outcome.unwrap_err() {
        Error::Request(error @ RequestError::OtherNamespace { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn controller_runtime_t50_a_client_for_one_namespace_refuses_others_and_fills_in_none() {
    let server = Server::builder().log_requests(1_000).build();
    let client = Client::from_service(server.clone());
    let write = WriteOptions::default();
    let patch = Patch::merge(&json!({"data": {"k": "v"}}));
    let patching = PatchOptions::default();
    for namespace in ["default", "kube-system"] {
        let maps = client.dynamic(MAPS, Some(namespace));
        maps.create(&object("ConfigMap", None, "a"), &write)
            .await
            .unwrap();
    }
    let only = client.with_namespace("default");
    assert_eq!(only.default_namespace(), "default");
    let maps = only.dynamic(MAPS, None);
    server.take_requests();

    // None is this one.
    let filled = maps
        .create(&object("ConfigMap", None, "b"), &write)
        .await
        .unwrap();
    assert_eq!(filled.metadata.namespace.as_deref(), Some("default"));
    let same = object("ConfigMap", Some("default"), "c");
    maps.create(&same, &write).await.unwrap();
    // As Go says none.
    let empty = object("ConfigMap", Some(""), "d");
    maps.create(&empty, &write).await.unwrap();
    maps.patch("a", &patch, &patching).await.unwrap();
    let all = maps.list(&ListOptions::default()).await.unwrap();
    assert!(
        all.items
            .iter()
            .all(|one| one.metadata.namespace.as_deref() == Some("default"))
    );
    assert_eq!(all.items.len(), 4);
    maps.delete_collection(&DeleteOptions::default(), &ListOptions::default())
        .await
        .unwrap();
    let others: Api<DynamicObject> = client.dynamic(MAPS, Some("kube-system"));
    assert_eq!(
        others
            .list(&ListOptions::default())
            .await
            .unwrap()
            .items
            .len(),
        1
    );
    server.take_requests();

    // Another one is an error, whoever names it.
    let foreign = only.dynamic(MAPS, Some("kube-system"));
    let theirs = object("ConfigMap", Some("kube-system"), "a");
    let text = "configmaps in namespace kube-system: this client is for namespace default alone";
    let list = ListOptions::default();
    let delete = DeleteOptions::default();
    assert_eq!(refused(foreign.get("a").await), text);
    assert_eq!(refused(foreign.list(&list).await), text);
    assert_eq!(
        refused(foreign.watch(&WatchOptions::default()).await.map(|_| ())),
        text
    );
    assert_eq!(refused(foreign.patch("a", &patch, &patching).await), text);
    assert_eq!(refused(foreign.delete("a", &delete).await), text);
    assert_eq!(
        refused(foreign.delete_collection(&delete, &list).await),
        text
    );
    assert_eq!(refused(maps.create(&theirs, &write).await), text);
    assert_eq!(refused(maps.update(&theirs, &write).await), text);
    let in_ours = only.dynamic(MAPS, Some("default"));
    assert_eq!(refused(in_ours.create(&theirs, &write).await), text);
    assert!(server.take_requests().is_empty(), "nothing was sent");

    // What is in no namespace is not concerned.
    let nodes = only.dynamic(NODES, None);
    nodes
        .create(&object("Node", None, "n"), &write)
        .await
        .unwrap();
    assert_eq!(nodes.get("n").await.unwrap().metadata.namespace, None);
}

#[tokio::test]
async fn controller_runtime_t50_the_clients_validation_holds_unless_the_write_says_otherwise() {
    let client = Client::from_service(Server::new());
    let strict = client.with_field_validation(FieldValidation::Strict);
    let maps = strict.dynamic(MAPS, Some("default"));
    let mut odd = object("ConfigMap", None, "odd");
    odd.data.insert("bogus".to_owned(), json!(1));
    let write = WriteOptions::default();
    let refused = maps.create(&odd, &write).await.unwrap_err();
    assert_eq!(refused.status().unwrap().reason, Reason::BadRequest);
    let lax = write.field_validation(FieldValidation::Ignore);
    maps.create(&odd, &lax).await.unwrap();
}
