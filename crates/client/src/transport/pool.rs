use bytes::Bytes;
use tokio::sync::watch;

use super::connection::Connection;
use super::options::TransportOptions;
use super::watch_pool::WatchPool;
use super::{ByteStream, Lane, TransportError, TransportErrorKind, tls};
use crate::config::{Config, ConfigError, ConnectError, ProxyUrl, TlsConfig};

/// The connections that were made with one set of certificates.
pub(super) struct Pool {
    list: Connection,
    write: Connection,
    watches: WatchPool<Connection>,
    settings: Settings,
    retired: watch::Sender<bool>,
}

/// What a further connection is made from.
struct Settings {
    options: TransportOptions,
    tls: tls::Setup,
    proxy: Option<ProxyUrl>,
    compression: bool,
}

impl Pool {
    /// Prepares the connections; none is made yet. `tls` has no files in it.
    pub(super) fn new(
        config: &Config,
        tls: &TlsConfig,
        options: &TransportOptions,
    ) -> Result<Self, ConnectError> {
        let settings = Settings {
            options: options.clone(),
            tls: match config.server().scheme_str() {
                Some("https") => tls::Setup::new(config, tls, options.http1_only)?,
                _ => tls::Setup::plain()?,
            },
            proxy: config.chosen_proxy()?,
            compression: config.compression(),
        };
        // The proxy would be asked for the expected name, which is not where the server is.
        let renamed = settings.tls.resolver().is_some();
        if settings
            .proxy
            .as_ref()
            .is_some_and(|proxy| renamed && !proxy.is_socks())
        {
            return Err(ConfigError::NotSupported {
                origin: config.origin().to_owned(),
                what: "tls-server-name through an HTTP proxy",
            }
            .into());
        }
        let connection = |lane| settings.connection(lane).map_err(ConnectError::Transport);
        Ok(Self {
            list: connection(Lane::List)?,
            write: connection(Lane::Write)?,
            watches: WatchPool::new(options.watches_per_connection),
            retired: watch::Sender::new(false),
            settings,
        })
    }

    /// Tells the streams that are open that they are to end soon.
    pub(super) fn retire(&self) {
        self.retired.send_replace(true);
    }

    /// Hears of it.
    pub(super) fn retirement(&self) -> watch::Receiver<bool> {
        self.retired.subscribe()
    }

    pub(super) async fn send(
        &self,
        lane: Lane,
        mut request: http::Request<Bytes>,
    ) -> Result<http::Response<ByteStream>, TransportError> {
        let (connection, place) = match lane {
            Lane::List => (self.list.clone(), None),
            Lane::Write => (self.write.clone(), None),
            // Whoever has it keeps it to itself.
            Lane::Upgrade => (self.settings.connection(lane)?, None),
            Lane::Watch => {
                let (connection, place) = self.watches.take(|| self.settings.connection(lane))?;
                (connection, Some(place))
            }
        };
        self.settings.tls.readdress(&mut request)?;
        let request = reqwest::Request::try_from(request)
            .map_err(|error| TransportError::new(TransportErrorKind::Request, error))?;
        connection.execute(request, place).await
    }
}

impl Settings {
    fn connection(&self, lane: Lane) -> Result<Connection, TransportError> {
        let options = &self.options;
        let mut builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .no_proxy()
            // In a compressed watch an event could wait in the compressor for the next one.
            .gzip(self.compression && matches!(lane, Lane::List | Lane::Write))
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
        if let Some(proxy) = &self.proxy {
            builder = builder.proxy(self.proxied(proxy)?);
        }
        builder = builder.tls_backend_preconfigured(tls);
        if let Some(resolver) = self.tls.resolver() {
            builder = builder.dns_resolver(resolver);
        }
        let client = builder
            .build()
            .map_err(|error| TransportError::new(TransportErrorKind::Other, error))?;
        let via = self.proxy.as_ref().map(ToString::to_string);
        Ok(Connection::new(client, options.idle_timeout, via))
    }

    /// As in Go, a SOCKS proxy resolves the server's name, whatever its scheme says; only where
    /// another name is expected of the server it is resolved here.
    fn proxied(&self, proxy: &ProxyUrl) -> Result<reqwest::Proxy, TransportError> {
        let mut url = proxy.expose().to_owned();
        if let Some((_, rest)) = url.split_once("://")
            && proxy.is_socks()
        {
            url = match self.tls.resolver() {
                None => format!("socks5h://{rest}"),
                Some(_) => format!("socks5://{rest}"),
            };
        }
        reqwest::Proxy::all(url).map_err(|_| {
            // Its own text quotes the URL, and that may have a password.
            let detail = format!("the proxy {proxy} cannot be used");
            TransportError::with_detail(TransportErrorKind::Proxy, &detail)
        })
    }
}
