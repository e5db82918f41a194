//! What a scenario is given, and what it starts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, anyhow};
use bytes::Bytes;
use evenkeel_client::{Client, Config, Patch, PatchOptions, WriteOptions};
use evenkeel_meta::{ApiResource, DynamicObject};
use serde_json::{Value, json};
use xtask::envtest::Assets;

use crate::kubectl::Kubectl;
use crate::manifest::{DEPLOYMENTS, NAMESPACES};
use crate::metrics;
use crate::observe::{field, is_ready, list};
use crate::poll;
use crate::process::Process;
use crate::server::{EmbeddedServer, RealOptions, RealServer, Server, ServerKind, free_port};

/// A server of the scenario's own, with clients and a folder for files.
#[derive(Debug)]
pub struct Env {
    folder: PathBuf,
    evenkeel: PathBuf,
    server: Server,
    client: Client,
    kubectl: Kubectl,
}

/// A manager that runs, with the port of its plain HTTP endpoint.
#[derive(Debug)]
pub struct Manager {
    /// The process.
    pub process: Process,
    metrics: Client,
}

impl Env {
    /// A folder for one trial under the system's temporary directory.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn new_folder(kind: ServerKind, scenario: &str) -> anyhow::Result<PathBuf> {
        let name = scenario.replace("::", "-");
        let folder =
            std::env::temp_dir().join(format!("evenkeel-e2e-{}-{kind}-{name}", std::process::id()));
        fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
        Ok(folder)
    }

    /// Starts the server and waits until it is ready.
    ///
    /// # Errors
    /// It does not start; or the real one is asked for without its programs.
    pub async fn start(
        kind: ServerKind,
        folder: &Path,
        assets: Option<&Assets>,
        evenkeel: &Path,
    ) -> anyhow::Result<Self> {
        let server = match kind {
            ServerKind::Embedded => {
                Server::Embedded(EmbeddedServer::start(folder, evenkeel, &[]).await?)
            }
            ServerKind::Real => {
                let assets = assets.ok_or_else(|| anyhow!("run cargo xtask envtest"))?;
                let options = RealOptions::default();
                Server::Real(Box::new(RealServer::start(folder, assets, options).await?))
            }
        };
        Self::around(server, folder, evenkeel)
    }

    /// The same scenario around an embedded server in this process, whose
    /// handle injects faults.
    ///
    /// # Errors
    /// No port, or the kubeconfig cannot be written.
    pub async fn with_faults(self) -> anyhow::Result<(Self, evenkeel_apiserver::Server)> {
        let server = evenkeel_apiserver::Server::new();
        let embedded = Server::Embedded(EmbeddedServer::here(&self.folder, &server).await?);
        let env = Self::around(embedded, &self.folder, &self.evenkeel)?;
        Ok((env, server))
    }

    /// An embedded server beside the scenario's own, in a folder below it.
    ///
    /// # Errors
    /// It does not start.
    pub async fn start_embedded_beside(&self) -> anyhow::Result<EmbeddedServer> {
        let folder = self.folder.join("embedded");
        fs::create_dir_all(&folder)?;
        EmbeddedServer::start(&folder, &self.evenkeel, &[]).await
    }

    fn around(server: Server, folder: &Path, evenkeel: &Path) -> anyhow::Result<Self> {
        let config = Config::from_kubeconfig(server.kubeconfig(), None)?;
        Ok(Self {
            client: Client::connect(&config)?,
            kubectl: Kubectl::new(server.kubeconfig(), folder),
            folder: folder.to_path_buf(),
            evenkeel: evenkeel.to_path_buf(),
            server,
        })
    }

    /// A folder for the scenario's files; it goes when the scenario passed.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Which server it is.
    #[must_use]
    pub fn kind(&self) -> ServerKind {
        self.server.kind()
    }

    /// The server.
    pub fn server_mut(&mut self) -> &mut Server {
        &mut self.server
    }

    /// The server.
    #[must_use]
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// The administrator's kubeconfig.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        self.server.kubeconfig()
    }

    /// The administrator's client.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// kubectl as the administrator runs it.
    #[must_use]
    pub fn kubectl(&self) -> &Kubectl {
        &self.kubectl
    }

    /// `evenkeel` with arguments, not started yet.
    #[must_use]
    pub fn evenkeel(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.evenkeel);
        command.args(arguments).current_dir(&self.folder);
        command
    }

    /// Starts `evenkeel controller-manager` as `name` with the administrator's
    /// kubeconfig.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start_manager(&self, name: &str, flags: &[&str]) -> anyhow::Result<Manager> {
        self.start_manager_as(name, self.kubeconfig(), flags)
    }

    /// As [`Env::start_manager`], with another kubeconfig.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start_manager_as(
        &self,
        name: &str,
        kubeconfig: &Path,
        flags: &[&str],
    ) -> anyhow::Result<Manager> {
        let port = free_port()?;
        let mut command = self.evenkeel(&["controller-manager", "--kubeconfig"]);
        command
            .arg(kubeconfig)
            .args(["--bind-address=127.0.0.1", "--secure-port=0"])
            .arg(format!("--http-port={port}"))
            .args(flags);
        Ok(Manager {
            process: Process::start(name, command, &self.folder)?,
            metrics: Client::connect(&Config::new(&format!("http://127.0.0.1:{port}"))?)?,
        })
    }

    /// Starts simulated nodes in a process of their own.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start_nodes(&self, count: u32, start_delay: Duration) -> anyhow::Result<Process> {
        let mut command = self.evenkeel(&["nodes", "--kubeconfig"]);
        command
            .arg(self.kubeconfig())
            .arg(format!("--count={count}"))
            .arg(format!("--pod-start-delay={}ms", start_delay.as_millis()));
        Process::start("nodes", command, &self.folder)
    }

    /// Creates a namespace.
    ///
    /// # Errors
    /// The server refuses it.
    pub async fn create_namespace(&self, name: &str) -> anyhow::Result<()> {
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}
        });
        self.create(&NAMESPACES, None, namespace).await?;
        Ok(())
    }

    /// Creates an object.
    ///
    /// # Errors
    /// The server refuses it.
    pub async fn create(
        &self,
        resource: &ApiResource,
        namespace: Option<&str>,
        object: Value,
    ) -> anyhow::Result<DynamicObject> {
        let object: DynamicObject = serde_json::from_value(object)?;
        self.client
            .dynamic(resource.clone(), namespace)
            .create(&object, &WriteOptions::default())
            .await
            .with_context(|| format!("create {}/{}", resource.plural, object.metadata.name))
    }

    /// Changes the image of a Deployment's first container.
    ///
    /// # Errors
    /// The server refuses it.
    pub async fn set_image(&self, namespace: &str, name: &str, image: &str) -> anyhow::Result<()> {
        let patch = Patch::json(&json!([{
            "op": "replace", "path": "/spec/template/spec/containers/0/image", "value": image
        }]));
        self.client
            .dynamic(DEPLOYMENTS, Some(namespace))
            .patch(name, &patch, &PatchOptions::default())
            .await?;
        Ok(())
    }

    /// Waits until a Deployment's rollout is complete, as `kubectl rollout
    /// status` defines it.
    ///
    /// # Errors
    /// It is not complete in time.
    pub async fn rolled_out(
        &self,
        namespace: &str,
        name: &str,
        within: Duration,
    ) -> anyhow::Result<()> {
        let api = self.client.dynamic(DEPLOYMENTS, Some(namespace));
        poll::eventually(within, &format!("{name} is rolled out"), async || {
            let deployment = api.get(name).await?;
            let count = |pointer: &str| field(&deployment, pointer).as_i64().unwrap_or_default();
            let wanted = field(&deployment, "/spec/replicas").as_i64().unwrap_or(1);
            let observed = count("/status/observedGeneration");
            let done = Some(observed) >= deployment.metadata.generation
                && count("/status/updatedReplicas") == wanted
                && count("/status/replicas") == wanted
                && count("/status/availableReplicas") == wanted;
            Ok(if done {
                Ok(())
            } else {
                Err(format!("status {}", field(&deployment, "/status")))
            })
        })
        .await
    }

    /// Waits until exactly `count` pods are in the namespace, all of them ready.
    ///
    /// # Errors
    /// They are not in time.
    pub async fn pods_ready(
        &self,
        namespace: &str,
        count: usize,
        within: Duration,
    ) -> anyhow::Result<()> {
        let what = format!("{count} pods in {namespace}, all ready");
        poll::eventually(within, &what, async || {
            let pods = list(&self.client, &crate::manifest::PODS, namespace).await?;
            let ready = pods.iter().filter(|pod| is_ready(pod)).count();
            Ok(if pods.len() == count && ready == count {
                Ok(())
            } else {
                Err(format!("{} pods, {ready} ready", pods.len()))
            })
        })
        .await
    }

    /// Waits until none of a resource is left in the namespace.
    ///
    /// # Errors
    /// Something is left after `within`.
    pub async fn gone(
        &self,
        resource: &ApiResource,
        namespace: &str,
        within: Duration,
    ) -> anyhow::Result<()> {
        let what = format!("no {} are left in {namespace}", resource.plural);
        poll::eventually(within, &what, async || {
            let left = list(&self.client, resource, namespace).await?;
            let names: Vec<_> = left.iter().map(|o| o.metadata.name.as_str()).collect();
            Ok(if names.is_empty() {
                Ok(())
            } else {
                Err(format!("{names:?}"))
            })
        })
        .await
    }
}

impl Manager {
    /// Whether it says that it leads. One that does not answer does not lead.
    pub async fn leads(&self) -> bool {
        self.metric("leader_election_master_status", &[])
            .await
            .is_ok_and(|sum| sum >= 1.0)
    }

    /// What its plain HTTP endpoint answers: the status, the media type and the body.
    ///
    /// # Errors
    /// The manager does not answer at all.
    pub async fn page(&self, path: &str) -> anyhow::Result<(u16, String, String)> {
        let request = http::Request::get(path).body(Bytes::new())?;
        let (status, headers, body) = match self.metrics.raw(request).await {
            Ok(response) => {
                let (head, body) = response.into_parts();
                (head.status.as_u16(), head.headers, body)
            }
            Err(error) => match error.status() {
                Some(status) => return Ok((status.code, String::new(), String::new())),
                None => return Err(error.into()),
            },
        };
        let media_type = headers.get(http::header::CONTENT_TYPE);
        let media_type = media_type.and_then(|value| value.to_str().ok());
        let body = String::from_utf8_lossy(&body).into_owned();
        Ok((status, media_type.unwrap_or_default().to_owned(), body))
    }

    /// The sum of a metric's series that carry all of `labels`.
    ///
    /// # Errors
    /// The manager does not answer.
    pub async fn metric(&self, name: &str, labels: &[(&str, &str)]) -> anyhow::Result<f64> {
        let request = http::Request::get("/metrics").body(Bytes::new())?;
        let response = self.metrics.raw(request).await?;
        let text = String::from_utf8_lossy(response.body());
        Ok(metrics::sum(&text, name, labels))
    }
}
