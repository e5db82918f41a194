//! A small TLS server that counts connections, and a proxy that can go silent.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::{Frame, Incoming};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::server::WebPkiClientVerifier;
use rustls_pki_types::PrivateKeyDer;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

type Body = UnsyncBoxBody<Bytes, std::convert::Infallible>;

/// What the server has seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) connections: AtomicUsize,
    pub(crate) open_watches: AtomicUsize,
    pub(crate) client_certificates: AtomicUsize,
    pub(crate) requests: parking_lot::Mutex<Vec<(http::Version, String)>>,
    pub(crate) server_names: parking_lot::Mutex<Vec<String>>,
}

pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    pub(crate) ca_pem: String,
    pub(crate) seen: Arc<Seen>,
    ca: CertifiedIssuer<'static, KeyPair>,
    cut: tokio::sync::watch::Sender<()>,
    /// Dropping it ends the server.
    _tasks: JoinSet<()>,
}

fn new_ca() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

impl TestServer {
    /// Serves with a certificate for `name`, offering these ALPN protocols.
    pub(crate) async fn start(name: &str, alpn: &[&str]) -> Self {
        let ca = new_ca();
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &ca).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = rustls::RootCertStore::empty();
        roots.add(ca.der().clone()).unwrap();
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
                .allow_unauthenticated()
                .build()
                .unwrap();
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(verifier)
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            )
            .unwrap();
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Seen::default());
        let mut tasks = JoinSet::new();
        let (cut, is_cut) = tokio::sync::watch::channel(());
        tasks.spawn(accept(
            listener,
            TlsAcceptor::from(Arc::new(config)),
            seen.clone(),
            is_cut,
        ));
        Self {
            address,
            ca_pem: ca.pem(),
            seen,
            ca,
            cut,
            _tasks: tasks,
        }
    }

    /// A client certificate that the server accepts.
    pub(crate) fn client_certificate(&self) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["me".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.ca).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    /// Breaks all connections, as a restart does.
    pub(crate) fn cut(&self) {
        self.cut.send_replace(());
    }

    pub(crate) fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }
}

async fn accept(
    listener: TcpListener,
    tls: TlsAcceptor,
    seen: Arc<Seen>,
    is_cut: tokio::sync::watch::Receiver<()>,
) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        seen.connections.fetch_add(1, Ordering::SeqCst);
        let (tls, seen, mut is_cut) = (tls.clone(), seen.clone(), is_cut.clone());
        is_cut.mark_unchanged();
        connections.spawn(async move {
            let Ok(stream) = tls.accept(stream).await else {
                return;
            };
            let session = stream.get_ref().1;
            let name = session.server_name().unwrap_or_default().to_owned();
            seen.server_names.lock().push(name);
            if session.peer_certificates().is_some() {
                seen.client_certificates.fetch_add(1, Ordering::SeqCst);
            }
            let service = hyper::service::service_fn(move |request| {
                let answer = answer(&request, &seen);
                async move { Ok::<_, std::convert::Infallible>(answer) }
            });
            let builder = auto::Builder::new(TokioExecutor::new());
            tokio::select! {
                _ = builder.serve_connection(TokioIo::new(stream), service) => {}
                _ = is_cut.changed() => {}
            }
        });
    }
}

fn answer(request: &http::Request<Incoming>, seen: &Arc<Seen>) -> http::Response<Body> {
    let path = request.uri().path().to_owned();
    seen.requests.lock().push((request.version(), path.clone()));
    if request
        .uri()
        .query()
        .is_some_and(|query| query.contains("watch=true"))
    {
        return http::Response::new(watch_body(seen.clone()));
    }
    let (code, body) = match path.as_str() {
        "/api/v1/pods" => (200, r#"{"items":[],"metadata":{"resourceVersion":"1"}}"#),
        "/moved" => (302, ""),
        _ => (200, r#"{"metadata":{"name":"a"}}"#),
    };
    http::Response::builder()
        .status(code)
        .header("location", "/elsewhere")
        .body(Full::from(body).boxed_unsync())
        .unwrap()
}

/// One event, then nothing, until the client goes away.
fn watch_body(seen: Arc<Seen>) -> Body {
    struct Open(Arc<Seen>);
    impl Drop for Open {
        fn drop(&mut self) {
            self.0.open_watches.fetch_sub(1, Ordering::SeqCst);
        }
    }
    seen.open_watches.fetch_add(1, Ordering::SeqCst);
    let event = "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}\n";
    let event = futures_util::stream::iter([Ok(Frame::data(Bytes::from(event)))]);
    let open = Open(seen);
    let silence = futures_util::stream::poll_fn(move |_| {
        let _ = &open;
        std::task::Poll::Pending
    });
    StreamBody::new(futures_util::StreamExt::chain(event, silence)).boxed_unsync()
}

/// Forwards bytes to a server until it is told to go silent: it then swallows what comes on
/// the connections that are open, without closing them.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    silent: Arc<AtomicBool>,
    _tasks: JoinSet<()>,
}

impl Proxy {
    pub(crate) async fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let silent = Arc::new(AtomicBool::new(false));
        let mut tasks = JoinSet::new();
        let switch = silent.clone();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let upstream = TcpStream::connect(server).await.unwrap();
                // A connection that is opened later works.
                let silent = if switch.load(Ordering::SeqCst) {
                    Arc::new(AtomicBool::new(false))
                } else {
                    switch.clone()
                };
                connections.spawn(forward(client, upstream, silent));
            }
        });
        Self {
            address,
            silent,
            _tasks: tasks,
        }
    }

    pub(crate) fn go_silent(&self) {
        self.silent.store(true, Ordering::SeqCst);
    }
}

async fn forward(client: TcpStream, upstream: TcpStream, silent: Arc<AtomicBool>) {
    let (client_read, client_write) = client.into_split();
    let (upstream_read, upstream_write) = upstream.into_split();
    tokio::join!(
        copy(client_read, upstream_write, &silent),
        copy(upstream_read, client_write, &silent)
    );
}

async fn copy(
    mut from: impl tokio::io::AsyncRead + Unpin,
    mut to: impl tokio::io::AsyncWrite + Unpin,
    silent: &AtomicBool,
) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut buffer = vec![0; 16 << 10];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        if !silent.load(Ordering::SeqCst) && to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
    // Neither half may be closed while the other end must not notice.
    if silent.load(Ordering::SeqCst) {
        std::future::pending::<()>().await;
    }
}
