//! Where the server is, how to trust it and how to be trusted.

mod auth;
mod build;
#[cfg(test)]
mod corpus;
mod edit;
mod entries;
mod error;
pub(crate) mod file;
mod in_cluster;
mod kubeconfig;
mod load;
mod pem;
mod proxy;
mod resolve;
#[cfg(test)]
mod tests;

pub use self::edit::KubeconfigFile;
pub use self::error::{ConfigError, ConnectError};

use std::path::Path;

use http::Uri;

pub(crate) use self::pem::Pem;
pub(crate) use self::proxy::ProxyUrl;

use self::auth::Auth;
use self::proxy::ProxyChoice;
use crate::credentials::{ExecPolicy, Impersonation};

/// How to reach one API server: from kubeconfig files, from inside a pod, or by hand.
///
/// ```
/// use evenkeel_client::Config;
///
/// let config = Config::new("https://127.0.0.1:6443")?
///     .token("s3cret")
///     .ca_file("/etc/kubernetes/pki/ca.crt");
/// assert!(!format!("{config:?}").contains("s3cret"));
/// # Ok::<(), evenkeel_client::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    server: Uri,
    /// The same as it was written: exec plugins are told that.
    server_text: String,
    default_namespace: String,
    /// Whose word it is, for error texts: a file and its entry, or the program.
    origin: String,
    tls: TlsConfig,
    auth: Auth,
    exec_policy: ExecPolicy,
    impersonation: Option<Impersonation>,
    proxy: ProxyChoice,
    compression: bool,
}

/// The part of a configuration that concerns the connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TlsConfig {
    pub(crate) ca: Option<Pem>,
    pub(crate) identity: Option<Identity>,
    pub(crate) insecure: bool,
    pub(crate) server_name: Option<String>,
}

/// A client certificate with its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) certificate: Pem,
    pub(crate) key: Pem,
}

impl Config {
    /// A server without credentials, trusted by the system's roots.
    ///
    /// A text without a scheme, such as `localhost:8080`, means plain HTTP.
    ///
    /// # Errors
    ///
    /// If `url` is no HTTP URL.
    pub fn new(url: &str) -> Result<Self, ConfigError> {
        Self::at(url, false, "the configuration")
    }

    fn at(url: &str, assume_tls: bool, origin: &str) -> Result<Self, ConfigError> {
        let server = parse_server(url, assume_tls).map_err(|reason| {
            ConfigError::invalid(origin, format!("server {}: {reason}", quoted(url)))
        })?;
        Ok(Self {
            server,
            server_text: url.to_owned(),
            default_namespace: "default".into(),
            origin: origin.into(),
            tls: TlsConfig::default(),
            auth: Auth::None,
            exec_policy: ExecPolicy::AllowAll,
            impersonation: None,
            proxy: ProxyChoice::Environment,
            compression: true,
        })
    }

    /// The first of these that says anything: the files of `$KUBECONFIG`, `~/.kube/config`,
    /// the service account of the pod that the program runs in.
    ///
    /// # Errors
    ///
    /// A [`ConfigError`] names the file and the entry at fault. A broken kubeconfig does not
    /// fall back to the pod.
    pub fn infer() -> Result<Self, ConfigError> {
        load::infer(&load::Environment::process(), None)
    }

    /// As [`infer`](Self::infer), with a context of the kubeconfig files other than the current one.
    ///
    /// # Errors
    ///
    /// As [`infer`](Self::infer).
    pub fn infer_context(context: &str) -> Result<Self, ConfigError> {
        load::infer(&load::Environment::process(), Some(context))
    }

    /// One kubeconfig file, and nothing else; its current context unless one is named.
    ///
    /// # Errors
    ///
    /// A [`ConfigError`] that names the entry at fault. The file must be there.
    pub fn from_kubeconfig(
        path: impl AsRef<Path>,
        context: Option<&str>,
    ) -> Result<Self, ConfigError> {
        load::explicit(path.as_ref(), context)
    }

    /// The text of a kubeconfig; relative paths in it are relative to the working directory.
    ///
    /// # Errors
    ///
    /// A [`ConfigError`] that names the entry at fault.
    pub fn from_kubeconfig_text(text: &str, context: Option<&str>) -> Result<Self, ConfigError> {
        load::text(text, context)
    }

    /// The service account of the pod that the program runs in.
    ///
    /// # Errors
    ///
    /// [`ConfigError::NotInCluster`] outside a pod.
    pub fn in_cluster() -> Result<Self, ConfigError> {
        in_cluster::load(&load::Environment::process())
    }

    /// Where the server is.
    #[must_use]
    pub fn server(&self) -> &Uri {
        &self.server
    }

    /// The namespace for callers that name none.
    #[must_use]
    pub fn default_namespace(&self) -> &str {
        &self.default_namespace
    }

    pub(crate) fn tls(&self) -> &TlsConfig {
        &self.tls
    }

    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    pub(crate) fn impersonation(&self) -> Option<&Impersonation> {
        self.impersonation.as_ref()
    }

    /// Whether answers may be compressed.
    pub(crate) fn compression(&self) -> bool {
        self.compression
    }

    /// The proxy on the way to the server, if there is one.
    pub(crate) fn chosen_proxy(&self) -> Result<Option<ProxyUrl>, ConfigError> {
        proxy::choose(self, &load::Environment::process())
    }
}

impl TlsConfig {
    /// The same with the contents of its files.
    pub(crate) fn loaded(&self) -> Result<Self, ConfigError> {
        Ok(Self {
            ca: self.ca.as_ref().map(Pem::loaded).transpose()?,
            identity: match &self.identity {
                None => None,
                Some(identity) => Some(Identity {
                    certificate: identity.certificate.loaded()?,
                    key: identity.key.loaded()?,
                }),
            },
            insecure: self.insecure,
            server_name: self.server_name.clone(),
        })
    }

    /// Whether there are files that someone may replace.
    pub(crate) fn has_files(&self) -> bool {
        let identity = self.identity.as_ref();
        self.ca.as_ref().is_some_and(Pem::is_file)
            || identity.is_some_and(|it| it.certificate.is_file() || it.key.is_file())
    }

    fn has_any(&self) -> bool {
        self.ca.is_some() || self.identity.is_some() || self.insecure || self.server_name.is_some()
    }
}

/// A server's URL for an error text. What stands before an `@` may be a password.
fn quoted(url: &str) -> String {
    match url.rsplit_once('@') {
        None => format!("{url:?}"),
        Some((_, host)) => format!("\"...@{host}\""),
    }
}

/// A host without a scheme is plain HTTP unless there are TLS settings (client-go K6).
fn parse_server(url: &str, assume_tls: bool) -> Result<Uri, String> {
    let with_scheme = match url.contains("://") {
        true => url.to_owned(),
        false if assume_tls => format!("https://{url}"),
        false => format!("http://{url}"),
    };
    let uri: Uri = with_scheme.parse().map_err(|error| format!("{error}"))?;
    // They would be sent without anybody having asked for it, and be in every log line.
    if uri
        .authority()
        .is_some_and(|authority| authority.as_str().contains('@'))
    {
        return Err("it has a user or a password in it; set them by themselves".into());
    }
    match uri.scheme_str() {
        Some("http" | "https") if uri.query().is_none() => Ok(uri),
        Some("http" | "https") => Err("it has a query".into()),
        _ => Err("only http and https are supported".into()),
    }
}
