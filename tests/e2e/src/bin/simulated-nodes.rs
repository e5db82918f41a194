//! Simulated nodes in a process of their own: `simulated-nodes KUBECONFIG COUNT
//! START_DELAY_MS`, until SIGTERM or SIGINT.
//!
//! They have the whole server to themselves as a client would, so that their
//! work is in no controller manager's figures.

use std::time::Duration;

use anyhow::{Context, anyhow};
use evenkeel::Term;
use evenkeel_client::{Client, Config};
use evenkeel_store::Informers;
use evenkeel_testkit::Nodes;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kubeconfig, count, delay] = arguments.as_slice() else {
        return Err(anyhow!(
            "usage: simulated-nodes KUBECONFIG COUNT START_DELAY_MS"
        ));
    };
    let config = Config::from_kubeconfig(kubeconfig, None)?;
    let client = Client::connect(&config)?.with_user_agent("simulated-nodes");
    let informers = Informers::new(client.clone());
    let nodes = Nodes::new(&informers)
        .count(count.parse().context("COUNT")?)
        .start_delay(Duration::from_millis(
            delay.parse().context("START_DELAY_MS")?,
        ));
    informers.start();

    let stop = CancellationToken::new();
    let mut terminate = signal(SignalKind::terminate())?;
    let running = nodes.run(Term {
        client,
        stop: stop.clone(),
        grace: Duration::ZERO,
    });
    tokio::pin!(running);
    let outcome = tokio::select! {
        outcome = &mut running => outcome,
        _ = terminate.recv() => {
            stop.cancel();
            running.await
        }
    };
    informers.shutdown().await;
    outcome.map_err(|error| anyhow!(error))
}
