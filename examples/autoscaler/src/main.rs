//! The operator, on the current kubeconfig's cluster or the one that it runs in.

use std::net::SocketAddr;

use autoscaler::{Autoscaler, HttpSource, install};
use clap::Parser;
use evenkeel::args::{ElectionArgs, LogFormat, LoggingArgs};
use evenkeel::client::{Client, Config};
use evenkeel::{BoxError, Clock, Manager, ManagerOptions};
use kube_core::CustomResourceExt;
use tokio::net::UdpSocket;
use tracing_subscriber::EnvFilter;

/// Scales Deployments by numbers from elsewhere.
#[derive(Parser)]
struct Args {
    /// An HTTP server that answers `GET /METRIC` with a number.
    #[arg(long, value_name = "URL")]
    source: String,
    /// Where datagrams of lines, `METRIC NUMBER`, are taken.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8125")]
    push_bind_address: SocketAddr,
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
    let directives = args.logging.directives(LoggingArgs::INFO, &["autoscaler"]);
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
    let client = Client::connect(&config)?.with_field_manager("autoscaler");
    evenkeel::define(&client, [Autoscaler::crd()]).await?;

    let mut options = ManagerOptions::default();
    options.election = args.election.election(home, "autoscaler")?;
    let mut manager = Manager::builder(client).options(options).build()?;
    let source = HttpSource::new(Client::connect(&Config::new(&args.source)?)?);
    let push = install(&mut manager, source, Clock::system())?;
    // Bound by who leads alone: what came in on a standby would be old when it is read.
    manager.run_leading("push", move |term| {
        let push = push.clone();
        async move {
            let socket = UdpSocket::bind(args.push_bind_address).await?;
            Ok(push.listen(&socket, term.stop).await?)
        }
    });
    manager.serve_probes(args.health_probe_bind_address).await?;
    manager.run_until_signal().await?;
    Ok(())
}
