//! The namespace controller: empties terminating namespaces and lets them go (contracts kcm NS1-NS3).

mod condition;
mod content;
mod reconciler;

use evenkeel::Controller;
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
    let reconciler = NamespaceReconciler::new(namespaces.store().clone());
    Controller::builder("namespace")
        .for_(&namespaces)
        .concurrency(workers)
        .metrics(setup.metrics.clone())
        .reconciler(reconciler)
}
