use std::path::PathBuf;

use http::uri::Scheme;

use super::{Config, ConfigError, ConnectError};
use crate::credentials::{ClusterInfo, Credentials, ExecConfig, ExecPlugin, Secret};

/// Who the client says it is.
#[derive(Clone, Debug, Default)]
pub(super) enum Auth {
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
    Exec(ExecConfig),
}

impl Config {
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
            Auth::Exec(exec) => Ok(Credentials::exec(self.plugin(exec)?)),
        };
        credentials.map_err(|error| ConnectError::Credential {
            origin: self.origin.clone(),
            error,
        })
    }

    fn plugin(&self, exec: &ExecConfig) -> Result<ExecPlugin, ConfigError> {
        let search_path = std::env::var_os("PATH");
        if !self
            .exec_policy
            .allows(exec.command(), search_path.as_deref())
        {
            return Err(ConfigError::ExecNotAllowed {
                origin: self.origin.clone(),
                command: exec.command().to_owned(),
            });
        }
        let cluster = match exec.wants_cluster_info() {
            true => self.cluster_info()?,
            false => ClusterInfo::default(),
        };
        Ok(ExecPlugin::new(exec.clone(), cluster))
    }

    pub(super) fn cluster_info(&self) -> Result<ClusterInfo, ConfigError> {
        Ok(ClusterInfo {
            server: self.server_text.clone(),
            tls_server_name: self.tls.server_name.clone(),
            insecure_skip_tls_verify: self.tls.insecure,
            ca: self.tls.ca.as_ref().map(super::Pem::read).transpose()?,
            proxy_url: self.proxy.url().map(|url| url.expose().to_owned()),
            disable_compression: !self.compression,
        })
    }
}
