//! When each object of a resource went, as a watch tells it.

use std::collections::HashMap;
use std::sync::Arc;

use evenkeel_client::{Client, ListOptions, WatchEvent, WatchOptions};
use evenkeel_meta::{ApiResource, MetaView};
use futures_util::StreamExt;
use parking_lot::Mutex;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Follows one namespace until it is dropped.
pub(crate) struct Deletions {
    gone: Arc<Mutex<HashMap<String, Instant>>>,
    // Ends with the handle.
    _task: JoinSet<()>,
}

impl Deletions {
    pub(crate) async fn follow(
        client: &Client,
        resource: &ApiResource,
        namespace: &str,
    ) -> anyhow::Result<Self> {
        let api = client.metadata(resource.clone(), Some(namespace));
        let listed = api.list(&ListOptions::default()).await?;
        let mut stream = api
            .watch(&WatchOptions::from(listed.resource_version))
            .await?;
        let gone = Arc::new(Mutex::new(HashMap::new()));
        let record = Arc::clone(&gone);
        let mut task = JoinSet::new();
        task.spawn(async move {
            while let Some(Ok(event)) = stream.next().await {
                if let WatchEvent::Deleted(object) = event {
                    record
                        .lock()
                        .insert(object.metadata.name().to_owned(), Instant::now());
                }
            }
        });
        Ok(Self { gone, _task: task })
    }

    pub(crate) fn count(&self) -> usize {
        self.gone.lock().len()
    }

    pub(crate) fn of(&self, name: &str) -> Option<Instant> {
        self.gone.lock().get(name).copied()
    }
}
