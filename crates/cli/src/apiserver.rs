//! `evenkeel apiserver`, and the listener that `up` has too.

use std::net::Ipv4Addr;

use evenkeel_apiserver::{Listener, Server};
use tokio_util::sync::CancellationToken;

use crate::args::ApiserverArgs;
use crate::error::Failure;
use crate::kubeconfig;
use crate::output::Output;

pub(crate) async fn run(
    args: &ApiserverArgs,
    output: &Output,
    stop: CancellationToken,
) -> Result<(), Failure> {
    let server = Server::new();
    let listener = listen(&server, args.listening.port, args.insecure_http).await?;
    let kubeconfig = kubeconfig::write(&args.listening.kubeconfig_out, &listener)?;
    output.line(&format!(
        "API server on {}, in memory: what is in it ends with it",
        listener.url()
    ));
    output.line(&kubeconfig::export_line(&kubeconfig));
    let how = if args.insecure_http {
        "insecurely"
    } else {
        "securely"
    };
    tracing::info!("Serving {how} on {}", listener.address());
    stop.cancelled().await;
    listener.shutdown().await;
    tracing::info!("Stopped");
    Ok(())
}

/// Listens on loopback.
pub(crate) async fn listen(
    server: &Server,
    port: u16,
    insecure: bool,
) -> Result<Listener, Failure> {
    let address = (Ipv4Addr::LOCALHOST, port);
    let listening = if insecure {
        server.listen_insecurely(address).await
    } else {
        server.listen(address).await
    };
    listening.map_err(|error| Failure::failed(format!("--port {port}: {error}")))
}
