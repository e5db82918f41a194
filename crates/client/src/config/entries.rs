//! A configuration as the entries of a kubeconfig.

use serde_json::{Map, Value, json};

use super::auth::Auth;
use super::pem::Pem;
use super::proxy::ProxyChoice;
use super::{Config, ConfigError};
use crate::credentials::{ExecConfig, Impersonation};

pub(super) fn cluster(config: &Config) -> Result<Value, ConfigError> {
    let mut entry = Map::new();
    put(&mut entry, "server", config.server_text.as_str());
    if let Some(ca) = &config.tls.ca {
        ca.put_into(&mut entry, "certificate-authority")?;
    }
    if config.tls.insecure {
        put(&mut entry, "insecure-skip-tls-verify", true);
    }
    if let Some(name) = &config.tls.server_name {
        put(&mut entry, "tls-server-name", name.as_str());
    }
    if let ProxyChoice::Url(url) = &config.proxy {
        put(&mut entry, "proxy-url", url.expose());
    }
    if !config.compression {
        put(&mut entry, "disable-compression", true);
    }
    if let Auth::Exec(exec) = &config.auth
        && !exec.cluster_config.is_null()
    {
        let name = super::kubeconfig::EXEC_EXTENSION;
        let extension = json!([{"name": name, "extension": exec.cluster_config}]);
        put(&mut entry, "extensions", extension);
    }
    Ok(entry.into())
}

pub(super) fn user(config: &Config) -> Result<Value, ConfigError> {
    let mut entry = Map::new();
    if let Some(identity) = &config.tls.identity {
        identity
            .certificate
            .put_into(&mut entry, "client-certificate")?;
        identity.key.put_into(&mut entry, "client-key")?;
    }
    match &config.auth {
        Auth::None => {}
        Auth::Token(token) => put(&mut entry, "token", token.expose()),
        Auth::TokenFile { path, fallback } => {
            put(
                &mut entry,
                "tokenFile",
                super::pem::absolute(path, "the token file")?,
            );
            if let Some(token) = fallback {
                put(&mut entry, "token", token.expose());
            }
        }
        Auth::Basic { user, password } => {
            put(&mut entry, "username", user.as_str());
            put(&mut entry, "password", password.expose());
        }
        Auth::Exec(exec) => put(&mut entry, "exec", plugin(exec)),
    }
    if let Some(whom) = &config.impersonation {
        impersonation(&mut entry, whom);
    }
    Ok(entry.into())
}

fn plugin(exec: &ExecConfig) -> Value {
    let env = exec.env.iter();
    let env: Vec<_> = env
        .map(|(name, value)| json!({"name": name, "value": value.expose()}))
        .collect();
    let mut entry = Map::new();
    put(&mut entry, "apiVersion", exec.version.api_version());
    put(&mut entry, "command", exec.command.to_string_lossy());
    put(
        &mut entry,
        "interactiveMode",
        format!("{:?}", exec.interactive),
    );
    put(&mut entry, "provideClusterInfo", exec.provide_cluster_info);
    if !exec.args.is_empty() {
        put(&mut entry, "args", exec.args.clone());
    }
    if !env.is_empty() {
        put(&mut entry, "env", env);
    }
    if let Some(hint) = &exec.install_hint {
        put(&mut entry, "installHint", hint.as_str());
    }
    entry.into()
}

fn impersonation(entry: &mut Map<String, Value>, whom: &Impersonation) {
    put(entry, "as", whom.user.as_str());
    if let Some(uid) = &whom.uid {
        put(entry, "as-uid", uid.as_str());
    }
    if !whom.groups.is_empty() {
        put(entry, "as-groups", whom.groups.clone());
    }
    let mut extra = Map::new();
    for (key, value) in &whom.extra {
        let values = extra.entry(key.as_str()).or_insert_with(|| json!([]));
        if let Some(values) = values.as_array_mut() {
            values.push(value.as_str().into());
        }
    }
    if !extra.is_empty() {
        put(entry, "as-user-extra", extra);
    }
}

fn put(entry: &mut Map<String, Value>, key: &str, value: impl Into<Value>) {
    entry.insert(key.to_owned(), value.into());
}

impl Pem {
    /// `field` with a path, or `field-data`.
    fn put_into(&self, entry: &mut Map<String, Value>, field: &str) -> Result<(), ConfigError> {
        match self.path() {
            Some(path) => put(entry, field, super::pem::absolute(path, self.origin())?),
            None => put(entry, &format!("{field}-data"), self.base64()?),
        }
        Ok(())
    }
}
