//! What becomes of runs: again or not, when, how urgently, counted and named.

#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

mod plane;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use evenkeel::meta::ObjectKey;
use evenkeel::observe::{MemorySink, Metrics};
use evenkeel::store::{Informer, InformerOptions};
use evenkeel::{Context, Controller, ControllerError, Outcome, ReconcileError, ReconcileResult};
use futures_util::future::BoxFuture;
use k8s_openapi::api::core::v1::Secret;
use parking_lot::Mutex;
use plane::Plane;
use plane::act::{Act, boom};
use plane::journal::{Journal, names, run, settle};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

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
    let going = plane.begin(controller);
    tokio::time::sleep(Duration::from_millis(8)).await;
    assert_eq!(*seen.lock(), [1, 2, 3, 1]);
    going.end().await;
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
    let going = plane.begin(controller);
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(
        sink.value("controller_runtime_reconcile_errors_total", &["script"]),
        Some(1.0)
    );
    assert_eq!(
        sink.value("controller_runtime_reconcile_timeouts_total", &["script"]),
        Some(0.0)
    );
    going.end().await;
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
    let going = plane.begin(controller);
    settle().await;
    going.end().await;
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
