//! The endpoints for health checks, metrics and pages for debugging.

use std::net::SocketAddr;
use std::sync::Arc;

use evenkeel::{Endpoint, Manager, TlsIdentity};

use crate::args::ServingArgs;
use crate::error::Failure;

/// Binds what the flags ask for and gives it to the manager, which serves it from its first
/// moment on, leading or not.
pub(crate) async fn bind(args: &ServingArgs, manager: &mut Manager) -> Result<(), Failure> {
    if args.http_port != 0 {
        let address = SocketAddr::new(args.bind_address, args.http_port);
        bind_one(address, "--http-port", None, manager).await?;
        tracing::info!("Serving insecurely on {address}");
    }
    if args.secure_port != 0 {
        let address = SocketAddr::new(args.bind_address, args.secure_port);
        let identity =
            identity(args).map_err(|error| Failure::failed(format!("--tls-cert-file: {error}")))?;
        bind_one(address, "--secure-port", Some(&identity), manager).await?;
        tracing::info!("Serving securely on {address}");
    }
    Ok(())
}

async fn bind_one(
    address: SocketAddr,
    flag: &str,
    identity: Option<&TlsIdentity>,
    manager: &mut Manager,
) -> Result<(), Failure> {
    let (probes, registry) = (manager.probes().clone(), manager.registry().clone());
    let pages = manager.debug_pages().clone();
    let endpoint = Endpoint::bind(address, identity, probes, registry)
        .await
        .map_err(|error| Failure::failed(format!("{flag}: {error}")))?;
    manager.serve(endpoint.with_debug_pages(pages));
    Ok(())
}

fn identity(args: &ServingArgs) -> Result<TlsIdentity, evenkeel::TlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    match (&args.tls_cert_file, &args.tls_private_key_file) {
        (Some(certificate), Some(key)) => TlsIdentity::from_pem_files(certificate, key, provider),
        _ => TlsIdentity::self_signed(&["localhost", "127.0.0.1"], provider),
    }
}
