//! What the view and the convergence look at: stores of the kinds that matter.

use std::sync::Arc;

use evenkeel_client::Client;
use evenkeel_meta::{ApiResource, ObjectKey, Scope};
use evenkeel_store::{Informer, InformerOptions, Informers, Registration};
use tokio::sync::Notify;

use super::observed::Observed;
use crate::error::Failure;

/// The ownership tree's kinds, owners before what they own.
const WORKLOADS: [ApiResource; 3] = [
    ApiResource::new_static("apps", "v1", "Deployment", "deployments", Scope::Namespaced),
    ApiResource::new_static("apps", "v1", "ReplicaSet", "replicasets", Scope::Namespaced),
    ApiResource::new_static("", "v1", "Pod", "pods", Scope::Namespaced),
];

/// Mirrors of the kinds that are looked at.
pub(crate) struct Cluster {
    informers: Informers,
    kinds: Vec<(Informer<Observed>, Registration)>,
    woken: Arc<Notify>,
}

/// The objects of one kind.
pub(crate) struct Objects {
    pub(crate) resource: ApiResource,
    pub(crate) objects: Vec<Arc<Observed>>,
}

impl Cluster {
    pub(crate) fn new(client: &Client) -> Self {
        let mut cluster = Self {
            informers: Informers::new(client.clone()),
            kinds: Vec::new(),
            woken: Arc::new(Notify::new()),
        };
        for resource in &WORKLOADS {
            cluster.watch(resource);
        }
        cluster
    }

    /// Looks at a kind too.
    pub(crate) fn watch(&mut self, resource: &ApiResource) {
        if self.informer(resource).is_some() {
            return;
        }
        let informer = self
            .informers
            .projected(resource.clone(), InformerOptions::default());
        let woken = Arc::clone(&self.woken);
        // It is refused only after the shutdown, when nobody looks any more.
        if let Ok(registration) =
            informer.add_handler(move |_: &ObjectKey, _: &_| woken.notify_one())
        {
            self.kinds.push((informer, registration));
        }
        self.informers.start();
    }

    fn informer(&self, resource: &ApiResource) -> Option<&Informer<Observed>> {
        let mut informers = self.kinds.iter().map(|(informer, _)| informer);
        informers.find(|informer| informer.resource() == resource)
    }

    /// Whether the objects of a kind are all known, so that one that is not there is gone.
    pub(crate) fn has_synced(&self, resource: &ApiResource) -> bool {
        self.informer(resource).is_some_and(Informer::has_synced)
    }

    pub(crate) fn get(&self, resource: &ApiResource, key: &ObjectKey) -> Option<Arc<Observed>> {
        self.informer(resource)?.store().get(key)
    }

    /// The objects of the ownership tree.
    pub(crate) fn workloads(&self) -> Vec<Objects> {
        let objects = |resource: &ApiResource| Objects {
            resource: resource.clone(),
            objects: self
                .informer(resource)
                .map(|informer| informer.store().list())
                .unwrap_or_default(),
        };
        WORKLOADS.iter().map(objects).collect()
    }

    /// Waits until every store has been filled once.
    pub(crate) async fn synced(&self) -> Result<(), Failure> {
        self.informers.synced().await.map_err(Failure::failed)
    }

    /// Which stores have not, and why.
    pub(crate) fn unsynced(&self) -> Vec<String> {
        let states = self.informers.unsynced();
        states.iter().map(ToString::to_string).collect()
    }

    /// Waits for a change; several at once count as one.
    pub(crate) async fn changed(&self) {
        self.woken.notified().await;
    }

    pub(crate) async fn shutdown(self) {
        self.informers.shutdown().await;
    }
}

/// `deployment.apps`, as kubectl names kinds.
pub(crate) fn kind_name(group: &str, kind: &str) -> String {
    let kind = kind.to_lowercase();
    match group {
        "" => kind,
        group => format!("{kind}.{group}"),
    }
}
