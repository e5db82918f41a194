//! A cluster in the process: an API server, the controllers that end namespaces and collect
//! garbage, and the operator. Time is paused, so that nothing waits for anything.

use std::time::Duration;

use evenkeel::client::{Api, Client, ListOptions, Patch, PatchOptions, WriteOptions};
use evenkeel::events::Event;
use evenkeel::meta::{Complete, DeleteOptions, Resource};
use evenkeel::{Clock, Manager};
use evenkeel_apiserver::Server;
use evenkeel_controllers::{Options, Selection};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube_core::CustomResourceExt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tenant_operator::{Phase, Tenant, install};
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
        let client = Client::from_service(server.clone()).with_field_manager("somebody");
        let definitions = client.all::<CustomResourceDefinition>();
        let options = WriteOptions::default();
        definitions.create(&Tenant::crd(), &options).await.unwrap();
        let stop = CancellationToken::new();
        let mut running = JoinSet::new();

        let mut kubernetes = Manager::builder(client.clone()).build().unwrap();
        let mut options = Options::default();
        options.controllers = Selection::parse(["namespace", "garbagecollector"]).unwrap();
        options.clock = clock;
        evenkeel_controllers::install(&mut kubernetes, &options).unwrap();
        let run = kubernetes.run(stop.clone());
        running.spawn(async move { run.await.unwrap() });

        let ours = client.clone().with_field_manager("tenant-operator");
        let mut operator = Manager::builder(ours).build().unwrap();
        install(&mut operator, clock).unwrap();
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

    pub(crate) async fn tenant(&self, name: &str, spec: Value) {
        self.create(
            None,
            Tenant::new(name, serde_json::from_value(spec).unwrap()),
        )
        .await;
    }

    pub(crate) async fn create<K>(&self, namespace: Option<&str>, object: K)
    where
        K: Resource + Complete + Serialize + DeserializeOwned,
    {
        let api = self.api::<K>(namespace);
        api.create(&object, &WriteOptions::default()).await.unwrap();
    }

    /// As `somebody` who is not the operator.
    pub(crate) async fn change<K: Resource + DeserializeOwned>(
        &self,
        namespace: Option<&str>,
        name: &str,
        change: Value,
    ) {
        let (patch, options) = (Patch::merge(&change), PatchOptions::default());
        let api = self.api::<K>(namespace);
        api.patch(name, &patch, &options).await.unwrap();
    }

    pub(crate) async fn get<K: Resource + DeserializeOwned>(
        &self,
        namespace: Option<&str>,
        name: &str,
    ) -> K {
        self.api::<K>(namespace).get(name).await.unwrap()
    }

    pub(crate) async fn has<K: Resource + DeserializeOwned>(
        &self,
        namespace: Option<&str>,
        name: &str,
    ) -> bool {
        let found = self.api::<K>(namespace).get_opt(name).await.unwrap();
        found.is_some()
    }

    pub(crate) async fn delete<K: Resource + DeserializeOwned>(
        &self,
        namespace: Option<&str>,
        name: &str,
    ) {
        let api = self.api::<K>(namespace);
        api.delete(name, &DeleteOptions::default()).await.unwrap();
    }

    /// What was written since the last call: the method and the path of each request.
    pub(crate) fn writes(&self) -> Vec<String> {
        let requests = self.server.take_requests().into_iter();
        let writes = requests.filter(|request| request.method != http::Method::GET);
        writes
            .map(|request| format!("{} {}", request.method, request.path))
            .collect()
    }

    /// Status and reason of a condition, which is of the present generation.
    pub(crate) async fn condition(&self, tenant: &str, type_: &str) -> (String, String) {
        let tenant = self.get::<Tenant>(None, tenant).await;
        let status = tenant.status.unwrap();
        assert_eq!(status.observed_generation, tenant.metadata.generation);
        let mut conditions = status.conditions.into_iter();
        let found: Condition = conditions.find(|one| one.type_ == type_).unwrap();
        assert_eq!(found.observed_generation, tenant.metadata.generation);
        (found.status, found.reason)
    }

    /// The messages of the events of this reason.
    pub(crate) async fn events(&self, reason: &str) -> Vec<String> {
        let events = self.client.namespaced::<Event>("default");
        let events = events.list(&ListOptions::default()).await.unwrap();
        let mut items = events.items;
        items.retain(|event| event.reason == reason);
        items.into_iter().map(|event| event.message).collect()
    }

    pub(crate) async fn phases(&self, tenant: &str) -> Vec<(String, Phase)> {
        let status = self.get::<Tenant>(None, tenant).await.status.unwrap();
        let phases = status.namespaces.into_iter();
        phases.map(|one| (one.name, one.phase)).collect()
    }

    fn api<K: Resource + DeserializeOwned>(&self, namespace: Option<&str>) -> Api<K> {
        match namespace {
            Some(namespace) => self.client.namespaced(namespace),
            None => self.client.all(),
        }
    }
}

/// Until everything that is going on has come to rest.
pub(crate) async fn settle() {
    tokio::time::sleep(Duration::from_secs(60)).await;
}
