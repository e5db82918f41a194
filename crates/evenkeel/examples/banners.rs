//! A custom control loop: every `Banner` owns a ConfigMap with its text.
//!
//! `cargo run -p evenkeel --example banners` works on the cluster of the current kubeconfig
//! until Ctrl-C. Then: `kubectl apply -f -` a Banner, and `kubectl get configmaps`.

use evenkeel::client::{Client, Config, PatchOptions};
use evenkeel::meta::{MetaView, ObjectKey};
use evenkeel::store::{InformerOptions, Store};
use evenkeel::{BoxError, Context, Controller, Manager, Outcome, ReconcileError, Reconciler};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_core::{CustomResourceExt, Resource};
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[kube(
    group = "example.evenkeel.dev",
    version = "v1",
    kind = "Banner",
    namespaced
)]
#[kube(crates(kube_core = "kube_core"))]
struct BannerSpec {
    text: String,
}

struct Banners {
    banners: Store<Banner>,
    maps: Store<ConfigMap>,
}

impl Reconciler for Banners {
    async fn reconcile(
        &self,
        context: &Context<ObjectKey>,
        key: &ObjectKey,
    ) -> Result<Outcome, ReconcileError> {
        let Some(banner) = self.banners.get(key) else {
            return Ok(Outcome::Done); // The garbage collector takes the ConfigMap.
        };
        let wanted = [("text".to_owned(), banner.spec.text.clone())].into();
        let current = self.maps.get(key).and_then(|map| map.data.clone());
        if banner.metadata.is_terminating() || current.as_ref() == Some(&wanted) {
            return Ok(Outcome::Done);
        }
        let mut map = ConfigMap {
            data: Some(wanted),
            ..ConfigMap::default()
        };
        map.metadata.name = banner.metadata.name.clone();
        map.metadata.namespace = banner.metadata.namespace.clone();
        map.metadata.owner_references = banner.controller_owner_ref(&()).map(|owner| vec![owner]);
        context
            .apply(&map, &PatchOptions::default().force())
            .await?;
        Ok(Outcome::Done)
    }
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let client = Client::connect(&Config::infer()?)?.with_field_manager("banners");
    let crds = client.all::<CustomResourceDefinition>();
    let force = PatchOptions::default().force();
    crds.apply(Banner::crd_name(), &Banner::crd(), &force)
        .await?;

    let mut manager = Manager::builder(client).build()?;
    let banners = manager
        .informers()
        .typed::<Banner>(InformerOptions::default());
    let maps = manager
        .informers()
        .typed::<ConfigMap>(InformerOptions::default());
    let reconciler = Banners {
        banners: banners.store().clone(),
        maps: maps.store().clone(),
    };
    let controller = Controller::builder("banners")
        .for_(&banners)
        .owns(&maps)
        .concurrency(4);
    manager.add(controller.reconciler(reconciler));

    let stop = CancellationToken::new();
    tokio::select! {
        ended = manager.run(stop.clone()) => ended?,
        second = evenkeel::stop_on_signal(stop) => second?,
    }
    Ok(())
}
