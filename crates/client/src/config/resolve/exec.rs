use std::path::PathBuf;

use super::super::ConfigError;
use super::super::kubeconfig::{Cluster, Entry, Exec, User};
use crate::credentials::{ExecConfig, ExecVersion, InteractiveMode};

/// Checks the entry of an exec plugin (client-go K7, X2).
pub(super) fn resolve(
    entry: &Entry<User>,
    exec: &Exec,
    cluster: &Cluster,
    origin: &str,
) -> Result<ExecConfig, ConfigError> {
    let invalid = |reason: &str| ConfigError::invalid(origin, format!("exec: {reason}"));
    let version = version(exec.api_version.as_deref()).map_err(|reason| invalid(&reason))?;
    let command = match exec.command.as_deref() {
        None | Some("") => return Err(invalid("command is not set")),
        // A bare name is looked for in PATH, a path is relative to the file (client-go K3).
        Some(command) if command.contains(std::path::is_separator) => entry.path(command),
        Some(command) => PathBuf::from(command),
    };
    let mut config = ExecConfig::new(version, command)
        .args(exec.args.iter().flatten())
        .interactive(interactive(exec, version).map_err(|reason| invalid(&reason))?)
        .cluster_config(cluster.exec_extension());
    for variable in exec.env.iter().flatten() {
        if variable.name.is_empty() || variable.name.contains(['=', '\0']) {
            return Err(invalid("env has a variable without a usable name"));
        }
        let value = variable.value.clone().unwrap_or_else(|| "".into());
        config = config.env(&variable.name, value);
    }
    if exec.provide_cluster_info.unwrap_or_default() {
        config = config.provide_cluster_info();
    }
    if let Some(hint) = &exec.install_hint {
        config = config.install_hint(hint);
    }
    Ok(config)
}

fn version(text: Option<&str>) -> Result<ExecVersion, String> {
    match text.unwrap_or_default() {
        "client.authentication.k8s.io/v1" => Ok(ExecVersion::V1),
        "client.authentication.k8s.io/v1beta1" => Ok(ExecVersion::V1Beta1),
        "" => Err("apiVersion is not set".into()),
        other => Err(format!(
            "apiVersion {other:?} is neither client.authentication.k8s.io/v1 nor .../v1beta1"
        )),
    }
}

fn interactive(exec: &Exec, version: ExecVersion) -> Result<InteractiveMode, String> {
    match exec.interactive_mode.as_deref().unwrap_or_default() {
        "Never" => Ok(InteractiveMode::Never),
        "IfAvailable" => Ok(InteractiveMode::IfAvailable),
        "Always" => Ok(InteractiveMode::Always),
        "" if version == ExecVersion::V1Beta1 => Ok(InteractiveMode::IfAvailable),
        "" => Err("interactiveMode is not set".into()),
        other => Err(format!(
            "interactiveMode {other:?} is none of Never, IfAvailable and Always"
        )),
    }
}
