//! A server, a user, and a collector with a record of its requests.

use std::time::Duration;

use evenkeel_apiserver::Server;
use evenkeel_client::{Api, Client, Deleted, ListOptions, Patch, PatchOptions, WriteOptions};
use evenkeel_gc::{Builder, GarbageCollector, Inspector};
use evenkeel_meta::{
    ApiResource, DeleteOptions, DynamicObject, Meta, ObjectKey, OwnerReference, PropagationPolicy,
    Scope,
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::requests::{Recording, Requests, Told};

pub(crate) const MAPS: ApiResource =
    ApiResource::new_static("", "v1", "ConfigMap", "configmaps", Scope::Namespaced);
pub(crate) const SECRETS: ApiResource =
    ApiResource::new_static("", "v1", "Secret", "secrets", Scope::Namespaced);
pub(crate) const PODS: ApiResource =
    ApiResource::new_static("", "v1", "Pod", "pods", Scope::Namespaced);
pub(crate) const CONTROLLERS: ApiResource = ApiResource::new_static(
    "",
    "v1",
    "ReplicationController",
    "replicationcontrollers",
    Scope::Namespaced,
);
pub(crate) const ROLES: ApiResource = ApiResource::new_static(
    "rbac.authorization.k8s.io",
    "v1",
    "ClusterRole",
    "clusterroles",
    Scope::Cluster,
);
pub(crate) const EVENTS: ApiResource =
    ApiResource::new_static("", "v1", "Event", "events", Scope::Namespaced);
pub(crate) const NAMESPACES: ApiResource =
    ApiResource::new_static("", "v1", "Namespace", "namespaces", Scope::Cluster);

pub(crate) struct Cluster {
    pub(crate) server: Server,
    pub(crate) client: Client,
    pub(crate) requests: Requests,
    pub(crate) told: Told,
    collector: Option<Running>,
}

struct Running {
    inspector: Inspector,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

/// What a test knows of an object: enough to refer to it.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) resource: ApiResource,
    pub(crate) meta: Meta,
}

impl Made {
    pub(crate) fn name(&self) -> &str {
        &self.meta.name
    }

    pub(crate) fn meta_key(&self) -> ObjectKey {
        ObjectKey::new(self.meta.namespace.as_deref(), &self.meta.name)
    }

    pub(crate) fn uid(&self) -> String {
        self.meta.uid.as_ref().unwrap().to_string()
    }

    /// A reference to it, that blocks or not.
    pub(crate) fn owner(&self, blocks: bool) -> OwnerReference {
        OwnerReference {
            api_version: self.resource.api_version().into_owned(),
            kind: self.resource.kind.clone().into_owned(),
            name: self.meta.name.clone(),
            uid: self.meta.uid.clone().unwrap(),
            controller: None,
            block_owner_deletion: Some(blocks),
        }
    }
}

impl Cluster {
    /// A server with namespaces `m` and `n`; no collector yet.
    pub(crate) async fn new() -> Self {
        let server = Server::builder().seed(7).build();
        let cluster = Self {
            client: Client::from_service(server.clone()).with_user_agent("user"),
            server,
            requests: Requests::default(),
            told: Told::default(),
            collector: None,
        };
        for name in ["m", "n"] {
            cluster
                .create(&NAMESPACES, None, json!({"metadata": {"name": name}}))
                .await;
        }
        cluster
    }

    /// The same with a collector that has synced.
    pub(crate) async fn collecting() -> Self {
        let mut cluster = Self::new().await;
        cluster.start().await;
        cluster
    }

    pub(crate) async fn start(&mut self) {
        self.start_without_waiting();
        self.settle().await;
    }

    pub(crate) fn start_without_waiting(&mut self) {
        self.start_as(|builder| builder);
    }

    /// The collector's client: what it sends is recorded.
    pub(crate) fn recorded(&self) -> Client {
        let (requests, told) = (self.requests.clone(), self.told.clone());
        let recording = |inner| Recording {
            inner,
            requests,
            told,
        };
        self.client
            .with_transport(recording)
            .with_user_agent("collector")
    }

    pub(crate) fn start_as(&mut self, set_up: impl FnOnce(Builder) -> Builder) {
        self.start_with(self.recorded(), set_up);
    }

    pub(crate) fn start_with(&mut self, client: Client, set_up: impl FnOnce(Builder) -> Builder) {
        let collector = set_up(GarbageCollector::builder(client)).build();
        let stop = CancellationToken::new();
        self.collector = Some(Running {
            inspector: collector.inspector(),
            stop: stop.clone(),
            task: tokio::spawn(collector.run(stop)),
        });
    }

    pub(crate) async fn stop(&mut self) {
        let running = self.collector.take().unwrap();
        running.stop.cancel();
        running.task.await.unwrap();
    }

    pub(crate) async fn restart(&mut self) {
        self.stop().await;
        self.requests.clear();
        self.start().await;
    }

    pub(crate) fn inspector(&self) -> &Inspector {
        &self.collector.as_ref().unwrap().inspector
    }

    /// Lets all happen that takes less than a second of retries.
    pub(crate) async fn settle(&self) {
        sleep(Duration::from_secs(1)).await;
    }

    /// Waits for a condition, for as long as it may take a collector that starts anew.
    pub(crate) async fn until<F: Future<Output = bool>>(
        &self,
        what: &str,
        condition: impl Fn() -> F,
    ) {
        let start = Instant::now();
        while !condition().await {
            assert!(
                start.elapsed() < Duration::from_secs(120),
                "still not {what}"
            );
            sleep(Duration::from_millis(100)).await;
        }
    }

    pub(crate) fn api(
        &self,
        resource: &ApiResource,
        namespace: Option<&str>,
    ) -> Api<DynamicObject> {
        self.client.dynamic(resource.clone(), namespace)
    }

    pub(crate) async fn create(
        &self,
        resource: &ApiResource,
        namespace: Option<&str>,
        body: Value,
    ) -> Made {
        let mut body = body;
        body["apiVersion"] = json!(resource.api_version());
        body["kind"] = json!(resource.kind);
        let object: DynamicObject = serde_json::from_value(body).unwrap();
        let api = self.api(resource, namespace);
        let object = api.create(&object, &WriteOptions::default()).await.unwrap();
        Made {
            resource: resource.clone(),
            meta: object.metadata,
        }
    }

    /// A ConfigMap in `n`.
    pub(crate) async fn map(&self, name: &str, owners: &[OwnerReference]) -> Made {
        self.map_with(name, owners, &[]).await
    }

    pub(crate) async fn map_with(
        &self,
        name: &str,
        owners: &[OwnerReference],
        finalizers: &[&str],
    ) -> Made {
        self.map_in("n", name, owners, finalizers).await
    }

    pub(crate) async fn map_in(
        &self,
        namespace: &str,
        name: &str,
        owners: &[OwnerReference],
        finalizers: &[&str],
    ) -> Made {
        let metadata = json!({"name": name, "ownerReferences": owners, "finalizers": finalizers});
        self.create(&MAPS, Some(namespace), json!({"metadata": metadata}))
            .await
    }

    pub(crate) async fn controller(&self, name: &str, finalizers: &[&str]) -> Made {
        let labels = json!({"name": name});
        let pod = json!({"containers": [{"name": "c", "image": "i"}]});
        let body = json!({
            "metadata": {"name": name, "finalizers": finalizers},
            "spec": {"replicas": 0, "selector": labels,
                     "template": {"metadata": {"labels": labels}, "spec": pod}},
        });
        self.create(&CONTROLLERS, Some("n"), body).await
    }

    pub(crate) async fn pod(&self, name: &str, owners: &[&Made]) -> Made {
        let owners: Vec<_> = owners.iter().map(|owner| owner.owner(false)).collect();
        let body = json!({
            "metadata": {"name": name, "ownerReferences": owners},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        });
        self.create(&PODS, Some("n"), body).await
    }

    pub(crate) async fn get(&self, made: &Made) -> Option<DynamicObject> {
        let api = self.api(&made.resource, made.meta.namespace.as_deref());
        let found = api.get_opt(made.name()).await.unwrap();
        found.filter(|object| object.metadata.uid == made.meta.uid)
    }

    pub(crate) async fn is_there(&self, made: &Made) -> bool {
        self.get(made).await.is_some()
    }

    pub(crate) async fn gone(&self, made: &Made) {
        self.until(&format!("gone: {}", made.name()), async || {
            !self.is_there(made).await
        })
        .await;
    }

    pub(crate) async fn delete(
        &self,
        made: &Made,
        policy: PropagationPolicy,
    ) -> Deleted<DynamicObject> {
        let api = self.api(&made.resource, made.meta.namespace.as_deref());
        let options = DeleteOptions::with_policy(policy);
        api.delete(made.name(), &options).await.unwrap()
    }

    pub(crate) async fn merge(&self, made: &Made, body: Value) {
        let api = self.api(&made.resource, made.meta.namespace.as_deref());
        let patch = Patch::merge(&body);
        api.patch(made.name(), &patch, &PatchOptions::default())
            .await
            .unwrap();
    }

    /// The names of the ConfigMaps in `n`, in order.
    pub(crate) async fn maps(&self) -> Vec<String> {
        let list = self
            .api(&MAPS, Some("n"))
            .list(&ListOptions::default())
            .await
            .unwrap();
        let mut names: Vec<String> = list
            .items
            .into_iter()
            .map(|map| map.metadata.name)
            .collect();
        names.sort();
        names
    }
}

/// The UIDs of an object's owners.
pub(crate) fn owners(object: &DynamicObject) -> Vec<String> {
    let owners = object.metadata.owner_references.iter();
    owners.map(|owner| owner.uid.to_string()).collect()
}

/// A reference to an object that never was.
pub(crate) fn nobody() -> OwnerReference {
    OwnerReference {
        api_version: "v1".into(),
        kind: "ReplicationController".into(),
        name: "nobody".into(),
        uid: "6f0ad1c7-0000-4000-8000-000000000000".into(),
        controller: None,
        block_owner_deletion: None,
    }
}
