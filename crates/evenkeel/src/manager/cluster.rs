use std::fmt;
use std::sync::Arc;

use evenkeel_client::Client;
use evenkeel_events::Recorder;
use evenkeel_meta::Resource;
use evenkeel_store::{Informer, InformerOptions, Informers};
use serde::de::DeserializeOwned;

use crate::recorders::Recorders;

/// One more cluster of a [`Manager`](super::Manager), beside its own. Cheap to clone.
///
/// Got from [`Manager::cluster`](super::Manager::cluster). A controller may watch collections of
/// several, and writes to one of them: the Manager's own, or the one that
/// [`writes_to`](crate::ControllerBuilder::writes_to) says.
#[derive(Clone)]
pub struct Cluster {
    name: Arc<str>,
    client: Client,
    informers: Informers,
    recorders: Recorders,
}

impl Cluster {
    pub(super) fn new(
        name: Arc<str>,
        client: Client,
        informers: Informers,
        recorders: Recorders,
    ) -> Self {
        Self {
            name,
            client,
            informers,
            recorders,
        }
    }

    /// What errors, metrics and readiness call it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its client. While the Manager elects a leader, its writes are refused outside a term of
    /// leadership.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Its informers, which start and stop with the Manager's.
    #[must_use]
    pub fn informers(&self) -> &Informers {
        &self.informers
    }

    /// A recorder that reports as `component`, as events in this cluster; see
    /// [`Manager::recorder`](super::Manager::recorder).
    ///
    /// # Panics
    ///
    /// The first time, outside a tokio runtime.
    #[must_use]
    pub fn recorder(&self, component: &str) -> Recorder {
        self.recorders.of(component)
    }

    pub(crate) fn recorders(&self) -> &Recorders {
        &self.recorders
    }

    /// An informer of every object of a kind in it.
    #[must_use]
    pub fn watch<K: Resource + DeserializeOwned + Send + Sync + 'static>(&self) -> Informer<K> {
        self.informers.typed(InformerOptions::default())
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
