//! The operator, on the current kubeconfig's cluster or the one that it runs in.

use std::net::SocketAddr;

use clap::Parser;
use evenkeel::args::{ElectionArgs, LogFormat, LoggingArgs};
use evenkeel::client::{Client, Config};
use evenkeel::{BoxError, Clock, Manager, ManagerOptions};
use kube_core::CustomResourceExt;
use tenant_operator::{Tenant, install};
use tracing_subscriber::EnvFilter;

/// Makes what tenants are to have: namespaces, and what belongs into them.
#[derive(Parser)]
struct Args {
    /// Where probes and metrics are.
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8081")]
    health_probe_bind_address: SocketAddr,
    #[command(flatten)]
    election: ElectionArgs,
    #[command(flatten)]
    logging: LoggingArgs,
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let args = Args::parse();
    let directives = args
        .logging
        .directives(LoggingArgs::INFO, &["tenant_operator"]);
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| directives.into());
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    match args.logging.log_format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().init(),
    }

    let config = Config::infer()?;
    let home = config.default_namespace();
    let client = Client::connect(&config)?.with_field_manager("tenant-operator");
    evenkeel::define(&client, [Tenant::crd()]).await?;

    let mut options = ManagerOptions::default();
    options.election = args.election.election(home, "tenant-operator")?;
    let mut manager = Manager::builder(client).options(options).build()?;
    install(&mut manager, Clock::system())?;
    manager.serve_probes(args.health_probe_bind_address).await?;
    manager.run_until_signal().await?;
    Ok(())
}
