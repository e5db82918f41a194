//! Where the server is, how to trust it and how to be trusted.

mod error;
mod in_cluster;
mod kubeconfig;
mod load;
mod pem;
mod resolve;
#[cfg(test)]
mod tests;

pub use self::error::{ConfigError, ConnectError};

use std::path::{Path, PathBuf};

use http::Uri;
use http::uri::Scheme;

pub(crate) use self::pem::Pem;

use crate::credentials::{Credentials, Secret};

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
    default_namespace: String,
    /// Whose word it is, for error texts: a file and its entry, or the program.
    origin: String,
    tls: TlsConfig,
    auth: Auth,
}

/// The part of a configuration that concerns the connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct TlsConfig {
    pub(crate) ca: Option<Pem>,
    pub(crate) identity: Option<Identity>,
    pub(crate) insecure: bool,
    pub(crate) server_name: Option<String>,
}

/// A client certificate with its key.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub(crate) certificate: Pem,
    pub(crate) key: Pem,
}

#[derive(Clone, Debug, Default)]
enum Auth {
    #[default]
    None,
    Token(Secret),
    TokenFile {
        path: PathBuf,
        fallback: Option<Secret>,
    },
    Basic {
        user: String,
        password: Secret,
    },
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
        let server = parse_server(url, assume_tls)
            .map_err(|reason| ConfigError::invalid(origin, format!("server {url:?}: {reason}")))?;
        Ok(Self {
            server,
            default_namespace: "default".into(),
            origin: origin.into(),
            tls: TlsConfig::default(),
            auth: Auth::None,
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

    /// Authenticates with a bearer token.
    #[must_use]
    pub fn token(mut self, token: impl Into<Secret>) -> Self {
        self.auth = Auth::Token(token.into());
        self
    }

    /// Authenticates with a bearer token in a file that someone else renews.
    #[must_use]
    pub fn token_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.auth = Auth::TokenFile {
            path: path.into(),
            fallback: None,
        };
        self
    }

    /// Authenticates with a user name and a password.
    #[must_use]
    pub fn basic_auth(mut self, user: impl Into<String>, password: impl Into<Secret>) -> Self {
        self.auth = Auth::Basic {
            user: user.into(),
            password: password.into(),
        };
        self
    }

    /// Authenticates with a client certificate and its key, both in PEM.
    #[must_use]
    pub fn client_certificate_pem(
        mut self,
        certificate: impl Into<Vec<u8>>,
        key: impl Into<Vec<u8>>,
    ) -> Self {
        self.tls.identity = Some(Identity {
            certificate: Pem::inline(certificate.into(), "the client certificate"),
            key: Pem::inline(key.into(), "the client key"),
        });
        self
    }

    /// Authenticates with a client certificate and its key, both in PEM files.
    #[must_use]
    pub fn client_certificate_file(
        mut self,
        certificate: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
    ) -> Self {
        self.tls.identity = Some(Identity {
            certificate: Pem::file(certificate.into(), "the client certificate"),
            key: Pem::file(key.into(), "the client key"),
        });
        self
    }

    /// Trusts the certificates in this PEM text, and no others.
    #[must_use]
    pub fn ca_pem(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.tls.ca = Some(Pem::inline(pem.into(), "the CA certificate"));
        self
    }

    /// Trusts the certificates in this PEM file, and no others.
    #[must_use]
    pub fn ca_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.tls.ca = Some(Pem::file(path.into(), "the CA certificate"));
        self
    }

    /// Trusts whoever answers. For experiments: everyone on the way can read the credentials.
    #[must_use]
    pub fn insecure(mut self) -> Self {
        self.tls.insecure = true;
        self
    }

    /// Expects a certificate for this name instead of the server's host.
    #[must_use]
    pub fn server_name(mut self, name: impl Into<String>) -> Self {
        self.tls.server_name = Some(name.into());
        self
    }

    /// The namespace for callers that name none.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.default_namespace = namespace.into();
        self
    }

    /// Another server with the same credentials. A server name that was expected before no
    /// longer is.
    ///
    /// # Errors
    ///
    /// If `url` is no HTTP URL.
    pub fn with_server(mut self, url: &str) -> Result<Self, ConfigError> {
        self.server = parse_server(url, self.tls.has_any())
            .map_err(|reason| ConfigError::invalid("--server", format!("{url:?}: {reason}")))?;
        self.tls.server_name = None;
        Ok(self)
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

    /// The credentials, ready for use. None are sent in the clear.
    pub(crate) fn credentials(&self) -> Result<Credentials, ConnectError> {
        let encrypted = self.server.scheme() == Some(&Scheme::HTTPS);
        let credentials = match &self.auth {
            Auth::None => Ok(Credentials::none()),
            _ if !encrypted => {
                tracing::warn!(server = %self.server, "credentials are not sent over plain HTTP");
                Ok(Credentials::none())
            }
            Auth::Token(token) => Credentials::bearer(token),
            Auth::TokenFile { path, fallback } => Credentials::token_file(path, fallback.as_ref()),
            Auth::Basic { user, password } => Credentials::basic(user, password),
        };
        credentials.map_err(|error| ConnectError::Credential {
            origin: self.origin.clone(),
            error,
        })
    }
}

impl TlsConfig {
    fn has_any(&self) -> bool {
        self.ca.is_some() || self.identity.is_some() || self.insecure || self.server_name.is_some()
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
    match uri.scheme_str() {
        Some("http" | "https") if uri.query().is_none() => Ok(uri),
        Some("http" | "https") => Err("it has a query".into()),
        _ => Err("only http and https are supported".into()),
    }
}
