//! The guestbook, driven by kubectl as a user does.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use evenkeel_e2e::manifest::PODS;
use evenkeel_e2e::observe::{field, list};
use evenkeel_e2e::{Env, eventually};
use serde_json::json;

const SOON: Duration = Duration::from_secs(60);

fn manifest() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples/guestbook.yaml")
        .to_string_lossy()
        .into_owned()
}

/// Applied, rolled out, looked at, scaled, updated, undone and deleted.
pub(crate) async fn kubectl_takes_it_through_its_life(env: Env) -> anyhow::Result<()> {
    let _manager = env.start_manager("manager", &[])?;
    let _nodes = env.start_nodes(3, Duration::from_millis(20))?;
    let kubectl = env.kubectl();
    kubectl.run(&["apply", "-f", &manifest()]).await?;
    let deployments = kubectl.run(&["get", "deployments", "-o", "name"]).await?;
    ensure!(
        deployments.lines().count() >= 3,
        "front end, cache and store: {deployments}"
    );
    for deployment in deployments.lines() {
        let status = kubectl
            .run(&["rollout", "status", deployment, "--timeout=60s"])
            .await?;
        ensure!(status.contains("successfully rolled out"), "{status}");
    }

    let first = deployments.lines().next().context("no Deployment")?;
    let name = first.rsplit('/').next().context("no name")?;
    let table = kubectl.run(&["get", "deployments"]).await?;
    ensure!(table.starts_with("NAME"), "no table: {table}");
    let row = table
        .lines()
        .find(|line| line.starts_with(name))
        .context("no row")?;
    let ready = row.split_whitespace().nth(1).unwrap_or_default();
    let (have, want) = ready.split_once('/').context("READY is not x/y")?;
    ensure!(have == want, "not ready in the table: {row}");

    let described = kubectl.run(&["describe", first]).await?;
    for part in ["NewReplicaSet:", "Available", "ScalingReplicaSet"] {
        ensure!(
            described.contains(part),
            "describe lacks {part}: {described}"
        );
    }

    kubectl.run(&["scale", first, "--replicas=5"]).await?;
    kubectl
        .run(&["rollout", "status", first, "--timeout=60s"])
        .await?;
    eventually(SOON, "five pods are wanted and there", async || {
        let text = kubectl
            .run(&["get", first, "-o", "jsonpath={.status.readyReplicas}"])
            .await?;
        Ok(if text == "5" {
            Ok(())
        } else {
            Err(format!("ready {text}"))
        })
    })
    .await?;

    let before = image(&env, first).await?;
    kubectl
        .run(&["set", "image", first, "*=example.com/next:2"])
        .await?;
    kubectl
        .run(&["rollout", "status", first, "--timeout=60s"])
        .await?;
    ensure!(image(&env, first).await? == "example.com/next:2");
    let history = kubectl.run(&["rollout", "history", first]).await?;
    ensure!(
        history.lines().any(|line| line.starts_with('2')),
        "no revision 2: {history}"
    );

    kubectl.run(&["rollout", "undo", first]).await?;
    kubectl
        .run(&["rollout", "status", first, "--timeout=60s"])
        .await?;
    ensure!(
        image(&env, first).await? == before,
        "undo did not bring the image back"
    );
    let history = kubectl.run(&["rollout", "history", first]).await?;
    ensure!(
        history.lines().any(|line| line.starts_with('3')),
        "no revision 3: {history}"
    );
    for pod in list(env.client(), &PODS, "default").await? {
        ensure!(
            field(&pod, "/spec/containers/0/image") != "example.com/next:2"
                || pod.metadata.deletion_timestamp.is_some(),
            "a pod of the undone revision is left: {}",
            pod.metadata.name
        );
    }

    kubectl.run(&["delete", "-f", &manifest()]).await?;
    env.gone(&PODS, "default", SOON).await?;
    applies_a_list_of_one_kind(&env).await
}

/// kubectl validates lists in a way of its own: by the OpenAPI document of version 2.
async fn applies_a_list_of_one_kind(env: &Env) -> anyhow::Result<()> {
    let map = |name| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    let list =
        json!({"apiVersion": "v1", "kind": "ConfigMapList", "items": [map("one"), map("two")]});
    let kubectl = env.kubectl();
    let said = kubectl
        .run_with_input(&["apply", "-f", "-"], &list.to_string())
        .await?;
    ensure!(
        said.contains("one created") && said.contains("two created"),
        "{said}"
    );
    Ok(())
}

async fn image(env: &Env, deployment: &str) -> anyhow::Result<String> {
    let path = "jsonpath={.spec.template.spec.containers[0].image}";
    env.kubectl().run(&["get", deployment, "-o", path]).await
}
