//! A cluster in the process: an API server, the controllers of Kubernetes, simulated nodes, and the
//! operator. Time is paused, so that nothing waits for anything.

use std::time::Duration;

use cache_operator::{Cache, install};
use evenkeel::client::{Client, Patch, PatchOptions, WriteOptions};
use evenkeel::meta::{DeleteOptions, ObjectKey, Resource};
use evenkeel::store::Informers;
use evenkeel::{Clock, Manager, Term};
use evenkeel_apiserver::Server;
use evenkeel_controllers::{Options, Selection};
use evenkeel_testkit::Nodes;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_core::CustomResourceExt;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub(crate) struct Cluster {
    pub(crate) server: Server,
    pub(crate) client: Client,
    stop: CancellationToken,
    running: JoinSet<()>,
}

impl Cluster {
    pub(crate) async fn start() -> Self {
        let start = "2026-01-01T00:00:00Z".parse().unwrap();
        let clock = Clock::simulated(start);
        let server = Server::builder().now(start).log_requests(10_000).build();
        let client = Client::from_service(server.clone());
        let definitions = client.all::<CustomResourceDefinition>();
        let options = WriteOptions::default();
        definitions.create(&Cache::crd(), &options).await.unwrap();
        let stop = CancellationToken::new();
        let mut running = JoinSet::new();

        let mut kubernetes = Manager::builder(client.clone()).build().unwrap();
        let mut options = Options::default();
        let some = ["deployment", "replicaset", "garbagecollector"];
        options.controllers = Selection::parse(some).unwrap();
        options.clock = clock;
        evenkeel_controllers::install(&mut kubernetes, &options).unwrap();
        let run = kubernetes.run(stop.clone());
        running.spawn(async move { run.await.unwrap() });

        let informers = Informers::new(client.clone());
        let delay = Duration::from_secs(5);
        let nodes = Nodes::new(&informers).clock(clock).start_delay(delay);
        informers.start();
        let term = Term::new(client.clone(), stop.clone());
        running.spawn(async move {
            nodes.run(term).await.unwrap();
            informers.shutdown().await;
        });

        let ours = client.clone().with_field_manager("cache-operator");
        let mut operator = Manager::builder(ours).build().unwrap();
        install(&mut operator, directory(), clock).unwrap();
        let run = operator.run(stop.clone());
        running.spawn(async move { run.await.unwrap() });
        Self {
            server,
            client,
            stop,
            running,
        }
    }

    /// Ends everything; whatever failed fails the test.
    pub(crate) async fn stop(mut self) {
        self.stop.cancel();
        while let Some(ended) = self.running.join_next().await {
            ended.unwrap();
        }
    }

    pub(crate) async fn create(&self, name: &str, spec: Value) {
        let cache = Cache::new(name, serde_json::from_value(spec).unwrap());
        let api = self.client.namespaced::<Cache>("default");
        api.create(&cache, &WriteOptions::default()).await.unwrap();
    }

    pub(crate) async fn change<K: Resource + DeserializeOwned>(&self, name: &str, change: Value) {
        let api = self.client.namespaced::<K>("default");
        let (patch, options) = (Patch::merge(&change), PatchOptions::default());
        api.patch(name, &patch, &options).await.unwrap();
    }

    pub(crate) async fn get<K: Resource + DeserializeOwned>(&self, name: &str) -> K {
        self.find(name).await.unwrap()
    }

    pub(crate) async fn find<K: Resource + DeserializeOwned>(&self, name: &str) -> Option<K> {
        let api = self.client.namespaced::<K>("default");
        api.get_opt(name).await.unwrap()
    }

    pub(crate) async fn delete<K: Resource + DeserializeOwned>(&self, name: &str) {
        let api = self.client.namespaced::<K>("default");
        api.delete(name, &DeleteOptions::default()).await.unwrap();
    }

    /// The lines of the directory.
    pub(crate) async fn lines(&self) -> Vec<(String, String)> {
        let map = self.get::<ConfigMap>(directory().name()).await;
        map.data.unwrap_or_default().into_iter().collect()
    }
}

pub(crate) fn directory() -> ObjectKey {
    ObjectKey::namespaced("default", "directory")
}

/// Until everything that is going on has come to rest.
pub(crate) async fn settle() {
    tokio::time::sleep(Duration::from_secs(60)).await;
}
