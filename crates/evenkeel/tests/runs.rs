//! What becomes of runs: one at a time, again, in order, counted, and named.

#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

mod plane;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use evenkeel::meta::ObjectKey;
use evenkeel::observe::{MemorySink, Metrics};
use evenkeel::store::{Informer, InformerOptions};
use evenkeel::{
    Context, Controller, ControllerError, Outcome, ReconcileError, ReconcileResult, Reconciler,
    Watch,
};
use evenkeel_apiserver::{Fault, Verb, When};
use futures_util::future::BoxFuture;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use parking_lot::Mutex;
use plane::journal::{Journal, names, run, settle};
use plane::{Plane, config_map};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// A reconciler made of a function, which may keep the context.
struct Act<K>(Box<Function<K>>);

type Function<K> =
    dyn for<'a> Fn(&'a Context<K>, &'a K) -> BoxFuture<'a, ReconcileResult> + Send + Sync;

impl<K: Send + Sync + 'static> Act<K> {
    fn new(
        act: impl for<'a> Fn(&'a Context<K>, &'a K) -> BoxFuture<'a, ReconcileResult>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self(Box::new(act))
    }
}

impl<K: Send + Sync + 'static> Reconciler<K> for Act<K> {
    async fn reconcile(&self, context: &Context<K>, key: &K) -> ReconcileResult {
        (self.0)(context, key).await
    }
}

fn boom() -> std::io::Error {
    std::io::Error::other("boom")
}

fn annotated(name: &str, value: usize) -> ConfigMap {
    let mut map = config_map(name);
    map.metadata.annotations = Some([("a".to_owned(), value.to_string())].into());
    map
}

#[derive(Default)]
struct Tally {
    now: HashMap<ObjectKey, usize>,
    most_of_one: usize,
    most: usize,
    runs: usize,
}

/// Counts who runs beside whom; each run takes 100 ms.
fn tallying(tally: &Arc<Mutex<Tally>>) -> Act<ObjectKey> {
    let tally = Arc::clone(tally);
    Act::new(move |_, key: &ObjectKey| {
        let tally = Arc::clone(&tally);
        Box::pin(async move {
            {
                let mut tally = tally.lock();
                *tally.now.entry(key.clone()).or_default() += 1;
                tally.runs += 1;
                tally.most_of_one = tally.most_of_one.max(tally.now[key]);
                tally.most = tally.most.max(tally.now.values().sum());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
            *tally.lock().now.get_mut(key).unwrap() -= 1;
            Ok(Outcome::Done)
        })
    })
}

#[tokio::test(start_paused = true)]
async fn controller_runtime_c1_c15_a_key_is_with_one_worker_and_what_happens_meanwhile_is_one_more_run()
 {
    let plane = Plane::start();
    plane.create(&config_map("a")).await;
    let tally = Arc::default();
    let controller = Controller::builder("maps")
        .for_(&plane.maps)
        .concurrency(4)
        .reconciler(tallying(&tally));
    let stop = CancellationToken::new();
    let running = run(controller, plane.term(stop.clone()));
    tokio::time::sleep(Duration::from_millis(50)).await;
    for value in 0..5 {
        plane.update(&annotated("a", value)).await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    settle().await;
    let (runs, most) = {
        let tally = tally.lock();
        (tally.runs, tally.most_of_one)
    };
    assert_eq!((runs, most), (2, 1));
    stop.cancel();
    running.await.unwrap();
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn kube_rs_6_unless_said_otherwise_one_key_is_worked_on_at_a_time() {
    for (workers, most) in [(None, 1), (Some(3), 3)] {
        let plane = Plane::start();
        for name in 0..20 {
            plane.create(&config_map(&name.to_string())).await;
        }
        let tally = Arc::default();
        let mut builder = Controller::builder("maps").for_(&plane.maps);
        if let Some(workers) = workers {
            builder = builder.concurrency(workers);
        }
        let stop = CancellationToken::new();
        let running = run(
            builder.reconciler(tallying(&tally)),
            plane.term(stop.clone()),
        );
        tokio::time::sleep(Duration::from_secs(3)).await;
        let found = {
            let tally = tally.lock();
            (tally.runs, tally.most)
        };
        assert_eq!(found, (20, most));
        stop.cancel();
        running.await.unwrap();
        plane.stop().await;
    }
}

/// Each key runs after its last trigger, however few workers there are (kube-rs 7, incident 7).
#[tokio::test(start_paused = true)]
async fn kube_rs_7_every_key_runs_after_its_last_trigger() {
    let plane = Plane::start();
    let (keys, received) = mpsc::channel(1000);
    let last = Arc::new(Mutex::new(HashMap::new()));
    let seen = Arc::clone(&last);
    let act = Act::new(move |_, key: &u32| {
        let seen = Arc::clone(&seen);
        Box::pin(async move {
            let started = Instant::now();
            tokio::time::sleep(Duration::from_millis(1)).await;
            seen.lock().insert(*key, started);
            Ok(Outcome::Done)
        })
    });
    let controller = Controller::builder("keys")
        .receives(received)
        .concurrency(2)
        .reconciler(act);
    let stop = CancellationToken::new();
    let running = run(controller, plane.term(stop.clone()));
    for _ in 0..2 {
        for key in 0..100 {
            keys.send(key).await.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let triggered = Instant::now() - Duration::from_millis(20);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let late = last.lock().values().filter(|at| **at >= triggered).count();
    assert!(last.lock().len() == 100 && late >= 90, "{late}");
    stop.cancel();
    running.await.unwrap();
    plane.stop().await;
}

/// Ten thousand keys that all come again at once do not choke anything.
#[tokio::test(start_paused = true)]
async fn kube_rs_8_t29_many_keys_that_come_again_at_once_all_get_their_turns() {
    let plane = Plane::start();
    let runs = Arc::new(Mutex::new(HashMap::new()));
    let seen = Arc::clone(&runs);
    let act = Act::new(move |_, key: &u32| {
        let count = {
            let mut runs = seen.lock();
            let count = runs.entry(*key).or_insert(0);
            *count += 1;
            *count
        };
        Box::pin(async move {
            Ok(if count < 3 {
                Outcome::After(Duration::ZERO)
            } else {
                Outcome::Done
            })
        })
    });
    let keys = futures_util::stream::iter(0..10_000);
    let controller = Controller::builder("keys")
        .follows(keys)
        .concurrency(4)
        .reconciler(act);
    let stop = CancellationToken::new();
    let running = run(controller, plane.term(stop.clone()));
    tokio::time::sleep(Duration::from_secs(600)).await;
    let runs = runs.lock().clone();
    assert!(runs.len() == 10_000 && runs.values().all(|count| *count == 3));
    stop.cancel();
    running.await.unwrap();
    plane.stop().await;
}

/// A source that is late holds up the first run (C2, T25).
#[tokio::test(start_paused = true)]
async fn controller_runtime_c2_t25_kube_rs_9_no_run_before_every_source_has_been_handled() {
    let plane = Plane::start();
    for name in 0..20 {
        plane.create(&config_map(&name.to_string())).await;
    }
    let denied = [Verb::List, Verb::Watch].map(|verb| {
        plane
            .server
            .faults()
            .inject(When::verb(verb).on("secrets"), Fault::forbidden())
    });
    let secrets: Informer<Secret> = plane.informers().typed(InformerOptions::default());
    plane.informers().start();
    let handled = Arc::new(AtomicUsize::new(0));
    let first = Arc::new(Mutex::new(None));
    let (counted, reader, noted) = (
        Arc::clone(&handled),
        Arc::clone(&handled),
        Arc::clone(&first),
    );
    let act = Act::new(move |_, _| {
        noted.lock().get_or_insert(reader.load(Ordering::Relaxed));
        Box::pin(async { Ok(Outcome::Done) })
    });
    let controller = Controller::builder("maps")
        .for_(Watch::of(&plane.maps).only(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            true
        }))
        .owns(&secrets)
        .reconciler(act);
    let stop = CancellationToken::new();
    let running = run(controller, plane.term(stop.clone()));
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(*first.lock(), None, "the secrets have not been listed");
    denied.iter().for_each(evenkeel_apiserver::Injected::lift);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(
        *first.lock(),
        Some(20),
        "all were handled before the first run"
    );
    stop.cancel();
    running.await.unwrap();
    plane.stop().await;
}

/// A watch that breaks later does not slow the others down.
#[tokio::test(start_paused = true)]
async fn kube_rs_2_a_watch_that_fails_delays_no_other() {
    let plane = Plane::start();
    let secrets: Informer<Secret> = plane.informers().typed(InformerOptions::default());
    plane.informers().start();
    let journal = Journal::new();
    let controller = Controller::builder("maps")
        .for_(&plane.maps)
        .owns(&secrets)
        .reconciler(journal.clone());
    let stop = CancellationToken::new();
    let running = run(controller, plane.term(stop.clone()));
    settle().await;
    for verb in [Verb::List, Verb::Watch] {
        plane
            .server
            .faults()
            .inject(When::verb(verb).on("secrets"), Fault::forbidden());
    }
    plane.server.faults().cut_watches();
    tokio::time::sleep(Duration::from_secs(40)).await;
    for name in 0..24 {
        plane.create(&config_map(&name.to_string())).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(journal.take().len(), 1, "{name}");
        tokio::time::sleep(Duration::from_secs(10)).await;
    }
    stop.cancel();
    running.await.unwrap();
    plane.stop().await;
}

/// Ten owners and what they own, all of it new at once, are ten runs.
#[tokio::test(start_paused = true)]
async fn kube_rs_29_what_is_there_at_the_start_is_one_run_an_owner() {
    let plane = Plane::start();
    let journal = Journal::new();
    for name in 0..10 {
        plane.create(&config_map(&format!("owner-{name}"))).await;
    }
    for name in 0..100 {
        let mut map = config_map(&format!("child-{name}"));
        map.metadata.labels = Some([("of".to_owned(), format!("owner-{}", name % 10))].into());
        plane.create(&map).await;
    }
    plane.maps.synced().await.unwrap();
    let owner = |map: &ConfigMap| {
        let of = map
            .metadata
            .labels
            .as_ref()
            .and_then(|labels| labels.get("of"));
        let name = of.cloned().or_else(|| map.metadata.name.clone())?;
        Some(ObjectKey::namespaced("default", &name))
    };
    let controller = Controller::builder("maps")
        .watches(&plane.maps, owner)
        .reconciler(journal.clone());
    let stop = CancellationToken::new();
    let running = run(controller, plane.term(stop.clone()));
    assert_eq!(journal.settled().await.len(), 10);
    stop.cancel();
    running.await.unwrap();
    plane.stop().await;
}

/// Runs a controller over one key; `act` is told which run it is.
async fn script(
    sink: &MemorySink,
    time: Duration,
    act: impl for<'a> Fn(usize, &'a Context<u32>) -> BoxFuture<'a, ReconcileResult>
    + Send
    + Sync
    + 'static,
) -> (
    mpsc::Sender<u32>,
    CancellationToken,
    tokio::task::JoinHandle<()>,
    Plane,
) {
    let plane = Plane::start();
    let (keys, received) = mpsc::channel(16);
    let runs = AtomicUsize::new(0);
    let controller = Controller::builder("script")
        .receives(received)
        .metrics(Metrics::new(sink.clone()))
        .reconciler(Act::new(move |context, _| {
            act(runs.fetch_add(1, Ordering::Relaxed) + 1, context)
        }));
    let stop = CancellationToken::new();
    let running = run(controller, plane.term(stop.clone()));
    keys.send(7).await.unwrap();
    tokio::time::sleep(time).await;
    (keys, stop, running, plane)
}

/// Delays grow with each failure, and start anew after a success (C10, C18, T28, kube-rs 5); a
/// permanent error leaves the count as it is (C16, F3).
#[tokio::test(start_paused = true)]
async fn controller_runtime_c10_c16_f3_t28_kube_rs_5_a_success_forgets_failures_and_a_permanent_error_does_not()
 {
    let (sink, seen) = (MemorySink::new(), Arc::new(Mutex::new(Vec::new())));
    let noted = Arc::clone(&seen);
    let started = Instant::now();
    let (keys, stop, running, plane) =
        script(&sink, Duration::from_secs(1), move |run, context| {
            noted
                .lock()
                .push((started.elapsed().as_millis(), context.failures()));
            Box::pin(async move {
                match run {
                    1..=5 | 7 => Err(boom().into()),
                    8 => Err(ReconcileError::permanent(boom())),
                    _ => Ok(Outcome::Done),
                }
            })
        })
        .await;
    assert_eq!(
        *seen.lock(),
        [(0, 0), (5, 1), (15, 2), (35, 3), (75, 4), (155, 5)]
    );
    for _ in 0..2 {
        keys.send(7).await.unwrap();
        settle().await;
    }
    let later: Vec<u32> = seen
        .lock()
        .iter()
        .skip(6)
        .map(|(_, failures)| *failures)
        .collect();
    assert_eq!(
        later,
        [0, 1, 1],
        "anew after the success, and kept by the permanent error"
    );
    let total = |result| sink.value("controller_runtime_reconcile_total", &["script", result]);
    assert_eq!(
        (total("error"), total("success")),
        (Some(7.0), Some(2.0)),
        "t31"
    );
    stop.cancel();
    running.await.unwrap();
    plane.stop().await;
}

/// A retry is as urgent as its run, unless the run says otherwise, whatever makes it come again.
#[tokio::test(start_paused = true)]
async fn controller_runtime_c19_t30_the_priority_of_a_retry_is_kept_or_said() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let (_keys, stop, running, plane) = script(
        &MemorySink::new(),
        Duration::from_secs(3),
        move |run, context| {
            noted.lock().push(context.priority());
            if let Some(priority) = [Some(5), None, Some(6), None, Some(7)]
                .get(run - 1)
                .copied()
                .flatten()
            {
                context.set_next_priority(priority);
            }
            Box::pin(async move {
                match run {
                    1 | 2 => Err(boom().into()),
                    3 | 4 => Ok(Outcome::After(Duration::from_millis(10))),
                    5 | 6 => Ok(Outcome::Backoff),
                    _ => Ok(Outcome::Done),
                }
            })
        },
    )
    .await;
    assert_eq!(*seen.lock(), [0, 5, 5, 6, 6, 7, 7]);
    stop.cancel();
    running.await.unwrap();
    plane.stop().await;
}

/// An error does not keep other keys from being worked on.
#[tokio::test(start_paused = true)]
async fn controller_runtime_t27_a_key_that_fails_holds_up_no_other() {
    let plane = Plane::start();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let act = Act::new(move |_, key: &u32| {
        noted.lock().push(*key);
        let key = *key;
        Box::pin(async move {
            if key == 1 {
                Err(boom().into())
            } else {
                Ok(Outcome::Done)
            }
        })
    });
    let controller = Controller::builder("keys")
        .follows(futures_util::stream::iter([1, 2, 3]))
        .reconciler(act);
    let stop = CancellationToken::new();
    let running = run(controller, plane.term(stop.clone()));
    tokio::time::sleep(Duration::from_millis(8)).await;
    assert_eq!(*seen.lock(), [1, 2, 3, 1]);
    stop.cancel();
    running.await.unwrap();
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn kube_rs_27_a_key_may_come_again_after_any_time() {
    let sink = MemorySink::new();
    let (keys, stop, running, plane) = script(&sink, Duration::from_secs(1), |_, _| {
        Box::pin(async { Ok(Outcome::After(Duration::MAX)) })
    })
    .await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    keys.send(7).await.unwrap();
    settle().await;
    let total = sink.value(
        "controller_runtime_reconcile_total",
        &["script", "requeue_after"],
    );
    assert_eq!(total, Some(2.0));
    stop.cancel();
    running.await.unwrap();
    plane.stop().await;
}

/// Every run is timed once and counted as active, however it ends; all series are there from
/// the start (C26), and not on a standby.
#[tokio::test(start_paused = true)]
async fn controller_runtime_c14_c26_t31_kube_rs_d12_runs_are_timed_whatever_becomes_of_them() {
    let sink = MemorySink::new();
    let (keys, stop, running, plane) = script(&sink, Duration::from_millis(1), |run, _| {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert!(run != 2, "on purpose");
            if run == 1 {
                Err(boom().into())
            } else {
                Ok(Outcome::Done)
            }
        })
    })
    .await;
    let value = |name: &str| sink.value(name, &["script"]);
    assert_eq!(value("controller_runtime_active_workers"), Some(1.0));
    assert_eq!(
        value("controller_runtime_max_concurrent_reconciles"),
        Some(1.0)
    );
    for name in [
        "reconcile_errors",
        "terminal_reconcile_errors",
        "reconcile_panics",
        "reconcile_timeouts",
    ] {
        assert_eq!(
            value(&format!("controller_runtime_{name}_total")),
            Some(0.0),
            "{name}"
        );
    }
    for result in ["success", "error", "requeue", "requeue_after"] {
        let total = sink.value("controller_runtime_reconcile_total", &["script", result]);
        assert_eq!(total, Some(0.0), "{result}");
    }
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(value("controller_runtime_active_workers"), Some(0.0));
    assert_eq!(
        value("controller_runtime_reconcile_panics_total"),
        Some(1.0)
    );
    assert_eq!(
        sink.histogram_snapshot("controller_runtime_reconcile_time_seconds", &["script"])
            .unwrap()
            .count,
        3
    );
    drop(keys);
    stop.cancel();
    running.await.unwrap();
    plane.stop().await;
}

/// Only the controller's own limit counts as a timeout (C13, T23).
#[tokio::test(start_paused = true)]
async fn controller_runtime_c13_t23_a_deadline_of_the_reconcilers_own_is_no_timeout() {
    let sink = MemorySink::new();
    let plane = Plane::start();
    let act = Act::new(|_, _: &u32| {
        Box::pin(async {
            let limit = Duration::from_secs(1);
            tokio::time::timeout(limit, std::future::pending::<()>()).await?;
            Ok(Outcome::Done)
        })
    });
    let controller = Controller::builder("script")
        .follows(futures_util::stream::iter([1]))
        .timeout(Duration::from_secs(60))
        .metrics(Metrics::new(sink.clone()))
        .reconciler(act);
    let stop = CancellationToken::new();
    let running = run(controller, plane.term(stop.clone()));
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(
        sink.value("controller_runtime_reconcile_errors_total", &["script"]),
        Some(1.0)
    );
    assert_eq!(
        sink.value("controller_runtime_reconcile_timeouts_total", &["script"]),
        Some(0.0)
    );
    stop.cancel();
    running.await.unwrap();
    plane.stop().await;
}

/// A run hears of the stop at once and of the end of its grace period later; what fails then is
/// counted, and does not come again (C21).
#[tokio::test(start_paused = true)]
async fn controller_runtime_c21_a_run_that_the_stop_breaks_off_is_an_error_that_does_not_come_again()
 {
    let sink = MemorySink::new();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&heard);
    let (_keys, stop, running, plane) = script(&sink, Duration::from_secs(1), move |_, context| {
        let noted = Arc::clone(&noted);
        Box::pin(async move {
            context.draining().await;
            noted.lock().push(Instant::now());
            context.stopping().await;
            noted.lock().push(Instant::now());
            assert!(context.cancellation().is_cancelled());
            Err(boom().into())
        })
    })
    .await;
    let stopped = Instant::now();
    stop.cancel();
    running.await.unwrap();
    let heard: Vec<_> = heard
        .lock()
        .iter()
        .map(|at| (*at - stopped).as_millis())
        .collect();
    assert_eq!(heard.len(), 2, "one run");
    assert!(heard[0] < 5 && heard[1].abs_diff(1000) < 5, "{heard:?}");
    assert_eq!(
        sink.value("controller_runtime_reconcile_errors_total", &["script"]),
        Some(1.0)
    );
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_run_knows_when_its_key_was_added_again() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let (keys, stop, running, plane) = script(
        &MemorySink::new(),
        Duration::from_secs(1),
        move |run, context| {
            let noted = Arc::clone(&noted);
            Box::pin(async move {
                if run == 2 {
                    // Whether one asks before it happens or after it.
                    tokio::time::sleep(Duration::from_secs(2)).await;
                }
                let limit = Duration::from_secs(60);
                let superseded = tokio::time::timeout(limit, context.superseded())
                    .await
                    .is_ok();
                noted.lock().push((run, superseded, Instant::now()));
                Ok(Outcome::Done)
            })
        },
    )
    .await;
    keys.send(8).await.unwrap();
    settle().await;
    assert_eq!(seen.lock().len(), 0, "another key does not count");
    let added = Instant::now();
    keys.send(7).await.unwrap();
    settle().await;
    assert_eq!(*seen.lock(), [(1, true, added)]);
    keys.send(8).await.unwrap();
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert!(
        seen.lock()
            .iter()
            .any(|(run, superseded, _)| *run == 2 && *superseded),
        "{seen:?}"
    );
    assert!(!seen.lock().last().unwrap().1, "nothing came any more");
    stop.cancel();
    running.await.unwrap();
    plane.stop().await;
}

/// One key would be with two workers (C23).
#[tokio::test(start_paused = true)]
async fn controller_runtime_c23_a_controller_runs_once_at_a_time() {
    let plane = Plane::start();
    let controller = Arc::new(
        Controller::builder("maps")
            .for_(&plane.maps)
            .reconciler(Journal::new()),
    );
    let stop = CancellationToken::new();
    let (first, term) = (Arc::clone(&controller), plane.term(stop.clone()));
    let running = tokio::spawn(async move { first.run(term).await });
    settle().await;
    let second = controller.run(plane.term(stop.clone())).await.unwrap_err();
    assert!(matches!(second, ControllerError::Running { .. }));
    assert_eq!(second.to_string(), "controller maps runs already");
    stop.cancel();
    running.await.unwrap().unwrap();
    controller.run(plane.term(stop)).await.unwrap();
    plane.stop().await;
}

/// A stop while a source is awaited is no error (T24), and nothing is left behind (T21).
#[tokio::test(start_paused = true)]
async fn controller_runtime_t21_t24_a_stop_before_the_sync_is_no_error_and_leaves_no_task() {
    let tasks = || {
        let handle = tokio::runtime::Handle::current();
        handle.metrics().num_alive_tasks()
    };
    let plane = Plane::start();
    let secrets: Informer<Secret> = plane.informers().typed(InformerOptions::default());
    settle().await;
    let there = tasks();
    let controller = Controller::builder("secrets")
        .for_(&secrets)
        .concurrency(8)
        .reconciler(Journal::new());
    assert_eq!(tasks(), there, "one that never runs has no task");
    let stop = CancellationToken::new();
    let running = run(controller, plane.term(stop.clone()));
    settle().await;
    stop.cancel();
    running.await.unwrap();
    settle().await;
    assert_eq!(tasks(), there);
    plane.stop().await;
}

/// Each run has a name of its own, and a span that carries it with the controller and the key.
#[tokio::test(start_paused = true)]
async fn controller_runtime_c3_each_run_has_a_name_and_a_span() {
    let spans = plane::spans::Spans::default();
    let _default = tracing::subscriber::set_default(spans.clone());
    let ids = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&ids);
    let (keys, stop, running, plane) = script(
        &MemorySink::new(),
        Duration::from_secs(1),
        move |_, context| {
            noted.lock().push(context.reconcile_id().to_string());
            Box::pin(async { Ok(Outcome::Done) })
        },
    )
    .await;
    keys.send(8).await.unwrap();
    settle().await;
    let ids = ids.lock().clone();
    assert!(ids.len() == 2 && ids[0] != ids[1], "{ids:?}");
    let spans = spans.named("reconcile");
    for (id, key) in ids.iter().zip(["7", "8"]) {
        let of = spans
            .iter()
            .find(|span| span.get("reconcile_id") == Some(id))
            .unwrap();
        assert_eq!(
            (of["controller"].as_str(), of["key"].as_str()),
            ("script", key)
        );
    }
    stop.cancel();
    running.await.unwrap();
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_term_without_an_election_has_no_fence() {
    let seen = Arc::new(Mutex::new(None));
    let noted = Arc::clone(&seen);
    let (_keys, stop, running, plane) = script(
        &MemorySink::new(),
        Duration::from_secs(1),
        move |_, context| {
            *noted.lock() = Some(context.fence().is_none());
            Box::pin(async { Ok(Outcome::Done) })
        },
    )
    .await;
    assert_eq!(*seen.lock(), Some(true));
    assert_eq!(names(&[ObjectKey::cluster("a")]), ["a"]);
    stop.cancel();
    running.await.unwrap();
    plane.stop().await;
}
