//! A custom control loop: the example of the `evenkeel` crate, as its user runs it.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use evenkeel_client::{Patch, PatchOptions};
use evenkeel_e2e::manifest::CONFIG_MAPS;
use evenkeel_e2e::observe::{controller, field};
use evenkeel_e2e::{Env, Process, Signal, eventually, poll, program};
use evenkeel_meta::{ApiResource, DeleteOptions, Scope};
use serde_json::json;

const SOON: Duration = Duration::from_secs(60);

const BANNERS: ApiResource = ApiResource::new_static(
    "example.evenkeel.dev",
    "v1",
    "Banner",
    "banners",
    Scope::Namespaced,
);

/// It defines its kind, and makes, mends and follows the ConfigMap that it
/// owns; the collector takes that away with its owner.
pub(crate) async fn the_example_keeps_what_it_owns(env: Env) -> anyhow::Result<()> {
    let _manager = env.start_manager("manager", &[])?;
    let mut command = Command::new(program::example("banners")?);
    command.env("KUBECONFIG", env.kubeconfig());
    let mut banners = Process::start("banners", command, env.folder())?;

    let banner = json!({
        "apiVersion": "example.evenkeel.dev/v1", "kind": "Banner",
        "metadata": {"name": "hello"}, "spec": {"text": "one"}
    });
    let created = poll::until(SOON, "the kind is served", async || {
        Ok(env
            .create(&BANNERS, Some("default"), banner.clone())
            .await
            .ok())
    })
    .await?;
    let uid = created.metadata.uid.context("no uid")?;
    says(&env, "one").await?;
    let map = env.client().dynamic(CONFIG_MAPS, Some("default"));
    ensure!(
        controller(&map.get("hello").await?) == Some(uid.as_str()),
        "not owned"
    );

    let api = env.client().dynamic(BANNERS, Some("default"));
    let change = Patch::merge(&json!({"spec": {"text": "two"}}));
    api.patch("hello", &change, &PatchOptions::default())
        .await?;
    says(&env, "two").await?;

    let meddled = Patch::merge(&json!({"data": {"text": "meddled"}}));
    map.patch("hello", &meddled, &PatchOptions::default())
        .await?;
    says(&env, "two").await?;

    map.delete("hello", &DeleteOptions::default()).await?;
    says(&env, "two").await?;

    api.delete("hello", &DeleteOptions::default()).await?;
    eventually(SOON, "the ConfigMap goes with its owner", async || {
        Ok(match map.get_opt("hello").await? {
            None => Ok(()),
            Some(_) => Err("it is there".to_owned()),
        })
    })
    .await?;

    banners.signal(Signal::Terminate)?;
    let status = banners.wait(SOON).await?;
    ensure!(status.success(), "it did not stop in order: {status}");
    Ok(())
}

async fn says(env: &Env, text: &str) -> anyhow::Result<()> {
    let map = env.client().dynamic(CONFIG_MAPS, Some("default"));
    eventually(SOON, &format!("the ConfigMap says {text}"), async || {
        let map = map.get("hello").await?;
        let said = field(&map, "/data/text");
        Ok(if said == text {
            Ok(())
        } else {
            Err(said.to_string())
        })
    })
    .await
}
