//! A Deployment of 1,000 pods, and 100 ConfigMaps with 20 dependents each, deleted.

use std::time::Duration;

use anyhow::Context;
use evenkeel_client::WriteOptions;
use evenkeel_e2e::audit;
use evenkeel_e2e::bench::proc;
use evenkeel_e2e::bench::stage::{LONG, Maker, Stage};
use evenkeel_e2e::bench::table::{Samples, Table};
use evenkeel_e2e::manifest::CONFIG_MAPS;
use evenkeel_e2e::poll;
use evenkeel_e2e::server::{Server, ServerKind};
use evenkeel_meta::{DeleteOptions, DynamicObject, PropagationPolicy};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::deletions::Deletions;
use crate::requests;

const REPLICAS: u32 = 1000;
const FAMILIES: usize = 100;
const CHILDREN: usize = 20;
const AT_ONCE: usize = 20;

/// One manager's figures of all rounds.
#[derive(Default)]
struct Figures {
    pods: Part,
    maps: Part,
    /// From an owner gone to its last dependent gone.
    p99: Samples,
}

#[derive(Default)]
struct Part {
    rate: Samples,
    requests: Samples,
    cpu: Samples,
}

pub(crate) async fn measure(rounds: u32, table: &mut Table) -> anyhow::Result<()> {
    let stage = Stage::build(ServerKind::Real, "bench::gc").await?;
    let mut ours = Figures::default();
    let mut go = Figures::default();
    for round in 0..rounds {
        run(&stage, Maker::Evenkeel, round, &mut ours).await?;
        run(&stage, Maker::Go, round, &mut go).await?;
    }
    for (what, ours, go) in [
        ("Deployment of 1,000 pods", &ours.pods, &go.pods),
        ("100 families of 20", &ours.maps, &go.maps),
    ] {
        let name = |figure: &str| format!("{what}: {figure}");
        table.compared(
            &name("requests an object"),
            &ours.requests,
            &go.requests,
            "1.0",
        );
        table.compared(&name("deletions/s"), &ours.rate, &go.rate, ">= 1.5");
        table.compared(&name("manager CPU (ms)"), &ours.cpu, &go.cpu, "<= 0.33");
    }
    table.compared(
        "100 families: owner gone to last dependent gone, p99 (ms)",
        &ours.p99,
        &go.p99,
        "",
    );
    Ok(())
}

async fn run(stage: &Stage, maker: Maker, round: u32, into: &mut Figures) -> anyhow::Result<()> {
    let manager = stage.start_manager(maker)?;
    let namespace = format!("gc-{maker:?}-{round}").to_lowercase();
    stage.env().create_namespace(&namespace).await?;
    stage.prepare(&namespace, "web").await?;
    stage.scale(&namespace, "web", REPLICAS).await?;

    let count = Count::begin(stage, maker, manager.id())?;
    let took = stage.delete(&namespace, "web").await?;
    // The ReplicaSet is an object too.
    count
        .end(REPLICAS as usize + 1, took, &mut into.pods)
        .await?;

    let families = families(stage, &namespace).await?;
    let deletions = Deletions::follow(stage.env().client(), &CONFIG_MAPS, &namespace).await?;
    let count = Count::begin(stage, maker, manager.id())?;
    let took = delete(stage, &namespace, &families, &deletions).await?;
    count.end(FAMILIES * CHILDREN, took, &mut into.maps).await?;
    let p99 = p99(&families, &deletions)?;
    into.p99.push(p99);
    eprintln!("{maker:?}: families in {took:.2?}, p99 {p99:.0} ms");
    Ok(())
}

/// What a manager does from one moment on.
struct Count<'a> {
    stage: &'a Stage,
    maker: Maker,
    process: u32,
    since: String,
    cpu: f64,
}

impl<'a> Count<'a> {
    fn begin(stage: &'a Stage, maker: Maker, process: u32) -> anyhow::Result<Self> {
        Ok(Self {
            stage,
            maker,
            process,
            since: audit::now(),
            cpu: proc::cpu_milliseconds(process)?,
        })
    }

    async fn end(self, objects: usize, took: Duration, into: &mut Part) -> anyhow::Result<()> {
        into.rate.push(objects as f64 / took.as_secs_f64());
        into.cpu
            .push(proc::cpu_milliseconds(self.process)? - self.cpu);
        let Server::Real(server) = self.stage.env().server() else {
            anyhow::bail!("only the real server keeps a log");
        };
        // What was under way when the last object went is part of the price.
        let mut last = 0;
        let requests = poll::until(LONG, "no more requests", async || {
            let now = requests::count(&server.audit_log(), self.maker, &self.since)?;
            let quiet = now == last;
            last = now;
            tokio::time::sleep(Duration::from_millis(500)).await;
            Ok(quiet.then_some(now))
        })
        .await?;
        into.requests.push(requests as f64 / objects as f64);
        Ok(())
    }
}

/// The names of the owners; their children are `<owner>-<n>`.
async fn families(stage: &Stage, namespace: &str) -> anyhow::Result<Vec<String>> {
    let api = stage.env().client().dynamic(CONFIG_MAPS, Some(namespace));
    let create = async |name: String, owners: Value| {
        let object: DynamicObject = serde_json::from_value(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "ownerReferences": owners},
        }))?;
        let made = api.create(&object, &WriteOptions::default()).await?;
        let uid = made.metadata.uid.context("an object without a UID")?;
        anyhow::Ok((made.metadata.name, uid))
    };
    let owners: Vec<_> = stream::iter(0..FAMILIES)
        .map(|n| create(format!("family-{n}"), json!([])))
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await?;
    let children = owners.iter().flat_map(|(owner, uid)| {
        (0..CHILDREN).map(move |n| {
            let reference =
                json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": uid}]);
            (format!("{owner}-{n}"), reference)
        })
    });
    let children: Vec<_> = children.collect();
    stream::iter(children)
        .map(|(name, reference)| create(name, reference))
        .buffer_unordered(AT_ONCE)
        .try_collect::<Vec<_>>()
        .await?;
    Ok(owners.into_iter().map(|(name, _)| name).collect())
}

/// Deletes all owners, and returns the time until all dependents are gone.
async fn delete(
    stage: &Stage,
    namespace: &str,
    families: &[String],
    deletions: &Deletions,
) -> anyhow::Result<Duration> {
    let api = &stage.env().client().dynamic(CONFIG_MAPS, Some(namespace));
    let options = &DeleteOptions::with_policy(PropagationPolicy::Background);
    let start = Instant::now();
    stream::iter(families)
        .map(|owner| async move { api.delete(owner, options).await.map(drop) })
        .buffer_unordered(AT_ONCE)
        .try_collect::<Vec<()>>()
        .await?;
    poll::closely(LONG, "all families are gone", async || {
        Ok((deletions.count() >= FAMILIES * (CHILDREN + 1)).then_some(()))
    })
    .await?;
    Ok(start.elapsed())
}

fn p99(families: &[String], deletions: &Deletions) -> anyhow::Result<f64> {
    let mut times = Vec::new();
    for owner in families {
        let gone = deletions.of(owner).context("an owner is still there")?;
        let children = (0..CHILDREN).filter_map(|n| deletions.of(&format!("{owner}-{n}")));
        let last = children.max().context("no dependent has gone")?;
        times.push(last.saturating_duration_since(gone).as_secs_f64() * 1000.0);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[(times.len() * 99).div_ceil(100) - 1])
}
