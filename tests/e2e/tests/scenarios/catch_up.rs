//! The server goes away and comes back: nothing is lost, and what did not
//! change is not reconciled.

use std::time::Duration;

use anyhow::{bail, ensure};
use evenkeel_apiserver::{Fault, Verb, When};
use evenkeel_client::{Patch, PatchOptions};
use evenkeel_e2e::manifest::{CONFIG_MAPS, DEPLOYMENTS, PODS, deployment};
use evenkeel_e2e::observe::list;
use evenkeel_e2e::server::Server;
use evenkeel_e2e::{Env, Manager, eventually};
use evenkeel_meta::DeleteOptions;
use serde_json::json;

const SOON: Duration = Duration::from_secs(60);

/// What the ReplicaSet and Deployment controllers watch.
const WATCHED: [&str; 3] = ["deployments", "replicasets", "pods"];
const CONTROLLERS: [&str; 2] = ["deployment", "replicaset"];

/// Every watch is cut and the history compacted: first with nothing to catch up
/// on, then while objects change unseen.
pub(crate) async fn a_compacted_history_loses_nothing(env: Env) -> anyhow::Result<()> {
    let (env, server) = env.with_faults().await?;
    let manager = env.start_manager("manager", &[])?;
    let _nodes = env.start_nodes(2, Duration::ZERO)?;
    two_deployments(&env).await?;
    quiet(&manager).await?;

    let before = Counts::of(&manager).await?;
    write_something(&env).await?;
    server.faults().cut_watches();
    server.compact();
    eventually(SOON, "everything is listed again", async || {
        let now = Counts::of(&manager).await?;
        Ok(before.all_more(&now, |counts| &counts.lists))
    })
    .await?;
    nothing_reconciled(&before, &manager).await?;

    let refusal = server
        .faults()
        .inject(When::verb(Verb::Watch), Fault::too_many_requests(1));
    server.faults().cut_watches();
    change_and_delete(&env).await?;
    server.compact();
    refusal.lift();
    all_caught_up(&env).await
}

/// kube-apiserver is killed and started again: first while all is quiet, then
/// in the middle of a rollout.
pub(crate) async fn a_restarted_server_loses_nothing(env: Env) -> anyhow::Result<()> {
    let mut env = env;
    let manager = env.start_manager("manager", &[])?;
    let _nodes = env.start_nodes(2, Duration::from_millis(100))?;
    two_deployments(&env).await?;
    quiet(&manager).await?;

    let before = Counts::of(&manager).await?;
    write_something(&env).await?;
    restart(&mut env).await?;
    eventually(SOON, "everything is watched again", async || {
        let now = Counts::of(&manager).await?;
        Ok(before.all_more(&now, |counts| &counts.watching))
    })
    .await?;
    nothing_reconciled(&before, &manager).await?;

    change_and_delete(&env).await?;
    restart(&mut env).await?;
    all_caught_up(&env).await
}

async fn two_deployments(env: &Env) -> anyhow::Result<()> {
    env.create_namespace("gap").await?;
    for name in ["still", "moving"] {
        env.create(&DEPLOYMENTS, Some("gap"), deployment(name, 3, "web:1"))
            .await?;
    }
    for name in ["still", "moving"] {
        env.rolled_out("gap", name, SOON).await?;
    }
    Ok(())
}

/// Moves the revision on without touching what the controllers watch.
async fn write_something(env: &Env) -> anyhow::Result<()> {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "tick"}});
    env.create(&CONFIG_MAPS, Some("gap"), object).await?;
    Ok(())
}

/// One Deployment is scaled and one of its pods deleted.
async fn change_and_delete(env: &Env) -> anyhow::Result<()> {
    let pods = list(env.client(), &PODS, "gap").await?;
    let Some(pod) = pods
        .iter()
        .find(|pod| pod.metadata.labels.get("app").map(String::as_str) == Some("moving"))
    else {
        bail!("no pod of `moving`");
    };
    env.client()
        .dynamic(PODS, Some("gap"))
        .delete(&pod.metadata.name, &DeleteOptions::default())
        .await?;
    let patch = Patch::merge(&json!({"spec": {"replicas": 5}}));
    env.client()
        .dynamic(DEPLOYMENTS, Some("gap"))
        .patch("moving", &patch, &PatchOptions::default())
        .await?;
    Ok(())
}

async fn all_caught_up(env: &Env) -> anyhow::Result<()> {
    env.rolled_out("gap", "moving", SOON).await?;
    env.rolled_out("gap", "still", SOON).await?;
    env.pods_ready("gap", 8, SOON).await
}

async fn restart(env: &mut Env) -> anyhow::Result<()> {
    let Server::Real(server) = env.server_mut() else {
        bail!("only the real server is restarted");
    };
    server.kill_server().await?;
    server.start_server().await
}

/// What a manager's metrics say.
#[derive(Clone, Debug, PartialEq)]
struct Counts {
    /// By resource: whole contents fetched.
    lists: Vec<f64>,
    /// By resource: watches that did not fail.
    watching: Vec<f64>,
    /// By controller: runs.
    runs: Vec<f64>,
}

impl Counts {
    async fn of(manager: &Manager) -> anyhow::Result<Self> {
        let mut counts = Self {
            lists: Vec::new(),
            watching: Vec::new(),
            runs: Vec::new(),
        };
        for resource in WATCHED {
            let of = ("resource", resource);
            counts
                .lists
                .push(manager.metric("reflector_lists_total", &[of]).await?);
            let failed = manager
                .metric("reflector_failures_total", &[of, ("verb", "watch")])
                .await?;
            let asked = manager.metric("reflector_watches_total", &[of]).await?;
            counts.watching.push(asked - failed);
        }
        for controller in CONTROLLERS {
            let label = ("controller", controller);
            counts.runs.push(
                manager
                    .metric("controller_runtime_reconcile_total", &[label])
                    .await?,
            );
        }
        Ok(counts)
    }

    fn all_more(&self, later: &Self, of: impl Fn(&Self) -> &Vec<f64>) -> Result<(), String> {
        let is_more = of(self).iter().zip(of(later)).all(|(a, b)| b > a);
        if is_more {
            Ok(())
        } else {
            Err(format!("before {self:?}, now {later:?}"))
        }
    }
}

/// Waits until two looks in a row at the manager see the same.
async fn quiet(manager: &Manager) -> anyhow::Result<()> {
    let mut last = None;
    eventually(SOON, "the manager has nothing to do", async || {
        let now = Counts::of(manager).await?;
        let is_same = last.as_ref() == Some(&now);
        let has_run = now.runs.iter().all(|runs| *runs > 0.0);
        let depth = manager.metric("workqueue_depth", &[]).await?;
        let said = format!("{now:?}, depth {depth}");
        last = Some(now);
        Ok(if is_same && has_run && depth < 1.0 {
            Ok(())
        } else {
            Err(said)
        })
    })
    .await
}

async fn nothing_reconciled(before: &Counts, manager: &Manager) -> anyhow::Result<()> {
    quiet(manager).await?;
    let after = Counts::of(manager).await?;
    ensure!(
        before.runs == after.runs,
        "keys that did not change were reconciled: {before:?}, then {after:?}"
    );
    Ok(())
}
