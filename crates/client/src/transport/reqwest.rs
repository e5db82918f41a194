use std::sync::Arc;

use bytes::Bytes;
use futures_core::future::BoxFuture;

use super::options::TransportOptions;
use super::reload::Reloader;
use super::{ByteStream, Lane, Transport, TransportError};
use crate::config::{Config, ConnectError};
use crate::credentials::Credentials;

/// The default transport: HTTP/2 where the server offers it, HTTP/1.1 otherwise, over rustls.
///
/// Each lane has connections of its own, and watches share theirs up to a bound, so neither
/// starves the other. Connections are made on first use, through the proxy that the
/// configuration or the environment names. Redirects are not followed.
///
/// Certificates and keys that are in files may be replaced while it is in use, and so may the
/// certificate that an exec plugin prints. They are looked at when a request is sent
/// ([`TransportOptions::reload_after`]), and once more when a handshake has failed. From then
/// on requests have new connections; watches that were open end within
/// [`TransportOptions::drain_within`], and what else was on its way comes to its end. Files that
/// are unreadable, or do not fit together since only one of them is new, change nothing
/// (client-go TR3, TR4).
///
/// A peer that is gone without a word is noticed by HTTP/2 pings, over HTTP/1.1 by TCP
/// keep-alive: with the defaults in 45 s at the most (client-go TR1).
pub struct ReqwestTransport {
    reloader: Arc<Reloader>,
}

impl ReqwestTransport {
    /// Prepares the connections; none is made yet.
    ///
    /// An exec plugin of the configuration is run for its certificate only, apart from those
    /// [`ClientOptions::from_config`](crate::ClientOptions::from_config) makes;
    /// [`Client::connect_with`](crate::Client::connect_with) has them share one run.
    ///
    /// # Errors
    ///
    /// If a certificate or key of the configuration is unreadable or does not fit, or its
    /// proxy cannot be used.
    pub fn new(config: &Config, options: &TransportOptions) -> Result<Self, ConnectError> {
        Self::sharing(config, options, &config.credentials()?)
    }

    /// The same; `credentials` hold the exec plugin, if there is one.
    pub(crate) fn sharing(
        config: &Config,
        options: &TransportOptions,
        credentials: &Credentials,
    ) -> Result<Self, ConnectError> {
        if config.tls().insecure {
            tracing::warn!(server = %config.server(), "the server's certificate is not verified");
        }
        let plugin = credentials.plugin().cloned();
        Ok(Self {
            reloader: Arc::new(Reloader::new(config, options, plugin)?),
        })
    }
}

impl Transport for ReqwestTransport {
    fn send(
        &self,
        lane: Lane,
        request: http::Request<Bytes>,
    ) -> BoxFuture<'static, Result<http::Response<ByteStream>, TransportError>> {
        Box::pin(Arc::clone(&self.reloader).send(lane, request))
    }
}

impl std::fmt::Debug for ReqwestTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReqwestTransport")
            .field("options", self.reloader.options())
            .finish_non_exhaustive()
    }
}
