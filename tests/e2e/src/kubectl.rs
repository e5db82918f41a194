//! kubectl, as a user runs it.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

const LONGEST: Duration = Duration::from_secs(60);

/// kubectl with a kubeconfig.
#[derive(Clone, Debug)]
pub struct Kubectl {
    kubeconfig: PathBuf,
    cache: PathBuf,
}

/// What one run printed.
#[derive(Clone, Debug)]
pub struct Output {
    /// Whether it exited with 0.
    pub success: bool,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Kubectl {
    /// Discovery is cached under `folder`: servers of different scenarios may
    /// have had the same port.
    #[must_use]
    pub fn new(kubeconfig: &Path, folder: &Path) -> Self {
        Self {
            kubeconfig: kubeconfig.to_path_buf(),
            cache: folder.join("kubectl-cache"),
        }
    }

    /// Whether there is one on this machine.
    #[must_use]
    pub fn is_installed() -> bool {
        std::process::Command::new("kubectl")
            .args(["version", "--client"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }

    /// Runs it and returns standard output.
    ///
    /// # Errors
    /// It did not exit with 0 (with what it said), or ran for over a minute.
    pub async fn run(&self, arguments: &[&str]) -> anyhow::Result<String> {
        self.run_with_input(arguments, "").await
    }

    /// As [`Kubectl::run`], with `input` on standard input.
    ///
    /// # Errors
    /// As [`Kubectl::run`].
    pub async fn run_with_input(&self, arguments: &[&str], input: &str) -> anyhow::Result<String> {
        let output = self.attempt(arguments, input).await?;
        if !output.success {
            bail!("kubectl {}: {}", arguments.join(" "), output.stderr.trim());
        }
        Ok(output.stdout)
    }

    /// Runs it, whatever it exits with.
    ///
    /// # Errors
    /// It cannot be started, or ran for over a minute.
    pub async fn attempt(&self, arguments: &[&str], input: &str) -> anyhow::Result<Output> {
        let mut child = Command::new("kubectl")
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .arg("--cache-dir")
            .arg(&self.cache)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("start kubectl")?;
        if let Some(mut stdin) = child.stdin.take() {
            // kubectl that fails early does not read it.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
        let output = tokio::time::timeout(LONGEST, child.wait_with_output())
            .await
            .with_context(|| format!("kubectl {} hangs", arguments.join(" ")))??;
        Ok(Output {
            success: output.status.success(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}
