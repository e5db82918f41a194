//! A kube-apiserver over etcd, in processes that end with the handle.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};
use evenkeel_client::{Client, Config};
use xtask::envtest::{Assets, Program};

use super::identity::{self, ADMIN, Identity, NOBODY};
use super::{free_port, ready};
use crate::process::{Process, Signal, touch};

const READY: Duration = Duration::from_secs(60);

/// Every request once, when it was answered; bodies would bury the log.
const AUDIT_POLICY: &str = r#"{
    "apiVersion": "audit.k8s.io/v1", "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}]
}"#;

/// How the server is run.
#[derive(Clone, Debug)]
pub struct RealOptions {
    /// Admission of pods asks for the service account, as in a cluster. Needs
    /// the service account controller to run before the first pod.
    pub service_account_admission: bool,
    /// Log every request to a file.
    pub audit: bool,
}

impl Default for RealOptions {
    fn default() -> Self {
        Self {
            service_account_admission: true,
            audit: true,
        }
    }
}

/// The server and its database.
#[derive(Debug)]
pub struct RealServer {
    folder: PathBuf,
    assets: Assets,
    options: RealOptions,
    identity: Identity,
    ports: Ports,
    kubeconfig: PathBuf,
    // Dropped in this order: the server before its database.
    server: Option<Process>,
    etcd: Process,
}

#[derive(Clone, Copy, Debug)]
struct Ports {
    server: u16,
    etcd: u16,
    peer: u16,
}

impl Ports {
    fn url(self) -> String {
        format!("https://127.0.0.1:{}", self.server)
    }
}

impl RealServer {
    /// Starts both and waits until the server is ready.
    ///
    /// # Errors
    /// A program cannot be started, or is not ready within a minute.
    pub async fn start(
        folder: &Path,
        assets: &Assets,
        options: RealOptions,
    ) -> anyhow::Result<Self> {
        let identity = Identity::create(folder)?;
        fs::write(folder.join("audit-policy.json"), AUDIT_POLICY)?;
        touch(&folder.join("audit.log"))?;
        let ports = Ports {
            server: free_port()?,
            etcd: free_port()?,
            peer: free_port()?,
        };
        let kubeconfig = folder.join("kubeconfig");
        identity::write_kubeconfig(&kubeconfig, &ports.url(), &identity.ca, ADMIN)?;

        let mut real = Self {
            etcd: start_etcd(folder, assets, ports)?,
            folder: folder.to_path_buf(),
            assets: assets.clone(),
            options,
            identity,
            ports,
            kubeconfig,
            server: None,
        };
        real.start_server().await?;
        Ok(real)
    }

    /// The administrator's kubeconfig.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Writes the kubeconfig of another user, whose token is its name:
    /// `manager-a`, `-b` and `-c` may do everything.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn kubeconfig_of(&self, user: &str) -> anyhow::Result<PathBuf> {
        let path = self.folder.join(format!("{user}.kubeconfig"));
        identity::write_kubeconfig(&path, &self.url(), &self.identity.ca, user)?;
        Ok(path)
    }

    /// Writes the kubeconfig of a user who is known and may do nothing.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn kubeconfig_of_nobody(&self) -> anyhow::Result<PathBuf> {
        self.kubeconfig_of(NOBODY)
    }

    /// Where it listens.
    #[must_use]
    pub fn url(&self) -> String {
        self.ports.url()
    }

    /// The log of every request that was answered.
    #[must_use]
    pub fn audit_log(&self) -> PathBuf {
        self.folder.join("audit.log")
    }

    /// The private key that service account tokens are signed with.
    #[must_use]
    pub fn account_key(&self) -> &Path {
        &self.identity.account_key
    }

    /// The certificate authority of the server's certificate.
    #[must_use]
    pub fn ca(&self) -> &Path {
        &self.identity.ca
    }

    /// Kills the server without a word; the database goes on.
    ///
    /// # Errors
    /// The server is down already.
    pub async fn kill_server(&mut self) -> anyhow::Result<()> {
        let Some(mut server) = self.server.take() else {
            bail!("the server is down already");
        };
        server.signal(Signal::Kill)?;
        server.wait(Duration::from_secs(10)).await?;
        Ok(())
    }

    /// Starts the server (again) on the same port and database, and waits until
    /// it is ready.
    ///
    /// # Errors
    /// The program cannot be started, or is not ready within a minute.
    pub async fn start_server(&mut self) -> anyhow::Result<()> {
        let identity = &self.identity;
        let mut command = Command::new(self.assets.program(Program::KubeApiserver));
        command
            .arg(format!(
                "--etcd-servers=http://127.0.0.1:{}",
                self.ports.etcd
            ))
            .arg(format!("--secure-port={}", self.ports.server))
            .args(["--bind-address=127.0.0.1", "--advertise-address=127.0.0.1"])
            .arg(flag("--tls-cert-file", &identity.certificate))
            .arg(flag("--tls-private-key-file", &identity.key))
            .arg(flag("--cert-dir", &self.folder.join("certs")))
            .arg("--service-account-issuer=https://kubernetes.default.svc")
            .arg(flag(
                "--service-account-key-file",
                &identity.account_public_key,
            ))
            .arg(flag(
                "--service-account-signing-key-file",
                &identity.account_key,
            ))
            .arg(flag("--token-auth-file", &identity.tokens))
            .arg("--authorization-mode=RBAC")
            .arg("--service-cluster-ip-range=10.0.0.0/24")
            .arg("--endpoint-reconciler-type=none")
            .arg("--allow-privileged");
        if !self.options.service_account_admission {
            command.arg("--disable-admission-plugins=ServiceAccount");
        }
        if self.options.audit {
            command
                .arg(flag(
                    "--audit-policy-file",
                    &self.folder.join("audit-policy.json"),
                ))
                .arg(flag("--audit-log-path", &self.audit_log()))
                .arg("--audit-log-mode=blocking");
        }
        let mut server = Process::start("kube-apiserver", command, &self.folder)?;
        let config = Config::from_kubeconfig(&self.kubeconfig, None)?;
        let client = Client::connect(&config)?;
        let is_ready = ready(&client, READY).await;
        if let Some(status) = server.try_wait()? {
            bail!("kube-apiserver ended at once: {status}");
        }
        is_ready.context("kube-apiserver")?;
        self.server = Some(server);
        Ok(())
    }

    /// The processes' ids, for figures.
    #[must_use]
    pub fn ids(&self) -> Vec<u32> {
        self.server
            .iter()
            .map(Process::id)
            .chain([self.etcd.id()])
            .collect()
    }
}

fn start_etcd(folder: &Path, assets: &Assets, ports: Ports) -> anyhow::Result<Process> {
    let client = format!("http://127.0.0.1:{}", ports.etcd);
    let peer = format!("http://127.0.0.1:{}", ports.peer);
    let mut command = Command::new(assets.program(Program::Etcd));
    command
        .arg("--name=scenario")
        .arg(flag("--data-dir", &folder.join("etcd")))
        .arg("--unsafe-no-fsync")
        .arg("--log-level=warn")
        .arg(format!("--listen-client-urls={client}"))
        .arg(format!("--advertise-client-urls={client}"))
        .arg(format!("--listen-peer-urls={peer}"))
        .arg(format!("--initial-advertise-peer-urls={peer}"))
        .arg(format!("--initial-cluster=scenario={peer}"));
    Process::start("etcd", command, folder)
}

fn flag(name: &str, path: &Path) -> String {
    format!("{name}={}", path.display())
}
