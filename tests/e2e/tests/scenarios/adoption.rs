//! Controllers take what matches and let go of what no longer does.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, ensure};
use evenkeel_e2e::manifest::{DEPLOYMENTS, PODS, REPLICA_SETS, deployment};
use evenkeel_e2e::observe::{controller, is_ready, list};
use evenkeel_e2e::{Env, eventually};

const SOON: Duration = Duration::from_secs(60);

/// A Deployment that comes back takes its old ReplicaSet, and no pod is restarted.
pub(crate) async fn kcm_c1_an_orphaned_replica_set_is_adopted_again(
    env: Env,
) -> anyhow::Result<()> {
    let _manager = env.start_manager("manager", &[])?;
    let _nodes = env.start_nodes(2, Duration::ZERO)?;
    env.create_namespace("adopt").await?;
    env.create(&DEPLOYMENTS, Some("adopt"), deployment("web", 3, "web:1"))
        .await?;
    env.rolled_out("adopt", "web", SOON).await?;
    let before = uids(&env, "adopt").await?;

    env.kubectl()
        .run(&[
            "-n",
            "adopt",
            "delete",
            "deployment",
            "web",
            "--cascade=orphan",
        ])
        .await?;
    env.gone(&DEPLOYMENTS, "adopt", SOON).await?;
    let again = env
        .create(&DEPLOYMENTS, Some("adopt"), deployment("web", 3, "web:1"))
        .await?;
    let owner = again.metadata.uid.context("no uid")?;
    eventually(SOON, "the ReplicaSet is adopted", async || {
        let sets = list(env.client(), &REPLICA_SETS, "adopt").await?;
        let owners: Vec<_> = sets.iter().map(controller).collect();
        Ok(if owners == [Some(owner.as_str())] {
            Ok(())
        } else {
            Err(format!("owners {owners:?}"))
        })
    })
    .await?;
    env.rolled_out("adopt", "web", SOON).await?;
    ensure!(
        uids(&env, "adopt").await? == before,
        "objects were replaced"
    );
    Ok(())
}

/// A pod whose label changes is let go and lives on; another takes its place.
pub(crate) async fn kcm_c1_a_relabelled_pod_is_released_and_replaced(
    env: Env,
) -> anyhow::Result<()> {
    let _manager = env.start_manager("manager", &[])?;
    let _nodes = env.start_nodes(2, Duration::ZERO)?;
    env.create_namespace("release").await?;
    env.create(&DEPLOYMENTS, Some("release"), deployment("web", 3, "web:1"))
        .await?;
    env.rolled_out("release", "web", SOON).await?;
    let pods = list(env.client(), &PODS, "release").await?;
    let name = &pods.first().context("no pods")?.metadata.name;

    env.kubectl()
        .run(&[
            "-n",
            "release",
            "label",
            "pod",
            name,
            "app=quarantine",
            "--overwrite",
        ])
        .await?;
    env.pods_ready("release", 4, SOON).await?;
    eventually(SOON, "three pods are controlled, one is not", async || {
        let pods = list(env.client(), &PODS, "release").await?;
        let free: Vec<_> = pods
            .iter()
            .filter(|pod| controller(pod).is_none())
            .map(|pod| (pod.metadata.name.as_str(), is_ready(pod)))
            .collect();
        Ok(if pods.len() == 4 && free == [(name.as_str(), true)] {
            Ok(())
        } else {
            Err(format!("{} pods, free: {free:?}", pods.len()))
        })
    })
    .await
}

async fn uids(env: &Env, namespace: &str) -> anyhow::Result<BTreeSet<String>> {
    let mut uids = BTreeSet::new();
    for resource in [REPLICA_SETS, PODS] {
        for object in list(env.client(), &resource, namespace).await? {
            uids.extend(object.metadata.uid.map(|uid| uid.to_string()));
        }
    }
    Ok(uids)
}
