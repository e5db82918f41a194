//! The namespace controller: empties terminating namespaces and lets them go (contracts kcm NS1-NS3).

mod condition;
mod content;
mod reconciler;

use std::time::Duration;

use evenkeel::Controller;
use evenkeel_pace::ItemBackoff;
use evenkeel_store::InformerOptions;
use k8s_openapi::api::core::v1::Namespace;

use crate::setup::Setup;
use reconciler::NamespaceReconciler;

/// Deletes everything in terminating namespaces, then the namespaces themselves.
#[must_use]
pub fn controller(setup: &Setup, workers: usize) -> Controller {
    let namespaces = setup
        .informers
        .typed::<Namespace>(InformerOptions::default());
    let reconciler = NamespaceReconciler::new(namespaces.store().clone(), setup.clock);
    Controller::builder("namespace")
        .for_(&namespaces)
        .concurrency(workers)
        // What fails here takes a look at every kind of the cluster to be tried again.
        .limiter(|| ItemBackoff::new(Duration::from_secs(1), Duration::from_secs(60)))
        .metrics(setup.metrics.clone())
        .reconciler(reconciler)
}
