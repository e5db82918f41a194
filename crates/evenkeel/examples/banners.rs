//! A custom control loop on the current kubeconfig's cluster: a `Banner` owns a ConfigMap.

use evenkeel::client::{Client, Config, PatchOptions};
use evenkeel::meta::{MetaView, ObjectKey};
use evenkeel::store::Store;
use evenkeel::{BoxError, Context, Controller, Manager, Outcome, ReconcileResult, Reconciler};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_core::{CustomResourceExt, Resource};
use tokio_util::sync::CancellationToken;

#[derive(
    kube_derive::CustomResource,
    schemars::JsonSchema,
    serde::Serialize,
    serde::Deserialize,
    Clone,
    Debug,
)]
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

struct Banners(Store<Banner>, Store<ConfigMap>);

impl Reconciler for Banners {
    async fn reconcile(&self, context: &Context, key: &ObjectKey) -> ReconcileResult {
        let Some(banner) = self.0.get(key) else {
            return Ok(Outcome::Done); // The garbage collector takes the ConfigMap.
        };
        let wanted = Some([("text".to_owned(), banner.spec.text.clone())].into());
        let current = self.1.get(key);
        if banner.metadata.is_terminating() || current.is_some_and(|map| map.data == wanted) {
            return Ok(Outcome::Done);
        }
        let mut map = ConfigMap {
            data: wanted,
            ..ConfigMap::default()
        };
        map.metadata.name = banner.metadata.name.clone();
        map.metadata.namespace = banner.metadata.namespace.clone();
        map.metadata.owner_references = banner.controller_owner_ref(&()).map(|owner| vec![owner]);
        context.apply(&map).await?;
        Ok(Outcome::Done)
    }
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let client = Client::connect(&Config::infer()?)?.with_field_manager("banners");
    let crds = client.all::<CustomResourceDefinition>();
    let (name, crd, force) = (
        Banner::crd_name(),
        Banner::crd(),
        PatchOptions::default().force(),
    );
    crds.apply(name, &crd, &force).await?;

    let mut manager = Manager::builder(client).build()?;
    let banners = manager.watch::<Banner>();
    let maps = manager.watch::<ConfigMap>();
    let reconciler = Banners(banners.store().clone(), maps.store().clone());
    let controller = Controller::builder("banners").for_(&banners).owns(&maps);
    manager.add(controller.reconciler(reconciler))?;

    let stop = CancellationToken::new();
    tokio::select! {
        ended = manager.run(stop.clone()) => ended?,
        second_signal = evenkeel::stop_on_signal(stop) => second_signal?,
    }
    Ok(())
}
