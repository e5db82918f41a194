//! What the plugin is told.

use base64::Engine;
use serde::Serialize;

use super::config::{ExecConfig, InteractiveMode};

/// The cluster, as a plugin gets to see it.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct ClusterInfo {
    pub(crate) server: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tls_server_name: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) insecure_skip_tls_verify: bool,
    #[serde(
        rename = "certificate-authority-data",
        skip_serializing_if = "Option::is_none",
        serialize_with = "base64_text"
    )]
    pub(crate) ca: Option<std::sync::Arc<[u8]>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) proxy_url: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) disable_compression: bool,
}

fn base64_text<S: serde::Serializer>(
    bytes: &Option<std::sync::Arc<[u8]>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let text = base64::engine::general_purpose::STANDARD.encode(bytes.as_deref().unwrap_or(&[]));
    serializer.serialize_str(&text)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    kind: &'static str,
    api_version: &'static str,
    spec: Spec<'a>,
}

#[derive(Serialize)]
struct Spec<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<Cluster<'a>>,
    interactive: bool,
}

#[derive(Serialize)]
struct Cluster<'a> {
    #[serde(flatten)]
    info: &'a ClusterInfo,
    config: &'a serde_json::Value,
}

/// The text of `KUBERNETES_EXEC_INFO` (client-go X1).
pub(super) fn text(config: &ExecConfig, cluster: &ClusterInfo, interactive: bool) -> String {
    let request = Request {
        kind: "ExecCredential",
        api_version: config.version.api_version(),
        spec: Spec {
            cluster: config.provide_cluster_info.then_some(Cluster {
                info: cluster,
                config: &config.cluster_config,
            }),
            interactive,
        },
    };
    // Plain structures of texts: there is nothing in them that does not serialize.
    let mut text = serde_json::to_string(&request).unwrap_or_default();
    text.push('\n');
    text
}

/// Whether the program may ask the user, or why it cannot be run (client-go X2).
pub(super) fn interactive(mode: InteractiveMode, terminal: bool) -> Result<bool, &'static str> {
    match mode {
        InteractiveMode::Never => Ok(false),
        InteractiveMode::IfAvailable => Ok(terminal),
        InteractiveMode::Always if terminal => Ok(true),
        InteractiveMode::Always => {
            Err("it has to ask the user, and standard input is not a terminal")
        }
    }
}
