//! The controllers against the embedded server in process, with simulated nodes.

use std::time::Duration;

use evenkeel::{Manager, Term};
use evenkeel_apiserver::Server;
use evenkeel_client::{Api, Client, WriteOptions};
use evenkeel_controllers::{Options, install};
use evenkeel_store::Informers;
use evenkeel_testkit::Nodes;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::Pod;
use tokio_util::sync::CancellationToken;

/// A control plane in process; stopped by [`Plane::stop`].
struct Plane {
    client: Client,
    stop: CancellationToken,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Plane {
    fn start() -> Self {
        let server = Server::builder().build();
        let client = Client::from_service(server);
        let stop = CancellationToken::new();
        let mut manager = Manager::builder(client.clone()).build().unwrap();
        install(&mut manager, &Options::default()).unwrap();
        let informers = Informers::new(client.clone());
        let nodes = Nodes::new(&informers).count(2);
        informers.start();
        let term = Term {
            client: client.clone(),
            stop: stop.clone(),
            grace: Duration::from_secs(1),
        };
        let managing = manager.run(stop.clone());
        let tasks = vec![
            tokio::spawn(async move { managing.await.unwrap() }),
            tokio::spawn(async move {
                nodes.run(term).await.unwrap();
                informers.shutdown().await;
            }),
        ];
        Self {
            client,
            stop,
            tasks,
        }
    }

    async fn stop(self) {
        self.stop.cancel();
        for task in self.tasks {
            task.await.unwrap();
        }
    }

    fn deployments(&self) -> Api<Deployment> {
        self.client.namespaced("default")
    }
}

fn deployment(name: &str, replicas: i32, image: &str) -> Deployment {
    serde_json::from_value(serde_json::json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": name}},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "c", "image": image}]}}},
    }))
    .unwrap()
}

/// Polls until `done` holds; virtual time makes this instant.
async fn eventually<F: Future<Output = bool>>(what: &str, done: impl Fn() -> F) {
    for _ in 0..6000 {
        if done().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never happened: {what}");
}

async fn is_complete(api: &Api<Deployment>, name: &str, replicas: i32) -> bool {
    let Some(deployment) = api.get_opt(name).await.unwrap() else {
        return false;
    };
    let status = deployment.status.unwrap_or_default();
    let is = |count: Option<i32>| count == Some(replicas).filter(|n| *n != 0);
    status.observed_generation == deployment.metadata.generation
        && is(status.replicas)
        && is(status.updated_replicas)
        && is(status.available_replicas)
}

#[tokio::test(start_paused = true)]
async fn a_deployment_gets_its_pods_and_an_update_replaces_them() {
    let plane = Plane::start();
    let api = plane.deployments();
    api.create(&deployment("web", 3, "img:1"), &WriteOptions::default())
        .await
        .unwrap();
    eventually("three pods are available", || is_complete(&api, "web", 3)).await;

    let mut updated = api.get("web").await.unwrap();
    updated.spec.template.spec.as_mut().unwrap().containers[0].image = Some("img:2".into());
    updated.spec.replicas = Some(5);
    api.update(&updated, &WriteOptions::default())
        .await
        .unwrap();
    eventually("five new pods are available", || {
        is_complete(&api, "web", 5)
    })
    .await;

    let sets: Api<ReplicaSet> = plane.client.namespaced("default");
    let mut sizes: Vec<_> = sets
        .list(&Default::default())
        .await
        .unwrap()
        .items
        .iter()
        .map(|set| set.spec.replicas)
        .collect();
    sizes.sort();
    assert_eq!(sizes, [Some(0), Some(5)]);
    let pods: Api<Pod> = plane.client.namespaced("default");
    eventually("only new pods are left", || async {
        let pods = pods.list(&Default::default()).await.unwrap().items;
        pods.len() == 5
            && pods.iter().all(|pod| {
                pod.spec.as_ref().unwrap().containers[0].image.as_deref() == Some("img:2")
            })
    })
    .await;
    let web = api.get("web").await.unwrap();
    let revision = web.metadata.annotations.unwrap()["deployment.kubernetes.io/revision"].clone();
    assert_eq!(revision, "2");
    plane.stop().await;
}
