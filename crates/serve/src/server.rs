//! Accepting connections, serving them, and ending.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::{Body, Tls};

/// How long a connection may take for its handshake and for the head of a request, the time that it
/// is idle before it included.
const HEAD_TIMEOUT: Duration = Duration::from_secs(32);
/// The largest head, in bytes.
const HEAD_LIMIT: u32 = 64 * 1024;
/// How long a request may take from its head to its answer, its body included. The API server
/// waits for no webhook longer than 30 s.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// An HTTP/2 connection that says nothing is asked whether it is there, and given up after twice this.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// Requests at once in one HTTP/2 connection, as in Go.
const STREAMS: u32 = 250;
/// Connections served at once: each costs memory.
const MAX_CONNECTIONS: usize = 256;

/// What answers requests. It is cloned for each of them.
///
/// Every `tower_service::Service` of this form is one. The request's extensions hold its [`Peer`].
pub trait Service:
    tower_service::Service<
        Request<Body>,
        Response = Response<Full<Bytes>>,
        Error = Infallible,
        Future: Send,
    > + Clone
    + Send
    + Sync
    + 'static
{
}

impl<S> Service for S where
    S: tower_service::Service<
            Request<Body>,
            Response = Response<Full<Bytes>>,
            Error = Infallible,
            Future: Send,
        > + Clone
        + Send
        + Sync
        + 'static
{
}

/// Who is at the other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub SocketAddr);

/// A bound server that does not serve yet.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    tls: Option<Tls>,
    drain: Duration,
    status: ServerStatus,
}

/// The address cannot be bound: in use, or not ours.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {source}")]
pub struct BindError {
    /// What was to be bound.
    pub address: SocketAddr,
    /// What the system said.
    pub source: std::io::Error,
}

impl Server {
    /// Binds `address`; with `tls` the server speaks it and nothing else, without it plain HTTP.
    ///
    /// # Errors
    ///
    /// When the port is taken.
    pub async fn bind(address: SocketAddr, tls: Option<Tls>) -> Result<Self, BindError> {
        let listener = TcpListener::bind(address)
            .await
            .map_err(|source| BindError { address, source })?;
        Ok(Self {
            listener,
            tls,
            drain: Duration::from_secs(2),
            status: ServerStatus(Arc::new(AtomicU8::new(BOUND))),
        })
    }

    /// How long open requests may go on once the server was told to stop; 2 s unless set.
    #[must_use]
    pub fn with_drain(mut self, drain: Duration) -> Self {
        self.drain = drain;
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

    /// Whether it serves, for a readiness check.
    #[must_use]
    pub fn status(&self) -> ServerStatus {
        self.status.clone()
    }

    /// Serves until `stop`, then accepts nothing more and lets open requests end within the drain
    /// time. Certificates from files are renewed meanwhile.
    ///
    /// Dropping the future closes everything at once.
    pub async fn serve<S: Service>(self, service: S, stop: CancellationToken) {
        let Self {
            listener,
            tls,
            drain,
            status,
        } = self;
        let _serving = Serving::begin(status);
        let mut connections = JoinSet::new();
        let fresh = async {
            match &tls {
                Some(tls) => tls.keep_fresh().await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(fresh);
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                accepted = listener.accept(), if connections.len() < MAX_CONNECTIONS => match accepted {
                    Ok((stream, peer)) => {
                        let (service, stop) = (service.clone(), stop.clone());
                        connections.spawn(connection(stream, Peer(peer), tls.clone(), service, stop));
                    }
                    // Usually "too many open files": a pause, or this loop takes a whole core.
                    Err(error) => {
                        tracing::warn!(%error, "Cannot accept a connection");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                },
                Some(_) = connections.join_next() => {}
                () = &mut fresh => {}
            }
        }
        drop(listener);
        let rest = async { while connections.join_next().await.is_some() {} };
        // What is left after the bound is aborted with the set.
        let _ = tokio::time::timeout(drain, rest).await;
    }
}

const BOUND: u8 = 0;
const SERVING: u8 = 1;
const ENDED: u8 = 2;

/// Where a [`Server`] is in its life. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ServerStatus(Arc<AtomicU8>);

impl ServerStatus {
    /// Whether requests are answered.
    ///
    /// # Errors
    ///
    /// Why not, for people.
    pub fn check(&self) -> Result<(), String> {
        match self.0.load(Ordering::Acquire) {
            SERVING => Ok(()),
            BOUND => Err("the server has not been started yet".to_owned()),
            _ => Err("the server has ended".to_owned()),
        }
    }
}

/// Held while a server serves; also ended by a drop of its future.
struct Serving(ServerStatus);

impl Serving {
    fn begin(status: ServerStatus) -> Self {
        status.0.store(SERVING, Ordering::Release);
        Self(status)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.0.store(ENDED, Ordering::Release);
    }
}

async fn connection<S: Service>(
    stream: TcpStream,
    peer: Peer,
    tls: Option<Tls>,
    service: S,
    stop: CancellationToken,
) {
    match tls {
        None => http(stream, peer, service, stop).await,
        Some(tls) => {
            let handshake = tls.acceptor().accept(stream);
            match tokio::time::timeout(HEAD_TIMEOUT, handshake).await {
                Ok(Ok(stream)) => http(stream, peer, service, stop).await,
                Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
                Err(_) => tracing::debug!("TLS handshake timed out"),
            }
        }
    }
}

async fn http<T, S>(stream: T, peer: Peer, service: S, stop: CancellationToken)
where
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    S: Service,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(peer);
        let mut service = service.clone();
        async move {
            let answer = service.call(request);
            match tokio::time::timeout(REQUEST_TIMEOUT, answer).await {
                Ok(answer) => answer,
                Err(_) => Ok(too_slow()),
            }
        }
    });
    let mut builder = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(HEAD_LIMIT as usize);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(KEEP_ALIVE)
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(HEAD_LIMIT);
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

fn too_slow() -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from("timed out\n"));
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response
}
