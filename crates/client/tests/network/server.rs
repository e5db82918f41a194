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
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
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
    pub(crate) open_connections: AtomicUsize,
    /// The client certificate of each request, if there was one.
    pub(crate) shown: parking_lot::Mutex<Vec<Option<CertificateDer<'static>>>>,
    /// If there is one, requests with another client certificate get 401.
    pub(crate) accepted: parking_lot::Mutex<Option<CertificateDer<'static>>>,
    pub(crate) requests: parking_lot::Mutex<Vec<(http::Version, String)>>,
    /// What `Accept-Encoding` said, request by request.
    pub(crate) encodings: parking_lot::Mutex<Vec<String>>,
    pub(crate) server_names: parking_lot::Mutex<Vec<String>>,
}

pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    pub(crate) ca_pem: String,
    pub(crate) seen: Arc<Seen>,
    /// Signs the client certificates; what the server shows may be signed by a newer one.
    ca: CertifiedIssuer<'static, KeyPair>,
    name: String,
    alpn: Vec<Vec<u8>>,
    tls: Arc<parking_lot::Mutex<TlsAcceptor>>,
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
        let alpn: Vec<_> = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        let tls = Arc::new(parking_lot::Mutex::new(acceptor(&ca, &ca, name, &alpn)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Seen::default());
        let mut tasks = JoinSet::new();
        let (cut, is_cut) = tokio::sync::watch::channel(());
        tasks.spawn(accept(listener, tls.clone(), seen.clone(), is_cut));
        Self {
            address,
            ca_pem: ca.pem(),
            seen,
            ca,
            name: name.to_owned(),
            alpn,
            tls,
            cut,
            _tasks: tasks,
        }
    }

    /// A client certificate that the server accepts.
    pub(crate) fn client_certificate(&self) -> (String, String) {
        client_certificate(&self.ca)
    }

    /// Shows a certificate of a new CA from now on; answers that CA. Client certificates stay
    /// as they are.
    pub(crate) fn renew(&self) -> String {
        let ca = new_ca();
        *self.tls.lock() = acceptor(&ca, &self.ca, &self.name, &self.alpn);
        ca.pem()
    }

    /// Accepts client certificates of a new CA only; answers one, with its key.
    pub(crate) fn renew_client_ca(&self) -> (String, String) {
        let ca = new_ca();
        *self.tls.lock() = acceptor(&self.ca, &ca, &self.name, &self.alpn);
        client_certificate(&ca)
    }

    /// Shows certificates of this server's CA for another name.
    pub(crate) fn acceptor(&self, name: &str) -> TlsAcceptor {
        acceptor(&self.ca, &self.ca, name, &[])
    }

    /// Breaks all connections, as a restart does.
    pub(crate) fn cut(&self) {
        self.cut.send_replace(());
    }

    pub(crate) fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }
}

fn client_certificate(ca: &CertifiedIssuer<'static, KeyPair>) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["me".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, ca).unwrap();
    (certificate.pem(), key.serialize_pem())
}

fn acceptor(
    ca: &CertifiedIssuer<'static, KeyPair>,
    client_ca: &CertifiedIssuer<'static, KeyPair>,
    name: &str,
    alpn: &[Vec<u8>],
) -> TlsAcceptor {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    let certificate = params.signed_by(&key, ca).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = rustls::RootCertStore::empty();
    roots.add(client_ca.der().clone()).unwrap();
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
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
    config.alpn_protocols = alpn.to_vec();
    TlsAcceptor::from(Arc::new(config))
}

/// Counts a connection until it ends.
struct Connected(Arc<Seen>);

impl Connected {
    fn new(seen: &Arc<Seen>) -> Self {
        seen.connections.fetch_add(1, Ordering::SeqCst);
        seen.open_connections.fetch_add(1, Ordering::SeqCst);
        Self(seen.clone())
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.open_connections.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn accept(
    listener: TcpListener,
    tls: Arc<parking_lot::Mutex<TlsAcceptor>>,
    seen: Arc<Seen>,
    is_cut: tokio::sync::watch::Receiver<()>,
) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let connected = Connected::new(&seen);
        let tls = tls.lock().clone();
        let (seen, mut is_cut) = (seen.clone(), is_cut.clone());
        is_cut.mark_unchanged();
        connections.spawn(async move {
            let _connected = connected;
            let Ok(stream) = tls.accept(stream).await else {
                return;
            };
            let session = stream.get_ref().1;
            let name = session.server_name().unwrap_or_default().to_owned();
            seen.server_names.lock().push(name);
            if session.peer_certificates().is_some() {
                seen.client_certificates.fetch_add(1, Ordering::SeqCst);
            }
            let shown = session
                .peer_certificates()
                .map(|chain| chain[0].clone().into_owned());
            let service = hyper::service::service_fn(move |request| {
                let answer = answer(&request, &seen, shown.clone());
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

fn answer(
    request: &http::Request<Incoming>,
    seen: &Arc<Seen>,
    shown: Option<CertificateDer<'static>>,
) -> http::Response<Body> {
    let refused = seen.accepted.lock().is_some() && *seen.accepted.lock() != shown;
    seen.shown.lock().push(shown);
    let encoding = request.headers().get(http::header::ACCEPT_ENCODING);
    let encoding = encoding.map_or("", |value| value.to_str().unwrap());
    seen.encodings.lock().push(encoding.to_owned());
    let path = request.uri().path().to_owned();
    seen.requests.lock().push((request.version(), path.clone()));
    if refused {
        return http::Response::builder()
            .status(401)
            .body(Body::default())
            .unwrap();
    }
    if path.starts_with("/busy") && seen.requests.lock().len() < 4 {
        return http::Response::builder()
            .status(503)
            .header("retry-after", "0")
            .body(Full::from(vec![b'x'; 100_000]).boxed_unsync())
            .unwrap();
    }
    if path.starts_with("/compressed") {
        return compressed(&path);
    }
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

/// An empty list, compressed; or something that is not.
fn compressed(path: &str) -> http::Response<Body> {
    let body: &[u8] = match path.contains("broken") {
        true => b"\x1f\x8b no",
        false => EMPTY_LIST,
    };
    http::Response::builder()
        .header("content-encoding", "gzip")
        .body(Full::from(body).boxed_unsync())
        .unwrap()
}

/// `{"items":[],"metadata":{"resourceVersion":"9"}}`, through gzip.
const EMPTY_LIST: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xab\x56\xca\x2c\x49\xcd\x2d\x56\xb2\x8a\x8e\xd5\x51\xca\x4d\x2d\x49\x4c\x49\x2c\x49\x54\xb2\xaa\x56\x2a\x4a\x2d\xce\x2f\x2d\x4a\x4e\x0d\x4b\x2d\x2a\xce\xcc\xcf\x53\xb2\x52\xb2\x54\xaa\xad\x05\x00\xd2\x37\x1e\x41\x2f\x00\x00\x00";

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
