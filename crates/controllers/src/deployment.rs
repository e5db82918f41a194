//! The Deployment controller.

mod children;
mod cleanup;
mod condition;
mod limits;
mod proportional;
mod reconciler;
mod revision;
mod rollback;
mod rolling;
mod rollout;
mod status;
mod template;

use evenkeel::Controller;
use evenkeel_events::Recorder;
use evenkeel_meta::{MetaView, Object, ObjectKey};
use evenkeel_store::{AddIndexError, Event, Index, InformerOptions, Store};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};

use crate::claim;
use crate::pod::Pod;
use crate::setup::{Setup, indexed, orphans};
use reconciler::DeploymentReconciler;

/// Rolls the template of each Deployment out over its ReplicaSets.
///
/// # Errors
///
/// When an index of another meaning has the name of one of the controller's.
pub fn controller(
    setup: &Setup,
    recorder: Recorder,
    workers: usize,
) -> Result<Controller, AddIndexError> {
    let deployments = setup
        .informers
        .typed::<Deployment>(InformerOptions::default());
    let sets = setup
        .informers
        .typed::<ReplicaSet>(InformerOptions::default());
    let pods = setup.informers.typed::<Pod>(InformerOptions::default());
    let by_namespace = indexed(&deployments, Index::namespace())?;
    let by_uid = indexed(
        &sets,
        Index::new("uid", |set: &ReplicaSet| set.metadata.uid.clone()),
    )?;
    let reconciler = DeploymentReconciler {
        deployments: deployments.store().clone(),
        sets: sets.store().clone(),
        pods: pods.store().clone(),
        owned: indexed(&sets, Index::controller_uid())?,
        orphans: indexed(&sets, orphans())?,
        pods_of: indexed(&pods, Index::controller_uid())?,
        recorder,
        clock: setup.clock,
    };
    let adopting = deployments.store().clone();
    let waiting = Waiting {
        deployments: deployments.store().clone(),
        sets: sets.store().clone(),
        by_uid,
    };
    Ok(Controller::builder("deployment")
        .for_(&deployments)
        .owns(&sets)
        .watches_events(&sets, move |_, event, add| {
            adopters(&adopting, &by_namespace, event, add);
        })
        .watches_events(&pods, move |_, event, add| waiting.concerned(event, add))
        .concurrency(workers)
        .metrics(setup.metrics.clone())
        .reconciler(reconciler))
}

/// The Deployments that may adopt a ReplicaSet without a controller.
fn adopters(
    deployments: &Store<Deployment>,
    by_namespace: &Index<Deployment>,
    event: &Event<ReplicaSet>,
    add: &mut dyn FnMut(ObjectKey),
) {
    let (Event::Added { object: set, .. } | Event::Updated { new: set, .. }) = event else {
        return;
    };
    let meta = &set.metadata;
    let Some(namespace) = MetaView::namespace(meta) else {
        return;
    };
    if meta.controller().is_some() || meta.is_terminating() {
        return;
    }
    for deployment in deployments.by_index(by_namespace, namespace) {
        let selector = claim::selector(&deployment.spec.selector);
        if !selector.is_empty() && selector.matches_by(|key| meta.label(key)) {
            add(deployment.metadata.key());
        }
    }
}

/// Finds Deployments that wait for the end of their old pods (strategy `Recreate`).
struct Waiting {
    deployments: Store<Deployment>,
    sets: Store<ReplicaSet>,
    by_uid: Index<ReplicaSet>,
}

impl Waiting {
    fn concerned(&self, event: &Event<Pod>, add: &mut dyn FnMut(ObjectKey)) {
        let pod = match event {
            Event::Deleted(deletion) => deletion.last_known(),
            // A pod that has come to its end does not hold the new ones up any more.
            Event::Updated { new, .. } if !new.is_active() => Some(new),
            Event::Updated { .. } | Event::Added { .. } => None,
        };
        let Some(set) = pod
            .and_then(|pod| pod.metadata().controller())
            .and_then(|owner| self.sets.by_index(&self.by_uid, owner.uid).pop())
        else {
            return;
        };
        let Some(owner) = set.metadata.controller() else {
            return;
        };
        let key = ObjectKey::new(MetaView::namespace(&set.metadata), owner.name);
        let recreates = |deployment: &Deployment| limits::Limits::of(deployment).recreate;
        if self
            .deployments
            .get(&key)
            .is_some_and(|deployment| recreates(&deployment))
        {
            add(key);
        }
    }
}
