//! `LeaseCandidate`: makes a process known to a control plane that assigns Leases.

mod keeper;
mod wire;

use evenkeel_client::{Api, Client, Error, WatchEvent, WatchOptions, WatchStream, WriteOptions};
use evenkeel_meta::{DynamicObject, MicroTime, Timestamp};
use evenkeel_pace::{Moment, Rng};
use futures_util::StreamExt;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use self::keeper::{Errand, Keeper};
use self::wire::CANDIDATES;
use crate::Timing;

/// Makes this process known as a candidate for a Lease whose lead the control plane assigns
/// (client-go C1).
///
/// Keeps one `LeaseCandidate` object: creates it, answers the control plane's pings at once,
/// and renews it every five minutes. Goes with [`ElectorBuilder::coordinated`]; the object's
/// name should be the elector's identity. The cluster must have the API
/// `coordination.k8s.io/v1beta1` and its coordinated election turned on.
///
/// The verbs that it needs on `leasecandidates`: `get`, `create`, `update`, `watch`.
///
/// [`ElectorBuilder::coordinated`]: crate::ElectorBuilder::coordinated
#[derive(Clone, Debug)]
pub struct LeaseCandidate {
    client: Client,
    namespace: String,
    name: String,
    spec: CandidateSpec,
    rng: Rng,
}

/// What the control plane chooses by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CandidateSpec {
    /// The Lease, in the same namespace.
    pub lease: String,
    /// Version of this program, such as `1.37.2`.
    pub binary_version: String,
    /// The version that it behaves like; not above the binary's.
    pub emulation_version: String,
    /// How to choose, such as `OldestEmulationVersion`.
    pub strategy: String,
}

impl LeaseCandidate {
    /// A candidate that is not known yet.
    #[must_use]
    pub fn new(
        client: Client,
        namespace: impl Into<String>,
        name: impl Into<String>,
        spec: CandidateSpec,
    ) -> Self {
        Self {
            client,
            namespace: namespace.into(),
            name: name.into(),
            spec,
            rng: Rng::from_entropy(),
        }
    }

    /// Keeps the object until `stop`. It is left behind then; the control plane removes it when
    /// it has not been renewed for long.
    ///
    /// Failures are logged and tried again, for as long as it takes.
    ///
    /// # Cancel safety
    /// Dropping the future stops the renewals; nothing else is lost.
    ///
    /// # Panics
    /// Outside a tokio runtime with time enabled.
    pub async fn run(&self, stop: &CancellationToken) {
        let api = self.client.dynamic(CANDIDATES, Some(&self.namespace));
        let mut driver = Driver {
            candidate: self,
            keeper: Keeper::new(self.rng.clone()),
            watch: None,
            api: api.with_client(self.client.with_timeouts(
                evenkeel_client::Timeouts::default().total(Timing::default().request_timeout()),
            )),
            watch_api: api,
            origin: Instant::now(),
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = driver.run() => {}
        }
    }
}

struct Driver<'a> {
    candidate: &'a LeaseCandidate,
    keeper: Keeper,
    watch: Option<WatchStream<DynamicObject>>,
    api: Api<DynamicObject>,
    watch_api: Api<DynamicObject>,
    origin: Instant,
}

impl Driver<'_> {
    async fn run(&mut self) {
        loop {
            let now = Moment::from(self.origin.elapsed());
            match self.keeper.next(now) {
                Errand::Renew => self.renew().await,
                Errand::Watch => self.open_watch().await,
                Errand::Wait(until) => self.wait(until).await,
            }
        }
    }

    async fn renew(&mut self) {
        let result = self.write().await;
        let now = Moment::from(self.origin.elapsed());
        match result {
            Ok(()) => self.keeper.renewed(now),
            Err(error) => {
                let (namespace, name) = (&self.candidate.namespace, &self.candidate.name);
                tracing::warn!(namespace, name, %error, "lease candidate not renewed");
                self.keeper.renewal_failed(now);
            }
        }
    }

    async fn write(&mut self) -> Result<(), Error> {
        let LeaseCandidate {
            name,
            namespace,
            spec,
            ..
        } = self.candidate;
        let renewed = MicroTime(Timestamp::now());
        let options = WriteOptions::default();
        match self.api.get(name).await {
            Ok(mut object) => {
                wire::renew(&mut object, renewed);
                self.api.update(&object, &options).await?;
            }
            Err(error) if error.is_not_found() => {
                let object = wire::object(namespace, name, spec, renewed);
                self.api.create(&object, &options).await?;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    async fn open_watch(&mut self) {
        let selector = format!("metadata.name={}", self.candidate.name);
        let options = WatchOptions::default().fields(&selector);
        match self.watch_api.watch(&options).await {
            Ok(stream) => {
                self.watch = Some(stream);
                self.keeper.watching();
            }
            Err(error) => {
                tracing::debug!(%error, "cannot watch the lease candidate");
                self.keeper.watch_ended(Moment::from(self.origin.elapsed()));
            }
        }
    }

    async fn wait(&mut self, until: Moment) {
        let until = self.origin + until.since_origin();
        tokio::select! {
            () = sleep_until(until) => {}
            event = next(&mut self.watch) => match event {
                Some(WatchEvent::Added(object) | WatchEvent::Modified(object)) => {
                    if object.metadata.name == self.candidate.name && wire::is_pinged(&object) {
                        self.keeper.pinged();
                    }
                }
                Some(_) => {}
                None => {
                    self.watch = None;
                    self.keeper.watch_ended(Moment::from(self.origin.elapsed()));
                }
            },
        }
    }
}

/// The watch's next event; never, if there is no watch.
async fn next(watch: &mut Option<WatchStream<DynamicObject>>) -> Option<WatchEvent<DynamicObject>> {
    match watch {
        Some(stream) => stream.next().await?.ok(),
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
