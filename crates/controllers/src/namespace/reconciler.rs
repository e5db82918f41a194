use std::time::Duration;

use evenkeel::{Clock, Context, Outcome, ReconcileError, Reconciler};
use evenkeel_client::{DiscoveredResource, Discovery, Error, WriteOptions};
use evenkeel_meta::{MetaView, ObjectKey, Timestamp};
use evenkeel_store::Store;
use k8s_openapi::api::core::v1::Namespace;

use super::condition;
use super::content::{self, Remaining};

/// How long after the deletion the first pass begins: other API servers may admit objects into
/// the namespace until they have seen that it is going (contract kcm NS1).
const QUIET: Duration = Duration::from_secs(5);
/// How soon to look again at the least.
const SOON: Duration = Duration::from_secs(1);
/// The finalizer that stands for the namespace's content.
const KUBERNETES: &str = "kubernetes";

pub(super) struct NamespaceReconciler {
    namespaces: Store<Namespace>,
    clock: Clock,
}

impl NamespaceReconciler {
    pub(super) fn new(namespaces: Store<Namespace>, clock: Clock) -> Self {
        Self { namespaces, clock }
    }
}

impl Reconciler for NamespaceReconciler {
    async fn reconcile(
        &self,
        context: &Context<ObjectKey>,
        key: &ObjectKey,
    ) -> Result<Outcome, ReconcileError> {
        let Some(observed) = self.namespaces.get(key) else {
            return Ok(Outcome::Done);
        };
        let Some(deleted) = observed.metadata.deletion_timestamp() else {
            return Ok(Outcome::Done);
        };
        let since = self.clock.now().saturating_since(deleted);
        if since < QUIET {
            return Ok(Outcome::After(QUIET - since));
        }
        // Live, and the same one: a namespace of this name that was made meanwhile is another.
        let api = context.client().all::<Namespace>();
        let Some(namespace) = api.get_opt(key.name()).await? else {
            return Ok(Outcome::Done);
        };
        if namespace.metadata.uid != observed.metadata.uid || !holds_content(&namespace) {
            return Ok(Outcome::Done);
        }
        Ok(self.empty(context, namespace).await?)
    }
}

impl NamespaceReconciler {
    async fn empty(
        &self,
        context: &Context<ObjectKey>,
        namespace: Namespace,
    ) -> Result<Outcome, Error> {
        let client = context.client();
        let name = namespace.metadata.name().to_owned();
        let discovery = client.discover().await?;
        let (pods, others) = deletable(&discovery);

        // Pods first, and nothing else while one is left: what they use must outlive them.
        let mut remaining = content::empty(client, &name, pods).await;
        let pods_remain = !remaining.is_empty();
        if !pods_remain {
            remaining = content::empty(client, &name, others).await;
        }
        let done = remaining.is_empty() && discovery.failures.is_empty();
        let failed = !remaining.errors.is_empty() || !discovery.failures.is_empty();
        let estimate = remaining.estimate;
        // While pods remain the conditions count none of them: the other kinds are untouched.
        let left = if pods_remain {
            Remaining {
                errors: remaining.errors,
                ..Remaining::default()
            }
        } else {
            remaining
        };
        let now = self.clock.now();
        let namespace = write_conditions(context, namespace, &discovery, &left, now).await?;
        if done {
            return finalize(context, namespace).await;
        }
        if failed {
            // The conditions say why.
            return Ok(Outcome::Backoff);
        }
        Ok(Outcome::After(estimate / 2 + SOON))
    }
}

/// Whether the namespace still waits for its content to go.
fn holds_content(namespace: &Namespace) -> bool {
    let spec = namespace.spec.as_ref();
    let mut finalizers = spec
        .and_then(|spec| spec.finalizers.as_ref())
        .into_iter()
        .flatten();
    finalizers.any(|finalizer| finalizer == KUBERNETES)
}

/// The namespaced resources that can be emptied: pods, and all others. Of a group, the version
/// that the server prefers.
fn deletable(discovery: &Discovery) -> (Vec<DiscoveredResource>, Vec<DiscoveredResource>) {
    let resources = discovery.resources.iter().filter(|resource| {
        resource.is_namespaced()
            && resource.preferred
            && resource.can("list")
            && resource.can("delete")
    });
    let is_pods = |resource: &DiscoveredResource| {
        let api = &resource.api_resource;
        api.group.is_empty() && api.plural == "pods"
    };
    resources.cloned().partition(is_pods)
}

/// Writes the conditions if they changed; answers the namespace as it is then.
async fn write_conditions(
    context: &Context<ObjectKey>,
    mut namespace: Namespace,
    discovery: &Discovery,
    left: &Remaining,
    now: Timestamp,
) -> Result<Namespace, Error> {
    let mut status = namespace.status.clone().unwrap_or_default();
    if !condition::set(&mut status, &discovery.failures, left, now.into()) {
        return Ok(namespace);
    }
    namespace.status = Some(status);
    context.update_status(&namespace).await
}

/// Nothing is left: takes the finalizer off, and with the last one the namespace goes.
async fn finalize(
    context: &Context<ObjectKey>,
    mut namespace: Namespace,
) -> Result<Outcome, Error> {
    let name = namespace.metadata.name().to_owned();
    if let Some(finalizers) = namespace
        .spec
        .as_mut()
        .and_then(|spec| spec.finalizers.as_mut())
    {
        finalizers.retain(|finalizer| finalizer != KUBERNETES);
    }
    let api = context.client().all::<Namespace>();
    let finalize = api.subresource::<Namespace>("finalize");
    match finalize
        .update(&name, &namespace, &WriteOptions::default())
        .await
    {
        Err(error) if !error.is_not_found() => Err(error),
        _ => Ok(Outcome::Done),
    }
}
