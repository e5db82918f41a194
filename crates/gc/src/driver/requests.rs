use std::sync::Arc;

use evenkeel_client::{Api, Patch, PatchOptions};
use evenkeel_meta::{ApiResource, MetaView, Metadata};
use futures_util::{StreamExt, stream};

use super::shared::Shared;
use super::sweep::Dependent;
use crate::decide::{AfterConflict, Decision, Deletion, FinalizerRemoval, Release, Target};
use crate::error::{WorkError, says_absent, says_other_uid};
use crate::graph::NodeId;
use crate::patch::{self, OwnersPatch};

/// How often one piece of work meets a conflict before it goes back into the queue.
const CONFLICTS: u32 = 5;
/// How many dependents of one orphaning owner are patched at once.
const RELEASED_AT_ONCE: usize = 20;

impl Shared {
    pub(crate) async fn carry_out(&self, decision: Decision) -> Result<(), WorkError> {
        let doubtful = decision.waiting_owners().iter();
        let doubtful: Vec<_> = doubtful
            .filter(|claim| self.is_doubtful(claim))
            .copied()
            .collect();
        if !doubtful.is_empty() {
            // The lookups bring the object back here.
            self.change(|graph| doubtful.into_iter().for_each(|claim| graph.doubt(claim)));
            return Ok(());
        }
        match decision {
            Decision::Settled => Ok(()),
            Decision::Delete(deletion) => self.delete(&deletion).await,
            Decision::Patch(patch) => self.patch_owners(&patch).await,
            Decision::RemoveFinalizer(removal) => self.remove_finalizer(&removal).await,
            Decision::Release(release) => self.release(release).await,
        }
    }

    /// One request, unless the object has changed since it was judged (G37).
    async fn delete(&self, deletion: &Deletion) -> Result<(), WorkError> {
        let target = &deletion.target;
        let api = self.api_of(target)?;
        let mut options = deletion.options();
        let mut version = target.resource_version.clone();
        for conflicts in 1..=CONFLICTS {
            match api.delete(&target.name, &options).await {
                Ok(_) => {
                    tracing::debug!(
                        object = %target,
                        policy = deletion.policy.as_str(),
                        "deleted"
                    );
                    self.change(|graph| graph.accepted(target.node, &version));
                    return Ok(());
                }
                Err(error) if says_absent(&error, &target.name) => {
                    self.absent(target.node, target.kind_id);
                    return Ok(());
                }
                Err(error) if error.is_conflict() => {}
                Err(error) => return Err(error.into()),
            }
            let Some(live) = self.read(&api, target).await? else {
                return Ok(());
            };
            self.change(|graph| graph.written(target.kind_id, &live.metadata));
            match deletion.after_conflict(&live.metadata, conflicts) {
                AfterConflict::Retry(again) => {
                    options = again;
                    version = live.metadata.resource_version().unwrap_or_default();
                }
                AfterConflict::Gone => {
                    self.absent(target.node, target.kind_id);
                    return Ok(());
                }
                AfterConflict::Stop => break,
            }
        }
        Err(changed(target))
    }

    /// The object as it is now; `None` if it is gone, which the graph is told.
    async fn read(
        &self,
        api: &Api<Metadata>,
        target: &Target,
    ) -> Result<Option<Metadata>, WorkError> {
        match api.get(&target.name).await {
            Ok(live) if live.metadata.uid() == Some(target.uid.as_str()) => Ok(Some(live)),
            Ok(_) => {
                self.absent(target.node, target.kind_id);
                Ok(None)
            }
            Err(error) if says_absent(&error, &target.name) => {
                self.absent(target.node, target.kind_id);
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// G42. That a kind knows no strategic merge is found out once, not for each object.
    async fn patch_owners(&self, patch: &OwnersPatch) -> Result<(), WorkError> {
        let target = &patch.target;
        let api = self.api_of(target)?;
        let strategic = match self.kinds.knows_strategic_merge(api.resource()) {
            true => patch.strategic(),
            false => None,
        };
        let options = PatchOptions::default();
        let mut answer = match strategic {
            Some(body) => {
                api.patch(&target.name, &Patch::strategic(&body), &options)
                    .await
            }
            None => {
                api.patch(&target.name, &Patch::merge(&patch.merge()), &options)
                    .await
            }
        };
        if answer
            .as_ref()
            .is_err_and(|error| error.status().is_some_and(|status| status.code == 415))
        {
            self.kinds.remember_merge_only(api.resource());
            answer = api
                .patch(&target.name, &Patch::merge(&patch.merge()), &options)
                .await;
        }
        match answer {
            Ok(object) => {
                self.change(|graph| graph.written(target.kind_id, &object.metadata));
                Ok(())
            }
            Err(error) if says_absent(&error, &target.name) || says_other_uid(&error) => {
                self.absent(target.node, target.kind_id);
                Ok(())
            }
            Err(error) if error.is_conflict() => Err(changed(target)),
            Err(error) => Err(error.into()),
        }
    }

    /// G43. Without a read before it where the remaining list is known.
    async fn remove_finalizer(&self, removal: &FinalizerRemoval) -> Result<(), WorkError> {
        let target = &removal.target;
        let api = self.api_of(target)?;
        let mut known = removal.alone.then(|| target.resource_version.clone());
        for _ in 0..CONFLICTS {
            let (version, remaining) = match known.take() {
                Some(version) => (version, Vec::new()),
                None => {
                    let Some(live) = self.read(&api, target).await? else {
                        return Ok(());
                    };
                    let live = live.metadata;
                    self.change(|graph| graph.written(target.kind_id, &live));
                    if !live.has_finalizer(removal.finalizer) {
                        return Ok(());
                    }
                    let others = live.finalizers();
                    let others = others.filter(|other| *other != removal.finalizer);
                    let remaining: Vec<_> = others.map(str::to_owned).collect();
                    (live.resource_version().unwrap_or_default(), remaining)
                }
            };
            let patch = Patch::merge(&patch::finalizers(&version, &remaining));
            match api
                .patch(&target.name, &patch, &PatchOptions::default())
                .await
            {
                Ok(object) => {
                    self.change(|graph| {
                        // With its last finalizer the object goes, and the answer has no new version.
                        graph.accepted(target.node, &version);
                        graph.written(target.kind_id, &object.metadata);
                    });
                    return Ok(());
                }
                Err(error) if says_absent(&error, &target.name) => {
                    self.absent(target.node, target.kind_id);
                    return Ok(());
                }
                Err(error) if error.is_conflict() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(changed(target))
    }

    /// G41: all known dependents first, then those that only the server knows, the finalizer last.
    /// The owner is read once before, since the wish to keep its dependents can be taken back.
    async fn release(&self, release: Release) -> Result<(), WorkError> {
        let owner = &release.finish.target;
        let api = self.api_of(owner)?;
        let Some(live) = self.read(&api, owner).await? else {
            return Ok(());
        };
        let decision = self.change(|graph| {
            graph.written(owner.kind_id, &live.metadata);
            graph.decide(owner.node)
        });
        let Decision::Release(release) = decision else {
            return Ok(());
        };
        let owner = &release.finish.target;
        let known = release.dependents.len();
        self.patch_all(release.dependents).await?;
        let on_server = self
            .sweeps
            .dependents_of(&self.client, &owner.uid, owner.namespace.as_deref())
            .await?;
        let late: Vec<OwnersPatch> = on_server
            .into_iter()
            .filter_map(|dependent| self.late_release(dependent, owner))
            .collect();
        let unknown = late.len();
        self.patch_all(late).await?;
        tracing::debug!(object = %owner, known, unknown, "released dependents");
        self.change(|graph| graph.released(owner.node));
        self.remove_finalizer(&release.finish).await
    }

    /// The patch for a dependent that no informer has shown (yet).
    fn late_release(&self, dependent: Dependent, owner: &Target) -> Option<OwnersPatch> {
        let Dependent { resource, object } = dependent;
        let (meta, api_version) = (object.metadata.to_meta(), resource.api_version());
        let uid = meta.uid?;
        let (node, kind_id) = self.change(|graph| {
            let kind = graph.kind(&api_version, &resource.kind, Some(resource.scope));
            (graph.node_of(uid.as_str()), kind)
        });
        let target = Target {
            node: node.unwrap_or(NodeId::NOWHERE),
            kind_id,
            api_version: api_version.into_owned(),
            kind: resource.kind.into_owned(),
            namespace: meta.namespace,
            name: meta.name,
            uid,
            resource_version: meta.resource_version.unwrap_or_default(),
        };
        OwnersPatch::release(target, meta.owner_references, owner)
    }

    async fn patch_all(&self, patches: Vec<OwnersPatch>) -> Result<(), WorkError> {
        let all = patches.len();
        let mut failures: Vec<WorkError> = stream::iter(patches)
            .map(|patch| async move { self.patch_owners(&patch).await })
            .buffer_unordered(RELEASED_AT_ONCE)
            .filter_map(|answer| async { answer.err() })
            .collect()
            .await;
        match failures.pop() {
            None => Ok(()),
            Some(first) => Err(WorkError::Release {
                failed: failures.len() + 1,
                all,
                first: Box::new(first),
            }),
        }
    }

    fn api_of(&self, target: &Target) -> Result<Api<Metadata>, WorkError> {
        let served: Option<Arc<ApiResource>> = self.kinds.find(&target.api_version, &target.kind);
        match served {
            Some(resource) => Ok(self.api(&resource, target.namespace.as_deref())),
            None => Err(WorkError::NotServed {
                api_version: target.api_version.clone(),
                kind: target.kind.clone(),
            }),
        }
    }
}

fn changed(target: &Target) -> WorkError {
    WorkError::Changed {
        kind: target.kind.clone(),
        name: target.name.clone(),
    }
}
