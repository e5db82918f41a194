//! The ReplicaSet controller.

mod new_pod;
mod rank;
mod reconciler;
mod slow_start;
mod status;

use evenkeel::Controller;
use evenkeel_events::Recorder;
use evenkeel_meta::{MetaView, Object, ObjectKey};
use evenkeel_store::{AddIndexError, Event, Index, InformerOptions, Store};
use k8s_openapi::api::apps::v1::ReplicaSet;

use crate::claim;
use crate::pod::Pod;
use crate::setup::{Setup, indexed, orphans};
use reconciler::ReplicaSetReconciler;

/// Keeps as many pods as each ReplicaSet asks for.
///
/// # Errors
///
/// When an index of another meaning has the name of one of the controller's.
pub fn controller(
    setup: &Setup,
    recorder: Recorder,
    workers: usize,
) -> Result<Controller, AddIndexError> {
    let sets = setup
        .informers
        .typed::<ReplicaSet>(InformerOptions::default());
    let pods = setup.informers.typed::<Pod>(InformerOptions::default());
    let by_namespace = indexed(&sets, Index::namespace())?;
    let reconciler = ReplicaSetReconciler {
        sets: sets.store().clone(),
        pods: pods.store().clone(),
        owned: indexed(&pods, Index::controller_uid())?,
        orphans: indexed(&pods, orphans())?,
        siblings: indexed(&sets, Index::controller_uid())?,
        recorder,
        clock: setup.clock,
    };
    let store = sets.store().clone();
    Ok(Controller::builder("replicaset")
        .for_(&sets)
        .owns(&pods)
        .watches_events(&pods, move |_, event, add| {
            adopters(&store, &by_namespace, event, add);
        })
        .concurrency(workers)
        .metrics(setup.metrics.clone())
        .reconciler(reconciler))
}

/// The sets that may adopt a pod without a controller.
fn adopters(
    sets: &Store<ReplicaSet>,
    by_namespace: &Index<ReplicaSet>,
    event: &Event<Pod>,
    add: &mut dyn FnMut(ObjectKey),
) {
    let (Event::Added { object: pod, .. } | Event::Updated { new: pod, .. }) = event else {
        return;
    };
    let meta = pod.metadata();
    let Some(namespace) = meta.namespace() else {
        return;
    };
    if meta.controller().is_some() || !pod.is_active() || meta.labels.is_empty() {
        return;
    }
    for set in sets.by_index(by_namespace, namespace) {
        let selector = claim::selector(&set.spec.selector);
        if !selector.is_empty() && selector.matches_by(|key| meta.label(key)) {
            add(set.metadata.key());
        }
    }
}
