//! A cluster in the process: an API server and the operator. Time is paused, so that nothing waits for
//! anything. Nobody makes pods: the number of them that is asked for is all that counts here.

use std::sync::Arc;
use std::time::Duration;

use autoscaler::{Autoscaler, Push, Reading, Source, SourceError, install};
use evenkeel::client::{Client, ListOptions, Patch, PatchOptions, WriteOptions};
use evenkeel::events::Event;
use evenkeel::meta::{DeleteOptions, Resource};
use evenkeel::{Clock, Manager};
use evenkeel_apiserver::Server;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_core::CustomResourceExt;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Says what the test says, and counts how often it is asked.
#[derive(Clone, Default)]
pub(crate) struct FakeSource(Arc<Mutex<(Said, usize)>>);

#[derive(Clone, Copy, Default)]
pub(crate) enum Said {
    Number(f64),
    #[default]
    Down,
    Nothing,
}

impl FakeSource {
    pub(crate) fn says(&self, said: Said) {
        self.0.lock().0 = said;
    }

    /// How often it was asked since the last call.
    pub(crate) fn asked(&self) -> usize {
        std::mem::take(&mut self.0.lock().1)
    }
}

impl Source for FakeSource {
    async fn read(&self, metric: &str) -> Result<Reading, SourceError> {
        assert_eq!(metric, "orders");
        let said = {
            let mut state = self.0.lock();
            state.1 += 1;
            state.0
        };
        match said {
            Said::Number(number) => Ok(Reading::new(number).unwrap()),
            Said::Down => Err(SourceError::Unreachable("down".into())),
            Said::Nothing => std::future::pending().await,
        }
    }
}

pub(crate) struct Cluster {
    pub(crate) server: Server,
    pub(crate) source: FakeSource,
    pub(crate) push: Push,
    client: Client,
    stop: CancellationToken,
    running: JoinSet<()>,
}

impl Cluster {
    /// With a Deployment `web` of so many pods, and an autoscaler `web` of it, which has `more` in
    /// its spec.
    pub(crate) async fn start(replicas: i32, said: Said, more: Value) -> Self {
        let start = "2026-01-01T00:00:00Z".parse().unwrap();
        let clock = Clock::simulated(start);
        let server = Server::builder().now(start).log_requests(100_000).build();
        let client = Client::from_service(server.clone());
        let definitions = client.all::<CustomResourceDefinition>();
        let definition = Autoscaler::crd();
        let options = WriteOptions::default();
        definitions.create(&definition, &options).await.unwrap();

        let source = FakeSource::default();
        source.says(said);
        let ours = client.clone().with_field_manager("autoscaler");
        let mut operator = Manager::builder(ours).build().unwrap();
        let push = install(&mut operator, source.clone(), clock).unwrap();
        let (stop, mut running) = (CancellationToken::new(), JoinSet::new());
        let run = operator.run(stop.clone());
        running.spawn(async move { run.await.unwrap() });
        let cluster = Self {
            server,
            source,
            push,
            client,
            stop,
            running,
        };
        cluster.deployment("web", replicas).await;
        cluster.autoscaler("web", more).await;
        after(1).await;
        cluster
    }

    pub(crate) async fn stop(mut self) {
        self.stop.cancel();
        while let Some(ended) = self.running.join_next().await {
            ended.unwrap();
        }
    }

    pub(crate) async fn deployment(&self, name: &str, replicas: i32) {
        let deployment: Deployment = serde_json::from_value(json!({
            "metadata": {"name": name},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "c", "image": "img:1"}]}}},
        }))
        .unwrap();
        let api = self.client.namespaced::<Deployment>("default");
        let options = WriteOptions::default();
        api.create(&deployment, &options).await.unwrap();
    }

    pub(crate) async fn autoscaler(&self, name: &str, more: Value) {
        let mut spec = json!({"deployment": "web", "metric": "orders", "perPod": 10, "max": 12});
        let fields = spec.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        let autoscaler = Autoscaler::new(name, serde_json::from_value(spec).unwrap());
        let api = self.client.namespaced::<Autoscaler>("default");
        let options = WriteOptions::default();
        api.create(&autoscaler, &options).await.unwrap();
    }

    pub(crate) async fn get<K: Resource + DeserializeOwned>(&self, name: &str) -> K {
        let api = self.client.namespaced::<K>("default");
        api.get(name).await.unwrap()
    }

    pub(crate) async fn change<K: Resource + DeserializeOwned>(&self, name: &str, change: Value) {
        let api = self.client.namespaced::<K>("default");
        let (patch, options) = (Patch::merge(&change), PatchOptions::default());
        api.patch(name, &patch, &options).await.unwrap();
    }

    pub(crate) async fn delete<K: Resource + DeserializeOwned>(&self, name: &str) {
        let api = self.client.namespaced::<K>("default");
        api.delete(name, &DeleteOptions::default()).await.unwrap();
    }

    /// As a user does it.
    pub(crate) async fn scale(&self, replicas: i32) {
        let change = json!({"spec": {"replicas": replicas}});
        self.change::<Deployment>("web", change).await;
    }

    pub(crate) async fn replicas(&self) -> i32 {
        let deployment = self.get::<Deployment>("web").await;
        deployment.spec.replicas.unwrap()
    }

    /// How often the scale was written since the last call.
    pub(crate) fn scalings(&self) -> usize {
        let requests = self.server.take_requests().into_iter();
        let scalings = requests.filter(|request| {
            request.method == http::Method::PUT && request.path.ends_with("/deployments/web/scale")
        });
        scalings.count()
    }

    /// The messages of the events of this reason, in their order.
    pub(crate) async fn events(&self, reason: &str) -> Vec<String> {
        let events = self.client.namespaced::<Event>("default");
        let events = events.list(&ListOptions::default()).await.unwrap();
        let mut items = events.items;
        items.retain(|event| event.reason == reason);
        items.sort_by_key(|event| event.last_timestamp);
        items.into_iter().map(|event| event.message).collect()
    }

    /// Status and reason of a condition, which is of the present generation.
    pub(crate) async fn condition(&self, autoscaler: &str, type_: &str) -> (String, String) {
        let autoscaler = self.get::<Autoscaler>(autoscaler).await;
        let status = autoscaler.status.unwrap();
        assert_eq!(status.observed_generation, autoscaler.metadata.generation);
        let mut conditions = status.conditions.into_iter();
        let found = conditions.find(|one| one.type_ == type_).unwrap();
        assert_eq!(found.observed_generation, autoscaler.metadata.generation);
        (found.status, found.reason)
    }
}

pub(crate) async fn after(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}
