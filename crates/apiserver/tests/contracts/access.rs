//! The listener: TLS, tokens, shutdown.

use evenkeel_apiserver::{Identity, Server};
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;

async fn status(url: &str, path: &str, token: Option<&str>) -> u16 {
    let address = url.split_once("://").unwrap().1;
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .unwrap();
    let driver = tokio::spawn(connection);
    let mut request = http::Request::get(path).header("host", address);
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let answer = sender
        .send_request(request.body(Empty::<bytes::Bytes>::new()).unwrap())
        .await
        .unwrap();
    driver.abort();
    answer.status().as_u16()
}

#[tokio::test]
async fn an_insecure_listener_lets_everybody_in() {
    let server = Server::new();
    let listener = server.listen_insecurely("127.0.0.1:0").await.unwrap();
    assert!(listener.url().starts_with("http://127.0.0.1:"));
    assert_eq!(
        status(&listener.url(), "/api/v1/namespaces", None).await,
        200
    );
    listener.shutdown().await;
}

#[tokio::test]
async fn http2_without_tls_is_spoken_too() {
    let listener = Server::new()
        .listen_insecurely("127.0.0.1:0")
        .await
        .unwrap();
    let stream = TcpStream::connect(listener.address()).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
    let driver = tokio::spawn(connection);
    let request = http::Request::get(format!("{}/api/v1/namespaces", listener.url()))
        .body(Empty::<bytes::Bytes>::new())
        .unwrap();
    let answer = sender.send_request(request).await.unwrap();
    assert_eq!(answer.status(), 200);
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    assert!(body.starts_with(b"{\"kind\":\"NamespaceList\""));
    driver.abort();
}

#[tokio::test]
async fn a_tls_listener_wants_a_known_token() {
    use std::sync::Arc;

    let server = Server::new();
    let listener = server.listen("127.0.0.1:0").await.unwrap();
    server.tokens().add(
        "stale",
        Identity::admin(),
        Some(evenkeel_meta::Timestamp::from_second(1)),
    );
    let mut roots = rustls::RootCertStore::empty();
    let pem = listener.ca_pem().unwrap();
    let ca =
        <rustls_pki_types::CertificateDer<'_> as rustls_pki_types::pem::PemObject>::from_pem_slice(
            pem.as_bytes(),
        );
    roots.add(ca.unwrap()).unwrap();
    let config = rustls::ClientConfig::builder_with_provider(Arc::new(
        rustls::crypto::ring::default_provider(),
    ))
    .with_safe_default_protocol_versions()
    .unwrap()
    .with_root_certificates(roots)
    .with_no_client_auth();
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    let token = listener.token().unwrap().to_owned();
    for (path, token, expected) in [
        ("/api/v1/namespaces", Some(token.as_str()), 200),
        ("/api/v1/namespaces", Some("wrong"), 401),
        ("/api/v1/namespaces", Some("stale"), 401),
        ("/api/v1/namespaces", None, 401),
        ("/healthz", None, 200),
    ] {
        let stream = TcpStream::connect(listener.address()).await.unwrap();
        let name = rustls_pki_types::ServerName::try_from("127.0.0.1").unwrap();
        let stream = connector.connect(name, stream).await.unwrap();
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .unwrap();
        let driver = tokio::spawn(connection);
        let mut request = http::Request::get(path).header("host", "127.0.0.1");
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let answer = sender
            .send_request(request.body(Empty::<bytes::Bytes>::new()).unwrap())
            .await
            .unwrap();
        assert_eq!(answer.status(), expected, "{path} {token:?}");
        driver.abort();
    }
    assert!(listener.kubeconfig().contains(&token));
    assert!(!format!("{listener:?}").contains(&token));
}

#[tokio::test]
async fn a_taken_port_is_an_error() {
    let server = Server::new();
    let first = server.listen_insecurely("127.0.0.1:0").await.unwrap();
    let error = server.listen_insecurely(first.address()).await.unwrap_err();
    assert!(error.to_string().starts_with("cannot listen: "), "{error}");
}

#[tokio::test]
async fn a_shutdown_ends_open_watches() {
    let server = Server::new();
    let listener = server.listen_insecurely("127.0.0.1:0").await.unwrap();
    let stream = TcpStream::connect(listener.address()).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .unwrap();
    let driver = tokio::spawn(connection);
    let request = http::Request::get("/api/v1/namespaces?watch=1")
        .header("host", "x")
        .body(Empty::<bytes::Bytes>::new())
        .unwrap();
    let mut body = sender.send_request(request).await.unwrap().into_body();
    assert!(body.frame().await.unwrap().is_ok());
    let begun = tokio::time::Instant::now();
    listener.shutdown().await;
    assert!(
        begun.elapsed() < std::time::Duration::from_secs(4),
        "it waits for no watch"
    );
    while let Some(frame) = body.frame().await {
        assert!(frame.is_ok(), "ended, not cut");
    }
    driver.abort();
}
