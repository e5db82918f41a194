use std::collections::BTreeMap;
use std::collections::btree_map::Entry as MapEntry;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;

use super::ConfigError;
use crate::credentials::Secret;

/// The kubeconfig files that were read, joined: the first file that defines a name wins, as
/// a whole (client-go K2).
#[derive(Debug, Default)]
pub(super) struct Kubeconfig {
    pub(super) current_context: String,
    pub(super) clusters: BTreeMap<String, Entry<Cluster>>,
    pub(super) users: BTreeMap<String, Entry<User>>,
    pub(super) contexts: BTreeMap<String, Entry<Context>>,
    /// The files, for error texts.
    pub(super) files: Vec<String>,
}

/// An entry and the file that it is from, against which its paths are resolved (client-go K3).
#[derive(Debug)]
pub(super) struct Entry<T> {
    pub(super) value: T,
    pub(super) file: Arc<Path>,
}

impl<T> Entry<T> {
    /// `kubeconfig FILE: KIND "NAME"`.
    pub(super) fn origin(&self, kind: &str, name: &str) -> String {
        format!("{}: {kind} {name:?}", title(&self.file))
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        match self.file.parent() {
            Some(folder) => folder.join(path),
            None => path.into(),
        }
    }
}

pub(super) fn title(file: &Path) -> String {
    if file.as_os_str().is_empty() {
        "kubeconfig".into()
    } else {
        format!("kubeconfig {}", file.display())
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct Cluster {
    pub(super) server: Option<String>,
    pub(super) certificate_authority: Option<String>,
    pub(super) certificate_authority_data: Option<String>,
    pub(super) insecure_skip_tls_verify: Option<bool>,
    pub(super) tls_server_name: Option<String>,
    pub(super) proxy_url: Option<Secret>,
    pub(super) disable_compression: Option<bool>,
    extensions: Option<Vec<Extension>>,
}

/// The cluster's extension that is meant for the exec plugin.
pub(super) const EXEC_EXTENSION: &str = "client.authentication.k8s.io/exec";

#[derive(Debug, Deserialize)]
struct Extension {
    name: String,
    #[serde(default)]
    extension: serde_json::Value,
}

impl Cluster {
    /// What is meant for the exec plugin.
    pub(super) fn exec_extension(&self) -> serde_json::Value {
        let mut all = self.extensions.iter().flatten();
        let found = all.find(|extension| extension.name == EXEC_EXTENSION);
        found.map_or(serde_json::Value::Null, |found| found.extension.clone())
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct User {
    pub(super) token: Option<Secret>,
    #[serde(rename = "tokenFile")]
    pub(super) token_file: Option<String>,
    pub(super) username: Option<String>,
    pub(super) password: Option<Secret>,
    pub(super) client_certificate: Option<String>,
    pub(super) client_certificate_data: Option<String>,
    pub(super) client_key: Option<String>,
    pub(super) client_key_data: Option<Secret>,
    pub(super) exec: Option<Exec>,
    pub(super) auth_provider: Option<serde::de::IgnoredAny>,
    #[serde(rename = "as")]
    pub(super) impersonate: Option<String>,
    #[serde(rename = "as-uid")]
    pub(super) impersonate_uid: Option<String>,
    #[serde(rename = "as-groups")]
    pub(super) impersonate_groups: Option<Vec<String>>,
    #[serde(rename = "as-user-extra")]
    pub(super) impersonate_extra: Option<BTreeMap<String, Vec<String>>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Exec {
    pub(super) command: Option<String>,
    pub(super) args: Option<Vec<String>>,
    pub(super) env: Option<Vec<Variable>>,
    pub(super) api_version: Option<String>,
    pub(super) install_hint: Option<String>,
    pub(super) provide_cluster_info: Option<bool>,
    pub(super) interactive_mode: Option<String>,
}

/// Arguments and variables may be credentials.
impl std::fmt::Debug for Exec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exec")
            .field("command", &self.command)
            .finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
pub(super) struct Variable {
    pub(super) name: String,
    #[serde(default)]
    pub(super) value: Option<Secret>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Context {
    pub(super) cluster: Option<String>,
    pub(super) user: Option<String>,
    pub(super) namespace: Option<String>,
}

/// One file as it is written.
#[derive(Deserialize, Default)]
#[serde(rename_all = "kebab-case", default)]
struct File {
    current_context: Option<String>,
    clusters: Option<Vec<NamedCluster>>,
    users: Option<Vec<NamedUser>>,
    contexts: Option<Vec<NamedContext>>,
}

#[derive(Deserialize)]
struct NamedCluster {
    name: String,
    #[serde(default)]
    cluster: Option<Cluster>,
}

#[derive(Deserialize)]
struct NamedUser {
    name: String,
    #[serde(default)]
    user: Option<User>,
}

#[derive(Deserialize)]
struct NamedContext {
    name: String,
    #[serde(default)]
    context: Option<Context>,
}

impl Kubeconfig {
    /// Adds a file behind those that are there already.
    pub(super) fn add(&mut self, text: &str, path: &Path) -> Result<(), ConfigError> {
        let file = title(path);
        let parsed = parse(text).map_err(|reason| ConfigError::Malformed {
            file: file.clone(),
            reason,
        })?;
        let path: Arc<Path> = path.into();
        if self.current_context.is_empty() {
            self.current_context = parsed.current_context.unwrap_or_default();
        }
        let clusters = parsed.clusters.into_iter().flatten();
        let clusters = clusters.map(|named| (named.name, named.cluster.unwrap_or_default()));
        join(&mut self.clusters, clusters, "clusters", &path)?;
        let users = parsed.users.into_iter().flatten();
        let users = users.map(|named| (named.name, named.user.unwrap_or_default()));
        join(&mut self.users, users, "users", &path)?;
        let contexts = parsed.contexts.into_iter().flatten();
        let contexts = contexts.map(|named| (named.name, named.context.unwrap_or_default()));
        join(&mut self.contexts, contexts, "contexts", &path)?;
        self.files.push(file);
        Ok(())
    }

    /// Whether the files say nothing at all.
    pub(super) fn is_empty(&self) -> bool {
        self.clusters.is_empty() && self.users.is_empty() && self.contexts.is_empty()
    }
}

fn parse(text: &str) -> Result<File, String> {
    match text.trim() {
        "" => Ok(File::default()),
        _ => parse_as(text),
    }
}

/// Decodes YAML. The reason of a failure quotes nothing of it.
pub(super) fn parse_as<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_saphyr::from_str(text).map_err(|error| {
        // The parser's own text shows the lines around the fault, and those hold credentials.
        let bare = error.without_snippet().to_string();
        unquoted(bare.lines().next().unwrap_or_default())
    })
}

/// The message without the texts that it quotes from the file; single characters stay.
fn unquoted(message: &str) -> String {
    let mut kept = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(open) = rest.find(['"', '\'']) {
        let quote = &rest[open..=open];
        let (before, quoted) = rest.split_at(open + 1);
        kept.push_str(before);
        let end = quoted.find(quote).unwrap_or(quoted.len());
        let mut inner = quoted[..end].chars();
        match (inner.next(), inner.next()) {
            (Some(_), Some(_)) => kept.push_str("..."),
            _ => kept.push_str(&quoted[..end]),
        }
        rest = &quoted[end..];
        if let Some(after) = rest.strip_prefix(quote) {
            kept.push_str(quote);
            rest = after;
        }
    }
    kept.push_str(rest);
    kept
}

fn join<T>(
    all: &mut BTreeMap<String, Entry<T>>,
    named: impl Iterator<Item = (String, T)>,
    section: &'static str,
    file: &Arc<Path>,
) -> Result<(), ConfigError> {
    let mut seen = std::collections::BTreeSet::new();
    for (name, value) in named {
        if !seen.insert(name.clone()) {
            return Err(ConfigError::DuplicateName {
                file: title(file),
                section,
                name,
            });
        }
        if let MapEntry::Vacant(vacant) = all.entry(name) {
            let file = Arc::clone(file);
            vacant.insert(Entry { value, file });
        }
    }
    Ok(())
}
