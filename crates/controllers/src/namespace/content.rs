//! What is left in a namespace, and what holds it.

use std::collections::BTreeMap;
use std::time::Duration;

use evenkeel_client::{Client, DiscoveredResource, Error, ListOptions};
use evenkeel_meta::{DeleteOptions, MetaView, Metadata, Object, PropagationPolicy};
use futures_util::StreamExt;
use futures_util::stream;

/// Kinds that are emptied at once.
const PARALLEL: usize = 8;
/// How long something with finalizers is expected to take.
const FINALIZER_ESTIMATE: Duration = Duration::from_secs(15);

/// What one pass over a namespace left.
#[derive(Debug, Default)]
pub(super) struct Remaining {
    /// Objects by `resource.group`.
    pub(super) objects: BTreeMap<String, usize>,
    /// Objects by the finalizers that hold them.
    pub(super) finalizers: BTreeMap<String, usize>,
    /// How long what is left may take.
    pub(super) estimate: Duration,
    /// What could not be deleted or listed.
    pub(super) errors: Vec<Error>,
}

impl Remaining {
    pub(super) fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.errors.is_empty()
    }

    fn count(&mut self, resource: &DiscoveredResource, objects: &[Metadata]) {
        if objects.is_empty() {
            return;
        }
        let api = &resource.api_resource;
        // The dot stands there after core resources too, as kube-controller-manager writes it.
        *self
            .objects
            .entry(format!("{}.{}", api.plural, api.group))
            .or_default() += objects.len();
        for object in objects {
            let meta = object.metadata();
            for finalizer in meta.finalizers() {
                *self.finalizers.entry(finalizer.to_owned()).or_default() += 1;
                self.estimate = self.estimate.max(FINALIZER_ESTIMATE);
            }
            let grace = meta
                .deletion_grace_period_seconds()
                .and_then(|grace| u64::try_from(grace).ok());
            self.estimate = self.estimate.max(Duration::from_secs(grace.unwrap_or(0)));
        }
    }
}

/// Deletes everything of these resources in `namespace`. Answers what is still there: one kind
/// that cannot be deleted does not keep the others.
pub(super) async fn empty(
    client: &Client,
    namespace: &str,
    resources: Vec<DiscoveredResource>,
) -> Remaining {
    let passes = resources.into_iter().map(|resource| async move {
        let left = empty_one(client, namespace, &resource).await;
        (resource, left)
    });
    let mut passes = stream::iter(passes).buffer_unordered(PARALLEL);
    let mut remaining = Remaining::default();
    while let Some((resource, left)) = passes.next().await {
        match left {
            Ok(objects) => remaining.count(&resource, &objects),
            // The kind is gone, or was never to be had this way: nothing of it can be left.
            Err(error) if error.is_not_found() => {}
            Err(error) => remaining.errors.push(error),
        }
    }
    remaining
}

async fn empty_one(
    client: &Client,
    namespace: &str,
    resource: &DiscoveredResource,
) -> Result<Vec<Metadata>, Error> {
    let api = client.metadata(resource.api_resource.clone(), Some(namespace));
    let everything = ListOptions::default();
    let options = DeleteOptions::with_policy(PropagationPolicy::Background);
    // Most kinds have nothing here: one LIST is cheaper than a deletion and a LIST.
    let present = api.list(&everything).await?.items;
    if present.is_empty() {
        return Ok(present);
    }
    if resource.can("deletecollection") {
        api.delete_collection(&options, &everything).await?;
    } else {
        for object in &present {
            match api.delete(object.metadata().name(), &options).await {
                Err(error) if !error.is_not_found() => return Err(error),
                _ => {}
            }
        }
    }
    Ok(api.list(&everything).await?.items)
}
