//! Every state that the pods go through, event by event.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_client::{Client, WatchEvent, WatchOptions};
use evenkeel_meta::ResourceVersion;
use futures_util::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use parking_lot::Mutex;
use tokio::task::JoinHandle;

use crate::plane::{Plane, image, is_active, is_ready};

/// The pods after one event.
#[derive(Clone, Debug, Default)]
pub(crate) struct Count {
    /// Those that nobody deletes, finished ones aside.
    pub(crate) active: usize,
    /// Those of them that are ready.
    pub(crate) ready: usize,
    /// All that exist, by image.
    pub(crate) images: BTreeMap<String, usize>,
}

/// Counts from its start until it is dropped, across broken watches.
pub(crate) struct Census {
    counts: Arc<Mutex<Vec<Count>>>,
    task: JoinHandle<()>,
}

impl Census {
    pub(crate) async fn start(plane: &Plane) -> Self {
        let api = plane.api::<Pod>();
        let listed = api.list(&Default::default()).await.unwrap();
        let pods = listed.items.into_iter();
        let pods = pods
            .map(|pod| (pod.metadata.uid.clone().unwrap(), pod))
            .collect();
        let counts = Arc::new(Mutex::new(vec![count(&pods)]));
        let watching = watch(
            plane.client.clone(),
            pods,
            listed.resource_version,
            Arc::clone(&counts),
        );
        Self {
            counts,
            task: tokio::spawn(watching),
        }
    }

    pub(crate) fn counts(&self) -> Vec<Count> {
        self.counts.lock().clone()
    }

    pub(crate) fn most_active(&self) -> usize {
        self.counts()
            .iter()
            .map(|count| count.active)
            .max()
            .unwrap()
    }

    pub(crate) fn fewest_ready(&self) -> usize {
        self.counts().iter().map(|count| count.ready).min().unwrap()
    }
}

impl Drop for Census {
    fn drop(&mut self) {
        self.task.abort();
    }
}

type Pods = BTreeMap<String, Pod>;

async fn watch(
    client: Client,
    mut pods: Pods,
    mut at: ResourceVersion,
    counts: Arc<Mutex<Vec<Count>>>,
) {
    let api = client.namespaced::<Pod>("default");
    loop {
        let mut events = api.watch(&WatchOptions::from(at.clone())).await.unwrap();
        while let Some(Ok(event)) = events.next().await {
            let seen = match event {
                WatchEvent::Added(pod) | WatchEvent::Modified(pod) => {
                    let seen = pod.metadata.resource_version.clone();
                    pods.insert(pod.metadata.uid.clone().unwrap(), pod);
                    seen
                }
                WatchEvent::Deleted(pod) => {
                    pods.remove(pod.metadata.uid.as_ref().unwrap());
                    pod.metadata.resource_version
                }
                WatchEvent::Bookmark {
                    resource_version, ..
                } => {
                    at = resource_version;
                    continue;
                }
                other => panic!("{other:?}"),
            };
            at = ResourceVersion::parse(&seen.unwrap());
            counts.lock().push(count(&pods));
        }
    }
}

fn count(pods: &Pods) -> Count {
    let mut count = Count::default();
    for pod in pods.values() {
        *count.images.entry(image(pod).to_owned()).or_default() += 1;
        count.active += usize::from(is_active(pod));
        count.ready += usize::from(is_active(pod) && is_ready(pod));
    }
    count
}
