mod exec;

use base64::Engine;

use super::kubeconfig::{Cluster, Context, Entry, Kubeconfig, User};
use super::proxy::{ProxyChoice, ProxyUrl};
use super::{Auth, Config, ConfigError, Identity, Pem, TlsConfig};
use crate::credentials::{Impersonation, Secret};

/// Makes a configuration of one context.
pub(super) fn resolve(
    kubeconfig: &Kubeconfig,
    context: Option<&str>,
) -> Result<Config, ConfigError> {
    let files = || kubeconfig.files.join(", ");
    let name = match context.unwrap_or(&kubeconfig.current_context) {
        "" => return Err(ConfigError::NoCurrentContext { files: files() }),
        name => name,
    };
    let Some(context) = kubeconfig.contexts.get(name) else {
        return Err(ConfigError::UnknownContext {
            files: files(),
            name: name.to_owned(),
        });
    };
    let origin = context.origin("context", name);
    let cluster_name = context.value.cluster.as_deref().unwrap_or_default();
    let cluster = kubeconfig
        .clusters
        .get(cluster_name)
        .ok_or_else(|| unknown(&origin, "cluster", cluster_name))?;
    let user_name = context.value.user.as_deref().unwrap_or_default();
    let user = match user_name {
        "" => None,
        user => Some(
            kubeconfig
                .users
                .get(user)
                .ok_or_else(|| unknown(&origin, "user", user))?,
        ),
    };
    let mut config = from_cluster(cluster, cluster_name)?;
    if let Some(user) = user {
        config.origin = user.origin("user", user_name);
        config.tls.identity = identity(user, &config.origin)?;
        config.auth = auth(user, &config, &cluster.value)?;
        config.impersonation = impersonation(&user.value, &config.origin)?;
    }
    config.default_namespace = namespace(context);
    Ok(config)
}

fn unknown(origin: &str, kind: &'static str, name: &str) -> ConfigError {
    ConfigError::UnknownEntry {
        origin: origin.to_owned(),
        kind,
        name: name.to_owned(),
    }
}

fn namespace(context: &Entry<Context>) -> String {
    match context.value.namespace.as_deref() {
        None | Some("") => "default".into(),
        Some(namespace) => namespace.into(),
    }
}

fn from_cluster(entry: &Entry<Cluster>, name: &str) -> Result<Config, ConfigError> {
    let origin = entry.origin("cluster", name);
    let cluster = &entry.value;
    let Some(server) = set(cluster.server.as_ref()) else {
        return Err(ConfigError::invalid(origin, "server is not set"));
    };
    let tls = TlsConfig {
        ca: pem(
            entry,
            &origin,
            "certificate-authority",
            cluster.certificate_authority.as_ref(),
            cluster.certificate_authority_data.as_deref(),
        )?,
        identity: None,
        insecure: cluster.insecure_skip_tls_verify.unwrap_or_default(),
        server_name: set(cluster.tls_server_name.as_ref()).cloned(),
    };
    let mut config = Config::at(server, tls.has_any(), &origin)?;
    config.tls = tls;
    if let Some(url) = cluster.proxy_url.as_ref().filter(|url| !url.is_empty()) {
        config.proxy = ProxyChoice::Url(ProxyUrl::parse(url.expose(), &origin)?);
    }
    config.compression = !cluster.disable_compression.unwrap_or_default();
    Ok(config)
}

fn identity(entry: &Entry<User>, origin: &str) -> Result<Option<Identity>, ConfigError> {
    let user = &entry.value;
    let certificate = pem(
        entry,
        origin,
        "client-certificate",
        user.client_certificate.as_ref(),
        user.client_certificate_data.as_deref(),
    )?;
    let key = pem(
        entry,
        origin,
        "client-key",
        user.client_key.as_ref(),
        user.client_key_data.as_ref().map(Secret::expose),
    )?;
    match (certificate, key) {
        (Some(certificate), Some(key)) => Ok(Some(Identity { certificate, key })),
        (Some(_), None) => Err(ConfigError::invalid(
            origin,
            "client-certificate is set without client-key",
        )),
        // client-go ignores a key alone.
        (None, _) => Ok(None),
    }
}

/// The methods exclude each other; a client certificate goes with any of them (client-go K7).
/// A plugin is only run if there is none of them (X4).
fn auth(entry: &Entry<User>, config: &Config, cluster: &Cluster) -> Result<Auth, ConfigError> {
    let (user, origin) = (&entry.value, config.origin.as_str());
    if user.auth_provider.is_some() {
        return Err(ConfigError::NotSupported {
            origin: origin.to_owned(),
            what: "auth-provider",
        });
    }
    let exec = user.exec.as_ref();
    let exec = exec.map(|exec| exec::resolve(entry, exec, cluster, origin));
    let exec = exec.transpose()?;
    let token = user.token.clone().filter(|token| !token.is_empty());
    let token_file = set(user.token_file.as_ref());
    let basic = set(user.username.as_ref()).is_some()
        || user.password.as_ref().is_some_and(|text| !text.is_empty());
    if basic && (token.is_some() || token_file.is_some()) {
        return Err(ConfigError::invalid(
            origin,
            "more than one authentication method found: token and basic auth",
        ));
    }
    Ok(match (token_file, token) {
        (Some(path), fallback) => Auth::TokenFile {
            path: entry.path(path),
            fallback,
        },
        (None, Some(token)) => Auth::Token(token),
        (None, None) if basic => Auth::Basic {
            user: user.username.clone().unwrap_or_default(),
            password: user.password.clone().unwrap_or_else(|| "".into()),
        },
        (None, None) => match exec {
            Some(exec) if config.tls.identity.is_none() => Auth::Exec(exec),
            _ => Auth::None,
        },
    })
}

fn impersonation(user: &User, origin: &str) -> Result<Option<Impersonation>, ConfigError> {
    let uid = set(user.impersonate_uid.as_ref());
    let groups = user.impersonate_groups.iter().flatten();
    let extra = user.impersonate_extra.iter().flatten();
    let extra = extra.flat_map(|(key, values)| values.iter().map(move |value| (key, value)));
    let Some(name) = set(user.impersonate.as_ref()) else {
        let alone = uid.is_some() || groups.count() > 0 || extra.count() > 0;
        return match alone {
            true => Err(ConfigError::invalid(
                origin,
                "as-uid, as-groups and as-user-extra need a user to act as (as)",
            )),
            false => Ok(None),
        };
    };
    let mut whom = Impersonation::user(name);
    whom.uid = uid.cloned();
    whom.groups = groups.cloned().collect();
    whom.extra = extra
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    Ok(Some(whom))
}

/// A PEM entry, given as a path or as base64 data.
fn pem<T>(
    entry: &Entry<T>,
    origin: &str,
    field: &str,
    path: Option<&String>,
    data: Option<&str>,
) -> Result<Option<Pem>, ConfigError> {
    let data = data.filter(|text| !text.is_empty());
    match (set(path), data) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => Err(ConfigError::invalid(
            origin,
            format!("{field} and {field}-data are both set"),
        )),
        (Some(path), None) => {
            let pem = Pem::file(entry.path(path), &format!("{origin}: {field}"));
            pem.read()?;
            Ok(Some(pem))
        }
        (None, Some(data)) => {
            let origin = format!("{origin}: {field}-data");
            // Some writers wrap long lines.
            let joined: String = data.split_ascii_whitespace().collect();
            match base64::engine::general_purpose::STANDARD.decode(joined) {
                Ok(text) => Ok(Some(Pem::inline(text, &origin))),
                Err(_) => Err(ConfigError::invalid(origin, "is no base64")),
            }
        }
    }
}

fn set(text: Option<&String>) -> Option<&String> {
    text.filter(|text| !text.is_empty())
}
