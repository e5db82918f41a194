//! A lease that is lost while reconciles run: they end before a rival may begin, and the Manager
//! goes on. In virtual time, over the embedded server.

#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

mod plane;

use std::sync::Arc;
use std::time::Duration;

use evenkeel::client::{Client, Patch, PatchOptions, WriteOptions};
use evenkeel::election::Clock;
use evenkeel::meta::ObjectKey;
use evenkeel::{
    Context, Controller, Election, Manager, ManagerError, Outcome, ReconcileResult, Reconciler,
};
use evenkeel_apiserver::{Fault, Injected, Server, When};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use plane::{LEASES, config_map};
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

/// A run of [`Deaf`] takes this long.
const RUN: Duration = Duration::from_secs(20);
/// Of the default timing.
const LEASE: Duration = Duration::from_secs(15);
/// Timers fire on whole milliseconds.
const TICK: Duration = Duration::from_millis(10);

/// What has become of the runs of [`Deaf`].
#[derive(Clone, Default)]
struct Runs(Arc<Mutex<Vec<Run>>>);

#[derive(Clone)]
struct Run {
    stopping: Option<Instant>,
    ended: Option<Instant>,
    finished: bool,
}

/// Hears what its context says, and sleeps on.
struct Deaf(Runs);

struct Ending<'a> {
    runs: &'a Runs,
    at: usize,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        let mut runs = self.runs.0.lock();
        runs[self.at].ended = Some(Instant::now());
    }
}

impl Reconciler for Deaf {
    async fn reconcile(&self, context: &Context, _: &ObjectKey) -> ReconcileResult {
        let at = {
            let mut runs = self.0.0.lock();
            runs.push(Run {
                stopping: None,
                ended: None,
                finished: false,
            });
            runs.len() - 1
        };
        let runs = &self.0;
        let _ending = Ending { runs, at };
        let listen = async {
            context.stopping().await;
            self.0.0.lock()[at].stopping = Some(Instant::now());
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = sleep(RUN) => {}
            () = listen => {}
        }
        self.0.0.lock()[at].finished = true;
        Ok(Outcome::Done)
    }
}

struct Stage {
    server: Server,
    client: Client,
    runs: Runs,
    stop: CancellationToken,
    running: JoinHandle<Result<(), ManagerError>>,
}

impl Stage {
    /// A Manager with a grace period of 30 s that leads and has begun a run.
    async fn leading(also: impl FnOnce(&mut Manager)) -> Self {
        let server = Server::new();
        let client = Client::from_service(server.clone());
        let mut election = Election::new("kube-system", "test");
        election.identity = Some("me".to_owned());
        election.clock = Some(Clock::tokio());
        let builder = Manager::builder(client.clone()).election(election);
        let mut manager = builder.build().unwrap();
        let runs = Runs::default();
        let maps = manager.watch::<ConfigMap>();
        let deaf = Controller::builder("deaf")
            .for_(&maps)
            .reconciler(Deaf(runs.clone()));
        manager.add(deaf).unwrap();
        also(&mut manager);
        let maps = client.namespaced::<ConfigMap>("default");
        maps.create(&config_map("a"), &WriteOptions::default())
            .await
            .unwrap();
        let stop = CancellationToken::new();
        let running = tokio::spawn(manager.run(stop.clone()));
        sleep(Duration::from_secs(3)).await;
        assert_eq!(runs.0.lock().len(), 1);
        Self {
            server,
            client,
            runs,
            stop,
            running,
        }
    }

    /// Somebody else takes the Lease, and never renews it.
    async fn usurp(&self) {
        let usurper = json!({"spec": {
            "holderIdentity": "usurper", "leaseDurationSeconds": 15,
            "renewTime": "2026-01-01T00:00:00.000000Z", "leaseTransitions": 9,
        }});
        self.client
            .dynamic(LEASES, Some("kube-system"))
            .patch("test", &Patch::merge(&usurper), &PatchOptions::default())
            .await
            .unwrap();
    }

    /// No request for the Lease is answered any more.
    fn cut_off(&self) -> Injected {
        let leases = When::any().on("leases.coordination.k8s.io");
        self.server.faults().inject(leases, Fault::Hang)
    }

    fn run(&self, at: usize) -> Run {
        self.runs.0.lock()[at].clone()
    }

    async fn end(self) {
        self.stop.cancel();
        self.running.await.unwrap().unwrap();
    }
}

/// A rival leads already: there is nothing to wait for. The run is told, and dropped a second later;
/// the Manager goes on, and leads again when the rival has gone.
#[tokio::test(start_paused = true)]
async fn a_run_that_does_not_heed_the_loss_of_the_lease_does_not_end_the_process() {
    let stage = Stage::leading(|_| {}).await;
    let lost = Instant::now();
    stage.usurp().await;
    sleep(Duration::from_secs(10)).await;
    assert!(!stage.running.is_finished(), "it stands by");
    let run = stage.run(0);
    assert!(!run.finished);
    let (told, ended) = (run.stopping.unwrap() - lost, run.ended.unwrap() - lost);
    // The renewal every 2 s may be what tells of the rival.
    assert!(told <= Duration::from_millis(2_100), "{told:?}");
    let words = ended.saturating_sub(told);
    assert!(words.abs_diff(Duration::from_secs(1)) < TICK, "{words:?}");
    sleep(Duration::from_secs(30)).await;
    let again = stage.run(1);
    assert!(again.finished, "the key of the run that was broken off");
    stage.end().await;
}

/// The Lease could not be renewed: nobody can begin before it has run out, and by then the run is gone.
#[tokio::test(start_paused = true)]
async fn a_run_of_a_term_that_was_not_renewed_ends_before_a_rival_can_begin() {
    let stage = Stage::leading(|_| {}).await;
    let (cut, since) = (stage.cut_off(), Instant::now());
    sleep(LEASE).await;
    assert!(!stage.running.is_finished(), "it campaigns");
    let run = stage.run(0);
    assert!(!run.finished && run.ended.unwrap() - since < LEASE - Duration::from_secs(1));
    let told = run.ended.unwrap() - run.stopping.unwrap();
    assert!(told.abs_diff(Duration::from_secs(1)) < TICK, "{told:?}");
    cut.lift();
    sleep(Duration::from_secs(60)).await;
    assert!(stage.run(1).finished);
    stage.end().await;
}

/// The grace period of a stop is worth nothing once the lease is gone.
#[tokio::test(start_paused = true)]
async fn a_lease_that_is_lost_during_a_stop_cuts_the_grace_period_short() {
    let stage = Stage::leading(|_| {}).await;
    let (cut, since) = (stage.cut_off(), Instant::now());
    stage.stop.cancel();
    sleep(LEASE).await;
    let run = stage.run(0);
    assert!(!run.finished && run.ended.unwrap() - since < LEASE - Duration::from_secs(1));
    cut.lift();
    stage.end().await;
}

/// What still runs when the lease has run out runs beside a rival: only that ends the process.
#[tokio::test(start_paused = true)]
async fn what_outlives_the_lease_ends_the_process() {
    let stage = Stage::leading(|manager| {
        manager.run_leading("stubborn", |_| std::future::pending());
    })
    .await;
    let _cut = stage.cut_off();
    let since = Instant::now();
    let error = stage.running.await.unwrap().unwrap_err();
    assert!(error.is_overrun());
    assert!(error.to_string().ends_with("stubborn"), "{error}");
    assert!(since.elapsed() < LEASE + TICK, "{:?}", since.elapsed());
}
