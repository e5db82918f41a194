use std::sync::Arc;

use evenkeel::{Clock, Context, Outcome, ReconcileError, Reconciler};
use evenkeel_client::Error;
use evenkeel_events::Recorder;
use evenkeel_meta::{MetaView, ObjectKey, Resource};
use evenkeel_store::{Index, Store};
use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus, ReplicaSet};
use k8s_openapi::jiff;

use super::children::Children;
use super::limits::Limits;
use super::{cleanup, condition, status};
use crate::claim::{self, Claimant, Verdict};
use crate::pod::Pod;

/// Rolls a Deployment's template out over its ReplicaSets (contracts kcm D1-D16).
pub(crate) struct DeploymentReconciler {
    pub(crate) deployments: Store<Deployment>,
    pub(crate) sets: Store<ReplicaSet>,
    pub(crate) pods: Store<Pod>,
    /// ReplicaSets by the UID of their controller.
    pub(crate) owned: Index<ReplicaSet>,
    /// ReplicaSets without a controller, by namespace.
    pub(crate) orphans: Index<ReplicaSet>,
    /// Pods by the UID of their controller.
    pub(crate) pods_of: Index<Pod>,
    pub(crate) recorder: Recorder,
    pub(crate) clock: Clock,
}

/// One pass over one Deployment.
pub(super) struct Pass<'a> {
    pub(super) reconciler: &'a DeploymentReconciler,
    pub(super) context: &'a Context<ObjectKey>,
    /// As it was observed, or as the last write of this pass left it.
    pub(super) deployment: Deployment,
    pub(super) children: Children,
    pub(super) limits: Limits,
    pub(super) now: jiff::Timestamp,
}

impl Reconciler for DeploymentReconciler {
    async fn reconcile(
        &self,
        context: &Context<ObjectKey>,
        key: &ObjectKey,
    ) -> Result<Outcome, ReconcileError> {
        let Some(deployment) = self.deployments.get(key) else {
            return Ok(Outcome::Done);
        };
        let sets = self.claimed(context, &deployment).await?;
        let pass = Pass {
            reconciler: self,
            context,
            children: Children::of(&deployment, sets),
            limits: Limits::of(&deployment),
            deployment: Deployment::clone(&deployment),
            now: self.clock.now().into(),
        };
        // Boxed: it holds a Deployment and all of its sets.
        match Box::pin(pass.run()).await {
            // Somebody was faster. What they wrote is on its way to the store; the next pass
            // goes by it.
            Err(error) if error.is_conflict() || error.is_already_exists() => Ok(Outcome::Backoff),
            ended => Ok(ended?),
        }
    }
}

impl DeploymentReconciler {
    /// The Deployment's sets, after adopting and releasing.
    async fn claimed(
        &self,
        context: &Context<ObjectKey>,
        deployment: &Deployment,
    ) -> Result<Vec<ReplicaSet>, Error> {
        let selector = claim::selector(&deployment.spec.selector);
        let claimant = Claimant {
            resource: Deployment::api_resource(),
            meta: &deployment.metadata,
            selector: &selector,
        };
        let snapshot = self.sets.snapshot();
        let mut sets =
            snapshot.by_index(&self.owned, deployment.metadata.uid().unwrap_or_default());
        let namespace = MetaView::namespace(&deployment.metadata).unwrap_or_default();
        let mut adopted = snapshot.by_index(&self.orphans, namespace);
        adopted.retain(|set| claimant.judge(&set.metadata) == Verdict::Adopt);
        if !adopted.is_empty() && claimant.may_adopt(context).await? {
            for set in adopted {
                sets.extend(claimant.adopt(context, &*set).await?.map(Arc::new));
            }
        }
        let mut kept = Vec::with_capacity(sets.len());
        for set in sets {
            match claimant.judge(&set.metadata) {
                Verdict::Keep => kept.push(ReplicaSet::clone(&set)),
                Verdict::Release => claimant.release(context, &*set).await?,
                Verdict::Adopt | Verdict::Ignore => {}
            }
        }
        Ok(kept)
    }
}

impl Pass<'_> {
    async fn run(mut self) -> Result<Outcome, Error> {
        if self.deployment.metadata.is_terminating() {
            return self.write_counts().await;
        }
        self.note_pause();
        if self.is_paused() {
            self.sync_revision(false).await?;
            self.scale_all().await?;
            self.clean_up().await?;
            return self.write_counts().await;
        }
        if self.roll_back().await? {
            return Ok(Outcome::Done);
        }
        if self.children.scaled(self.limits.replicas) {
            self.sync_revision(false).await?;
            self.scale_all().await?;
            return self.write_counts().await;
        }
        if self.limits.recreate {
            self.recreate().await?;
        } else {
            self.roll().await?;
        }
        self.finish().await
    }

    pub(super) fn is_paused(&self) -> bool {
        self.deployment.spec.paused.unwrap_or(false)
    }

    /// Ends a pass of a rollout: writes how it gets on, and cleans up once it is complete.
    async fn finish(mut self) -> Result<Outcome, Error> {
        let status = self.rollout_status();
        let complete = status::is_complete(&self.deployment, self.limits, &status);
        let check = status::check_after(&self.deployment, &status, self.now);
        self.write_status(status).await?;
        if complete {
            self.clean_up().await?;
        }
        Ok(check.map_or(Outcome::Done, Outcome::After))
    }

    fn rollout_status(&self) -> DeploymentStatus {
        let Children { new, old } = &self.children;
        status::rollout(&self.deployment, self.limits, new.as_ref(), old, self.now)
    }

    /// Ends a pass that only counts: a Deployment that is paused, scaled or on its way out.
    async fn write_counts(mut self) -> Result<Outcome, Error> {
        let Children { new, old } = &self.children;
        let mut status = status::counts(&self.deployment, self.limits, new.as_ref(), old, self.now);
        condition::copy_replica_failure(&mut status, new.as_ref(), old);
        self.write_status(status).await?;
        Ok(Outcome::Done)
    }

    /// Writes the status and the revision annotation, which travels with it (contract kcm D5),
    /// if either differs from what the store showed.
    pub(super) async fn write_status(&mut self, status: DeploymentStatus) -> Result<(), Error> {
        let key = self.deployment.metadata.key();
        let shown = self.reconciler.deployments.get(&key);
        self.deployment.status = Some(status);
        let same = shown.is_some_and(|shown| {
            shown.status == self.deployment.status
                && shown.metadata.annotations == self.deployment.metadata.annotations
        });
        if same {
            return Ok(());
        }
        match self.context.update_status(&self.deployment).await {
            Ok(written) => {
                self.deployment = written;
                Ok(())
            }
            Err(error) if error.is_not_found() => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn clean_up(&mut self) -> Result<(), Error> {
        let surplus = cleanup::surplus(&self.deployment, &self.children.old);
        for set in surplus {
            match self
                .context
                .delete(set, evenkeel_meta::DeleteOptions::default())
                .await
            {
                Err(error) if !error.is_not_found() => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}
