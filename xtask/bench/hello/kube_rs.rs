//! The same on kube-rs.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::controller::{Action, Controller};
use kube::runtime::watcher;
use kube::{Api, Client};

async fn hello(map: Arc<ConfigMap>, _: Arc<()>) -> Result<Action, kube::Error> {
    println!("hello {:?}", map.metadata.name);
    Ok(Action::await_change())
}

fn failed(_: Arc<ConfigMap>, _: &kube::Error, _: Arc<()>) -> Action {
    Action::requeue(Duration::from_secs(5))
}

#[tokio::main]
async fn main() -> Result<(), kube::Error> {
    let maps = Api::<ConfigMap>::all(Client::try_default().await?);
    Controller::new(maps, watcher::Config::default())
        .shutdown_on_signal()
        .run(hello, failed, Arc::new(()))
        .for_each(|_| async {})
        .await;
    Ok(())
}
