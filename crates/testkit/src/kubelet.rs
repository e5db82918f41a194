//! What happens to one pod: bind, start, stop.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use evenkeel::{Clock, Context, Outcome, ReconcileError, Reconciler};
use evenkeel_client::{Error, Patch, WriteOptions};
use evenkeel_meta::{DeleteOptions, MetaView, Object, ObjectKey};
use evenkeel_store::Store;
use serde::Deserialize;
use serde_json::json;

use crate::pod::Pod;

pub(crate) struct Kubelet {
    pods: Store<Pod>,
    nodes: Vec<String>,
    start_delay: Duration,
    clock: Clock,
    /// Counts bound pods, which spreads them evenly.
    bound: AtomicU32,
    /// Counts started pods, for their addresses.
    started: AtomicU32,
}

impl Kubelet {
    pub(crate) fn new(
        pods: Store<Pod>,
        nodes: Vec<String>,
        start_delay: Duration,
        clock: Clock,
    ) -> Self {
        Self {
            pods,
            nodes,
            start_delay,
            clock,
            bound: AtomicU32::new(0),
            started: AtomicU32::new(0),
        }
    }
}

impl Reconciler for Kubelet {
    async fn reconcile(
        &self,
        context: &Context<ObjectKey>,
        key: &ObjectKey,
    ) -> Result<Outcome, ReconcileError> {
        let Some(pod) = self.pods.get(key) else {
            return Ok(Outcome::Done);
        };
        let mine = |node: &str| self.nodes.iter().any(|name| name == node);
        match pod.node() {
            Some(node) if !mine(node) => Ok(Outcome::Done),
            Some(_) if pod.metadata().is_terminating() => {
                gone(self.stop(context, &pod).await)?;
                Ok(Outcome::Done)
            }
            Some(_) if pod.is_pending() => self.start_when_due(context, &pod).await,
            Some(_) => Ok(Outcome::Done),
            None if pod.metadata().is_terminating() => Ok(Outcome::Done),
            None => {
                gone(self.bind(context, &pod).await)?;
                self.start_when_due(context, &pod).await
            }
        }
    }
}

impl Kubelet {
    async fn bind(&self, context: &Context<ObjectKey>, pod: &Pod) -> Result<(), Error> {
        /// The server's answer says nothing that is needed.
        #[derive(Deserialize)]
        struct Bound {}
        let meta = pod.metadata();
        let turn = self.bound.fetch_add(1, Ordering::Relaxed) as usize;
        let binding = json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": meta.name(), "namespace": meta.namespace(), "uid": meta.uid()},
            "target": {"apiVersion": "v1", "kind": "Node", "name": self.nodes[turn % self.nodes.len()]},
        });
        let api = context
            .client()
            .namespaced::<Pod>(meta.namespace().unwrap_or_default());
        let bound = api
            .subresource::<Bound>("binding")
            .create(meta.name(), &binding, &WriteOptions::default())
            .await;
        match bound {
            // Bound already, by an earlier attempt whose answer was lost.
            Err(error) if error.is_conflict() => Ok(()),
            other => other.map(drop),
        }
    }

    async fn start_when_due(
        &self,
        context: &Context<ObjectKey>,
        pod: &Pod,
    ) -> Result<Outcome, ReconcileError> {
        let created = pod.metadata().creation_timestamp();
        let age = created.map_or(self.start_delay, |at| self.clock.now().saturating_since(at));
        if age < self.start_delay {
            return Ok(Outcome::After(self.start_delay - age));
        }
        gone(self.start(context, pod).await)?;
        Ok(Outcome::Done)
    }

    /// Reports the pod as running and ready.
    async fn start(&self, context: &Context<ObjectKey>, pod: &Pod) -> Result<(), Error> {
        let meta = pod.metadata();
        let now = self.clock.now();
        let condition =
            |type_: &str| json!({"type": type_, "status": "True", "lastTransitionTime": now});
        let containers: Vec<_> = pod
            .spec
            .containers
            .iter()
            .map(|container| {
                json!({
                    "name": container.name, "image": container.image, "imageID": "simulated",
                    "containerID": "simulated://", "ready": true, "started": true, "restartCount": 0,
                    "state": {"running": {"startedAt": now}},
                })
            })
            .collect();
        let ip = address(self.started.fetch_add(1, Ordering::Relaxed));
        let patch = Patch::strategic(&json!({
            "metadata": {"uid": meta.uid()},
            "status": {
                "phase": "Running",
                "conditions": [condition("Initialized"), condition("Ready"), condition("ContainersReady")],
                "containerStatuses": containers,
                "startTime": now,
                "podIP": ip,
                "podIPs": [{"ip": ip}],
            },
        }));
        // Noted: an event from before this write must not start the pod a second time.
        context.patch_status::<Pod>(meta, &patch).await.map(drop)
    }

    /// The containers have stopped: the pod may go, well within its grace period.
    async fn stop(&self, context: &Context<ObjectKey>, pod: &Pod) -> Result<(), Error> {
        let options = DeleteOptions::default().with_grace_period(0);
        context.delete(pod, options).await.map(drop)
    }
}

/// A pod that was deleted meanwhile, or replaced by another of its name, needs nothing more.
fn gone(result: Result<(), Error>) -> Result<(), ReconcileError> {
    match result {
        Err(error) if !(error.is_not_found() || error.is_invalid()) => Err(error.into()),
        _ => Ok(()),
    }
}

/// An address of 10.128.0.0/9, a different one for each of the first eight million pods.
fn address(number: u32) -> String {
    let number = number.wrapping_add(1);
    format!(
        "10.{}.{}.{}",
        128 + (number >> 16) % 128,
        (number >> 8) & 0xff,
        number & 0xff
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_do_not_repeat_soon() {
        let many: std::collections::HashSet<_> = (0..100_000).map(address).collect();
        assert_eq!(many.len(), 100_000);
        assert!(
            many.iter()
                .all(|address| address.parse::<std::net::Ipv4Addr>().is_ok())
        );
    }
}
