//! One controller manager: the controllers, the election, and the events about both.

use std::time::Duration;

use anyhow::Context;
use evenkeel::{Election, Manager, ManagerError, Registry};
use evenkeel_client::Client;
use evenkeel_controllers::{Options, install};
use evenkeel_election::{Announcement, Elector};
use evenkeel_events::{EventType, ObjectReference, Recorder};
use tokio_util::sync::CancellationToken;

/// How long events about the election may take to be written after everything has stopped.
const LAST_EVENTS: Duration = Duration::from_secs(2);

/// A controller manager that has not been started.
pub(crate) struct Replica {
    manager: Manager,
    /// Writes who leads. It is not fenced: that somebody stopped leading is said afterwards.
    announcements: Option<Recorder>,
}

/// What one is made of.
pub(crate) struct Settings {
    /// For everything but the Lease.
    pub(crate) client: Client,
    /// For the Lease alone, with connections of its own, so that renewals wait for nothing.
    pub(crate) lease_client: Client,
    /// `None` runs the controllers without an election.
    pub(crate) election: Option<Election>,
    /// Which controllers, and how many workers each.
    pub(crate) controllers: Options,
    /// How long running reconciles may take to finish after the stop.
    pub(crate) grace: Duration,
}

impl Replica {
    /// Must be called in a runtime.
    pub(crate) fn build(settings: Settings) -> anyhow::Result<Self> {
        let registry = Registry::new();
        let metrics = registry.metrics();
        let mut builder = Manager::builder(settings.client.with_metrics(&metrics))
            .registry(registry)
            .grace_period(settings.grace);
        let mut announcements = None;
        if let Some(mut election) = settings.election {
            let client = settings.lease_client.with_metrics(&metrics);
            let recorder = Recorder::new(client.clone(), election.name.clone(), "");
            announcements = Some(recorder.clone());
            election.client = Some(client);
            election.announce = Some(Box::new(move |announcement| {
                announce(&recorder, announcement);
            }));
            builder = builder.election(election);
        }
        let mut manager = builder.build()?;
        install(&mut manager, &settings.controllers).context("cannot set up the controllers")?;
        if let Some(elector) = manager.elector().cloned() {
            manager.run_always("leader watch", move |term| {
                let elector = elector.clone();
                async move {
                    report_leaders(&elector, &term.stop).await;
                    Ok(())
                }
            });
        }
        Ok(Self {
            manager,
            announcements,
        })
    }

    pub(crate) fn manager(&self) -> &Manager {
        &self.manager
    }

    pub(crate) fn manager_mut(&mut self) -> &mut Manager {
        &mut self.manager
    }

    /// Runs until `stop`, then stops in order: when this returns, nothing runs any more and the
    /// Lease has been given back.
    pub(crate) async fn run(self, stop: CancellationToken) -> Result<(), ManagerError> {
        let ended = self.manager.run(stop).await;
        if let Some(recorder) = self.announcements
            && let Err(error) = recorder.shutdown(LAST_EVENTS).await
        {
            tracing::warn!(%error, "Some events about the election were not written");
        }
        ended
    }
}

fn announce(recorder: &Recorder, announcement: Announcement) {
    let lock = ObjectReference {
        api_version: announcement.api_version,
        kind: announcement.kind,
        namespace: announcement.namespace,
        name: announcement.name,
        ..ObjectReference::default()
    };
    recorder.event(
        &lock,
        EventType::Normal,
        Announcement::REASON,
        announcement.message,
    );
}

/// Says who leads for as long as it is somebody else.
async fn report_leaders(elector: &Elector, stop: &CancellationToken) {
    let mut leaders = elector.watch_leader();
    let mut leader = leaders.current();
    loop {
        if let Some(leader) = leader
            && *leader != *elector.identity()
        {
            tracing::info!(%leader, "Standing by: another controller manager leads");
        }
        leader = tokio::select! {
            () = stop.cancelled() => return,
            leader = leaders.changed() => leader,
        };
    }
}
