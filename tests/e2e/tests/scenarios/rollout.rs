//! Rolling updates keep their bounds.

use std::time::Duration;

use evenkeel_e2e::Env;
use evenkeel_e2e::manifest::{DEPLOYMENTS, PODS, deployment};
use evenkeel_e2e::observe::{PodRecorder, field, list};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(60);

/// Never more than replicas + maxSurge pods that are not terminating, never
/// fewer than replicas - maxUnavailable ready ones, at any revision.
pub(crate) async fn kcm_d7_d8_a_rolling_update_keeps_its_bounds(env: Env) -> anyhow::Result<()> {
    let _manager = env.start_manager("manager", &[])?;
    let _nodes = env.start_nodes(3, Duration::from_millis(100))?;
    env.create_namespace("bounds").await?;
    let mut web = deployment("web", 10, "web:1");
    web["spec"]["strategy"] = json!({
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2}
    });
    env.create(&DEPLOYMENTS, Some("bounds"), web).await?;
    env.rolled_out("bounds", "web", SOON).await?;

    let recorder = PodRecorder::start(env.client(), "bounds").await?;
    env.set_image("bounds", "web", "web:2").await?;
    env.rolled_out("bounds", "web", SOON).await?;
    env.pods_ready("bounds", 10, SOON).await?;
    let history = recorder.finish().await?;

    anyhow::ensure!(history.most <= 13, "went over 10 + 3: {history:?}");
    anyhow::ensure!(history.fewest_ready >= 8, "went under 10 - 2: {history:?}");
    anyhow::ensure!(history.created == 10, "surplus pods: {history:?}");
    for pod in list(env.client(), &PODS, "bounds").await? {
        let image = field(&pod, "/spec/containers/0/image");
        anyhow::ensure!(
            image == &Value::from("web:2"),
            "an old pod is left: {image}"
        );
    }
    Ok(())
}

/// Recreate has no moment with pods of both templates.
pub(crate) async fn kcm_d10_recreate_ends_the_old_before_the_new(env: Env) -> anyhow::Result<()> {
    let _manager = env.start_manager("manager", &[])?;
    let _nodes = env.start_nodes(2, Duration::from_millis(20))?;
    env.create_namespace("recreate").await?;
    let mut web = deployment("web", 4, "web:1");
    web["spec"]["strategy"] = json!({"type": "Recreate"});
    env.create(&DEPLOYMENTS, Some("recreate"), web).await?;
    env.rolled_out("recreate", "web", SOON).await?;

    let recorder = PodRecorder::start(env.client(), "recreate").await?;
    env.set_image("recreate", "web", "web:2").await?;
    env.rolled_out("recreate", "web", SOON).await?;
    let history = recorder.finish().await?;

    anyhow::ensure!(history.most <= 4, "old and new side by side: {history:?}");
    anyhow::ensure!(
        history.fewest_ready == 0,
        "the old ones never all ended: {history:?}"
    );
    Ok(())
}
