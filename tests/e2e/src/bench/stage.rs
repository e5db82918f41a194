//! A server, nodes and one manager at a time.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::manifest::{DEPLOYMENTS, PODS, deployment};
use crate::observe::field;
use crate::program;
use crate::server::{Server, ServerKind, free_port};
use crate::{Env, Process, poll};
use anyhow::Context;
use evenkeel_client::ListOptions;
use evenkeel_client::{Patch, PatchOptions};
use evenkeel_meta::{DeleteOptions, PropagationPolicy};
use serde_json::json;
use tokio::time::Instant;
use xtask::envtest::{Assets, Program};

/// As long as anything may take.
pub const LONG: Duration = Duration::from_secs(180);

/// The controllers that both managers have.
const CONTROLLERS: &str = "deployment-controller,replicaset-controller,\
    garbage-collector-controller,namespace-controller,serviceaccount-controller";

/// Whose manager runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    /// Ours.
    Evenkeel,
    /// kube-controller-manager.
    Go,
}

/// A server with simulated nodes.
#[derive(Debug)]
pub struct Stage {
    env: Env,
    folder: PathBuf,
    _nodes: Process,
}

impl Stage {
    /// Starts the server and ten nodes.
    ///
    /// # Errors
    /// They do not start.
    pub async fn build(kind: ServerKind, name: &str) -> anyhow::Result<Self> {
        let folder = Env::new_folder(kind, name)?;
        let assets = Assets::locate(&[
            Program::Etcd,
            Program::KubeApiserver,
            Program::KubeControllerManager,
        ])
        .ok();
        let program = program::evenkeel()?;
        let env = Env::start(kind, &folder, assets.as_ref(), &program).await?;
        let nodes = env.start_nodes(10, Duration::ZERO)?;
        Ok(Self {
            env,
            folder,
            _nodes: nodes,
        })
    }

    /// The server, and clients of it.
    #[must_use]
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// Starts a manager with no limit on its requests, alone and without an
    /// election.
    ///
    /// # Errors
    /// It does not start; the Go manager is not there.
    pub fn start_manager(&self, maker: Maker) -> anyhow::Result<Process> {
        let limits = ["--kube-api-qps=10000", "--kube-api-burst=10000"];
        let (name, mut command) = match maker {
            Maker::Evenkeel => {
                let mut command = self.env.evenkeel(&["controller-manager"]);
                command.arg("--secure-port=0");
                ("evenkeel", command)
            }
            Maker::Go => {
                let Server::Real(server) = self.env.server() else {
                    anyhow::bail!("the Go manager runs on the real server");
                };
                let assets = Assets::locate(&[Program::KubeControllerManager])
                    .ok()
                    .context("run cargo xtask envtest --with kube-controller-manager")?;
                let mut command = Command::new(assets.program(Program::KubeControllerManager));
                command
                    .arg(format!("--secure-port={}", free_port()?))
                    .arg("--bind-address=127.0.0.1")
                    .arg("--service-account-private-key-file")
                    .arg(server.account_key());
                ("go", command)
            }
        };
        command
            .arg("--kubeconfig")
            .arg(self.env.kubeconfig())
            .arg("--leader-elect=false")
            .arg(format!("--controllers={CONTROLLERS}"))
            .args(limits);
        Process::start(name, command, &self.folder)
    }

    /// Creates an empty Deployment and waits until the manager has seen it: its
    /// caches are warm then, and starting up is in no figure.
    ///
    /// # Errors
    /// The server refuses, or the manager does not act in time.
    pub async fn prepare(&self, namespace: &str, name: &str) -> anyhow::Result<()> {
        self.env
            .create(&DEPLOYMENTS, Some(namespace), deployment(name, 0, "web:1"))
            .await?;
        self.env.rolled_out(namespace, name, LONG).await
    }

    /// Scales, and returns the time from the request until all pods are ready.
    ///
    /// # Errors
    /// The server refuses, or it takes too long.
    pub async fn scale(
        &self,
        namespace: &str,
        name: &str,
        replicas: u32,
    ) -> anyhow::Result<Duration> {
        let api = self.env.client().dynamic(DEPLOYMENTS, Some(namespace));
        let patch = Patch::merge(&json!({"spec": {"replicas": replicas}}));
        let start = Instant::now();
        api.patch(name, &patch, &PatchOptions::default()).await?;
        poll::closely(LONG, "all pods are ready", async || {
            let deployment = api.get(name).await?;
            let ready = field(&deployment, "/status/readyReplicas").as_u64();
            Ok((ready == Some(u64::from(replicas))).then_some(()))
        })
        .await?;
        Ok(start.elapsed())
    }

    /// Deletes in the background, and returns the time from the request until
    /// all pods are gone.
    ///
    /// # Errors
    /// The server refuses, or it takes too long.
    pub async fn delete(&self, namespace: &str, name: &str) -> anyhow::Result<Duration> {
        let client = self.env.client();
        let options = DeleteOptions {
            propagation_policy: Some(PropagationPolicy::Background),
            ..DeleteOptions::default()
        };
        let start = Instant::now();
        client
            .dynamic(DEPLOYMENTS, Some(namespace))
            .delete(name, &options)
            .await?;
        let pods = client.metadata(PODS, Some(namespace));
        poll::closely(LONG, "all pods are gone", async || {
            let page = pods.list_page(&ListOptions::default().page_size(1)).await?;
            Ok(page.items.is_empty().then_some(()))
        })
        .await?;
        Ok(start.elapsed())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // Left-overs in the temporary directory fail nothing.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
