//! The Manager's election: what it needs, and what a standby never does.

#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

mod plane;

use std::sync::Arc;
use std::time::Duration;

use evenkeel::client::Client;
use evenkeel::election::{BuildError, Clock, InvalidTiming, Legacy, Lock, Timing};
use evenkeel::meta::{ApiResource, MetaView, Scope};
use evenkeel::{Controller, Election, Manager, ManagerError};
use evenkeel_apiserver::{Fault, Server, Verb, When};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use plane::LEASES;
use plane::journal::{Journal, settle};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

const ENDPOINTS: ApiResource =
    ApiResource::new_static("", "v1", "Endpoints", "endpoints", Scope::Namespaced);

fn election(identity: &str) -> Election {
    let mut election = Election::new("kube-system", "test");
    election.identity = Some(identity.to_owned());
    election.clock = Some(Clock::tokio());
    election
}

fn refusal(client: &Client, election: Election) -> BuildError {
    let builder = Manager::builder(client.clone()).election(election);
    match builder.build().unwrap_err() {
        ManagerError::Election(error) => error,
        other => panic!("{other}"),
    }
}

/// Without a Lease to compete for, or with durations that are not safe, there is no Manager.
#[test]
fn controller_runtime_t6_an_election_that_cannot_be_safe_is_an_error_of_the_set_up() {
    let client = Client::from_service(Server::new());
    for (namespace, name) in [("", "test"), ("kube-system", "")] {
        let error = refusal(&client, Election::new(namespace, name));
        assert!(matches!(error, BuildError::NoLease), "{error}");
    }
    let seconds = |lease, deadline, period| Timing {
        lease: Duration::from_secs(lease),
        renew_deadline: Duration::from_secs(deadline),
        retry_period: Duration::from_secs(period),
    };
    let mut unsafe_ones = [(10, 15, 2), (15, 2, 2), (15, 10, 0)].into_iter();
    let mut of = || {
        let mut election = election("me");
        let (lease, deadline, period) = unsafe_ones.next().unwrap();
        election.timing = seconds(lease, deadline, period);
        refusal(&client, election)
    };
    let timings = [of(), of(), of()];
    assert!(matches!(
        timings,
        [
            BuildError::Timing(InvalidTiming::LeaseTooShort { .. }),
            BuildError::Timing(InvalidTiming::RenewDeadlineTooShort { .. }),
            BuildError::Timing(InvalidTiming::NoRetryPeriod),
        ]
    ));
}

/// Which lock it is, what labels it has, whose client it is written with.
#[tokio::test(start_paused = true)]
async fn controller_runtime_t6_the_lock_is_the_one_that_was_asked_for() {
    let server = Server::builder().log_requests(1000).build();
    let client = Client::from_service(server.clone());
    let mut election = election("me");
    election.lock = Lock::Both(Legacy::Endpoints);
    election.labels = [("team".to_owned(), "storage".to_owned())].into();
    election.client = Some(client.with_user_agent("of-its-own"));
    let manager = Manager::builder(client.clone()).election(election);
    let stop = CancellationToken::new();
    let running = tokio::spawn(manager.build().unwrap().run(stop.clone()));
    tokio::time::sleep(Duration::from_secs(5)).await;
    let sent = server.take_requests();
    assert!(
        sent.iter()
            .all(|request| request.user_agent.starts_with("of-its-own"))
    );
    for resource in [LEASES, ENDPOINTS] {
        let locks = client.metadata(resource, Some("kube-system"));
        let lock = locks.get("test").await.unwrap();
        assert_eq!(lock.metadata.label("team"), Some("storage"));
    }
    stop.cancel();
    running.await.unwrap().unwrap();
}

/// A request that hangs is given up in half the renew deadline, so that there is time for another one.
#[tokio::test(start_paused = true)]
async fn controller_runtime_t6_a_request_gets_half_the_renew_deadline() {
    for deadline in [4, 10] {
        let server = Server::new();
        let once = When::verb(Verb::Create).on("leases").times(1);
        server.faults().inject(once, Fault::Hang);
        let mut election = election("me");
        election.timing.renew_deadline = Duration::from_secs(deadline);
        election.timing.retry_period = Duration::from_secs(1);
        let builder = Manager::builder(Client::from_service(server)).election(election);
        let manager = builder.build().unwrap();
        let elector = manager.elector().unwrap().clone();
        let stop = CancellationToken::new();
        let started = Instant::now();
        let running = tokio::spawn(manager.run(stop.clone()));
        while !elector.is_leading() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let half = Duration::from_secs(deadline) / 2;
        let waited = started.elapsed();
        assert!(waited >= half, "{waited:?}");
        // The retry period and its jitter.
        assert!(waited < half + Duration::from_millis(2_400), "{waited:?}");
        stop.cancel();
        running.await.unwrap().unwrap();
    }
}

/// It is told to stop just when it could lead: nothing of the leading part is started, the Lease is
/// left alone, and it never was the leader. What runs always did.
#[tokio::test(start_paused = true)]
async fn controller_runtime_t4_a_standby_that_stops_has_never_led() {
    let server = Server::builder().log_requests(1000).build();
    let client = Client::from_service(server.clone());
    let leader = Manager::builder(client.clone()).election(election("leader"));
    let stop_leader = CancellationToken::new();
    let leading = tokio::spawn(leader.build().unwrap().run(stop_leader.clone()));
    settle().await;

    let standby = Manager::builder(client.with_user_agent("standby")).election(election("standby"));
    let mut standby = standby.build().unwrap();
    let log: Arc<Mutex<Vec<&str>>> = Arc::default();
    let (of_leading, of_always) = (Arc::clone(&log), Arc::clone(&log));
    standby.run_leading("leading", move |_| {
        of_leading.lock().push("leading");
        async { Ok(()) }
    });
    standby.run_always("always", move |term| {
        let log = Arc::clone(&of_always);
        log.lock().push("always");
        async move {
            term.stop.cancelled().await;
            // Long after the leader has given the Lease back.
            tokio::time::sleep(Duration::from_secs(10)).await;
            log.lock().push("stopped");
            Ok(())
        }
    });
    let journal = Journal::new();
    let maps = standby.watch::<ConfigMap>();
    let controller = Controller::builder("maps").for_(&maps);
    standby.add(controller.reconciler(journal.clone())).unwrap();
    let elector = standby.elector().unwrap().clone();
    let handle = standby.handle();
    let stop = CancellationToken::new();
    let running = tokio::spawn(standby.run(stop.clone()));
    create(&client).await;
    settle().await;
    server.take_requests();

    stop.cancel();
    stop_leader.cancel();
    leading.await.unwrap().unwrap();
    settle().await;
    assert!(!elector.is_leading());
    let late = handle.run_leading("late", |_| async { unreachable!() });
    assert!(late.is_err());
    running.await.unwrap().unwrap();
    assert_eq!(*log.lock(), ["always", "stopped"]);
    assert!(journal.take().is_empty());
    let sent = server.take_requests();
    let wrote = sent
        .iter()
        .filter(|request| request.user_agent.starts_with("standby") && request.method != "GET");
    assert_eq!(wrote.count(), 0);
    let lease = client.dynamic(LEASES, Some("kube-system"));
    let lease = lease.get("test").await.unwrap();
    assert_eq!(lease.data["spec"]["holderIdentity"], "");
    assert_eq!(lease.data["spec"]["leaseTransitions"], 0);
    assert!(elector.last_loss().is_none());
}

async fn create(client: &Client) {
    let api = client.namespaced::<ConfigMap>("default");
    let map = plane::config_map("a");
    api.create(&map, &Default::default()).await.unwrap();
}
