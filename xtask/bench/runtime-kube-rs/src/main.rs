//! A controller of kube-rs, as `bench-runtime` is one of ours: the same commands, the same answers, the
//! same reconciler. Run by `cargo xtask bench runtime`.

mod owner;
mod runs;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube_client::{Api, Client, Config};
use kube_core::metadata::PartialObjectMeta;
use kube_runtime::controller::{Action, Config as Concurrency};
use kube_runtime::{Controller, watcher};

use crate::runs::Runs;

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [mode, url, ca, workers, objects] = &arguments[..] else {
        eprintln!("usage: bench-runtime-kube-rs itself|owner URL CA WORKERS OBJECTS");
        std::process::exit(2);
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let _inside = runtime.enter();
    let mut config = Config::new(url.parse().unwrap());
    config.root_cert_file = Some(ca.into());
    let client = Client::try_from(config).unwrap();
    let pods: Api<PartialObjectMeta<Pod>> = Api::all(client.clone());
    let runs = Arc::new(Runs::new(objects.parse().unwrap()));
    let concurrency = Concurrency::default().concurrency(workers.parse().unwrap());
    println!("ready");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    if mode == "owner" {
        runtime.spawn(owner::run(client, pods, concurrency, Arc::clone(&runs)));
    } else {
        let controller = Controller::new(pods, watcher::Config::default())
            .with_config(concurrency)
            .run(reconcile, again, Arc::clone(&runs));
        runtime.spawn(controller.for_each(|_| std::future::ready(())));
    }
    println!("ran {:.3}", runs.first());
    runs.obey();
}

async fn reconcile(
    pod: Arc<PartialObjectMeta<Pod>>,
    runs: Arc<Runs>,
) -> Result<Action, Infallible> {
    if !runs.begin() {
        runs.note(pod.metadata.resource_version.as_deref());
    }
    Ok(Action::await_change())
}

fn again(_: Arc<PartialObjectMeta<Pod>>, _: &Infallible, _: Arc<Runs>) -> Action {
    Action::requeue(Duration::from_secs(1))
}
