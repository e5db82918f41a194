//! The way to the server through a proxy.

use std::net::SocketAddr;
use std::sync::Arc;

use evenkeel_client::{Client, Config, ConfigError, ConnectError, ListOptions, TransportErrorKind};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::server::TestServer;
use crate::{H2, open_watch, pods, transport_error, trusting};

/// A proxy for one server, whatever it is asked for. It remembers that, and the credentials.
struct TestProxy {
    address: SocketAddr,
    asked: Arc<parking_lot::Mutex<Vec<String>>>,
    _tasks: JoinSet<()>,
}

#[derive(Clone, Copy)]
enum Kind {
    Connect,
    /// The same, spoken to in TLS.
    Encrypted,
    /// Always asks for credentials.
    Refusing,
    Socks,
}

impl TestProxy {
    async fn start(kind: Kind, server: &TestServer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(parking_lot::Mutex::default());
        let mut tasks = JoinSet::new();
        let tls = server.acceptor("127.0.0.1");
        let (seen, server) = (Arc::clone(&asked), server.address);
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let (seen, tls) = (Arc::clone(&seen), tls.clone());
                connections.spawn(async move {
                    let _ = match kind {
                        Kind::Socks => socks(client, server, &seen).await,
                        Kind::Encrypted => match tls.accept(client).await {
                            Ok(client) => connect(client, server, &seen, kind).await,
                            Err(error) => Err(error),
                        },
                        _ => connect(client, server, &seen, kind).await,
                    };
                });
            }
        });
        Self {
            address,
            asked,
            _tasks: tasks,
        }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().clone()
    }
}

type Asked = parking_lot::Mutex<Vec<String>>;

async fn connect(
    client: impl AsyncRead + AsyncWrite + Unpin,
    server: SocketAddr,
    asked: &Asked,
    kind: Kind,
) -> std::io::Result<()> {
    let mut client = BufReader::new(client);
    let mut words = String::new();
    loop {
        let mut line = String::new();
        client.read_line(&mut line).await?;
        let lower = line.to_lowercase();
        if line.starts_with("CONNECT ") || lower.starts_with("proxy-authorization") {
            words += line.trim_end();
            words.push('\n');
        }
        if line.trim().is_empty() {
            break;
        }
    }
    asked.lock().push(words);
    if let Kind::Refusing = kind {
        let answer = b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n";
        return client.write_all(answer).await;
    }
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
    let mut server = TcpStream::connect(server).await?;
    tokio::io::copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}

/// SOCKS5 (RFC 1928), with a user and a password if they are offered (RFC 1929).
async fn socks(mut client: TcpStream, server: SocketAddr, asked: &Asked) -> std::io::Result<()> {
    let mut offer = vec![0; usize::from(client.read_u16().await? & 0xff)];
    client.read_exact(&mut offer).await?;
    let mut words = String::new();
    if offer.contains(&2) {
        client.write_all(&[5, 2]).await?;
        client.read_u8().await?;
        for _ in 0..2 {
            words += &short_text(&mut client).await?;
            words.push(' ');
        }
        client.write_all(&[1, 0]).await?;
    } else {
        client.write_all(&[5, 0]).await?;
    }
    let mut head = [0; 4];
    client.read_exact(&mut head).await?;
    words += &match head[3] {
        1 => std::net::Ipv4Addr::from(client.read_u32().await?).to_string(),
        _ => short_text(&mut client).await?,
    };
    client.read_u16().await?;
    asked.lock().push(words);
    client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
    let mut server = TcpStream::connect(server).await?;
    tokio::io::copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}

async fn short_text(client: &mut TcpStream) -> std::io::Result<String> {
    let mut text = vec![0; usize::from(client.read_u8().await?)];
    client.read_exact(&mut text).await?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

async fn list(config: &Config) -> Client {
    let client = Client::connect(config).unwrap();
    pods(&client).list(&ListOptions::default()).await.unwrap();
    client
}

/// A server that only the proxy finds.
async fn hidden() -> (TestServer, Config) {
    let server = TestServer::start("api.internal", H2).await;
    let config = Config::new("https://api.internal:6443").unwrap();
    let config = config.ca_pem(server.ca_pem.clone());
    (server, config)
}

#[tokio::test]
async fn an_http_proxy_is_asked_for_a_tunnel() {
    let (server, config) = hidden().await;
    let proxy = TestProxy::start(Kind::Connect, &server).await;
    let url = format!("http://user:hunter2@{}", proxy.address);
    let config = config.proxy(&url).unwrap();
    let client = list(&config).await;
    let _watch = open_watch(&client).await;
    let wanted =
        "CONNECT api.internal:6443 HTTP/1.1\nproxy-authorization: Basic dXNlcjpodW50ZXIy\n";
    let asked: Vec<_> = proxy
        .asked()
        .iter()
        .map(|words| words.replace("Proxy-A", "proxy-a"))
        .collect();
    assert_eq!(
        asked,
        [wanted, wanted],
        "a tunnel for lists, one for watches"
    );
    let requests = server.seen.requests.lock().clone();
    assert!(
        requests
            .iter()
            .all(|(version, _)| *version == http::Version::HTTP_2)
    );
    assert!(!format!("{config:?} {client:?}").contains("hunter2"));
}

#[tokio::test]
async fn a_proxy_may_be_spoken_to_in_tls() {
    let (server, config) = hidden().await;
    let proxy = TestProxy::start(Kind::Encrypted, &server).await;
    let url = format!("https://{}", proxy.address);
    list(&config.clone().proxy(&url).unwrap()).await;
    assert_eq!(proxy.asked(), ["CONNECT api.internal:6443 HTTP/1.1\n"]);
    let stranger = TestServer::start("127.0.0.1", H2).await;
    let config = config.ca_pem(stranger.ca_pem.clone());
    let (kind, text) = transport_error(&config.proxy(&url).unwrap()).await;
    assert_eq!(kind, TransportErrorKind::Proxy, "{text}");
}

#[tokio::test]
async fn the_proxy_of_a_kubeconfig() {
    let (server, _) = hidden().await;
    let proxy = TestProxy::start(Kind::Connect, &server).await;
    let text = format!(
        "current-context: c\n\
         clusters: [{{name: k, cluster: {{server: 'https://api.internal', \
         insecure-skip-tls-verify: true, proxy-url: 'http://{}'}}}}]\n\
         contexts: [{{name: c, context: {{cluster: k}}}}]\n",
        proxy.address
    );
    list(&Config::from_kubeconfig_text(&text, None).unwrap()).await;
    assert_eq!(proxy.asked(), ["CONNECT api.internal:443 HTTP/1.1\n"]);
}

#[tokio::test]
async fn a_socks_proxy_resolves_the_name() {
    let (server, config) = hidden().await;
    let proxy = TestProxy::start(Kind::Socks, &server).await;
    list(
        &config
            .clone()
            .proxy(&format!("socks5://{}", proxy.address))
            .unwrap(),
    )
    .await;
    let url = format!("socks5h://user:pass@{}", proxy.address);
    list(&config.proxy(&url).unwrap()).await;
    assert_eq!(proxy.asked(), ["api.internal", "user pass api.internal"]);
}

#[tokio::test]
async fn another_name_than_the_hosts_goes_through_a_socks_proxy_only() {
    let (server, _) = hidden().await;
    let proxy = TestProxy::start(Kind::Socks, &server).await;
    let config = trusting(&server).server_name("api.internal");
    list(
        &config
            .clone()
            .proxy(&format!("socks5://{}", proxy.address))
            .unwrap(),
    )
    .await;
    assert_eq!(proxy.asked(), ["127.0.0.1"]);
    assert_eq!(*server.seen.server_names.lock(), ["api.internal"]);

    let error = Client::connect(&config.proxy("http://127.0.0.1:1").unwrap()).unwrap_err();
    let ConnectError::Config(ConfigError::NotSupported { what, .. }) = error else {
        panic!("{error}")
    };
    assert_eq!(what, "tls-server-name through an HTTP proxy");
}

#[tokio::test]
async fn a_proxy_that_lets_nobody_through_is_named() {
    let (server, config) = hidden().await;
    let proxy = TestProxy::start(Kind::Refusing, &server).await;
    let url = format!("http://user:hunter2@{}", proxy.address);
    let (kind, text) = transport_error(&config.clone().proxy(&url).unwrap()).await;
    assert_eq!(kind, TransportErrorKind::Proxy, "{text}");
    let wanted = format!(
        "list pods: cannot connect to api.internal:6443 through http://{}: \
         tunnel error: proxy authorization required",
        proxy.address
    );
    assert_eq!(text, wanted);

    for scheme in ["http", "socks5"] {
        let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = gone.local_addr().unwrap();
        drop(gone);
        let config = config
            .clone()
            .proxy(&format!("{scheme}://{address}"))
            .unwrap();
        let (kind, text) = transport_error(&config).await;
        assert_eq!(kind, TransportErrorKind::Proxy, "{text}");
        assert!(
            text.contains(&format!("through {scheme}://{address}")),
            "{text}"
        );
    }
}
