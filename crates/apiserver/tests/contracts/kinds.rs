//! Discovery, negotiation, tables and what single types do.

use serde_json::json;

use crate::harness::{CONFIG_MAPS, Client, PODS, pod};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
const METADATA: &str = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,\
                        application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

#[tokio::test(start_paused = true)]
async fn client_go_d1_discovery_is_aggregated_for_those_who_ask() {
    let client = Client::new();
    let accept =
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    let answer = client.accept("/apis", accept).await;
    assert_eq!(
        answer.headers["content-type"],
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    );
    let list = answer.ok();
    let apps = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["metadata"]["name"] == "apps")
        .unwrap();
    let resources = apps["versions"][0]["resources"].as_array().unwrap();
    let deployments = resources
        .iter()
        .find(|it| it["resource"] == "deployments")
        .unwrap();
    assert_eq!(deployments["scope"], "Namespaced");
    assert_eq!(
        deployments["responseKind"],
        json!({"group": "apps", "version": "v1", "kind": "Deployment"})
    );
    assert_eq!(deployments["shortNames"], json!(["deploy"]));
    let subresources: Vec<_> = deployments["subresources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["subresource"])
        .collect();
    assert_eq!(subresources, ["status", "scale"]);
    let core = client.accept("/api", accept).await.ok();
    assert_eq!(core["items"][0]["versions"][0]["version"], "v1");
    let plain = client.get("/apis").await.ok();
    assert_eq!(plain["kind"], "APIGroupList");
    let resources = client.get("/apis/apps/v1").await.ok();
    assert_eq!(resources["groupVersion"], "apps/v1");
}

#[tokio::test(start_paused = true)]
async fn client_go_dy2_metadata_alone_is_served() {
    let client = Client::new();
    let object = client.config_map("a").await;
    let one = client
        .accept(&format!("{CONFIG_MAPS}/a"), METADATA)
        .await
        .ok();
    assert_eq!(
        (one["kind"].as_str(), one["apiVersion"].as_str()),
        (Some("PartialObjectMetadata"), Some("meta.k8s.io/v1"))
    );
    assert_eq!(one["metadata"], object["metadata"]);
    assert!(one["data"].is_null());
    let list = client.accept(CONFIG_MAPS, METADATA).await.ok();
    assert_eq!(list["kind"], "PartialObjectMetadataList");
    assert_eq!(list["items"][0], one);
}

#[tokio::test(start_paused = true)]
async fn only_json_is_spoken() {
    let client = Client::new();
    let answer = client
        .accept(CONFIG_MAPS, "application/vnd.kubernetes.protobuf")
        .await;
    answer.refused(406, "NotAcceptable");
    let answer = client
        .call("POST", CONFIG_MAPS, "text/plain", "x".into())
        .await;
    answer.refused(415, "UnsupportedMediaType");
    let yaml = "metadata:\n  name: y\ndata:\n  a: b\n";
    let created = client
        .call("POST", CONFIG_MAPS, "application/yaml", yaml.into())
        .await
        .ok();
    assert_eq!(created["data"]["a"], "b");
}

#[tokio::test(start_paused = true)]
async fn tables_print_pods() {
    let client = Client::new();
    client.post(PODS, pod("p")).await.ok();
    let table = client.accept(PODS, TABLE).await.ok();
    let names: Vec<_> = table["columnDefinitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(names[..5], ["Name", "Ready", "Status", "Restarts", "Age"]);
    let row = &table["rows"][0];
    assert_eq!(
        row["cells"].as_array().unwrap()[..5],
        json!(["p", "0/1", "Pending", "0", "0s"])
            .as_array()
            .unwrap()[..]
    );
    assert_eq!(row["object"]["kind"], "PartialObjectMetadata");
    let mut watch = client.watch_as(&format!("{PODS}?watch=1"), TABLE).await;
    let first = watch.next().await.unwrap();
    assert!(first["object"]["columnDefinitions"].is_array());
    client.delete(&format!("{PODS}/p"), json!({})).await.ok();
    let second = watch.next().await.unwrap();
    assert!(
        second["object"]["columnDefinitions"].is_null(),
        "described once"
    );
}

#[tokio::test(start_paused = true)]
async fn both_event_types_are_one() {
    let client = Client::new();
    let event = json!({
        "metadata": {"name": "e"},
        "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
        "reason": "R", "note": "N", "type": "Normal", "action": "A",
        "reportingController": "a.b/c", "reportingInstance": "i", "eventTime": "2026-01-01T00:00:00.000000Z",
    });
    client
        .post("/apis/events.k8s.io/v1/namespaces/default/events", event)
        .await
        .ok();
    let core = client.get("/api/v1/namespaces/default/events/e").await.ok();
    assert_eq!(
        (core["message"].as_str(), core["apiVersion"].as_str()),
        (Some("N"), Some("v1"))
    );
    let selected = client
        .get("/api/v1/events?fieldSelector=involvedObject.name%3Dp")
        .await
        .ok();
    assert_eq!(selected["items"].as_array().unwrap().len(), 1);
    let new = client
        .get("/apis/events.k8s.io/v1/namespaces/default/events")
        .await
        .ok();
    assert_eq!(new["items"][0]["note"], "N");
}

#[tokio::test(start_paused = true)]
async fn services_get_addresses_and_keep_them() {
    let client = Client::new();
    let services = "/api/v1/namespaces/default/services";
    let service =
        json!({"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}});
    let created = client.post(services, service.clone()).await.ok();
    let (address, port) = (
        &created["spec"]["clusterIP"],
        &created["spec"]["ports"][0]["nodePort"],
    );
    assert!(address.as_str().unwrap().starts_with("10.96."));
    assert!((30_000..32_768).contains(&port.as_i64().unwrap()));
    let replaced = client.put(&format!("{services}/s"), service).await.ok();
    assert_eq!(
        (
            &replaced["spec"]["clusterIP"],
            &replaced["spec"]["ports"][0]["nodePort"]
        ),
        (address, port)
    );
    let headless =
        json!({"metadata": {"name": "h"}, "spec": {"clusterIP": "None", "ports": [{"port": 80}]}});
    let created = client.post(services, headless).await.ok();
    assert_eq!(created["spec"]["clusterIPs"], json!(["None"]));
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_stores_nothing() {
    let client = Client::new();
    let revision = client.0.revision();
    let created = client
        .post(&format!("{PODS}?dryRun=All"), pod("p"))
        .await
        .ok();
    assert!(created["metadata"]["uid"].is_string());
    assert!(created["metadata"]["resourceVersion"].is_null());
    assert_eq!(client.0.revision(), revision);
    client
        .post(&format!("{PODS}?dryRun=Some"), pod("p"))
        .await
        .refused(422, "Invalid");
}

#[tokio::test(start_paused = true)]
async fn unknown_fields_are_warned_about_or_refused() {
    let client = Client::new();
    let mut odd = pod("p");
    odd["spec"]["bogus"] = 1.into();
    let answer = client
        .post(&format!("{PODS}?dryRun=All"), odd.clone())
        .await;
    assert_eq!(
        answer.headers["warning"],
        "299 - \"unknown field \\\"spec.bogus\\\"\""
    );
    let strict = client
        .post(&format!("{PODS}?fieldValidation=Strict"), odd)
        .await
        .refused(400, "BadRequest");
    assert!(
        strict["message"]
            .as_str()
            .unwrap()
            .contains("unknown field \"spec.bogus\""),
        "{strict}"
    );
}

#[tokio::test(start_paused = true)]
async fn health_and_version_are_open() {
    let client = Client::new();
    for path in ["/healthz", "/livez", "/readyz"] {
        assert_eq!(client.get(path).await.ok(), "ok");
    }
    assert_eq!(
        client.get("/version").await.ok()["gitVersion"],
        "v1.37.2+evenkeel"
    );
    let openapi = client.get("/openapi/v3").await.ok();
    assert!(openapi["paths"]["apis/apps/v1"]["serverRelativeURL"].is_string());
    let apps = client.get("/openapi/v3/apis/apps/v1").await.ok();
    let patch = &apps["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"];
    let parameters = patch["parameters"].as_array().unwrap();
    assert!(parameters.iter().any(|it| it["name"] == "fieldValidation"));
    let kubectl = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    let document = client.accept("/openapi/v2", kubectl).await;
    assert_eq!(document.code, 200);
    let text = document.body.as_str().unwrap();
    assert!(text.starts_with("\n\u{3}2.0\u{12}"), "{text:?}");
}

#[tokio::test(start_paused = true)]
async fn events_expire_after_an_hour() {
    let client = Client::new();
    let events = "/api/v1/namespaces/default/events";
    let event = |name: &str| json!({"metadata": {"name": name}, "reason": "R", "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}});
    client.post(events, event("old")).await.ok();
    tokio::time::sleep(std::time::Duration::from_secs(3_700)).await;
    client.post(events, event("new")).await.ok();
    client
        .get(&format!("{events}/old"))
        .await
        .refused(404, "NotFound");
    client.get(&format!("{events}/new")).await.ok();
}

#[tokio::test(start_paused = true)]
async fn who_asks_may_do_everything() {
    let client = Client::new();
    let review = json!({"spec": {"resourceAttributes": {"verb": "create", "resource": "pods"}}});
    let answer = client
        .post(
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            review,
        )
        .await
        .ok();
    assert_eq!(answer["status"]["allowed"], true);
    let answer = client
        .post(
            "/apis/authentication.k8s.io/v1/selfsubjectreviews",
            json!({}),
        )
        .await
        .ok();
    assert_eq!(answer["status"]["userInfo"]["username"], "kubernetes-admin");
    client
        .get("/apis/authentication.k8s.io/v1/selfsubjectreviews")
        .await
        .refused(405, "MethodNotAllowed");
}
