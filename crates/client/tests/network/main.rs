//! The network transport against a TLS server on a real socket.
#![expect(
    clippy::unwrap_used,
    reason = "a test server that cannot start is a failed test"
)]

mod compression;
mod kubectl;
mod plugin;
mod proxies;
mod renewal;
mod server;

use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use evenkeel_client::{
    Api, Client, Config, Error, ListOptions, TransportErrorKind, TransportOptions, WatchEvent,
    WatchOptions, WatchStream,
};
use evenkeel_meta::{ApiResource, Metadata, Scope};
use futures_util::StreamExt;

use server::{Proxy, TestServer};

const H2: &[&str] = &["h2", "http/1.1"];

fn trusting(server: &TestServer) -> Config {
    Config::new(&format!("https://{}", server.address))
        .unwrap()
        .ca_pem(server.ca_pem.clone())
}

fn pods(client: &Client) -> Api<Metadata> {
    let pods = ApiResource::new_static("", "v1", "Pod", "pods", Scope::Namespaced);
    client.metadata(pods, None)
}

async fn open_watch(client: &Client) -> WatchStream<Metadata> {
    let mut watch = pods(client).watch(&WatchOptions::default()).await.unwrap();
    assert!(matches!(watch.next().await, Some(Ok(WatchEvent::Added(_)))));
    watch
}

async fn transport_error(config: &Config) -> (TransportErrorKind, String) {
    let client = Client::connect(config).unwrap();
    match pods(&client).list(&ListOptions::default()).await {
        Err(Error::Transport(error)) => (error.kind(), error.to_string()),
        other => panic!("{other:?}"),
    }
}

/// Waits for a condition that another task brings about.
async fn eventually(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..1000 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("not within 5 s: {what}");
}

#[tokio::test]
async fn lanes_have_connections_of_their_own_and_watches_share_theirs_up_to_a_bound() {
    let server = TestServer::start("127.0.0.1", H2).await;
    let options = TransportOptions::default().watches_per_connection(2);
    let client = Client::connect_with(&trusting(&server), &options).unwrap();
    pods(&client).list(&ListOptions::default()).await.unwrap();
    pods(&client).list(&ListOptions::default()).await.unwrap();
    assert_eq!(server.connections(), 1);
    pods(&client).in_namespace("ns").get("a").await.unwrap();
    assert_eq!(server.connections(), 2);
    let first = open_watch(&client).await;
    let _second = open_watch(&client).await;
    assert_eq!(server.connections(), 3);
    let _third = open_watch(&client).await;
    assert_eq!(server.connections(), 4);
    drop(first);
    let _fourth = open_watch(&client).await;
    assert_eq!(server.connections(), 4, "the freed place is used");
    let requests = server.seen.requests.lock().clone();
    assert!(
        requests
            .iter()
            .all(|(version, _)| *version == http::Version::HTTP_2)
    );
}

#[tokio::test]
async fn kube_rs_22_fifty_watches_take_one_connection() {
    let server = TestServer::start("127.0.0.1", H2).await;
    let client = Client::connect(&trusting(&server)).unwrap();
    let fifty = || futures_util::future::join_all((0..50).map(|_| open_watch(&client)));
    let watches = fifty().await;
    assert_eq!(server.connections(), 1, "though all were opened at once");
    server.cut();
    for mut watch in watches {
        let error = watch.next().await.unwrap().unwrap_err();
        assert!(error.is_connection_lost(), "{error}");
    }
    let watches = fifty().await;
    assert_eq!(server.connections(), 2, "and all again");
    assert_eq!(server.seen.open_watches.load(Ordering::SeqCst), 50);
    drop(watches);
    let open = || server.seen.open_watches.load(Ordering::SeqCst);
    eventually("dropped watches end on the server", || open() == 0).await;
}

#[tokio::test]
async fn a_server_without_http2_is_spoken_to_in_http1() {
    let server = TestServer::start("127.0.0.1", &["http/1.1"]).await;
    let client = Client::connect(&trusting(&server)).unwrap();
    let _one = open_watch(&client).await;
    let _two = open_watch(&client).await;
    assert_eq!(server.connections(), 2);
    assert_eq!(server.seen.requests.lock()[0].0, http::Version::HTTP_11);

    let server = TestServer::start("127.0.0.1", H2).await;
    let options = TransportOptions::default().http1_only();
    let client = Client::connect_with(&trusting(&server), &options).unwrap();
    pods(&client).list(&ListOptions::default()).await.unwrap();
    assert_eq!(server.seen.requests.lock()[0].0, http::Version::HTTP_11);
}

#[tokio::test]
async fn whom_to_trust() {
    let server = TestServer::start("127.0.0.1", H2).await;
    let other = TestServer::start("127.0.0.1", H2).await;
    let (kind, text) = transport_error(&trusting(&server).ca_pem(other.ca_pem.clone())).await;
    assert_eq!(kind, TransportErrorKind::Tls);
    let start = format!("list pods: no TLS connection to {}: ", server.address);
    assert!(text.starts_with(&start), "{text}");
    assert!(text.contains("invalid peer certificate"), "{text}");

    let url = format!("https://{}", server.address);
    let unknown = Config::new(&url).unwrap();
    assert_eq!(transport_error(&unknown).await.0, TransportErrorKind::Tls);
    let anyone = Client::connect(&unknown.insecure()).unwrap();
    pods(&anyone).list(&ListOptions::default()).await.unwrap();
}

#[tokio::test]
async fn tls_server_name_is_what_is_verified_and_sent() {
    let server = TestServer::start("api.internal", H2).await;
    assert_eq!(
        transport_error(&trusting(&server)).await.0,
        TransportErrorKind::Tls
    );
    let client = Client::connect(&trusting(&server).server_name("api.internal")).unwrap();
    pods(&client).list(&ListOptions::default()).await.unwrap();
    assert_eq!(*server.seen.server_names.lock(), ["api.internal"]);
}

#[tokio::test]
async fn a_client_certificate_is_shown() {
    let server = TestServer::start("127.0.0.1", H2).await;
    let (certificate, key) = server.client_certificate();
    let config = trusting(&server).client_certificate_pem(certificate, key);
    let client = Client::connect(&config).unwrap();
    pods(&client).list(&ListOptions::default()).await.unwrap();
    assert_eq!(server.seen.client_certificates.load(Ordering::SeqCst), 1);

    // As `openssl x509` makes them. This server does not take them, kube-apiserver does.
    let certificate = include_str!("v1/certificate.pem");
    let config = trusting(&server).client_certificate_pem(certificate, include_str!("v1/key.pem"));
    Client::connect(&config).unwrap();

    let (certificate, _) = server.client_certificate();
    let (_, other_key) = server.client_certificate();
    let config = trusting(&server).client_certificate_pem(certificate, other_key);
    let error = Client::connect(&config).unwrap_err().to_string();
    assert!(error.starts_with("the client key: "), "{error}");
}

#[tokio::test]
async fn nobody_there() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let config = Config::new(&format!("https://{address}"))
        .unwrap()
        .insecure();
    let (kind, text) = transport_error(&config).await;
    assert_eq!(kind, TransportErrorKind::Refused, "{text}");
    let start = format!("list pods: cannot connect to {address}: Connection refused");
    assert!(text.starts_with(&start), "{text}");
    let config = Config::new("https://no-such-host.invalid")
        .unwrap()
        .insecure();
    let (kind, text) = transport_error(&config).await;
    assert_eq!(kind, TransportErrorKind::Dns, "{text}");
    let start = "list pods: cannot resolve no-such-host.invalid: ";
    assert!(text.starts_with(start), "{text}");
}

#[tokio::test]
async fn a_peer_that_speaks_no_tls() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let talk = async {
        loop {
            use tokio::io::AsyncWriteExt;
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        }
    };
    let config = Config::new(&format!("https://{address}"))
        .unwrap()
        .insecure();
    tokio::select! {
        () = talk => {}
        (kind, text) = transport_error(&config) => assert_eq!(kind, TransportErrorKind::Tls, "{text}"),
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let server = TestServer::start("127.0.0.1", H2).await;
    let client = Client::connect(&trusting(&server)).unwrap();
    let request = http::Request::get("/moved").body(Bytes::new()).unwrap();
    let error = client.raw(request).await.unwrap_err();
    assert_eq!(error.status().unwrap().code, 302);
    assert_eq!(server.seen.requests.lock().len(), 1);
}

#[tokio::test]
async fn client_go_rc6_failed_tries_leave_the_connection_to_the_next_one() {
    let server = TestServer::start("127.0.0.1", &["http/1.1"]).await;
    let client = Client::connect(&trusting(&server)).unwrap();
    let request = http::Request::get("/busy").body(Bytes::new()).unwrap();
    client.raw(request).await.unwrap();
    assert_eq!(server.seen.requests.lock().len(), 4);
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_connection_that_closes_is_a_lost_connection() {
    for alpn in [H2, &["http/1.1"]] {
        let server = TestServer::start("127.0.0.1", alpn).await;
        let client = Client::connect(&trusting(&server)).unwrap();
        let mut watch = open_watch(&client).await;
        drop(server);
        let error = watch.next().await.unwrap().unwrap_err();
        assert!(error.is_connection_lost(), "{error}");
        assert!(
            error.to_string().starts_with("watch pods: connection to "),
            "{error}"
        );
        assert!(error.to_string().contains(" lost: "), "{error}");
        assert!(watch.next().await.is_none());
    }
}

#[tokio::test]
async fn client_go_b2_ts89_incident_2_a_silent_connection_is_noticed_and_replaced() {
    let server = TestServer::start("127.0.0.1", H2).await;
    let proxy = Proxy::start(server.address).await;
    let config = Config::new(&format!("https://{}", proxy.address))
        .unwrap()
        .ca_pem(server.ca_pem.clone());
    let quick = Duration::from_millis(100);
    let options = TransportOptions::default().ping(quick, quick);
    let client = Client::connect_with(&config, &options).unwrap();
    let mut watch = open_watch(&client).await;
    proxy.go_silent();
    let error = tokio::time::timeout(Duration::from_secs(10), watch.next()).await;
    let error = error.expect("noticed").unwrap().unwrap_err();
    assert!(error.is_connection_lost(), "{error}");
    open_watch(&client).await;
    assert_eq!(server.connections(), 2);
}
