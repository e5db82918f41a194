//! Accepting and serving connections.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::http::{Body, Identity, error_response};
use crate::server::Server;

/// How long a shutdown waits for requests under way.
const DRAIN: Duration = Duration::from_secs(5);
const HANDSHAKE: Duration = Duration::from_secs(10);
/// After a failure to accept, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
const STREAMS_PER_CONNECTION: u32 = 1_000;

/// Serves until stopped, then drains.
pub(super) async fn run(
    server: Server,
    socket: TcpListener,
    acceptor: Option<TlsAcceptor>,
    mut stop: watch::Receiver<bool>,
) {
    let mut connections = JoinSet::new();
    let stopped = stop.clone();
    loop {
        tokio::select! {
            accepted = socket.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connection(server.clone(), stream, acceptor.clone(), stopped.clone()));
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
            Some(_) = connections.join_next() => {}
            () = stopping(&mut stop) => break,
        }
    }
    drop(socket);
    // What has not drained by then is closed with the set.
    let _ = tokio::time::timeout(DRAIN, async {
        while connections.join_next().await.is_some() {}
    })
    .await;
}

async fn connection(
    server: Server,
    stream: TcpStream,
    acceptor: Option<TlsAcceptor>,
    stop: watch::Receiver<bool>,
) {
    // Answers are written whole; waiting to fill packets would only delay watch events.
    let _ = stream.set_nodelay(true);
    match acceptor {
        None => serve(server, stream, false, stop).await,
        Some(acceptor) => {
            if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
                serve(server, stream, true, stop).await;
            }
        }
    }
}

async fn serve<S>(server: Server, stream: S, authenticates: bool, mut stop: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let stopped = stop.clone();
    let service = service_fn(move |request: http::Request<Incoming>| {
        let (server, stopped) = (server.clone(), stopped.clone());
        async move { Ok::<_, Infallible>(answer(&server, request, authenticates, stopped).await) }
    });
    let mut builder = auto::Builder::new(Streams::default());
    builder.http1().timer(TokioTimer::new());
    builder
        .http2()
        .timer(TokioTimer::new())
        .adaptive_window(true)
        .max_concurrent_streams(STREAMS_PER_CONNECTION);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    tokio::select! {
        // A broken connection is the client's business.
        _ = connection.as_mut() => return,
        () = stopping(&mut stop) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

async fn answer(
    server: &Server,
    request: http::Request<Incoming>,
    authenticates: bool,
    mut stop: watch::Receiver<bool>,
) -> http::Response<Body> {
    let state = server.state();
    let identity = if authenticates && !is_probe(request.uri().path()) {
        match state
            .tokens
            .authenticate(request.headers(), state.clock.now())
        {
            Ok(identity) => identity,
            Err(status) => return error_response(&status),
        }
    } else {
        Identity::admin()
    };
    let response = server.handle(request, identity).await;
    // A watch would hold the shutdown up: it ends with it.
    response.map(|body| body.until(async move { stopping(&mut stop).await }))
}

async fn stopping(stop: &mut watch::Receiver<bool>) {
    // An error means that the handle is gone, which stops everything too.
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Probes and the version are open to everybody, as on a real server.
fn is_probe(path: &str) -> bool {
    matches!(path, "/healthz" | "/livez" | "/readyz" | "/version")
}

/// The tasks of one connection's HTTP/2 streams. They end with the connection.
#[derive(Clone, Default)]
struct Streams(Arc<Mutex<JoinSet<()>>>);

impl<F> hyper::rt::Executor<F> for Streams
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        let mut streams = self.0.lock();
        while streams.try_join_next().is_some() {}
        streams.spawn(stream);
    }
}
