//! What the fake server can be told to get wrong.

use std::time::Duration;

use evenkeel_client::{TransportError, TransportErrorKind};
use serde_json::Value;
use tokio::time::Instant;

use super::{FakeServer, Outbox, Replica, Which};

/// How long it takes a client's pings to find a connection dead.
const PING_TIME: Duration = Duration::from_secs(45);

impl FakeServer {
    /// Sends an event as it is on every stream.
    pub(crate) fn send_frame(&self, kind: &str, object: &Value) {
        for stream in &self.0.lock().streams {
            stream.push(kind, object);
        }
    }

    /// An object goes without an event.
    pub(crate) fn cut_off(&self, name: &str) {
        let mut state = self.0.lock();
        state.version += 1;
        state.objects.remove(name);
    }

    /// Forgets the history up to this version.
    pub(crate) fn compact_to(&self, version: u64) {
        let mut state = self.0.lock();
        state.compacted = version;
        state.log.retain(|(at, ..)| *at > version);
    }

    /// A deletion of the object begins; a finalizer holds it.
    pub(crate) fn terminate(&self, name: &str) {
        let mut state = self.0.lock();
        state.version += 1;
        let version = state.version.to_string();
        if let Some(object) = state.objects.get_mut(name) {
            object["metadata"]["resourceVersion"] = version.into();
            object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
            let object = object.clone();
            state.send("MODIFIED", object);
        }
    }

    /// Nothing that happens from now on gets through the streams that are open. They die when pings
    /// find it out.
    pub(crate) fn half_open(&self) {
        for stream in self.0.lock().streams.drain(..) {
            *stream.dies_at.lock() = Some(Instant::now() + PING_TIME);
            stream.wake.notify_one();
        }
    }

    /// Keeps the present state, for a replica that is behind.
    pub(crate) fn remember(&self) {
        let mut state = self.0.lock();
        state.replica = Some(Replica {
            version: state.version,
            objects: state.objects.clone(),
        });
    }

    /// The next requests that a replica may answer are answered from the state that was remembered.
    pub(crate) fn lag(&self, requests: usize) {
        self.0.lock().lagging = requests;
    }

    /// The head of the next answer that fits comes later.
    pub(crate) fn delay_next(&self, to: Which, by: Duration) {
        self.0.lock().delays.push_back((to, by));
    }
}

impl Outbox {
    /// What a reader of a dead connection gets, once that is found out.
    pub(super) async fn death(&self) -> TransportError {
        let dies_at = *self.dies_at.lock();
        match dies_at {
            Some(at) => tokio::time::sleep_until(at).await,
            None => std::future::pending().await,
        }
        TransportError::with_detail(TransportErrorKind::Closed, "no answer to a ping")
    }
}
