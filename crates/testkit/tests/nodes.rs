//! What the simulated nodes ask of an API server.

#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

use std::time::Duration;

use evenkeel::Term;
use evenkeel_apiserver::Server;
use evenkeel_client::{Client, ListOptions, WriteOptions};
use evenkeel_meta::{ApiResource, DynamicObject, Scope};
use evenkeel_store::Informers;
use evenkeel_testkit::Nodes;
use tokio_util::sync::CancellationToken;

const PODS: ApiResource = ApiResource::new_static("", "v1", "Pod", "pods", Scope::Namespaced);
const COUNT: usize = 200;

/// The event of the binding comes while the pod is being started: it must not start it again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pod_is_bound_once_and_started_once() {
    let server = Server::builder().log_requests(100_000).build();
    let client = Client::from_service(server.clone());
    let informers = Informers::new(client.clone());
    let nodes = Nodes::new(&informers).count(3);
    informers.start();
    let stop = CancellationToken::new();
    let term = Term::new(client.clone(), stop.clone()).grace(Duration::ZERO);
    let running = tokio::spawn(async move { nodes.run(term).await });

    let pods = client.dynamic(PODS, Some("default"));
    for number in 0..COUNT {
        let pod: DynamicObject = serde_json::from_value(serde_json::json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": format!("pod-{number}"), "namespace": "default"},
            "spec": {"containers": [{"name": "c", "image": "img:1"}]},
        }))
        .unwrap();
        pods.create(&pod, &WriteOptions::default()).await.unwrap();
    }
    let is_running = |pod: &DynamicObject| pod.data["status"]["phase"] == "Running";
    let all_run = async {
        while !pods
            .list(&ListOptions::default())
            .await
            .unwrap()
            .items
            .iter()
            .all(is_running)
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), all_run)
        .await
        .unwrap();
    stop.cancel();
    running.await.unwrap().unwrap();
    informers.shutdown().await;

    let asked = server.take_requests();
    let requests = |suffix: &str| {
        let of = |path: &str| path.starts_with("/api/v1/namespaces/") && path.ends_with(suffix);
        asked.iter().filter(|request| of(&request.path)).count()
    };
    assert_eq!((requests("/binding"), requests("/status")), (COUNT, COUNT));
}
