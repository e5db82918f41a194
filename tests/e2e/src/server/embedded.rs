//! The embedded API server: `evenkeel apiserver` in a process, or a listener in
//! this one where a scenario injects faults. Either ends with the handle.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};
use evenkeel_apiserver::Listener;
use evenkeel_client::{Client, Config};

use super::{free_port, ready};
use crate::poll;
use crate::process::Process;

const READY: Duration = Duration::from_secs(20);

/// The embedded API server, in memory: what it held ends with it.
#[derive(Debug)]
pub struct EmbeddedServer {
    host: Host,
    kubeconfig: PathBuf,
}

#[derive(Debug)]
enum Host {
    Process(Process),
    /// Held for its end only.
    Here(#[expect(dead_code, reason = "dropping it closes the port")] Listener),
}

impl EmbeddedServer {
    /// Starts it on a free port and waits until it is ready.
    ///
    /// # Errors
    /// The program cannot be started, or is not ready in time.
    pub async fn start(folder: &Path, evenkeel: &Path, flags: &[&str]) -> anyhow::Result<Self> {
        let kubeconfig = folder.join("kubeconfig");
        let mut command = Command::new(evenkeel);
        command
            .arg("apiserver")
            .arg(format!("--port={}", free_port()?))
            .arg("--kubeconfig-out")
            .arg(&kubeconfig)
            .args(flags);
        let mut process = Process::start("apiserver", command, folder)?;
        poll::until(READY, "the server writes its kubeconfig", async || {
            if let Some(status) = process.try_wait()? {
                bail!("the server ended at once: {status}");
            }
            Ok(kubeconfig.is_file().then_some(()))
        })
        .await?;
        let client = Client::connect(&Config::from_kubeconfig(&kubeconfig, None)?)?;
        ready(&client, READY).await.context("evenkeel apiserver")?;
        Ok(Self {
            host: Host::Process(process),
            kubeconfig,
        })
    }

    /// Serves `server` from this process, for scenarios that do to it what a
    /// program of its own offers no handle for.
    ///
    /// # Errors
    /// No port, or the kubeconfig cannot be written.
    pub async fn here(folder: &Path, server: &evenkeel_apiserver::Server) -> anyhow::Result<Self> {
        let listener = server.listen((Ipv4Addr::LOCALHOST, 0)).await?;
        let kubeconfig = folder.join("kubeconfig");
        fs::write(&kubeconfig, listener.kubeconfig())?;
        Ok(Self {
            host: Host::Here(listener),
            kubeconfig,
        })
    }

    /// The administrator's kubeconfig, as the server wrote it.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The process, for signals and figures; none if it is this one.
    #[must_use]
    pub fn process(&self) -> Option<&Process> {
        match &self.host {
            Host::Process(process) => Some(process),
            Host::Here(_) => None,
        }
    }
}
