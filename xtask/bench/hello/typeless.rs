//! A controller that says hello to the metadata of ConfigMaps, without Kubernetes types.

use evenkeel::client::{Client, Config};
use evenkeel::meta::{ApiResource, ObjectKey, Scope};
use evenkeel::store::InformerOptions;
use evenkeel::{BoxError, Context, Controller, Manager, Outcome, ReconcileResult, Reconciler};

struct Hello;

impl Reconciler for Hello {
    async fn reconcile(&self, _: &Context, key: &ObjectKey) -> ReconcileResult {
        println!("hello {key}");
        Ok(Outcome::Done)
    }
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let client = Client::connect(&Config::infer()?)?;
    let mut manager = Manager::builder(client).build()?;
    let maps = ApiResource::new_static("", "v1", "ConfigMap", "configmaps", Scope::Namespaced);
    let maps = manager
        .informers()
        .metadata(maps, InformerOptions::default());
    manager.add(Controller::builder("hello").for_(&maps).reconciler(Hello))?;
    manager.run_until_signal().await?;
    Ok(())
}
