use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::kubeconfig::{Kubeconfig, title};
use super::{Config, ConfigError, file, in_cluster, resolve};

/// The largest kubeconfig that is read.
pub(super) const LARGEST_FILE: u64 = 16 << 20;

type Variable = dyn Fn(&str) -> Option<OsString>;

/// What the surroundings of a process say; tests make their own.
pub(super) struct Environment {
    variable: Box<Variable>,
    /// Where a pod finds its service account.
    pub(super) service_account: PathBuf,
}

impl Environment {
    pub(super) fn process() -> Self {
        Self::new(
            |name| std::env::var_os(name),
            "/var/run/secrets/kubernetes.io/serviceaccount",
        )
    }

    pub(super) fn new(
        variable: impl Fn(&str) -> Option<OsString> + 'static,
        service_account: impl Into<PathBuf>,
    ) -> Self {
        Self {
            variable: Box::new(variable),
            service_account: service_account.into(),
        }
    }

    /// A variable that is set and not empty.
    pub(super) fn get(&self, name: &str) -> Option<OsString> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }
}

/// `$KUBECONFIG`, else `~/.kube/config`, else the pod (client-go K1, K4).
pub(super) fn infer(env: &Environment, context: Option<&str>) -> Result<Config, ConfigError> {
    let (kubeconfig, tried) = merged(env)?;
    if !kubeconfig.is_empty() {
        return resolve::resolve(&kubeconfig, context);
    }
    match in_cluster::load(env) {
        Err(ConfigError::NotInCluster { reason }) => Err(ConfigError::NoConfiguration {
            tried: format!("{tried}; not running in a pod: {reason}"),
        }),
        loaded => loaded,
    }
}

fn merged(env: &Environment) -> Result<(Kubeconfig, String), ConfigError> {
    let mut kubeconfig = Kubeconfig::default();
    let (paths, listed) = match env.get("KUBECONFIG") {
        Some(list) => (split(&list), true),
        None => (default_path(env).into_iter().collect(), false),
    };
    let mut missing = Vec::new();
    for path in &paths {
        match file::read_text(path, LARGEST_FILE) {
            Ok(text) => kubeconfig.add(&text, path)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => missing.push(title(path)),
            Err(error) => return Err(unreadable(path, &error)),
        }
    }
    if listed && missing.len() == paths.len() {
        tracing::warn!(files = missing.join(", "), "no file of KUBECONFIG is there");
    }
    let tried = if paths.is_empty() {
        "there is no KUBECONFIG and no home directory".into()
    } else if missing.len() == paths.len() {
        format!("{} is not there", missing.join(", "))
    } else {
        format!("{} is empty", kubeconfig.files.join(", "))
    };
    Ok((kubeconfig, tried))
}

/// The members of the list, each once.
fn split(list: &OsString) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for path in std::env::split_paths(list) {
        if !path.as_os_str().is_empty() && !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

fn default_path(env: &Environment) -> Option<PathBuf> {
    let home = env.get("HOME").or_else(|| env.get("USERPROFILE"))?;
    Some(Path::new(&home).join(".kube").join("config"))
}

/// One file, which must be there.
pub(super) fn explicit(path: &Path, context: Option<&str>) -> Result<Config, ConfigError> {
    let text = file::read_text(path, LARGEST_FILE).map_err(|error| unreadable(path, &error))?;
    from_text(&text, path, context)
}

/// A kubeconfig that is in no file.
pub(super) fn text(text: &str, context: Option<&str>) -> Result<Config, ConfigError> {
    from_text(text, Path::new(""), context)
}

fn from_text(text: &str, path: &Path, context: Option<&str>) -> Result<Config, ConfigError> {
    let mut kubeconfig = Kubeconfig::default();
    kubeconfig.add(text, path)?;
    resolve::resolve(&kubeconfig, context)
}

fn unreadable(path: &Path, error: &std::io::Error) -> ConfigError {
    ConfigError::Unreadable {
        what: "kubeconfig".into(),
        path: path.into(),
        reason: error.to_string(),
    }
}
