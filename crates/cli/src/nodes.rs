//! `evenkeel nodes`, and the nodes of `up`.

use std::time::Duration;

use anyhow::anyhow;
use evenkeel::Term;
use evenkeel_client::Client;
use evenkeel_store::Informers;
use evenkeel_testkit::Nodes;
use tokio_util::sync::CancellationToken;

use crate::args::NodesArgs;
use crate::connection::{config, connect, first_look};
use crate::duration;
use crate::error::Failure;

pub(crate) async fn run(args: &NodesArgs, stop: CancellationToken) -> Result<(), Failure> {
    let client = connect(&config(&args.connection)?, "nodes")?;
    tokio::select! {
        looked = first_look(&client) => looked?,
        () = stop.cancelled() => return Ok(()),
    }
    tracing::info!(
        nodes = args.count,
        pod_start_delay = duration::display(args.pod_start_delay),
        "Starting simulated nodes: pods get bound, started and stopped, nothing is executed"
    );
    simulate(client, args.count, args.pod_start_delay, stop).await?;
    tracing::info!("Stopped");
    Ok(())
}

/// Simulates nodes until `stop`. What runs here has ended when it returns.
pub(crate) async fn simulate(
    client: Client,
    count: u32,
    pod_start_delay: Duration,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let informers = Informers::new(client.clone());
    let nodes = Nodes::new(&informers)
        .count(usize::try_from(count).unwrap_or(usize::MAX))
        .start_delay(pod_start_delay);
    informers.start();
    let term = Term::new(client, stop).grace(Duration::from_secs(1));
    let ended = nodes.run(term).await;
    informers.shutdown().await;
    ended.map_err(|error| anyhow!("simulated nodes: {error}"))
}
