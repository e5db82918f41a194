//! `evenkeel controller-manager`.

use std::time::Duration;

use evenkeel::ManagerError;
use evenkeel_controllers::{Options, Selection};
use tokio_util::sync::CancellationToken;

use crate::args::ControllerManagerArgs;
use crate::connection::{config, connect, first_look};
use crate::error::Failure;
use crate::replica::{Replica, Settings};
use crate::serving;

/// How long running reconciles may take to finish. A kubelet kills after 30 s, and the events
/// and the Lease come after the reconciles.
const GRACE: Duration = Duration::from_secs(20);

pub(crate) async fn run(
    args: ControllerManagerArgs,
    stop: CancellationToken,
) -> Result<(), Failure> {
    let controllers = controllers(&args)?;
    let election = args.election().map_err(Failure::usage)?;
    let config = config(&args.connection)?;
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        server = %config.server(),
        controllers = args.controllers.join(","),
        leader_election = election.is_some(),
        "Starting controller manager"
    );
    let mut client = connect(&config, "controller-manager")?;
    if let Some((qps, burst)) = args.rate_limit() {
        client = client.with_rate_limit(qps, burst);
    }
    let lease_client = connect(&config, "controller-manager/leader-election")?;
    let mut replica = Replica::build(Settings {
        client,
        lease_client: lease_client.clone(),
        election,
        controllers,
        grace: GRACE,
    })?;
    serving::bind(&args.serving, replica.manager_mut()).await?;
    tokio::select! {
        looked = first_look(&lease_client) => looked?,
        () = stop.cancelled() => return Ok(()),
    }
    replica.run(stop).await.map_err(ended)?;
    tracing::info!("Stopped");
    Ok(())
}

fn controllers(args: &ControllerManagerArgs) -> Result<Options, Failure> {
    let workers = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
    let mut options = Options::default();
    options.controllers = Selection::parse(args.controllers.iter().map(String::as_str))
        .map_err(|error| Failure::usage(format!("--controllers: {error}")))?;
    options.deployment_workers = workers(args.concurrent_deployment_syncs);
    options.replicaset_workers = workers(args.concurrent_replicaset_syncs);
    options.namespace_workers = workers(args.concurrent_namespace_syncs);
    options.gc_workers = workers(args.concurrent_gc_syncs);
    Ok(options)
}

fn ended(error: ManagerError) -> Failure {
    anyhow::Error::new(error).into()
}
