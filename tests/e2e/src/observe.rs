//! What a scenario looks at: objects, and the history of pods as a watch tells it.

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use evenkeel_client::{Client, ListOptions, WatchEvent, WatchOptions};
use evenkeel_meta::{ApiResource, DynamicObject, ResourceVersion};
use futures_util::StreamExt;
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::manifest::PODS;

/// A field by its JSON pointer below the metadata, `/status/phase`; null if absent.
#[must_use]
pub fn field<'a>(object: &'a DynamicObject, pointer: &str) -> &'a Value {
    let mut steps = pointer.trim_start_matches('/').splitn(2, '/');
    let first = steps.next().and_then(|key| object.data.get(key));
    let found = match (first, steps.next()) {
        (Some(value), Some(rest)) => value.pointer(&format!("/{rest}")),
        (first, _) => first,
    };
    found.unwrap_or(&Value::Null)
}

/// Whether a condition of the object is `True`.
#[must_use]
pub fn condition(object: &DynamicObject, kind: &str) -> bool {
    field(object, "/status/conditions")
        .as_array()
        .is_some_and(|conditions| {
            conditions
                .iter()
                .any(|condition| condition["type"] == kind && condition["status"] == "True")
        })
}

/// Whether the pod is Ready and not on its way out.
#[must_use]
pub fn is_ready(pod: &DynamicObject) -> bool {
    !is_terminating(pod) && condition(pod, "Ready")
}

/// Whether the object is on its way out.
#[must_use]
pub fn is_terminating(object: &DynamicObject) -> bool {
    object.metadata.deletion_timestamp.is_some()
}

/// The UID of the object's controller.
#[must_use]
pub fn controller(object: &DynamicObject) -> Option<&str> {
    object
        .metadata
        .owner_references
        .iter()
        .find(|owner| owner.controller == Some(true))
        .map(|owner| owner.uid.as_str())
}

/// Every object of a resource in a namespace.
///
/// # Errors
/// The list failed.
pub async fn list(
    client: &Client,
    resource: &ApiResource,
    namespace: &str,
) -> anyhow::Result<Vec<DynamicObject>> {
    let list = client
        .dynamic(resource.clone(), Some(namespace))
        .list(&ListOptions::default())
        .await
        .with_context(|| format!("list {} in {namespace}", resource.plural))?;
    Ok(list.items)
}

/// The extremes of what a namespace's pods went through while it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodHistory {
    /// Most pods at any revision that were not terminating.
    pub most: usize,
    /// Fewest pods at any revision that were ready.
    pub fewest_ready: usize,
    /// How many pods were created.
    pub created: usize,
}

/// Records a namespace's pods, revision by revision, from its start to
/// [`PodRecorder::finish`]. A watch delivers one resource's changes in the
/// order of the server's revisions, so every state it shows did exist.
#[derive(Debug)]
pub struct PodRecorder {
    task: JoinHandle<anyhow::Result<PodHistory>>,
    stop: tokio::sync::oneshot::Sender<()>,
}

impl PodRecorder {
    /// Begins from the pods that are there now.
    ///
    /// # Errors
    /// The list failed.
    pub async fn start(client: &Client, namespace: &str) -> anyhow::Result<Self> {
        let api = client.dynamic(PODS, Some(namespace));
        let list = api.list(&ListOptions::default()).await?;
        let mut pods: BTreeMap<String, DynamicObject> = list
            .items
            .into_iter()
            .map(|pod| (pod.metadata.name.clone(), pod))
            .collect();
        let mut history = PodHistory {
            most: active(&pods),
            fewest_ready: ready(&pods),
            created: 0,
        };
        let mut version: ResourceVersion = list.resource_version;
        let (stop, mut stopped) = tokio::sync::oneshot::channel();
        let task = tokio::spawn(async move {
            loop {
                let mut stream = api.watch(&WatchOptions::from(version.clone())).await?;
                loop {
                    let event = tokio::select! {
                        _ = &mut stopped => return Ok(history),
                        event = stream.next() => event,
                    };
                    // The server ends a watch when it pleases; go on from there.
                    let Some(event) = event else { break };
                    match event? {
                        WatchEvent::Added(pod) => {
                            history.created += 1;
                            note(&mut pods, &mut version, pod);
                        }
                        WatchEvent::Modified(pod) => note(&mut pods, &mut version, pod),
                        WatchEvent::Deleted(pod) => {
                            pods.remove(&pod.metadata.name);
                            advance(&mut version, pod.metadata.resource_version);
                        }
                        WatchEvent::Bookmark {
                            resource_version, ..
                        } => version = resource_version,
                        other => bail!("the record of the pods is broken: {other:?}"),
                    }
                    history.most = history.most.max(active(&pods));
                    history.fewest_ready = history.fewest_ready.min(ready(&pods));
                }
            }
        });
        Ok(Self { task, stop })
    }

    /// Ends the record.
    ///
    /// # Errors
    /// The watch broke: the record has a gap and proves nothing.
    pub async fn finish(self) -> anyhow::Result<PodHistory> {
        // The task may have ended with its error already.
        let _ = self.stop.send(());
        self.task.await?
    }
}

fn note(
    pods: &mut BTreeMap<String, DynamicObject>,
    version: &mut ResourceVersion,
    pod: DynamicObject,
) {
    advance(version, pod.metadata.resource_version.clone());
    pods.insert(pod.metadata.name.clone(), pod);
}

fn advance(version: &mut ResourceVersion, to: Option<ResourceVersion>) {
    if let Some(to) = to {
        *version = to;
    }
}

fn active(pods: &BTreeMap<String, DynamicObject>) -> usize {
    pods.values().filter(|pod| !is_terminating(pod)).count()
}

fn ready(pods: &BTreeMap<String, DynamicObject>) -> usize {
    pods.values().filter(|pod| is_ready(pod)).count()
}

/// What was deleted, each with the revision at which it went. Revisions of
/// different resources compare: a server counts them all together.
#[derive(Clone, Debug, Default)]
pub struct DeletionOrder(Vec<(String, u64)>);

impl DeletionOrder {
    /// The revisions at which objects of a resource (its plural) went, ascending.
    #[must_use]
    pub fn of(&self, plural: &str) -> Vec<u64> {
        let mut revisions: Vec<u64> = self
            .0
            .iter()
            .filter(|(resource, _)| resource == plural)
            .map(|(_, revision)| *revision)
            .collect();
        revisions.sort_unstable();
        revisions
    }
}

/// Records the deletions in a namespace from its start to [`Deletions::finish`].
#[derive(Debug)]
pub struct Deletions {
    found: tokio::sync::mpsc::Receiver<(String, u64)>,
    // Each ends when the receiver is gone, or with its stream.
    watches: Vec<JoinHandle<()>>,
}

impl Deletions {
    /// Begins with what is there now.
    ///
    /// # Errors
    /// A list or watch failed.
    pub async fn record(
        client: &Client,
        namespace: &str,
        resources: &[ApiResource],
    ) -> anyhow::Result<Self> {
        let (sender, found) = tokio::sync::mpsc::channel(64);
        let mut watches = Vec::new();
        for resource in resources {
            let api = client.dynamic(resource.clone(), Some(namespace));
            let version = api.list(&ListOptions::default()).await?.resource_version;
            let mut stream = api.watch(&WatchOptions::from(version)).await?;
            let plural = resource.plural.to_string();
            let sender = sender.clone();
            watches.push(tokio::spawn(async move {
                while let Some(Ok(event)) = stream.next().await {
                    let WatchEvent::Deleted(object) = event else {
                        continue;
                    };
                    let version = object.metadata.resource_version;
                    let revision = version.and_then(|version| version.as_number());
                    let deletion = (plural.clone(), revision.unwrap_or_default());
                    if sender.send(deletion).await.is_err() {
                        return;
                    }
                }
            }));
        }
        Ok(Self { found, watches })
    }

    /// Waits for `count` deletions and ends the record.
    ///
    /// # Errors
    /// They did not all come in time.
    pub async fn finish(
        mut self,
        count: usize,
        within: std::time::Duration,
    ) -> anyhow::Result<DeletionOrder> {
        let mut order = DeletionOrder::default();
        let collect = async {
            while order.0.len() < count {
                match self.found.recv().await {
                    Some(deletion) => order.0.push(deletion),
                    None => return,
                }
            }
        };
        let _ = tokio::time::timeout(within, collect).await;
        for watch in &self.watches {
            watch.abort();
        }
        if order.0.len() < count {
            bail!("saw {} of {count} deletions: {order:?}", order.0.len());
        }
        Ok(order)
    }
}
