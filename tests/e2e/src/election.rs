//! Who leads, and how long a change takes.

use std::time::Duration;

use anyhow::{Context, bail};
use evenkeel_client::{WatchEvent, WatchOptions};
use futures_util::StreamExt;
use tokio::time::Instant;

use crate::env::{Env, Manager};
use crate::manifest::LEASES;
use crate::observe::field;
use crate::poll;
use crate::process::Signal;

const LEASE: &str = "kube-controller-manager";

/// Waits until one of the managers leads, and says which.
///
/// # Errors
/// None does in time.
pub async fn leader(managers: &[Manager], within: Duration) -> anyhow::Result<usize> {
    poll::until(within, "one of the managers leads", async || {
        for (index, manager) in managers.iter().enumerate() {
            if manager.leads().await {
                return Ok(Some(index));
            }
        }
        Ok(None)
    })
    .await
}

impl Env {
    /// Tells the leader to stop, and returns how long it took from there until
    /// another candidate held the Lease.
    ///
    /// # Errors
    /// Nobody takes it in time, or the watch on the Lease breaks.
    pub async fn handover(
        &self,
        stopped: &mut Manager,
        within: Duration,
    ) -> anyhow::Result<Duration> {
        let leases = self.client().dynamic(LEASES, Some("kube-system"));
        let before = leases.get(LEASE).await?;
        let holder = field(&before, "/spec/holderIdentity").clone();
        let version = before.metadata.resource_version.context("no version")?;
        let mut changes = leases.watch(&WatchOptions::from(version)).await?;

        stopped.process.signal(Signal::Terminate)?;
        let since = Instant::now();
        let taken = async {
            while let Some(event) = changes.next().await {
                let WatchEvent::Modified(lease) = event? else {
                    continue;
                };
                let now = field(&lease, "/spec/holderIdentity");
                let is_held = now.as_str().is_some_and(|name| !name.is_empty());
                if lease.metadata.name == LEASE && is_held && now != &holder {
                    return Ok(since.elapsed());
                }
            }
            bail!("the watch on the Lease ended")
        };
        tokio::time::timeout(within, taken)
            .await
            .context("nobody took the Lease")?
    }
}
