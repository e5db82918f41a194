//! A custom control loop on the current kubeconfig's cluster: a `Banner` owns a ConfigMap.

use evenkeel::client::{Client, Config};
use evenkeel::meta::{MetaMut, MetaView, ObjectKey};
use evenkeel::store::Store;
use evenkeel::{BoxError, Context, Controller, Manager, Outcome, ReconcileResult, Reconciler};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_core::CustomResourceExt;

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
        map.metadata.set_controller(&*banner)?;
        context.apply(&map).await?;
        Ok(Outcome::Done)
    }
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let client = Client::connect(&Config::infer()?)?.with_field_manager("banners");
    evenkeel::define(&client, [Banner::crd()]).await?;

    let mut manager = Manager::builder(client).build()?;
    let banners = manager.watch::<Banner>();
    let maps = manager.watch::<ConfigMap>();
    let reconciler = Banners(banners.store().clone(), maps.store().clone());
    let controller = Controller::builder("banners").for_(&banners).owns(&maps);
    manager.add(controller.reconciler(reconciler))?;
    Ok(manager.run_until_signal().await?)
}
