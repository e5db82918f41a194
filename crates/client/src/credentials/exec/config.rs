use std::fmt;
use std::path::{Path, PathBuf};

use crate::credentials::Secret;

/// Which program prints the credentials, and how it is run.
///
/// The program is told what is asked of it by the variable `KUBERNETES_EXEC_INFO` and prints an
/// `ExecCredential`: a token, or a client certificate with its key, or both (client-go X1, X3).
/// It is run when credentials are needed first, when they have expired, and once when the
/// server answers 401; however many requests wait for it, it runs once. When the last of
/// them is given up it is killed, with what it has started. It must print less than 1 MiB
/// and end within a minute, or five if it may ask the user.
///
/// What it writes to standard error is shown in the error when it fails, without anything
/// that looks like a token. To wait for programs, tokio handles the signal `SIGCHLD` of this
/// process from the first run on.
#[derive(Clone, PartialEq, Eq)]
pub struct ExecConfig {
    pub(crate) version: ExecVersion,
    pub(crate) command: PathBuf,
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(String, Secret)>,
    pub(crate) interactive: InteractiveMode,
    pub(crate) provide_cluster_info: bool,
    pub(crate) install_hint: Option<String>,
    /// What the kubeconfig's cluster says to the plugin.
    pub(crate) cluster_config: serde_json::Value,
}

/// The version of the protocol between client and plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExecVersion {
    /// `client.authentication.k8s.io/v1`.
    V1,
    /// `client.authentication.k8s.io/v1beta1`.
    V1Beta1,
}

/// Whether the program may ask the user something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InteractiveMode {
    /// It never does.
    Never,
    /// It does if standard input is a terminal.
    IfAvailable,
    /// It must: without a terminal it is not run.
    Always,
}

/// Which programs of a kubeconfig may be run. Whoever reads kubeconfigs that others wrote
/// should not leave it at the default: an entry of it is a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExecPolicy {
    /// Any.
    #[default]
    AllowAll,
    /// None.
    DenyAll,
    /// These: commands as they are written in the kubeconfig, or the full paths that they
    /// resolve to.
    Allowlist(Vec<PathBuf>),
}

impl ExecConfig {
    /// A program that is found in `PATH`, unless it is a path, and never asks the user.
    pub fn new(version: ExecVersion, command: impl Into<PathBuf>) -> Self {
        Self {
            version,
            command: command.into(),
            args: Vec::new(),
            env: Vec::new(),
            interactive: InteractiveMode::Never,
            provide_cluster_info: false,
            install_hint: None,
            cluster_config: serde_json::Value::Null,
        }
    }

    /// With these arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.args = args.into_iter().map(Into::into).collect();
        self
    }

    /// With one more variable in its environment, which is that of this process otherwise.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<Secret>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Whether it may ask the user.
    #[must_use]
    pub fn interactive(mut self, mode: InteractiveMode) -> Self {
        self.interactive = mode;
        self
    }

    /// Tells it the server's address, name and CA.
    #[must_use]
    pub fn provide_cluster_info(mut self) -> Self {
        self.provide_cluster_info = true;
        self
    }

    /// What to tell the user when the program is not there.
    #[must_use]
    pub fn install_hint(mut self, hint: impl Into<String>) -> Self {
        self.install_hint = Some(hint.into());
        self
    }

    /// What to tell the program about the cluster, beside its address.
    pub(crate) fn cluster_config(mut self, config: serde_json::Value) -> Self {
        self.cluster_config = config;
        self
    }

    pub(crate) fn command(&self) -> &Path {
        &self.command
    }

    pub(crate) fn wants_cluster_info(&self) -> bool {
        self.provide_cluster_info
    }
}

impl ExecVersion {
    /// `client.authentication.k8s.io/...`, as it is written in a kubeconfig.
    #[must_use]
    pub fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "client.authentication.k8s.io/v1",
            Self::V1Beta1 => "client.authentication.k8s.io/v1beta1",
        }
    }
}

impl ExecPolicy {
    /// Whether `command` may be run; `search_path` is what `PATH` says.
    pub(crate) fn allows(&self, command: &Path, search_path: Option<&std::ffi::OsStr>) -> bool {
        match self {
            Self::AllowAll => true,
            Self::DenyAll => false,
            Self::Allowlist(allowed) => {
                let resolved = resolve(command, search_path);
                allowed
                    .iter()
                    .any(|path| path == command || Some(path) == resolved.as_ref())
            }
        }
    }
}

/// Where a command is found, as a shell would find it.
fn resolve(command: &Path, search_path: Option<&std::ffi::OsStr>) -> Option<PathBuf> {
    if command.components().count() > 1 {
        return std::path::absolute(command).ok();
    }
    std::env::split_paths(search_path?)
        .map(|folder| folder.join(command))
        .find(|path| path.is_file())
}

/// Arguments and variables may be credentials, so only their number and names are shown.
impl fmt::Debug for ExecConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.env.iter().map(|(name, _)| name).collect();
        f.debug_struct("ExecConfig")
            .field("version", &self.version)
            .field("command", &self.command)
            .field("args", &self.args.len())
            .field("env", &names)
            .field("interactive", &self.interactive)
            .field("provide_cluster_info", &self.provide_cluster_info)
            .finish_non_exhaustive()
    }
}
