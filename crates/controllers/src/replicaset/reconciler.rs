use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use evenkeel::{Clock, Context, Outcome, ReconcileError, Reconciler};
use evenkeel_client::{Error, ListOptions};
use evenkeel_events::{EventType, ObjectReference, Recorder};
use evenkeel_meta::{
    DeleteOptions, MetaView, Object, ObjectKey, Preconditions, Resource, Status, Timestamp,
};
use evenkeel_store::{Index, Store};
use futures_util::future::join_all;
use k8s_openapi::api::apps::v1::ReplicaSet;

use super::new_pod::NewPod;
use super::rank;
use super::slow_start::slow_start;
use super::status::{self, Failure};
use crate::claim::{self, Claimant, Verdict};
use crate::pod::Pod;

/// The most pods that one pass makes or removes.
const BURST: usize = 500;
/// When to look again at a set whose pods the store does not show as they are.
const CATCH_UP: Duration = Duration::from_secs(1);

/// Keeps as many pods as a ReplicaSet asks for (contracts kcm RS1-RS4).
pub(crate) struct ReplicaSetReconciler {
    pub(crate) sets: Store<ReplicaSet>,
    pub(crate) pods: Store<Pod>,
    /// Pods by the UID of their controller.
    pub(crate) owned: Index<Pod>,
    /// Pods without a controller, by namespace.
    pub(crate) orphans: Index<Pod>,
    /// ReplicaSets by the UID of their controller.
    pub(crate) siblings: Index<ReplicaSet>,
    pub(crate) recorder: Recorder,
    pub(crate) clock: Clock,
}

/// Pods could not be made or removed.
struct Refusal {
    /// What the status shall say of it.
    failure: Option<Failure>,
    error: Error,
}

impl Reconciler for ReplicaSetReconciler {
    async fn reconcile(
        &self,
        context: &Context<ObjectKey>,
        key: &ObjectKey,
    ) -> Result<Outcome, ReconcileError> {
        let Some(set) = self.sets.get(key) else {
            return Ok(Outcome::Done);
        };
        let selector = claim::selector(&set.spec.selector);
        let claimant = Claimant {
            resource: ReplicaSet::api_resource(),
            meta: &set.metadata,
            selector: &selector,
        };
        match self.sync(context, &claimant, &set).await {
            // Somebody was faster. What they wrote is on its way to the store; the next pass
            // goes by it.
            Err(error) if error.is_conflict() => Ok(Outcome::Backoff),
            ended => Ok(ended?),
        }
    }
}

impl ReplicaSetReconciler {
    async fn sync<M: MetaView>(
        &self,
        context: &Context<ObjectKey>,
        claimant: &Claimant<'_, M>,
        set: &ReplicaSet,
    ) -> Result<Outcome, Error> {
        let pods = self.claimed(context, claimant).await?;
        let mut refused = None;
        if !set.metadata.is_terminating() {
            if context.may_be_behind::<Pod>()
                && excess(set, &pods) != 0
                && !shows_what_is_there(context, claimant, &pods).await?
            {
                // What changes the store brings the set here again, too.
                return Ok(Outcome::After(CATCH_UP));
            }
            refused = self.scale(context, claimant, set, &pods).await.err();
        }
        let now = self.clock.now();
        let failure = refused
            .as_ref()
            .and_then(|refusal| refusal.failure.as_ref());
        self.update_status(context, set, &pods, failure, now)
            .await?;
        if let Some(refusal) = refused {
            return Err(refusal.error);
        }
        Ok(match status::next_available(set, &pods, now) {
            // The clock's whole seconds may round the other way: look again right after.
            Some(left) => Outcome::After(left.max(Duration::from_millis(10))),
            None => Outcome::Done,
        })
    }

    /// The set's pods, after adopting and releasing.
    async fn claimed<M: MetaView>(
        &self,
        context: &Context<ObjectKey>,
        claimant: &Claimant<'_, M>,
    ) -> Result<Vec<Arc<Pod>>, Error> {
        let snapshot = self.pods.snapshot();
        let mut pods = snapshot.by_index(&self.owned, claimant.meta.uid().unwrap_or_default());
        let namespace = claimant.meta.namespace().unwrap_or_default();
        let orphans = snapshot.by_index(&self.orphans, namespace);
        let adoptable =
            |pod: &Arc<Pod>| pod.is_active() && claimant.judge(pod.metadata()) == Verdict::Adopt;
        let adopted: Vec<_> = orphans.into_iter().filter(adoptable).collect();
        if !adopted.is_empty() && claimant.may_adopt(context).await? {
            for pod in adopted {
                pods.extend(claimant.adopt(context, &*pod).await?.map(Arc::new));
            }
        }
        let mut kept = Vec::with_capacity(pods.len());
        for pod in pods {
            match claimant.judge(pod.metadata()) {
                Verdict::Keep => kept.push(pod),
                Verdict::Release => claimant.release(context, &*pod).await?,
                Verdict::Adopt | Verdict::Ignore => {}
            }
        }
        Ok(kept)
    }

    /// Makes or removes pods until there are as many as wanted.
    async fn scale<M: MetaView>(
        &self,
        context: &Context<ObjectKey>,
        claimant: &Claimant<'_, M>,
        set: &ReplicaSet,
        pods: &[Arc<Pod>],
    ) -> Result<(), Refusal> {
        let active: Vec<_> = pods.iter().filter(|pod| pod.is_active()).cloned().collect();
        let wanted = usize::try_from(set.spec.replicas.unwrap_or(1)).unwrap_or(0);
        if active.len() < wanted {
            let missing = (wanted - active.len()).min(BURST);
            self.create(context, claimant, set, missing).await
        } else if active.len() > wanted {
            let surplus = (active.len() - wanted).min(BURST);
            self.remove(context, set, active, surplus).await
        } else {
            Ok(())
        }
    }

    async fn create<M: MetaView>(
        &self,
        context: &Context<ObjectKey>,
        claimant: &Claimant<'_, M>,
        set: &ReplicaSet,
        count: usize,
    ) -> Result<(), Refusal> {
        let pod = NewPod::from_template(set, claimant.owner_reference()).map_err(|error| {
            let error = Error::from(Status::internal(error));
            self.refused(set, "FailedCreate", "creating", error)
        })?;
        let (_, error) = slow_start(count, || async {
            match context.create(&pod).await {
                Ok(created) => {
                    let name = created.metadata().name();
                    self.recorder.event(
                        &ObjectReference::of(set),
                        EventType::Normal,
                        "SuccessfulCreate",
                        format!("Created pod: {name}"),
                    );
                    Ok(())
                }
                // Nothing can be made in a namespace that is going away, and nothing needs to be.
                Err(error) if error.status().is_some_and(Status::is_namespace_terminating) => {
                    Ok(())
                }
                Err(error) => Err(error),
            }
        })
        .await;
        error.map_or(Ok(()), |error| {
            Err(self.refused(set, "FailedCreate", "creating", error))
        })
    }

    async fn remove(
        &self,
        context: &Context<ObjectKey>,
        set: &ReplicaSet,
        active: Vec<Arc<Pod>>,
        surplus: usize,
    ) -> Result<(), Refusal> {
        let chosen = rank::to_delete(active, self.related(set), surplus, self.clock.now());
        let deletions = chosen.iter().map(|pod| async move {
            // In exactly the state that was ranked: a pod that was orphaned, or claimed by
            // another, since then is not this set's to delete (bug kcm B33).
            let options = DeleteOptions::default().only_if(Preconditions::exactly(pod.metadata()));
            match context.delete(&**pod, options).await {
                Ok(_) => {
                    let name = pod.metadata().name();
                    self.recorder.event(
                        &ObjectReference::of(set),
                        EventType::Normal,
                        "SuccessfulDelete",
                        format!("Deleted pod: {name}"),
                    );
                    Ok(())
                }
                Err(error) if error.is_not_found() => Ok(()),
                Err(error) => Err(error),
            }
        });
        let results: Result<Vec<()>, Error> = join_all(deletions).await.into_iter().collect();
        results
            .map(drop)
            .map_err(|error| self.refused(set, "FailedDelete", "deleting", error))
    }

    /// Tells the set's owner why, if that is anything to know.
    fn refused(
        &self,
        set: &ReplicaSet,
        reason: &'static str,
        doing: &str,
        error: Error,
    ) -> Refusal {
        // A pod that changed meanwhile is looked at anew in the next pass; and where another
        // leads, the set has lost nothing.
        if error.is_conflict() || error.is_fenced() {
            return Refusal {
                failure: None,
                error,
            };
        }
        let message = error
            .status()
            .map_or_else(|| error.to_string(), |status| status.message.clone());
        self.recorder.event(
            &ObjectReference::of(set),
            EventType::Warning,
            reason,
            format!("Error {doing}: {message}"),
        );
        Refusal {
            failure: Some(Failure { reason, message }),
            error,
        }
    }

    /// All active pods of the set's controller: those of its sibling sets, and its own.
    fn related(&self, set: &ReplicaSet) -> Vec<Arc<Pod>> {
        let snapshot = self.pods.snapshot();
        let owner = set.metadata.controller().map(|owner| owner.uid);
        let siblings = owner
            .map(|uid| self.sets.by_index(&self.siblings, uid))
            .unwrap_or_default();
        let mut uids: Vec<&str> = siblings
            .iter()
            .filter_map(|set| set.metadata.uid())
            .collect();
        if owner.is_none() {
            uids.extend(set.metadata.uid());
        }
        let mut pods: Vec<_> = uids
            .iter()
            .flat_map(|uid| snapshot.by_index(&self.owned, uid))
            .collect();
        pods.retain(|pod| pod.is_active());
        pods
    }

    async fn update_status(
        &self,
        context: &Context<ObjectKey>,
        set: &ReplicaSet,
        pods: &[Arc<Pod>],
        failure: Option<&Failure>,
        now: Timestamp,
    ) -> Result<(), Error> {
        let status = status::status(set, pods, failure, now);
        if set.status.as_ref() == Some(&status) {
            return Ok(());
        }
        let mut updated = set.clone();
        updated.status = Some(status);
        match context.update_status(&updated).await {
            Err(error) if error.is_not_found() => Ok(()),
            other => other.map(drop),
        }
    }
}

/// How many active pods there are beyond the wanted number; negative when some are missing.
fn excess(set: &ReplicaSet, pods: &[Arc<Pod>]) -> i64 {
    let active = pods.iter().filter(|pod| pod.is_active()).count();
    i64::try_from(active).unwrap_or(i64::MAX) - i64::from(set.spec.replicas.unwrap_or(1))
}

/// Whether a live list shows the same pods as the store does.
///
/// Pods are made under generated names: nothing refuses a second set of them. So a store that
/// may lack pods, those of the leader before or those of a run whose writes were not seen, is
/// not acted on.
async fn shows_what_is_there<M: MetaView>(
    context: &Context<ObjectKey>,
    claimant: &Claimant<'_, M>,
    pods: &[Arc<Pod>],
) -> Result<bool, Error> {
    fn stays(meta: &impl MetaView) -> Option<&str> {
        meta.uid().filter(|_| !meta.is_terminating())
    }
    let api = context
        .client()
        .metadata(Pod::api_resource(), claimant.meta.namespace());
    let live = api
        .list(&ListOptions::default().labels(claimant.selector))
        .await?;
    let mine = live.items.iter().map(|pod| &pod.metadata).filter(|meta| {
        let owner = meta.controller();
        owner.map(|owner| owner.uid) == claimant.meta.uid()
    });
    let live: HashSet<&str> = mine.filter_map(stays).collect();
    let shown: HashSet<&str> = pods
        .iter()
        .filter_map(|pod| stays(pod.metadata()))
        .collect();
    Ok(live == shown)
}
