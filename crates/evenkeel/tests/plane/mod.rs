//! An embedded server in process, with an informer of ConfigMaps.

#![allow(dead_code, reason = "each suite takes what it needs")]

pub(crate) mod act;
pub(crate) mod journal;
pub(crate) mod parts;
pub(crate) mod spans;

use std::time::Duration;

use evenkeel::client::{Client, WriteOptions};
use evenkeel::meta::{ApiResource, DeleteOptions, Scope};
use evenkeel::store::{Informer, InformerOptions, Informers};
use evenkeel::{Controller, Term};
use evenkeel_apiserver::Server;
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub(crate) const LEASES: ApiResource = ApiResource::new_static(
    "coordination.k8s.io",
    "v1",
    "Lease",
    "leases",
    Scope::Namespaced,
);

pub(crate) struct Plane {
    pub(crate) server: Server,
    pub(crate) client: Client,
    pub(crate) maps: Informer<ConfigMap>,
    informers: Informers,
}

/// A controller under way.
pub(crate) struct Going {
    stop: CancellationToken,
    running: JoinHandle<()>,
}

impl Going {
    /// Stops it, and waits until it has ended.
    pub(crate) async fn end(self) {
        self.stop.cancel();
        self.running.await.unwrap();
    }
}

impl Plane {
    pub(crate) fn start() -> Self {
        let server = Server::builder().log_requests(10_000).build();
        let client = Client::from_service(server.clone());
        let informers = Informers::new(client.clone());
        let maps = informers.typed(InformerOptions::default().namespace("default"));
        informers.start();
        Self {
            server,
            client,
            maps,
            informers,
        }
    }

    pub(crate) fn term(&self, stop: CancellationToken) -> Term {
        Term::new(self.client.clone(), stop).grace(Duration::from_secs(1))
    }

    /// Runs a controller until it is told to [end](Going::end).
    pub(crate) fn begin<K>(&self, controller: Controller<K>) -> Going
    where
        K: Clone + Eq + std::hash::Hash + std::fmt::Debug + Send + Sync + 'static,
    {
        let stop = CancellationToken::new();
        let running = journal::run(controller, self.term(stop.clone()));
        Going { stop, running }
    }

    pub(crate) fn run(
        &self,
        controller: Controller,
        stop: CancellationToken,
    ) -> impl Future<Output = ()> + use<> {
        let term = self.term(stop);
        async move { controller.run(term).await.unwrap() }
    }

    pub(crate) async fn create(&self, map: &ConfigMap) {
        let api = self.client.namespaced::<ConfigMap>("default");
        api.create(map, &WriteOptions::default()).await.unwrap();
    }

    pub(crate) async fn update(&self, map: &ConfigMap) {
        let api = self.client.namespaced::<ConfigMap>("default");
        api.update(map, &WriteOptions::default()).await.unwrap();
    }

    pub(crate) async fn delete(&self, name: &str) {
        let api = self.client.namespaced::<ConfigMap>("default");
        api.delete(name, &DeleteOptions::default()).await.unwrap();
    }

    pub(crate) fn informers(&self) -> &Informers {
        &self.informers
    }

    pub(crate) async fn stop(self) {
        self.informers.shutdown().await;
    }
}

pub(crate) fn config_map(name: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    map.metadata.namespace = Some("default".to_owned());
    map
}
