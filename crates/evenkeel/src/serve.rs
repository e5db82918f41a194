//! The small HTTP(S) server for probes, metrics and pages for debugging.

mod tls;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub use tls::{TlsError, TlsIdentity};

use crate::{DebugPages, Probes, Registry};

/// How long a connection may take to send its request's head, and to make its handshake.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// How long open connections may go on once the server was told to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);
/// Connections served at once; a probe endpoint needs few, and each costs memory.
const MAX_CONNECTIONS: usize = 256;

/// A bound, not yet serving endpoint for `/healthz`, `/livez`, `/readyz` and `/metrics`.
pub struct Endpoint {
    listener: TcpListener,
    tls: Option<tokio_rustls::TlsAcceptor>,
    routes: Routes,
}

/// The endpoint cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address cannot be bound: in use, or not ours.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// What was to be bound.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// The certificate cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

#[derive(Clone)]
struct Routes {
    probes: Probes,
    registry: Registry,
    pages: DebugPages,
    /// Whether the one who asks is on this machine.
    is_local: bool,
}

impl Endpoint {
    /// Binds `address`; with an identity the endpoint speaks TLS, without one plain HTTP.
    ///
    /// # Errors
    ///
    /// [`ServeError::Bind`] when the port is taken, [`ServeError::Tls`] for a certificate
    /// that cannot be used.
    pub async fn bind(
        address: SocketAddr,
        tls: Option<&TlsIdentity>,
        probes: Probes,
        registry: Registry,
    ) -> Result<Self, ServeError> {
        let tls = tls.map(TlsIdentity::acceptor).transpose()?;
        let listener = TcpListener::bind(address)
            .await
            .map_err(|source| ServeError::Bind { address, source })?;
        Ok(Self {
            listener,
            tls,
            routes: Routes {
                probes,
                registry,
                pages: DebugPages::default(),
                is_local: false,
            },
        })
    }

    /// Serves these pages too, to whoever connects from this machine.
    #[must_use]
    pub fn with_debug_pages(mut self, pages: DebugPages) -> Self {
        self.routes.pages = pages;
        self
    }

    /// The bound address, with the port that the system chose when 0 was asked for.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop`, then lets open connections end within two seconds.
    ///
    /// Dropping the future closes everything at once.
    pub async fn serve(self, stop: CancellationToken) {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                accepted = self.listener.accept(), if connections.len() < MAX_CONNECTIONS => match accepted {
                    Ok((stream, peer)) => {
                        let (tls, mut routes, stop) = (self.tls.clone(), self.routes.clone(), stop.clone());
                        routes.is_local = peer.ip().to_canonical().is_loopback();
                        connections.spawn(connection(stream, tls, routes, stop));
                    }
                    // Usually "too many open files": a pause, or this loop takes a whole core.
                    Err(error) => {
                        tracing::warn!(%error, "Cannot accept a connection");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                },
                Some(_) = connections.join_next() => {}
            }
        }
        drop(self.listener);
        let rest = async { while connections.join_next().await.is_some() {} };
        // What is left after the bound is aborted with the set.
        let _ = tokio::time::timeout(STOP_TIMEOUT, rest).await;
    }
}

async fn connection(
    stream: TcpStream,
    tls: Option<tokio_rustls::TlsAcceptor>,
    routes: Routes,
    stop: CancellationToken,
) {
    match tls {
        None => http(stream, routes, stop).await,
        Some(tls) => match tokio::time::timeout(HEAD_TIMEOUT, tls.accept(stream)).await {
            Ok(Ok(stream)) => http(stream, routes, stop).await,
            Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
            Err(_) => tracing::debug!("TLS handshake timed out"),
        },
    }
}

async fn http<S>(stream: S, routes: Routes, stop: CancellationToken)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let routes = Arc::new(routes);
    let service = service_fn(move |request| {
        let routes = Arc::clone(&routes);
        async move { Ok::<_, std::convert::Infallible>(routes.answer(&request).await) }
    });
    let mut builder = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "Connection ended early");
    }
}

impl Routes {
    async fn answer(&self, request: &http::Request<Incoming>) -> http::Response<Full<Bytes>> {
        if !matches!(*request.method(), http::Method::GET | http::Method::HEAD) {
            return respond(405, "text/plain; charset=utf-8", "method not allowed\n");
        }
        let uri = request.uri();
        if uri.path() == "/metrics" {
            return respond(200, Registry::CONTENT_TYPE, self.registry.encode());
        }
        if uri.path().starts_with("/debug/") {
            return self.debug(request).await;
        }
        let verbose = uri.query().is_some_and(|query| {
            query
                .split('&')
                .any(|term| term.split('=').next() == Some("verbose"))
        });
        match self.probes.answer(uri.path(), verbose) {
            Some(answer) => {
                let code = if answer.passed { 200 } else { 500 };
                respond(code, "text/plain; charset=utf-8", answer.body)
            }
            None => not_found(),
        }
    }

    async fn debug(&self, request: &http::Request<Incoming>) -> http::Response<Full<Bytes>> {
        let uri = request.uri();
        if !self.is_local || !names_a_machine(request) {
            let why = "only for connections from this machine\n";
            return respond(403, "text/plain; charset=utf-8", why);
        }
        let (pages, uri) = (self.pages.clone(), uri.clone());
        let render = move || pages.render(uri.path(), uri.query().unwrap_or_default());
        // It may take long, and probes must not wait for it.
        match tokio::task::spawn_blocking(render).await {
            Ok(Some(page)) => respond(200, page.content_type, page.body),
            Ok(None) => not_found(),
            Err(error) => {
                tracing::warn!(%error, "A page for debugging failed");
                respond(500, "text/plain; charset=utf-8", "failed\n")
            }
        }
    }
}

/// Whether the request is for an address or for `localhost`: a web page in a browser of this
/// machine asks for a name that it has made to lead here.
fn names_a_machine(request: &http::Request<Incoming>) -> bool {
    let in_uri = request.uri().authority().map(http::uri::Authority::as_str);
    let in_header = || request.headers().get(http::header::HOST)?.to_str().ok();
    let Some(authority) = in_uri.or_else(in_header) else {
        return false;
    };
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => authority.split(':').next(),
    };
    host.is_some_and(|host| host == "localhost" || host.parse::<std::net::IpAddr>().is_ok())
}

fn not_found() -> http::Response<Full<Bytes>> {
    respond(404, "text/plain; charset=utf-8", "404 page not found\n")
}

fn respond(code: u16, content_type: &str, body: impl Into<Bytes>) -> http::Response<Full<Bytes>> {
    let mut response = http::Response::new(Full::new(body.into()));
    *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or_default();
    let headers = response.headers_mut();
    if let Ok(value) = content_type.parse() {
        headers.insert(http::header::CONTENT_TYPE, value);
    }
    headers.insert(
        http::header::X_CONTENT_TYPE_OPTIONS,
        http::HeaderValue::from_static("nosniff"),
    );
    response
}
