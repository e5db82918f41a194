//! The endpoints for health checks, metrics and pages for debugging.

use std::net::SocketAddr;
use std::sync::Arc;

use evenkeel::{Endpoint, Manager, Tls, TlsError, TlsFiles, TlsIdentity};

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
        let tls = tls(args, manager)
            .map_err(|error| Failure::failed(format!("--tls-cert-file: {error}")))?;
        bind_one(address, "--secure-port", Some(tls), manager).await?;
        tracing::info!("Serving securely on {address}");
    }
    Ok(())
}

async fn bind_one(
    address: SocketAddr,
    flag: &str,
    tls: Option<Tls>,
    manager: &mut Manager,
) -> Result<(), Failure> {
    let endpoint = Endpoint::bind(address, tls)
        .await
        .map_err(|error| Failure::failed(format!("{flag}: {error}")))?
        .with_probes(manager.probes().clone())
        .with_metrics(manager.registry().clone())
        .with_debug_pages(manager.debug_pages().clone());
    manager.serve(endpoint);
    Ok(())
}

fn tls(args: &ServingArgs, manager: &Manager) -> Result<Tls, TlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    match (&args.tls_cert_file, &args.tls_private_key_file) {
        (Some(certificate), Some(key)) => {
            let files = TlsFiles {
                certificate: certificate.clone(),
                key: key.clone(),
                client_ca: None,
            };
            Tls::from_files_with(files, provider, &manager.registry().metrics())
        }
        _ => {
            let names = ["localhost", "127.0.0.1"];
            Tls::fixed(&TlsIdentity::self_signed(&names, provider)?)
        }
    }
}
