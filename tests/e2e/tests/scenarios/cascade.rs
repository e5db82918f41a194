//! Deleting an owner: who goes, who stays, and in what order.

use std::time::Duration;

use anyhow::ensure;
use evenkeel_e2e::Env;
use evenkeel_e2e::manifest::{CONFIG_MAPS, DEPLOYMENTS, PODS, REPLICA_SETS, deployment};
use evenkeel_e2e::observe::{Deletions, controller, list};
use serde_json::json;

const SOON: Duration = Duration::from_secs(60);

/// The Deployment goes at once, then its ReplicaSet, then the pods.
pub(crate) async fn gc_t19_background_goes_from_the_top_down(env: Env) -> anyhow::Result<()> {
    let _parts = three_pods(&env).await?;
    let deletions = Deletions::record(env.client(), "cascade", &KINDS).await?;
    env.kubectl()
        .run(&[
            "-n",
            "cascade",
            "delete",
            "deployment",
            "web",
            "--cascade=background",
        ])
        .await?;
    env.gone(&PODS, "cascade", SOON).await?;
    let order = deletions.finish(5, SOON).await?;

    let [deployment] = order.of("deployments")[..] else {
        anyhow::bail!("not one Deployment: {order:?}");
    };
    let [replica_set] = order.of("replicasets")[..] else {
        anyhow::bail!("not one ReplicaSet: {order:?}");
    };
    let pods = order.of("pods");
    ensure!(pods.len() == 3, "{order:?}");
    ensure!(deployment < replica_set, "the owner goes first: {order:?}");
    ensure!(pods.iter().all(|pod| replica_set < *pod), "{order:?}");
    Ok(())
}

/// The pods go first, then the ReplicaSet, the Deployment last.
pub(crate) async fn foreground_goes_from_the_bottom_up(env: Env) -> anyhow::Result<()> {
    let _parts = three_pods(&env).await?;
    let deletions = Deletions::record(env.client(), "cascade", &KINDS).await?;
    // kubectl waits until the Deployment is gone.
    env.kubectl()
        .run(&[
            "-n",
            "cascade",
            "delete",
            "deployment",
            "web",
            "--cascade=foreground",
        ])
        .await?;
    let order = deletions.finish(5, SOON).await?;

    let [deployment] = order.of("deployments")[..] else {
        anyhow::bail!("not one Deployment: {order:?}");
    };
    let [replica_set] = order.of("replicasets")[..] else {
        anyhow::bail!("not one ReplicaSet: {order:?}");
    };
    let pods = order.of("pods");
    ensure!(pods.len() == 3, "{order:?}");
    ensure!(pods.iter().all(|pod| *pod < replica_set), "{order:?}");
    ensure!(replica_set < deployment, "the owner goes last: {order:?}");
    ensure!(list(env.client(), &PODS, "cascade").await?.is_empty());
    Ok(())
}

/// Only the Deployment goes; the ReplicaSet has no owner then, and keeps its pods.
pub(crate) async fn gc_t20_orphan_leaves_the_rest_alone(env: Env) -> anyhow::Result<()> {
    let _parts = three_pods(&env).await?;
    let before = names(&env).await?;
    env.kubectl()
        .run(&[
            "-n",
            "cascade",
            "delete",
            "deployment",
            "web",
            "--cascade=orphan",
        ])
        .await?;
    env.gone(&DEPLOYMENTS, "cascade", SOON).await?;
    collector_has_caught_up(&env).await?;

    ensure!(names(&env).await? == before, "not the same survivors");
    for set in list(env.client(), &REPLICA_SETS, "cascade").await? {
        ensure!(
            set.metadata.owner_references.is_empty(),
            "still owned: {:?}",
            set.metadata.owner_references
        );
        for pod in list(env.client(), &PODS, "cascade").await? {
            let uid = set.metadata.uid.as_ref().map(evenkeel_meta::Uid::as_str);
            ensure!(controller(&pod) == uid, "a pod lost its ReplicaSet");
        }
    }
    Ok(())
}

const KINDS: [evenkeel_meta::ApiResource; 3] = [DEPLOYMENTS, REPLICA_SETS, PODS];

async fn three_pods(env: &Env) -> anyhow::Result<impl Sized> {
    let manager = env.start_manager("manager", &[])?;
    let nodes = env.start_nodes(2, Duration::ZERO)?;
    env.create_namespace("cascade").await?;
    env.create(&DEPLOYMENTS, Some("cascade"), deployment("web", 3, "web:1"))
        .await?;
    env.rolled_out("cascade", "web", SOON).await?;
    Ok((manager, nodes))
}

async fn names(env: &Env) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for resource in [REPLICA_SETS, PODS] {
        for object in list(env.client(), &resource, "cascade").await? {
            names.push(object.metadata.name);
        }
    }
    names.sort();
    Ok(names)
}

/// That something is *not* collected shows once the collector has dealt with
/// what came after it: here the dependent of an owner that never was.
async fn collector_has_caught_up(env: &Env) -> anyhow::Result<()> {
    let marker = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "marker", "ownerReferences": [{
            "apiVersion": "v1", "kind": "ConfigMap", "name": "never-was",
            "uid": "5f8a4f3e-0000-4000-8000-000000000000"
        }]}
    });
    env.create(&CONFIG_MAPS, Some("cascade"), marker).await?;
    let api = env.client().dynamic(CONFIG_MAPS, Some("cascade"));
    evenkeel_e2e::eventually(SOON, "the marker is collected", async || {
        Ok(match api.get_opt("marker").await? {
            None => Ok(()),
            Some(_) => Err("it is there".to_owned()),
        })
    })
    .await
}
