use std::time::Duration;

use evenkeel_apiserver::{Fault, Server, Verb, When};
use evenkeel_client::Patch;
use evenkeel_meta::ApiResource;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::*;

const SECOND: Duration = Duration::from_secs(1);
const NAMESPACE: &str = "kube-system";

/// A server that knows the kind, and a candidate that is kept on it.
struct Stage {
    server: Server,
    api: Api<DynamicObject>,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

impl Stage {
    async fn new(prepare: impl FnOnce(&Server)) -> Self {
        let server = Server::new();
        let client = Client::from_service(server.clone());
        define_kind(&client).await;
        prepare(&server);
        let spec = CandidateSpec {
            lease: "demo".to_owned(),
            binary_version: "1.37.2".to_owned(),
            emulation_version: "1.37.0".to_owned(),
            strategy: "OldestEmulationVersion".to_owned(),
        };
        let candidate = LeaseCandidate::new(client.clone(), NAMESPACE, "a", spec);
        let stop = CancellationToken::new();
        let told = stop.clone();
        let task = tokio::spawn(async move { candidate.run(&told).await });
        sleep(SECOND / 2).await;
        Self {
            server,
            api: client.dynamic(CANDIDATES, Some(NAMESPACE)),
            stop,
            task,
        }
    }

    async fn spec(&self) -> Value {
        self.api.get("a").await.unwrap().data["spec"].clone()
    }

    async fn renewed(&self) -> Value {
        self.spec().await["renewTime"].clone()
    }

    /// By a clock that is an hour ahead.
    async fn ping(&self) {
        let later = MicroTime(Timestamp::now().saturating_add(SECOND * 3600));
        let patch = Patch::merge(&json!({"spec": {"pingTime": later.to_string()}}));
        let options = Default::default();
        self.api.patch("a", &patch, &options).await.unwrap();
    }
}

async fn define_kind(client: &Client) {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let kind = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "leasecandidates.coordination.k8s.io",
            "annotations": {"api-approved.kubernetes.io": "unapproved, a test"}},
        "spec": {"group": "coordination.k8s.io", "scope": "Namespaced",
            "names": {"plural": "leasecandidates", "singular": "leasecandidate",
                "kind": "LeaseCandidate", "listKind": "LeaseCandidateList"},
            "versions": [{"name": "v1beta1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema}}]}
    });
    let kind: DynamicObject = serde_json::from_value(kind).unwrap();
    let kinds = ApiResource::new_static(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        evenkeel_meta::Scope::Cluster,
    );
    let api = client.dynamic(kinds, None);
    api.create(&kind, &WriteOptions::default()).await.unwrap();
    sleep(SECOND).await;
}

#[tokio::test(start_paused = true)]
async fn c1_ts79_a_candidate_is_created_and_renewed_every_five_minutes() {
    let stage = Stage::new(|_| {}).await;
    let spec = stage.spec().await;
    for (field, value) in [
        ("leaseName", "demo"),
        ("binaryVersion", "1.37.2"),
        ("emulationVersion", "1.37.0"),
        ("strategy", "OldestEmulationVersion"),
    ] {
        assert_eq!(spec[field], value);
    }
    let created = stage.renewed().await;
    sleep(298 * SECOND).await;
    assert_eq!(stage.renewed().await, created);
    sleep(3 * SECOND).await;
    assert_ne!(stage.renewed().await, created);
    stage.stop.cancel();
    stage.task.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn c1_ts79_a_ping_is_answered_at_once_and_once() {
    let stage = Stage::new(|_| {}).await;
    let created = stage.renewed().await;
    stage.ping().await;
    sleep(SECOND / 10).await;
    let answered = stage.renewed().await;
    assert_ne!(answered, created);
    sleep(60 * SECOND).await;
    assert_eq!(stage.renewed().await, answered, "answered again and again");
}

#[tokio::test(start_paused = true)]
async fn c1_the_watch_is_opened_again_and_shows_what_was_missed() {
    let stage = Stage::new(|_| {}).await;
    let created = stage.renewed().await;
    stage.server.faults().cut_watches();
    sleep(Duration::from_millis(1)).await;
    stage.ping().await;
    sleep(3 * SECOND).await;
    assert_ne!(stage.renewed().await, created);
}

#[tokio::test(start_paused = true)]
async fn c1_failures_are_tried_again_ever_more_slowly() {
    let stage = Stage::new(|server| {
        let when = When::verb(Verb::Create).on("leasecandidates").times(8);
        server.faults().inject(when, Fault::forbidden());
    })
    .await;
    // 5 ms, 10 ms, .. : the ninth try comes after 1.275 s.
    assert!(stage.api.get("a").await.is_err());
    sleep(SECOND).await;
    assert!(stage.api.get("a").await.is_ok());
}
