//! The operator, on the current kubeconfig's cluster or the one that it runs in.
//!
//! `cache-operator [ADDRESS]`: probes and metrics are at `0.0.0.0:8081` unless said.

use cache_operator::{Cache, install};
use evenkeel::client::{Client, Config, PatchOptions};
use evenkeel::meta::ObjectKey;
use evenkeel::{BoxError, Clock, Election, Endpoint, Manager};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_core::CustomResourceExt;
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    tracing_subscriber::fmt().init();
    let address = std::env::args().nth(1);
    let address = address.as_deref().unwrap_or("0.0.0.0:8081").parse()?;
    let config = Config::infer()?;
    let home = config.default_namespace().to_owned();
    let client = Client::connect(&config)?.with_field_manager("cache-operator");
    let force = PatchOptions::default().force();
    let definitions = client.all::<CustomResourceDefinition>();
    let (name, definition) = (Cache::crd_name(), Cache::crd());
    definitions.apply(name, &definition, &force).await?;

    let election = Election::new(&*home, "cache-operator");
    let mut manager = Manager::builder(client).election(election).build()?;
    install(
        &mut manager,
        ObjectKey::namespaced(&home, "caches"),
        Clock::system(),
    )?;
    let endpoint = Endpoint::bind(address, None).await?;
    let (probes, registry) = (manager.probes().clone(), manager.registry().clone());
    manager.serve(endpoint.with_probes(probes).with_metrics(registry));

    let stop = CancellationToken::new();
    tokio::select! {
        ended = manager.run(stop.clone()) => ended?,
        second_signal = evenkeel::stop_on_signal(stop) => second_signal?,
    }
    Ok(())
}
