use std::convert::Infallible;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use evenkeel_observe::{MemorySink, Metrics};
use http::{Request, Response};
use http_body_util::Full;
use rcgen::{CertifiedKey, KeyPair};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::*;

type Made = CertifiedKey<KeyPair>;

fn make() -> Made {
    rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap()
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// A directory of its own, gone with it.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("evenkeel-serve-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, made: &Made) {
        write(&self.0, made);
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn write(directory: &Path, made: &Made) {
    fs::write(directory.join("tls.crt"), made.cert.pem()).unwrap();
    fs::write(directory.join("tls.key"), made.signing_key.serialize_pem()).unwrap();
}

/// The certificate that a client is shown, or how the handshake fails.
async fn shown(
    tls: &Tls,
    trusted: &[&Made],
    client: Option<&Made>,
) -> Result<CertificateDer<'static>, std::io::Error> {
    let mut roots = RootCertStore::empty();
    for made in trusted {
        roots.add(made.cert.der().clone()).unwrap();
    }
    let builder = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match client {
        None => builder.with_no_client_auth(),
        Some(made) => {
            let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
            let chain = vec![made.cert.der().clone()];
            builder.with_client_auth_cert(chain, key).unwrap()
        }
    };
    let (near, far) = tokio::io::duplex(64 * 1024);
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    let name = ServerName::try_from("localhost").unwrap();
    let (client, server) = tokio::join!(connector.connect(name, near), tls.acceptor().accept(far));
    server?;
    let client = client?;
    let chain = client.get_ref().1.peer_certificates().unwrap();
    Ok(chain[0].clone().into_owned())
}

fn count(sink: &MemorySink, name: &str) -> f64 {
    sink.value(name, &[]).unwrap()
}

#[tokio::test]
async fn controller_runtime_t73_a_new_pair_is_used_and_a_bad_one_is_counted_and_told() {
    let directory = Directory::new();
    let (first, second) = (make(), make());
    directory.write(&first);
    let sink = MemorySink::new();
    let files = TlsFiles::in_directory(&directory.0);
    let tls = Tls::from_files(files, &Metrics::new(sink.clone())).unwrap();
    let both = [&first, &second];
    let is = async |made: &Made| shown(&tls, &both, None).await.unwrap() == *made.cert.der();
    assert!(is(&first).await);
    assert!(!tls.reload(), "nothing has changed");

    // Half of a new pair: the old one stays, and somebody hears of it.
    fs::write(directory.0.join("tls.crt"), second.cert.pem()).unwrap();
    assert!(!tls.reload());
    assert!(is(&first).await);
    let problem = tls.problem().unwrap();
    assert!(
        problem.contains("cannot serve with this certificate"),
        "{problem}"
    );
    fs::write(directory.0.join("tls.key"), "nothing of the sort").unwrap();
    assert!(!tls.reload());
    assert!(tls.problem().unwrap().contains("tls.key"));
    directory.write(&second);
    assert!(tls.reload());
    assert!(is(&second).await);
    assert_eq!(tls.problem(), None);
    assert_eq!(count(&sink, "certwatcher_read_certificate_total"), 2.0);
    assert_eq!(
        count(&sink, "certwatcher_read_certificate_errors_total"),
        2.0
    );
}

#[tokio::test]
async fn controller_runtime_t73_files_may_be_renamed_over_and_moved_away() {
    let directory = Directory::new();
    let (first, second) = (make(), make());
    // As a kubelet does it: the files are links through a link that is replaced.
    for (name, made) in [("one", &first), ("two", &second)] {
        fs::create_dir(directory.0.join(name)).unwrap();
        write(&directory.0.join(name), made);
    }
    let link = |target: &str| {
        let new = directory.0.join("new");
        std::os::unix::fs::symlink(target, &new).unwrap();
        fs::rename(&new, directory.0.join("data")).unwrap();
    };
    link("one");
    let files = TlsFiles::in_directory(directory.0.join("data"));
    let tls = Tls::from_files(files, &Metrics::none()).unwrap();
    let both = [&first, &second];
    link("two");
    assert!(tls.reload());
    assert_eq!(shown(&tls, &both, None).await.unwrap(), *second.cert.der());

    fs::remove_file(directory.0.join("data")).unwrap();
    assert!(!tls.reload());
    assert!(tls.problem().unwrap().contains("tls.crt"));
    assert_eq!(shown(&tls, &both, None).await.unwrap(), *second.cert.der());
    // Back as it was: no new certificate, and no problem either.
    link("two");
    assert!(tls.reload());
    assert_eq!(tls.problem(), None);
}

#[tokio::test(start_paused = true)]
async fn controller_runtime_t73_a_server_looks_every_ten_seconds() {
    let directory = Directory::new();
    let (first, second) = (make(), make());
    directory.write(&first);
    let files = TlsFiles::in_directory(&directory.0);
    let tls = Tls::from_files(files, &Metrics::none()).unwrap();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let server = Server::bind(address, Some(tls.clone())).await.unwrap();
    let stop = CancellationToken::new();
    let serving = tokio::spawn(server.serve(Echo, stop.clone()));
    directory.write(&second);
    tokio::time::sleep(Duration::from_millis(9_900)).await;
    let both = [&first, &second];
    assert_eq!(shown(&tls, &both, None).await.unwrap(), *first.cert.der());
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(shown(&tls, &both, None).await.unwrap(), *second.cert.der());
    stop.cancel();
    serving.await.unwrap();
}

#[tokio::test]
async fn with_an_authority_a_client_must_show_a_certificate() {
    let directory = Directory::new();
    let (server, client, stranger) = (make(), make(), make());
    directory.write(&server);
    let ca = directory.0.join("ca.crt");
    fs::write(&ca, client.cert.pem()).unwrap();
    let mut files = TlsFiles::in_directory(&directory.0);
    files.client_ca = Some(ca.clone());
    let tls = Tls::from_files(files, &Metrics::none()).unwrap();
    assert!(shown(&tls, &[&server], Some(&client)).await.is_ok());
    assert!(shown(&tls, &[&server], None).await.is_err());
    assert!(shown(&tls, &[&server], Some(&stranger)).await.is_err());
    // The authorities are renewed like the certificate.
    fs::write(&ca, stranger.cert.pem()).unwrap();
    assert!(tls.reload());
    assert!(shown(&tls, &[&server], Some(&stranger)).await.is_ok());
}

#[test]
fn files_that_are_no_pair_are_refused_at_the_start() {
    let directory = Directory::new();
    let sink = MemorySink::new();
    let open = |files| Tls::from_files(files, &Metrics::new(sink.clone()));
    let files = TlsFiles::in_directory(&directory.0);
    let error = open(files.clone()).unwrap_err().to_string();
    assert!(error.contains("tls.crt"), "{error}");
    directory.write(&make());
    fs::write(directory.0.join("tls.crt"), make().cert.pem()).unwrap();
    assert!(matches!(open(files), Err(TlsError::Unusable(_))));
    assert_eq!(
        count(&sink, "certwatcher_read_certificate_errors_total"),
        2.0
    );
}

/// Answers with what was asked for; `/hang` never.
#[derive(Clone)]
struct Echo;

impl tower_service::Service<Request<Body>> for Echo {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future =
        std::pin::Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(async move {
            assert!(
                request
                    .extensions()
                    .get::<Peer>()
                    .unwrap()
                    .0
                    .ip()
                    .is_loopback()
            );
            if request.uri().path() == "/hang" {
                std::future::pending::<()>().await;
            }
            Ok(Response::new(Full::from(request.uri().path().to_owned())))
        })
    }
}

async fn ask(address: SocketAddr, head: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // A reset is an end as well.
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

async fn start() -> (
    SocketAddr,
    ServerStatus,
    CancellationToken,
    tokio::task::JoinHandle<()>,
) {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let server = Server::bind(address, None).await.unwrap();
    let (address, status) = (server.local_addr().unwrap(), server.status());
    let stop = CancellationToken::new();
    let serving = tokio::spawn(server.serve(Echo, stop.clone()));
    (address, status, stop, serving)
}

#[tokio::test]
async fn controller_runtime_t7_t71_a_server_says_whether_it_serves() {
    let (address, status, stop, serving) = start().await;
    assert_eq!(
        status.check().unwrap_err(),
        "the server has not been started yet"
    );
    let answer = ask(
        address,
        "GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    )
    .await;
    assert!(
        answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("\r\n\r\n/a"),
        "{answer}"
    );
    assert_eq!(status.check(), Ok(()));
    let error = Server::bind(address, None).await.unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("cannot listen on {address}")),
        "{error}"
    );
    stop.cancel();
    serving.await.unwrap();
    assert_eq!(status.check().unwrap_err(), "the server has ended");
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let (address, _, _stop, serving) = start().await;
    let head = format!(
        "GET /a HTTP/1.1\r\nHost: x\r\nA: {}\r\n\r\n",
        "a".repeat(128 * 1024)
    );
    let answer = ask(address, &head).await;
    assert!(!answer.contains("200 OK"), "{answer}");
    serving.abort();
}

/// A request that hangs holds up neither the others nor, beyond the drain time, the end.
#[tokio::test(start_paused = true)]
async fn a_request_that_hangs_is_given_up() {
    let (address, _, stop, serving) = start().await;
    let mut hangs = TcpStream::connect(address).await.unwrap();
    hangs
        .write_all(b"GET /hang HTTP/1.1\r\nHost: x\r\n\r\n")
        .await
        .unwrap();
    let mut answer = [0; 12];
    let began = tokio::time::Instant::now();
    hangs.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 503");
    assert!(began.elapsed() >= Duration::from_secs(60));

    hangs
        .write_all(b"GET /hang HTTP/1.1\r\nHost: x\r\n\r\n")
        .await
        .unwrap();
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    let began = tokio::time::Instant::now();
    stop.cancel();
    serving.await.unwrap();
    assert!(began.elapsed() <= Duration::from_millis(2_100));
}
