use std::fmt;
use std::sync::Arc;

use evenkeel_client::Client;
use evenkeel_meta::Resource;
use evenkeel_store::{Informer, InformerOptions, Informers};
use serde::de::DeserializeOwned;

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
}

impl Cluster {
    pub(super) fn new(name: Arc<str>, client: Client, informers: Informers) -> Self {
        Self {
            name,
            client,
            informers,
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
