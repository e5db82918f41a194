//! TLS and HTTP.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls_pki_types::PrivateKeyDer;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::answer::{Served, answer};

/// Takes a port, and writes its certificate to `ca`.
pub(crate) async fn listen(ca: Option<&Path>) -> anyhow::Result<(TcpListener, TlsAcceptor)> {
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names)?;
    if let Some(ca) = ca {
        std::fs::write(ca, cert.pem())?;
    }
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).map_err(anyhow::Error::msg)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    Ok((listener, TlsAcceptor::from(Arc::new(config))))
}

/// Serves until the process ends.
pub(crate) async fn run(listener: TcpListener, tls: TlsAcceptor, served: Served) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (tls, served) = (tls.clone(), served.clone());
        connections.spawn(async move {
            // As kube-apiserver does.
            let _ = stream.set_nodelay(true);
            let Ok(stream) = tls.accept(stream).await else {
                return;
            };
            let service = hyper::service::service_fn(move |request| {
                let answer = answer(&served, &request);
                async move { Ok::<_, Infallible>(answer) }
            });
            let mut server = auto::Builder::new(TokioExecutor::new());
            server.http2().max_concurrent_streams(250);
            let _ = server.serve_connection(TokioIo::new(stream), service).await;
        });
        while connections.try_join_next().is_some() {}
    }
}
