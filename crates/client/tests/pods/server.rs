//! Servers on a loopback port, each for one test.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustls::ServerConfig;
use rustls_pki_types::PrivateKeyDer;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};

pub(crate) type Peer = WebSocketStream<Box<dyn Wire>>;

pub(crate) trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// What the client asked for.
#[derive(Clone, Default)]
pub(crate) struct Asked {
    pub(crate) target: String,
    pub(crate) protocols: String,
}

/// Takes one WebSocket and plays one script on it.
pub(crate) struct WebSockets {
    url: String,
    asked: watch::Receiver<Asked>,
    script: tokio::sync::Mutex<Option<tokio::task::JoinHandle<()>>>,
}

impl WebSockets {
    /// Chooses `protocol` whatever is offered, or none if it is empty.
    pub(crate) async fn start<F>(
        protocol: &'static str,
        script: impl FnOnce(Peer) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (tell, asked) = watch::channel(Asked::default());
        let script = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let peer = accept(Box::new(stream), protocol, &tell).await;
            script(peer).await;
        });
        Self {
            url,
            asked,
            script: tokio::sync::Mutex::new(Some(script)),
        }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn request(&self) -> Asked {
        self.asked.borrow().clone()
    }

    /// Waits for the script's end, and fails if it failed.
    pub(crate) async fn finished(&self) {
        let script = self.script.lock().await.take();
        script.unwrap().await.unwrap();
    }
}

/// Answers every request in the same way, or, with the code 0, by hanging up. Also tells how
/// many there were.
pub(crate) async fn plain_http(code: u16, body: &'static str) -> (String, impl Fn() -> usize) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            counted.fetch_add(1, Ordering::Relaxed);
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            if code == 0 {
                continue;
            }
            let answer = format!(
                "HTTP/1.1 {code} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    (url, move || count.load(Ordering::Relaxed))
}

/// Does the server's part of the handshake.
async fn accept(wire: Box<dyn Wire>, protocol: &str, tell: &watch::Sender<Asked>) -> Peer {
    #[expect(clippy::result_large_err, reason = "tungstenite's signature")]
    let answer = |request: &Request, mut response: Response| -> Result<Response, ErrorResponse> {
        let protocols = request.headers().get("sec-websocket-protocol");
        tell.send_replace(Asked {
            target: request.uri().to_string(),
            protocols: protocols.unwrap().to_str().unwrap().to_owned(),
        });
        if !protocol.is_empty() {
            let chosen = protocol.parse().unwrap();
            response
                .headers_mut()
                .insert("sec-websocket-protocol", chosen);
        }
        Ok(response)
    };
    let peer = tokio_tungstenite::accept_hdr_async(wire, answer).await;
    peer.unwrap()
}

/// The same over TLS, on a port that offers HTTP/2 too.
pub(crate) struct TlsWebSocket {
    url: String,
    ca_pem: String,
    spoken: tokio::sync::Mutex<JoinHandle<Vec<u8>>>,
}

impl TlsWebSocket {
    pub(crate) async fn start<F>(
        protocol: &'static str,
        script: impl FnOnce(Peer) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send,
    {
        let key = rcgen::KeyPair::generate().unwrap();
        let params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let ca_pem = certificate.pem();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut tls = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(tls));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!(
            "https://localhost:{}",
            listener.local_addr().unwrap().port()
        );
        let spoken = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let stream = acceptor.accept(stream).await.unwrap();
            let spoken = stream.get_ref().1.alpn_protocol().unwrap().to_vec();
            let (tell, _) = watch::channel(Asked::default());
            script(accept(Box::new(stream), protocol, &tell).await).await;
            spoken
        });
        Self {
            url,
            ca_pem,
            spoken: tokio::sync::Mutex::new(spoken),
        }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn ca_pem(&self) -> String {
        self.ca_pem.clone()
    }

    /// The protocol that was negotiated, when the script is over.
    pub(crate) async fn spoken(&self) -> Vec<u8> {
        (&mut *self.spoken.lock().await).await.unwrap()
    }
}
