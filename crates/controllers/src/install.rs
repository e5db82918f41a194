//! All controllers of this crate into one Manager.

use evenkeel::{AddError, Clock, Manager};
use evenkeel_gc::GarbageCollector;
use evenkeel_store::AddIndexError;

use crate::{
    Name, Selection, Setup, deployment, graph_pages, namespace, replicaset, serviceaccount,
};

/// Which controllers run, and how many keys each works on at once.
///
/// The defaults are kube-controller-manager's (contract kcm §3.2).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Which.
    pub controllers: Selection,
    /// `--concurrent-deployment-syncs`
    pub deployment_workers: usize,
    /// `--concurrent-replicaset-syncs`
    pub replicaset_workers: usize,
    /// `--concurrent-namespace-syncs`
    pub namespace_workers: usize,
    /// `--concurrent-serviceaccount-syncs`
    pub serviceaccount_workers: usize,
    /// `--concurrent-gc-syncs`
    pub gc_workers: usize,
    /// The time by which deadlines that live in objects are measured. The machine's unless set.
    pub clock: Clock,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            controllers: Selection::all(),
            deployment_workers: 5,
            replicaset_workers: 5,
            namespace_workers: 10,
            serviceaccount_workers: 1,
            gc_workers: 20,
            clock: Clock::system(),
        }
    }
}

/// The controllers could not be added to a Manager.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// One of the Manager's informers has another index under a name that is needed.
    #[error(transparent)]
    Index(#[from] AddIndexError),
    /// The Manager has another controller under one of the names.
    #[error(transparent)]
    Add(#[from] AddError),
}

/// Adds the selected controllers to `manager`. They share its informers.
///
/// # Errors
///
/// When something in the Manager has a name that is needed here.
pub fn install(manager: &mut Manager, options: &Options) -> Result<(), InstallError> {
    let setup = Setup {
        informers: manager.informers().clone(),
        metrics: manager.registry().metrics(),
        clock: options.clock,
    };
    let recorder = manager.recorder("evenkeel");
    let reporter = |name: Name| recorder.component(name.as_str());
    for name in Name::ALL {
        if !options.controllers.contains(name) {
            tracing::info!(controller = %name, "Controller is disabled");
            continue;
        }
        match name {
            Name::Deployment => {
                manager.add(deployment::controller(
                    &setup,
                    reporter(name),
                    options.deployment_workers,
                )?)?;
            }
            Name::ReplicaSet => {
                manager.add(replicaset::controller(
                    &setup,
                    reporter(name),
                    options.replicaset_workers,
                )?)?;
            }
            Name::Namespace => {
                manager.add(namespace::controller(&setup, options.namespace_workers))?;
            }
            Name::ServiceAccount => {
                manager.add(serviceaccount::controller(
                    &setup,
                    options.serviceaccount_workers,
                ))?;
            }
            Name::GarbageCollector => {
                let (reporter, metrics, workers) =
                    (reporter(name), setup.metrics.clone(), options.gc_workers);
                // What other controllers mirror it watches through them. The other informers are
                // its own and end with the term: a standby has no use for the metadata of everything.
                let informers = setup.informers.clone();
                let current = graph_pages::Current::default();
                graph_pages::add(manager.debug_pages(), &current);
                manager.run_leading(name.as_str(), move |term| {
                    let collector = GarbageCollector::builder(term.client)
                        .informers(informers.clone())
                        .recorder(&reporter)
                        .metrics(metrics.clone())
                        .concurrency(workers)
                        .build();
                    let running = current.set(collector.inspector());
                    async move {
                        let _running = running;
                        collector.run(term.stop).await;
                        Ok(())
                    }
                });
            }
        }
    }
    Ok(())
}
