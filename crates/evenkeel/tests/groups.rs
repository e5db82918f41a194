//! What a Manager consists of: groups in order, parts that are added late, standbys, clusters.

#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

mod plane;

use std::sync::Arc;
use std::time::Duration;

use evenkeel::client::{Client, WriteOptions};
use evenkeel::election::Clock;
use evenkeel::meta::{DeleteOptions, ObjectKey};
use evenkeel::store::Store;
use evenkeel::{
    AddError, Context, Controller, Election, Manager, ManagerError, Outcome, ReconcileResult,
    Reconciler,
};
use evenkeel_apiserver::{Fault, Server, Verb, When};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use plane::config_map;
use plane::journal::{Journal, names, settle};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

type Log = Arc<Mutex<Vec<String>>>;

fn client() -> (Server, Client) {
    let server = Server::new();
    let client = Client::from_service(server.clone());
    (server, client)
}

fn elected(client: &Client, identity: &str) -> Manager {
    let mut election = Election::new("kube-system", "test");
    election.identity = Some(identity.to_owned());
    election.clock = Some(Clock::tokio());
    let builder = Manager::builder(client.clone()).election(election);
    builder
        .grace_period(Duration::from_secs(10))
        .build()
        .unwrap()
}

fn start(manager: Manager) -> (CancellationToken, JoinHandle<Result<(), ManagerError>>) {
    let stop = CancellationToken::new();
    (stop.clone(), tokio::spawn(manager.run(stop)))
}

/// Notes when it starts, and when it has stopped; takes a second to stop.
macro_rules! noting {
    ($log:expr, $name:literal) => {{
        let log: Log = Arc::clone($log);
        move |term: evenkeel::Term| {
            let log = Arc::clone(&log);
            log.lock().push(concat!("+", $name).to_owned());
            async move {
                term.stop.cancelled().await;
                tokio::time::sleep(Duration::from_secs(1)).await;
                log.lock().push(concat!("-", $name).to_owned());
                Ok(())
            }
        }
    }};
}

async fn create(client: &Client, name: &str) {
    let api = client.namespaced::<ConfigMap>("default");
    api.create(&config_map(name), &WriteOptions::default())
        .await
        .unwrap();
}

/// Each group is told to stop when the one that may need it has stopped (F1, ours: exactly the
/// reverse order).
#[tokio::test(start_paused = true)]
async fn controller_runtime_f1_t2_t5_groups_start_in_order_and_stop_in_the_reverse_one() {
    let (_server, client) = client();
    let log = Log::default();
    let mut manager = elected(&client, "me");
    manager.run_leading("leading", noting!(&log, "leading"));
    manager.run_always("always", noting!(&log, "always"));
    manager.run_serving("webhooks", noting!(&log, "webhooks"));
    let (stop, running) = start(manager);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let stopped = Instant::now();
    stop.cancel();
    running.await.unwrap().unwrap();
    assert_eq!(
        *log.lock(),
        [
            "+webhooks",
            "+always",
            "+leading",
            "-leading",
            "-always",
            "-webhooks"
        ]
    );
    assert!(
        stopped.elapsed() >= Duration::from_secs(3),
        "one after the other"
    );
}

/// The first failure ends the Manager, in order: the leading part is not cut off, and the Lease
/// is given back (T8). What fails on the way is told too (T11).
#[tokio::test(start_paused = true)]
async fn controller_runtime_t8_t11_a_failure_stops_the_others_in_order_and_all_errors_are_told() {
    let (_server, client) = client();
    let log = Log::default();
    let mut manager = elected(&client, "me");
    manager.run_leading("leading", noting!(&log, "leading"));
    manager.run_always("flaky", |_| async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        Err(std::io::Error::other("the disk is full").into())
    });
    manager.run_always("sore loser", |term| async move {
        term.stop.cancelled().await;
        Err(std::io::Error::other("not now").into())
    });
    let (_stop, running) = start(manager);
    let error = running.await.unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "flaky: the disk is full; sore loser: not now"
    );
    assert!(matches!(&error, ManagerError::Several(errors) if errors.len() == 2));
    assert!(!error.is_overrun());
    assert_eq!(*log.lock(), ["+leading", "-leading"]);
    let mut next = elected(&client, "next");
    next.run_leading("leading", noting!(&log, "next"));
    let (stop, running) = start(next);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(log.lock().last().unwrap(), "+next", "the lease was free");
    stop.cancel();
    running.await.unwrap().unwrap();
}

/// What does not stop is named, and the lease is left to run out while it may still act (F14, ours).
#[tokio::test(start_paused = true)]
async fn controller_runtime_t12_what_does_not_stop_is_named_and_the_lease_is_not_given_back() {
    let (_server, client) = client();
    let log = Log::default();
    let mut manager = elected(&client, "me");
    manager.run_leading("good", noting!(&log, "good"));
    manager.run_leading("stubborn", |_| std::future::pending());
    manager.run_serving("broken", |term| async move {
        term.stop.cancelled().await;
        Err(std::io::Error::other("torn").into())
    });
    let (stop, running) = start(manager);
    tokio::time::sleep(Duration::from_secs(1)).await;
    stop.cancel();
    let stopped = Instant::now();
    let error = running.await.unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "did not stop within 15s: stubborn; broken: torn"
    );
    assert!(error.is_overrun());
    assert!(stopped.elapsed() < Duration::from_secs(16));
    let mut next = elected(&client, "next");
    next.run_leading("next", noting!(&log, "next"));
    let (stop, running) = start(next);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(!log.lock().contains(&"+next".to_owned()));
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert!(log.lock().contains(&"+next".to_owned()));
    stop.cancel();
    running.await.unwrap().unwrap();
}

/// Parts that are added late start at once; once the stop has begun they are refused.
#[tokio::test(start_paused = true)]
async fn controller_runtime_t10_t17_parts_are_added_until_the_stop() {
    let (_server, client) = client();
    let log = Log::default();
    let mut manager = Manager::builder(client.clone()).build().unwrap();
    manager.run_always("a", noting!(&log, "a"));
    let handle = manager.handle();
    handle.run_leading("b", noting!(&log, "b")).unwrap();
    let (stop, running) = start(manager);
    settle().await;
    handle.run_always("c", noting!(&log, "c")).unwrap();
    handle.run_leading("d", noting!(&log, "d")).unwrap();
    let journal = Journal::new();
    let maps = handle
        .informers()
        .typed::<ConfigMap>(evenkeel::store::InformerOptions::default());
    handle
        .add(
            Controller::builder("maps")
                .for_(&maps)
                .reconciler(journal.clone()),
        )
        .unwrap();
    create(&client, "x").await;
    assert_eq!(
        names(&journal.settled().await),
        ["x"],
        "its informer was started too"
    );
    // Two groups at once: their order is nobody's.
    log.lock().sort();
    assert_eq!(*log.lock(), ["+a", "+b", "+c", "+d"]);
    stop.cancel();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let late = handle
        .run_leading("late", noting!(&log, "late"))
        .unwrap_err();
    assert_eq!(late.to_string(), "late was not added: the manager stops");
    running.await.unwrap().unwrap();
    assert!(matches!(
        handle.run_always("late", noting!(&log, "late")),
        Err(AddError::Stopping { .. })
    ));
    let late = Controller::builder("late")
        .for_(&maps)
        .reconciler(journal.clone());
    assert!(matches!(handle.add(late), Err(AddError::Stopping { .. })));
    let mut ended = log.lock().split_off(4);
    ended.sort();
    assert_eq!(
        ended,
        ["-a", "-b", "-c", "-d"],
        "all of them were waited for"
    );
}

/// Names are a Manager's own: two of them in one process do not know each other.
#[tokio::test(start_paused = true)]
async fn controller_runtime_t19_t61_a_name_is_given_once_a_manager() {
    let (_server, client) = client();
    let mut manager = Manager::builder(client.clone()).build().unwrap();
    let mut other = Manager::builder(client.clone()).build().unwrap();
    let controller = |manager: &Manager, name: &str| {
        Controller::builder(name)
            .for_(&manager.watch::<ConfigMap>())
            .reconciler(Journal::new())
    };
    let (one, two, more) = (
        controller(&manager, "maps"),
        controller(&other, "maps"),
        controller(&manager, "maps-2"),
    );
    manager.add(one).unwrap();
    other.add(two).unwrap();
    manager.add(more).unwrap();
    let again = controller(&manager, "maps");
    let error = manager.add(again).unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is a controller named maps already"
    );
    manager.cluster("east", client.clone()).unwrap();
    let error = manager.cluster("east", client).unwrap_err();
    assert_eq!(error.to_string(), "there is a cluster named east already");
}

/// A standby fills its queue and works off nothing; when it leads it begins with what is there.
/// What came and went meanwhile does not pile up.
#[tokio::test(start_paused = true)]
async fn controller_runtime_c28_t15_t32_a_standby_fills_its_queue_and_works_when_it_leads() {
    let (server, client) = client();
    let leader = elected(&client, "leader");
    let (stop_leader, leading) = start(leader);
    settle().await;
    let mut standby = elected(&client, "standby");
    let journal = Journal::new();
    let maps = standby.watch::<ConfigMap>();
    standby
        .add(
            Controller::builder("maps")
                .for_(&maps)
                .reconciler(journal.clone()),
        )
        .unwrap();
    let registry = standby.registry().clone();
    let depth = move || {
        let text = registry.encode();
        let line = text
            .lines()
            .find(|line| line.starts_with("workqueue_depth{"))
            .map(str::to_owned);
        line.map_or(0.0, |line| {
            line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()
        })
    };
    let (stop, running) = start(standby);
    for name in ["a", "b", "c"] {
        create(&client, name).await;
    }
    settle().await;
    assert_eq!(depth(), 3.0);
    assert!(journal.take().is_empty());
    let api = client.namespaced::<ConfigMap>("default");
    for name in 0..1500 {
        let name = format!("gone-{name}");
        create(&client, &name).await;
        api.delete(&name, &DeleteOptions::default()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    tokio::time::sleep(Duration::from_secs(180)).await;
    assert!(depth() < 1200.0, "{}", depth());
    let lists = |server: &Server| server.take_requests().len();
    let _ = lists(&server);
    stop_leader.cancel();
    leading.await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let ran = journal.settled().await;
    assert_eq!(names(&ran[..3]), ["a", "b", "c"]);
    stop.cancel();
    running.await.unwrap().unwrap();
}

/// The leader fence is there for what is no request, and closed when the term is over.
#[tokio::test(start_paused = true)]
async fn a_run_of_a_term_carries_its_fence() {
    struct Fences(Arc<Mutex<Vec<evenkeel::election::Fence>>>);
    impl Reconciler for Fences {
        async fn reconcile(&self, context: &Context, _: &ObjectKey) -> ReconcileResult {
            self.0.lock().extend(context.fence().cloned());
            Ok(Outcome::Done)
        }
    }
    let (_server, client) = client();
    let mut manager = elected(&client, "me");
    let fences = Arc::default();
    let maps = manager.watch::<ConfigMap>();
    let reconciler = Fences(Arc::clone(&fences));
    manager
        .add(
            Controller::builder("maps")
                .for_(&maps)
                .reconciler(reconciler),
        )
        .unwrap();
    create(&client, "a").await;
    let (stop, running) = start(manager);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let fence = fences.lock().pop().unwrap();
    assert!(fence.check().is_ok());
    stop.cancel();
    running.await.unwrap().unwrap();
    assert!(fence.check().is_err());
}

/// Copies what the Manager's own cluster has to another one.
struct Copy {
    wanted: Store<ConfigMap>,
    there: Store<ConfigMap>,
    writes: Arc<Mutex<usize>>,
}

impl Reconciler for Copy {
    async fn reconcile(&self, context: &Context, key: &ObjectKey) -> ReconcileResult {
        if self.wanted.contains(key) && !self.there.contains(key) {
            *self.writes.lock() += 1;
            context.create(&config_map(key.name())).await?;
            // The watch of the other cluster shows it before the next run, or this would write twice.
            return Ok(Outcome::After(Duration::from_millis(1)));
        }
        Ok(Outcome::Done)
    }
}

/// A controller watches one cluster and writes to another, whose informers start, stop and are
/// named with the rest (T9).
#[tokio::test(start_paused = true)]
async fn controller_runtime_t9_one_manager_serves_several_clusters() {
    let (_hub, hub_client) = client();
    let (east_server, east_client) = client();
    // Versions of two clusters have nothing to do with each other.
    for name in 0..50 {
        create(&hub_client, &format!("filler-{name}")).await;
    }
    let denied = [Verb::List, Verb::Watch].map(|verb| {
        east_server
            .faults()
            .inject(When::verb(verb).on("configmaps"), Fault::forbidden())
    });
    let mut manager = Manager::builder(hub_client.clone()).build().unwrap();
    let east = manager.cluster("east", east_client.clone()).unwrap();
    let (wanted, there) = (manager.watch::<ConfigMap>(), east.watch::<ConfigMap>());
    let writes = Arc::default();
    let copy = Copy {
        wanted: wanted.store().clone(),
        there: there.store().clone(),
        writes: Arc::clone(&writes),
    };
    let controller = Controller::builder("copy")
        .for_(&wanted)
        .watches(&there, |copy| {
            Some(evenkeel::meta::MetaView::key(&copy.metadata))
        })
        .writes_to(&east)
        .reconciler(copy);
    manager.add(controller).unwrap();
    let probes = manager.probes().clone();
    let (stop, running) = start(manager);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let ready = probes.answer("/readyz", "").unwrap();
    assert!(
        !ready.passed && ready.body.contains("east/configmaps"),
        "{}",
        ready.body
    );
    assert!(
        ready.body.contains("[-]cluster-east failed"),
        "{}",
        ready.body
    );
    denied.iter().for_each(evenkeel_apiserver::Injected::lift);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(probes.answer("/readyz", "").unwrap().passed);
    let copies = || async {
        east_client
            .namespaced::<ConfigMap>("default")
            .list(&Default::default())
            .await
            .unwrap()
            .items
            .len()
    };
    assert_eq!(copies().await, 50);
    let started = Instant::now();
    create(&hub_client, "x").await;
    settle().await;
    assert!(started.elapsed() < Duration::from_secs(1));
    assert_eq!(
        (copies().await, *writes.lock()),
        (51, 51),
        "each was written once"
    );
    stop.cancel();
    running.await.unwrap().unwrap();
}

/// When the Manager has ended nothing of it is left (T14).
#[tokio::test(start_paused = true)]
async fn controller_runtime_t14_nothing_is_left_of_a_manager() {
    let (_server, client) = client();
    let tasks = || {
        tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks()
    };
    let before = tasks();
    for with_election in [false, true] {
        let mut manager = if with_election {
            elected(&client, "me")
        } else {
            Manager::builder(client.clone()).build().unwrap()
        };
        let east = manager.cluster("east", client.clone()).unwrap();
        let maps = east.watch::<ConfigMap>();
        manager
            .add(
                Controller::builder("maps")
                    .for_(&maps)
                    .concurrency(4)
                    .reconciler(Journal::new()),
            )
            .unwrap();
        manager.run_always("idle", |term| async move {
            term.stop.cancelled().await;
            Ok(())
        });
        let (stop, running) = start(manager);
        tokio::time::sleep(Duration::from_secs(5)).await;
        stop.cancel();
        running.await.unwrap().unwrap();
        drop((east, maps));
        settle().await;
        assert_eq!(tasks(), before, "election: {with_election}");
    }
}
