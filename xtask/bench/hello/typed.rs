//! A controller that says hello to ConfigMaps.

use std::sync::Arc;

use evenkeel::client::{Client, Config};
use evenkeel::{
    BoxError, Context, Controller, Manager, ObjectReconciler, Outcome, ReconcileResult,
};
use k8s_openapi::api::core::v1::ConfigMap;

struct Hello;

impl ObjectReconciler<ConfigMap> for Hello {
    async fn reconcile(&self, _: &Context, map: Arc<ConfigMap>) -> ReconcileResult {
        println!("hello {:?}", map.metadata.name);
        Ok(Outcome::Done)
    }
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let client = Client::connect(&Config::infer()?)?;
    let mut manager = Manager::builder(client).build()?;
    let maps = manager.watch::<ConfigMap>();
    manager.add(
        Controller::builder("hello")
            .for_(&maps)
            .object_reconciler(Hello),
    )?;
    manager.run_until_signal().await?;
    Ok(())
}
