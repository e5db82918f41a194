use std::sync::Arc;

use evenkeel_client::Discovery;
use evenkeel_meta::{ApiResource, GroupResource, ObjectKey};
use evenkeel_store::{Informers, MetadataEvent, MetadataView, Registration, SyncPhase, SyncState};
use hashbrown::HashSet;
use parking_lot::Mutex;
use tokio::time::{Duration, Instant, timeout_at};

use super::kinds::deletable;
use super::shared::Shared;
use crate::graph::KindId;

/// One informer for each resource that can be collected, kept up to date with discovery (G3, G7).
pub(crate) struct Monitors {
    shared: Arc<Shared>,
    /// Other loops' informers. What one of them shows is not asked for twice.
    others: Option<Informers>,
    /// For what nobody else shows.
    own: Informers,
    ignored: HashSet<GroupResource>,
    running: Mutex<Vec<Monitor>>,
}

struct Monitor {
    resource: ApiResource,
    kind: KindId,
    view: MetadataView,
    /// Whether nobody else uses the informer behind it, so that it may be stopped.
    owned: bool,
    /// Dropped with the monitor: no event comes after that.
    _registration: Registration,
}

impl Monitors {
    pub(crate) fn new(
        shared: Arc<Shared>,
        others: Option<Informers>,
        own: Informers,
        ignored: HashSet<GroupResource>,
    ) -> Self {
        Self {
            shared,
            others,
            own,
            ignored,
            running: Mutex::new(Vec::new()),
        }
    }

    /// One turn: asks what is served, starts and stops monitors, and waits for the new ones, but
    /// not for longer than `patience`. Says whether there is anything to watch.
    ///
    /// A server that serves nothing at all is broken and no reason to forget everything (G7).
    pub(crate) async fn sync(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let discovery = match self.shared.client.discover().await {
            Ok(discovery) => discovery,
            Err(error) => {
                tracing::warn!(%error, "cannot find out what is served");
                self.shared.sync_errors.inc();
                return self.is_watching();
            }
        };
        let wanted = deletable(&discovery, &self.ignored);
        if wanted.is_empty() {
            tracing::warn!("the server serves nothing that can be collected: ignored");
            self.shared.sync_errors.inc();
            return self.is_watching();
        }
        for failure in &discovery.failures {
            tracing::warn!(%failure, "part of the discovery failed; its monitors stay");
            self.shared.sync_errors.inc();
        }
        self.take_over_kinds(&discovery);
        if self.start(&wanted) {
            self.wait(deadline).await;
        }
        self.stop_others(&wanted, &discovery);
        self.tell_sweeps();
        true
    }

    fn is_watching(&self) -> bool {
        !self.running.lock().is_empty()
    }

    fn take_over_kinds(&self, discovery: &Discovery) {
        if !self.shared.kinds.update(discovery) {
            return;
        }
        self.shared.change(|graph| {
            for resource in self.shared.kinds.all() {
                graph.kind(
                    &resource.api_version(),
                    &resource.kind,
                    Some(resource.scope),
                );
            }
            graph.kinds_changed();
        });
    }

    /// Forgets the monitors whose informers somebody else has stopped, to start them anew.
    fn drop_stopped(&self) {
        let is_stopped =
            |monitor: &mut Monitor| monitor.view.sync_state().phase == SyncPhase::Stopped;
        let stopped: Vec<Monitor> = self.running.lock().extract_if(.., is_stopped).collect();
        for monitor in stopped {
            tracing::warn!(resource = %monitor.resource, "its informer was stopped");
            drop(monitor._registration);
            self.shared.change(|graph| graph.drop_kind(monitor.kind));
        }
    }

    /// Starts what is missing; says whether anything was.
    fn start(&self, wanted: &[ApiResource]) -> bool {
        self.drop_stopped();
        let mut running = self.running.lock();
        let before = running.len();
        let new: Vec<&ApiResource> = wanted
            .iter()
            .filter(|resource| running.iter().all(|monitor| monitor.resource != **resource))
            .collect();
        for resource in new {
            let kind = self.shared.change(|graph| {
                graph.kind(
                    &resource.api_version(),
                    &resource.kind,
                    Some(resource.scope),
                )
            });
            let theirs = self
                .others
                .as_ref()
                .and_then(|others| others.find_metadata_view(resource));
            let owned = theirs.is_none();
            let view = theirs.unwrap_or_else(|| self.own.metadata_view(resource.clone()));
            let shared = Arc::clone(&self.shared);
            let handler = move |_: &ObjectKey, event: MetadataEvent<'_>| shared.inform(kind, event);
            match view.add_handler(handler) {
                Ok(registration) => running.push(Monitor {
                    resource: resource.clone(),
                    kind,
                    view,
                    owned,
                    _registration: registration,
                }),
                // The next turn tries again.
                Err(error) => tracing::warn!(%resource, %error, "cannot watch"),
            }
        }
        let started = running.len() > before;
        drop(running);
        self.own.start();
        self.tell_sweeps();
        started
    }

    fn tell_sweeps(&self) {
        let running = self.running.lock();
        let views = running.iter().map(|monitor| monitor.view.clone());
        self.shared.sweeps.watch(views.collect());
    }

    /// Waits until all have synced, or time is up: what cannot sync must not hold up the rest
    /// (G6).
    async fn wait(&self, deadline: Instant) {
        let waiting: Vec<MetadataView> = {
            let running = self.running.lock();
            let unsynced = running.iter().filter(|monitor| !monitor.view.has_synced());
            unsynced.map(|monitor| monitor.view.clone()).collect()
        };
        let mut late = 0;
        for view in waiting {
            if !matches!(timeout_at(deadline, view.synced()).await, Ok(Ok(()))) {
                let state = view.sync_state();
                tracing::warn!(resource = %view.resource(), ?state, "not synced; going on without");
                late += 1;
            }
        }
        if late > 0 {
            self.shared.sync_errors.inc();
        }
    }

    /// Stops what is no longer served. What is served in another version now goes on until the
    /// monitor of that one has synced, so that nothing is forgotten in between.
    fn stop_others(&self, wanted: &[ApiResource], discovery: &Discovery) {
        let mut running = self.running.lock();
        let synced: Vec<GroupResource> = running
            .iter()
            .filter(|monitor| wanted.contains(&monitor.resource) && monitor.view.has_synced())
            .map(|monitor| monitor.resource.group_resource())
            .collect();
        let stays = |monitor: &Monitor| {
            let resource = &monitor.resource;
            let moved = wanted
                .iter()
                .any(|other| other.group_resource() == resource.group_resource());
            wanted.contains(resource)
                || moved && !synced.contains(&resource.group_resource())
                || is_silent(discovery, resource)
        };
        let (staying, going): (Vec<Monitor>, Vec<Monitor>) = running.drain(..).partition(stays);
        *running = staying;
        drop(running);
        for monitor in going {
            tracing::info!(resource = %monitor.resource, "no longer served");
            if monitor.owned {
                monitor.view.stop();
            }
            drop(monitor._registration);
            self.shared.change(|graph| graph.drop_kind(monitor.kind));
        }
    }

    /// The resources that have not synced, and why.
    pub(crate) fn unsynced(&self) -> Vec<SyncState> {
        let running = self.running.lock();
        let unsynced = running.iter().filter(|monitor| !monitor.view.has_synced());
        unsynced.map(|monitor| monitor.view.sync_state()).collect()
    }

    /// The resources that cannot be followed now, and why. Having synced once is no health.
    pub(crate) fn failing(&self) -> Vec<SyncState> {
        let running = self.running.lock();
        let states = running.iter().map(|monitor| monitor.view.sync_state());
        states
            .filter(|state| !state.is_synced() || state.failure.is_some())
            .collect()
    }

    /// Ends all events, and the informers that serve nobody else.
    pub(crate) async fn shut_down(&self) {
        self.running.lock().clear();
        self.shared.sweeps.watch(Vec::new());
        self.own.shutdown().await;
    }
}

/// Whether the group did not answer in full, so that a resource missing from it proves nothing.
fn is_silent(discovery: &Discovery, resource: &ApiResource) -> bool {
    discovery.failures.iter().any(|failure| {
        let group = failure
            .group_version
            .split_once('/')
            .map_or("", |(group, _)| group);
        group == resource.group
    })
}
