//! The cache operator of `examples/`, as its user runs it.

use std::process::Command;
use std::time::Duration;

use anyhow::ensure;
use evenkeel_client::{Patch, PatchOptions};
use evenkeel_e2e::manifest::{CONFIG_MAPS, DEPLOYMENTS, LEASES, PODS};
use evenkeel_e2e::observe::field;
use evenkeel_e2e::{Env, Process, Signal, eventually, poll, program};
use evenkeel_meta::{ApiResource, DeleteOptions, Scope};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(60);

const CACHES: ApiResource = ApiResource::new_static(
    "example.evenkeel.dev",
    "v1",
    "Cache",
    "caches",
    Scope::Namespaced,
);

/// It takes the lead, defines its kind, brings a cache to ready, rolls it when its settings
/// change, and cleans up after it; the Lease is free when it has stopped.
pub(crate) async fn a_cache_lives_rolls_and_goes(env: Env) -> anyhow::Result<()> {
    let _manager = env.start_manager("manager", &[])?;
    let _nodes = env.start_nodes(2, Duration::ZERO)?;
    let mut command = Command::new(program::example("cache-operator")?);
    command
        .env("KUBECONFIG", env.kubeconfig())
        .arg("--health-probe-bind-address=127.0.0.1:0");
    let mut operator = Process::start("operator", command, env.folder())?;

    let cache = json!({
        "apiVersion": "example.evenkeel.dev/v1", "kind": "Cache",
        "metadata": {"name": "web"}, "spec": {"replicas": 2}
    });
    poll::until(SOON, "the kind is served", async || {
        let created = env.create(&CACHES, Some("default"), cache.clone()).await;
        Ok(created.ok())
    })
    .await?;
    is_ready(&env, 1).await?;
    env.pods_ready("default", 2, SOON).await?;
    let line = "/data/default_web";
    let maps = env.client().dynamic(CONFIG_MAPS, Some("default"));
    let directory = maps.get("caches").await?;
    ensure!(*field(&directory, line) == json!("web.default.svc:6379"));

    let caches = env.client().dynamic(CACHES, Some("default"));
    let change = Patch::merge(&json!({"spec": {"settings": {"hz": "5"}}}));
    let options = PatchOptions::default();
    caches.patch("web", &change, &options).await?;
    is_ready(&env, 2).await?;
    let deployments = env.client().dynamic(DEPLOYMENTS, Some("default"));
    let deployment = deployments.get("web").await?;
    let revision = "/metadata/annotations/deployment.kubernetes.io~1revision";
    ensure!(
        serde_json::to_value(&deployment)?.pointer(revision) == Some(&json!("2")),
        "it did not roll"
    );

    // What the schema forbids is refused before the operator sees it.
    let wrong = Patch::merge(&json!({"spec": {"replicas": -1}}));
    let refused = caches.patch("web", &wrong, &options).await;
    ensure!(refused.is_err_and(|error| error.status().is_some_and(|status| status.code == 422)));

    caches.delete("web", &DeleteOptions::default()).await?;
    for resource in [CACHES, DEPLOYMENTS, PODS] {
        env.gone(&resource, "default", SOON).await?;
    }
    let directory = maps.get("caches").await?;
    ensure!(*field(&directory, line) == Value::Null, "the line is left");

    operator.signal(Signal::Terminate)?;
    let status = operator.wait(SOON).await?;
    ensure!(status.success(), "it did not stop in order: {status}");
    let lease = env.client().dynamic(LEASES, Some("default"));
    let lease = lease.get("cache-operator").await?;
    let holder = field(&lease, "/spec/holderIdentity");
    let holder = holder.as_str().unwrap_or_default();
    ensure!(holder.is_empty(), "{holder} holds the Lease still");
    Ok(())
}

/// Waits until the status is of this generation and says that all is ready.
async fn is_ready(env: &Env, generation: i64) -> anyhow::Result<()> {
    let caches = env.client().dynamic(CACHES, Some("default"));
    let what = format!("generation {generation} is ready");
    eventually(SOON, &what, async || {
        let cache = caches.get("web").await?;
        let conditions = field(&cache, "/status/conditions");
        let mut conditions = conditions.as_array().into_iter().flatten();
        let ready = conditions.any(|one| {
            one["type"] == "Ready"
                && one["status"] == "True"
                && one["observedGeneration"] == generation
        });
        Ok(if ready {
            Ok(())
        } else {
            Err(field(&cache, "/status").to_string())
        })
    })
    .await
}
