use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_core::future::BoxFuture;

use super::connection::Connection;
use super::watch_pool::WatchPool;
use super::{ByteStream, Lane, Transport, TransportError, TransportErrorKind, tls};
use crate::config::{Config, ConnectError};

/// The default transport: HTTP/2 where the server offers it, HTTP/1.1 otherwise, over rustls.
///
/// Each lane has connections of its own, and watches share theirs up to a bound, so neither
/// starves the other. Connections are made on first use. Redirects are not followed, and
/// proxies are not used.
///
/// A peer that is gone without a word is noticed by HTTP/2 pings, over HTTP/1.1 by TCP
/// keep-alive: with the defaults in 45 s at the most (client-go TR1).
pub struct ReqwestTransport {
    list: Connection,
    write: Connection,
    watches: WatchPool<Connection>,
    settings: Arc<Settings>,
}

/// Limits of the network transport.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TransportOptions {
    /// How many watches share one HTTP/2 connection. Default 64; API servers take about 100
    /// streams on a connection.
    pub watches_per_connection: usize,
    /// A bound for making a connection, with its TLS handshake. Default 30 s.
    pub connect_timeout: Duration,
    /// How long a connection may be silent before a ping is sent. Default 30 s.
    pub ping_after: Duration,
    /// How long the answer to a ping may take. Default 15 s.
    pub ping_timeout: Duration,
    /// How long a connection without requests is kept. Default 90 s.
    pub idle_timeout: Duration,
    /// Do without HTTP/2.
    pub http1_only: bool,
}

impl Default for TransportOptions {
    fn default() -> Self {
        Self {
            watches_per_connection: 64,
            connect_timeout: Duration::from_secs(30),
            ping_after: Duration::from_secs(30),
            ping_timeout: Duration::from_secs(15),
            idle_timeout: Duration::from_secs(90),
            http1_only: false,
        }
    }
}

impl TransportOptions {
    /// With this many watches on one connection.
    #[must_use]
    pub fn watches_per_connection(mut self, streams: usize) -> Self {
        self.watches_per_connection = streams;
        self
    }

    /// With this bound for making a connection.
    #[must_use]
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.connect_timeout = limit;
        self
    }

    /// With pings after `silence`, answered within `timeout`.
    #[must_use]
    pub fn ping(mut self, silence: Duration, timeout: Duration) -> Self {
        self.ping_after = silence;
        self.ping_timeout = timeout;
        self
    }

    /// Without HTTP/2.
    #[must_use]
    pub fn http1_only(mut self) -> Self {
        self.http1_only = true;
        self
    }
}

/// What a further connection is made from.
struct Settings {
    options: TransportOptions,
    tls: tls::Setup,
}

impl ReqwestTransport {
    /// Prepares the connections; none is made yet.
    ///
    /// # Errors
    ///
    /// If a certificate or key of the configuration is unreadable or does not fit.
    pub fn new(config: &Config, options: &TransportOptions) -> Result<Self, ConnectError> {
        let settings = Settings {
            options: options.clone(),
            tls: match config.server().scheme_str() {
                Some("https") => tls::Setup::new(config, options.http1_only)?,
                _ => tls::Setup::plain()?,
            },
        };
        Ok(Self {
            list: settings
                .connection(Lane::List)
                .map_err(ConnectError::Transport)?,
            write: settings
                .connection(Lane::Write)
                .map_err(ConnectError::Transport)?,
            watches: WatchPool::new(options.watches_per_connection),
            settings: Arc::new(settings),
        })
    }
}

impl Settings {
    fn connection(&self, lane: Lane) -> Result<Connection, TransportError> {
        let options = &self.options;
        let mut builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .no_proxy()
            .connect_timeout(options.connect_timeout)
            .pool_idle_timeout(options.idle_timeout)
            .tcp_nodelay(true)
            .tcp_keepalive(options.ping_after)
            .tcp_keepalive_interval(options.ping_timeout / 3)
            .tcp_keepalive_retries(3)
            .http2_adaptive_window(true)
            .http2_keep_alive_interval(options.ping_after)
            .http2_keep_alive_timeout(options.ping_timeout)
            .http2_keep_alive_while_idle(true);
        let mut tls = self.tls.client_config();
        if options.http1_only || lane == Lane::Upgrade {
            builder = builder.http1_only();
            tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        }
        builder = builder.tls_backend_preconfigured(tls);
        if let Some(resolver) = self.tls.resolver() {
            builder = builder.dns_resolver(resolver);
        }
        let client = builder
            .build()
            .map_err(|error| TransportError::new(TransportErrorKind::Other, error))?;
        Ok(Connection::new(client, options.idle_timeout))
    }
}

impl Transport for ReqwestTransport {
    fn send(
        &self,
        lane: Lane,
        mut request: http::Request<Bytes>,
    ) -> BoxFuture<'static, Result<http::Response<ByteStream>, TransportError>> {
        let (connection, place) = match lane {
            Lane::List => (Ok(self.list.clone()), None),
            Lane::Write => (Ok(self.write.clone()), None),
            Lane::Upgrade => (self.settings.connection(lane), None),
            Lane::Watch => match self.watches.take(|| self.settings.connection(lane)) {
                Ok((connection, place)) => (Ok(connection), Some(place)),
                Err(error) => (Err(error), None),
            },
        };
        let settings = Arc::clone(&self.settings);
        Box::pin(async move {
            let connection = connection?;
            settings.tls.readdress(&mut request)?;
            let request = reqwest::Request::try_from(request)
                .map_err(|error| TransportError::new(TransportErrorKind::Request, error))?;
            connection.execute(request, place).await
        })
    }
}

impl std::fmt::Debug for ReqwestTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReqwestTransport")
            .field("options", &self.settings.options)
            .finish_non_exhaustive()
    }
}
