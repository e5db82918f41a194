//! What a program sets by itself, or over what it has read. The last word counts, and what it
//! makes meaningless is dropped (client-go K5).

use std::path::PathBuf;

use super::proxy::{ProxyChoice, ProxyUrl};
use super::{Auth, Config, ConfigError, Identity, Pem, parse_server, quoted};
use crate::credentials::{ExecConfig, ExecPolicy, Impersonation, Secret};

impl Config {
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

    /// Authenticates with what a program prints.
    #[must_use]
    pub fn exec(mut self, exec: ExecConfig) -> Self {
        self.auth = Auth::Exec(exec);
        self
    }

    /// Which programs may be run for credentials; any by default, as in kubectl.
    #[must_use]
    pub fn exec_policy(mut self, policy: ExecPolicy) -> Self {
        self.exec_policy = policy;
        self
    }

    /// Acts as somebody else. See [`Client::with_impersonation`](crate::Client::with_impersonation)
    /// for a client that does so for some requests.
    #[must_use]
    pub fn impersonate(mut self, whom: Impersonation) -> Self {
        self.impersonation = Some(whom);
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

    /// Authenticates with a client certificate and its key, both in PEM files, which are read
    /// again while the client is in use.
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

    /// Trusts the certificates in this PEM text, and no others; takes
    /// [`insecure`](Self::insecure) back.
    #[must_use]
    pub fn ca_pem(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.tls.insecure = false;
        self.tls.ca = Some(Pem::inline(pem.into(), "the CA certificate"));
        self
    }

    /// Trusts the certificates in this PEM file, and no others; takes
    /// [`insecure`](Self::insecure) back. The file is read again while the client is in use.
    #[must_use]
    pub fn ca_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.tls.insecure = false;
        self.tls.ca = Some(Pem::file(path.into(), "the CA certificate"));
        self
    }

    /// Trusts whoever answers, whatever CA was named before. For experiments: everyone on the
    /// way can read the credentials.
    #[must_use]
    pub fn insecure(mut self) -> Self {
        self.tls.ca = None;
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

    /// Reaches the server through a proxy: `http://`, `https://`, `socks5://` or `socks5h://`,
    /// with a user and a password in front of the host if it wants them. `NO_PROXY` does not
    /// count for it.
    ///
    /// Without one, `HTTPS_PROXY` (`HTTP_PROXY` for a plain server) and `NO_PROXY` are followed
    /// as in Go programs; servers on this host are reached directly.
    ///
    /// # Errors
    ///
    /// If `url` is no such URL. The text does not quote it.
    pub fn proxy(mut self, url: &str) -> Result<Self, ConfigError> {
        self.proxy = ProxyChoice::Url(ProxyUrl::parse(url, &self.origin)?);
        Ok(self)
    }

    /// Reaches the server directly, whatever the environment says.
    #[must_use]
    pub fn no_proxy(mut self) -> Self {
        self.proxy = ProxyChoice::Direct;
        self
    }

    /// Asks for answers that are not compressed. By default the server may compress long
    /// answers, but never watches: an event would wait in its compressor for the next one.
    #[must_use]
    pub fn no_compression(mut self) -> Self {
        self.compression = false;
        self
    }

    /// The same server for nobody in particular: without token, password, plugin, client
    /// certificate and impersonation.
    #[must_use]
    pub fn anonymous(mut self) -> Self {
        self.auth = Auth::None;
        self.tls.identity = None;
        self.impersonation = None;
        self
    }

    /// Another server with the same credentials. A server name that was expected before no
    /// longer is.
    ///
    /// # Errors
    ///
    /// If `url` is no HTTP URL.
    pub fn with_server(mut self, url: &str) -> Result<Self, ConfigError> {
        self.server = parse_server(url, self.tls.has_any()).map_err(|reason| {
            ConfigError::invalid("--server", format!("{}: {reason}", quoted(url)))
        })?;
        self.server_text = url.to_owned();
        self.tls.server_name = None;
        Ok(self)
    }
}
