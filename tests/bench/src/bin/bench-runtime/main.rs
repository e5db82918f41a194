//! A Manager with one controller of ours, for `cargo xtask bench runtime`. The programs for the others do
//! the same: they say `ready`, begin at `start`, run each object once, say `ran MILLISECONDS` (from the
//! first run to the last one, with a queue that is full before the first), and then take commands, one a
//! line.
//!
//! | command | does | answer |
//! |---|---|---|
//! | `reset` | forgets the runs so far | `ok` |
//! | `wait COUNT` | waits for so many runs, from `reset` on | `runs P50 P99 P99.9`, in microseconds |
//!
//! In the mode `itself`, a run for an event takes the time from the resource version that its object has
//! in the cache (the server's clock, when it sent the event) to itself. In the mode `owner` ReplicaSets
//! are reconciled, which own the pods: a run takes the time from the events of its pods to itself.

#![expect(clippy::print_stdout, reason = "answers are its output")]
#![expect(
    clippy::disallowed_methods,
    reason = "it measures real time, and its main thread may sleep"
)]

mod owner;
mod runs;

use std::sync::Arc;

use anyhow::{bail, ensure};
use evenkeel::client::{Client, Config};
use evenkeel::meta::{ApiResource, MetaView, Metadata, Object, ObjectKey, Scope};
use evenkeel::store::{InformerOptions, Store};
use evenkeel::{Context, Controller, Manager, Outcome, ReconcileResult, Reconciler, Watch};
use tokio_util::sync::CancellationToken;

use crate::runs::Runs;

const PODS: ApiResource = ApiResource::new_static("", "v1", "Pod", "pods", Scope::Namespaced);
const REPLICA_SETS: ApiResource =
    ApiResource::new_static("apps", "v1", "ReplicaSet", "replicasets", Scope::Namespaced);

fn main() -> anyhow::Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [mode, url, ca, workers, objects] = &arguments[..] else {
        bail!("usage: bench-runtime itself|owner URL CA WORKERS OBJECTS");
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let _inside = runtime.enter();
    let config = Config::new(url)?.ca_file(ca).no_proxy();
    let mut manager = Manager::builder(Client::connect(&config)?).build()?;
    let informers = manager.informers();
    let pods = informers.metadata(PODS, InformerOptions::default());
    let runs = Arc::new(Runs::new(objects.parse()?));
    let (bench, workers) = (Controller::builder("bench"), workers.parse()?);
    let controller = match mode.as_str() {
        "itself" => bench.for_(&pods).concurrency(workers).reconciler(Count {
            runs: Arc::clone(&runs),
            pods: pods.store().clone(),
        }),
        "owner" => {
            let sets = informers.metadata(REPLICA_SETS, InformerOptions::default());
            let owners = owner::Count::new(Arc::clone(&runs));
            let pods = Watch::of(&pods).when(owners.told());
            bench
                .for_(&sets)
                .owns(pods)
                .concurrency(workers)
                .reconciler(owners)
        }
        _ => bail!("no mode `{mode}`"),
    };
    manager.add(controller)?;
    println!("ready");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    ensure!(line.trim() == "start", "expected start, got {line:?}");
    let running = runtime.spawn(manager.run(CancellationToken::new()));
    println!("ran {:.3}", runs.first());
    runs.obey()?;
    running.abort();
    Ok(())
}

struct Count {
    runs: Arc<Runs>,
    pods: Store<Metadata>,
}

impl Reconciler for Count {
    async fn reconcile(&self, _: &Context, key: &ObjectKey) -> ReconcileResult {
        if !self.runs.begin()
            && let Some(pod) = self.pods.get(key)
        {
            let version = pod.metadata().resource_version();
            self.runs
                .note(version.and_then(|version| version.as_number()));
        }
        Ok(Outcome::Done)
    }
}
