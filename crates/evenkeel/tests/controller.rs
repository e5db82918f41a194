//! Contracts of the reconcile loop, over the embedded server in process and in virtual time.

#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

mod plane;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use evenkeel::meta::{MetaView, Object, ObjectKey};
use evenkeel::observe::MemorySink;
use evenkeel::store::Store;
use evenkeel::{Context, Controller, Outcome, ReconcileError, Reconciler};
use evenkeel_apiserver::{Fault, Verb, When};
use k8s_openapi::api::core::v1::ConfigMap;
use parking_lot::Mutex;
use plane::{Plane, config_map};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// A reconciler made of a closure; notes when it was called for which key.
struct Script<F> {
    act: F,
    runs: Arc<Mutex<Vec<(Instant, ObjectKey)>>>,
}

impl<F, R> Reconciler for Script<F>
where
    F: Fn(usize) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Outcome, ReconcileError>> + Send,
{
    async fn reconcile(
        &self,
        _: &Context<ObjectKey>,
        key: &ObjectKey,
    ) -> Result<Outcome, ReconcileError> {
        let run = {
            let mut runs = self.runs.lock();
            runs.push((Instant::now(), key.clone()));
            runs.len()
        };
        (self.act)(run).await
    }
}

/// Runs a controller of ConfigMaps for `time`, with one object there; answers when its runs
/// began, in milliseconds since the first.
async fn runs_of<F, R>(time: Duration, sink: &MemorySink, act: F) -> Vec<u64>
where
    F: Fn(usize) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Outcome, ReconcileError>> + Send + 'static,
{
    let plane = Plane::start();
    plane.create(&config_map("a")).await;
    let runs = Arc::default();
    let script = Script {
        act,
        runs: Arc::clone(&runs),
    };
    let controller = Controller::builder("script")
        .for_(&plane.maps)
        .metrics(evenkeel::observe::Metrics::new(sink.clone()))
        .reconciler(script);
    let stop = CancellationToken::new();
    let running = tokio::spawn(plane.run(controller, stop.clone()));
    tokio::time::sleep(time).await;
    stop.cancel();
    running.await.unwrap();
    plane.stop().await;
    let runs = runs.lock();
    let first = runs.first().map(|(at, _)| *at);
    runs.iter()
        .map(|(at, _)| u64::try_from((*at - first.unwrap()).as_millis()).unwrap())
        .collect()
}

fn boom() -> std::io::Error {
    std::io::Error::other("boom")
}

#[tokio::test(start_paused = true)]
async fn controller_runtime_c5_an_error_comes_again_with_backoff() {
    let sink = MemorySink::new();
    let runs = runs_of(Duration::from_millis(100), &sink, |_| async {
        Err(boom().into())
    })
    .await;
    assert_eq!(runs, [0, 5, 15, 35, 75]);
    assert_eq!(
        sink.value("controller_runtime_reconcile_errors_total", &["script"]),
        Some(5.0)
    );
    assert_eq!(
        sink.value("controller_runtime_reconcile_total", &["script", "error"]),
        Some(5.0)
    );
}

#[tokio::test(start_paused = true)]
async fn controller_runtime_c6_a_permanent_error_waits_for_the_next_event() {
    let sink = MemorySink::new();
    let permanent = |_| async { Err(ReconcileError::permanent(boom())) };
    let runs = runs_of(Duration::from_secs(3600), &sink, permanent).await;
    assert_eq!(runs, [0]);
    assert_eq!(
        sink.value(
            "controller_runtime_terminal_reconcile_errors_total",
            &["script"]
        ),
        Some(1.0)
    );
    assert_eq!(
        sink.value("controller_runtime_reconcile_errors_total", &["script"]),
        Some(1.0)
    );
}

#[tokio::test(start_paused = true)]
async fn an_error_with_a_delay_comes_after_it_and_counts_as_an_error() {
    let sink = MemorySink::new();
    let later = |_| async {
        Err(ReconcileError::transient_after(
            Duration::from_secs(10),
            boom(),
        ))
    };
    let runs = runs_of(Duration::from_secs(25), &sink, later).await;
    assert_eq!(runs, [0, 10_000, 20_000]);
    assert_eq!(
        sink.value("controller_runtime_reconcile_errors_total", &["script"]),
        Some(3.0)
    );
}

#[tokio::test(start_paused = true)]
async fn controller_runtime_c8_after_a_delay_and_the_backoff_starts_anew() {
    let sink = MemorySink::new();
    let runs = runs_of(Duration::from_millis(1100), &sink, |run| async move {
        match run {
            1 | 2 | 4 => Err(boom().into()),
            3 => Ok(Outcome::After(Duration::from_secs(1))),
            _ => Ok(Outcome::Done),
        }
    })
    .await;
    // 5 and 10 ms of backoff, a second as asked, then 5 ms again.
    assert_eq!(runs, [0, 5, 15, 1015, 1020]);
    assert_eq!(
        sink.value(
            "controller_runtime_reconcile_total",
            &["script", "requeue_after"]
        ),
        Some(1.0)
    );
}

#[tokio::test(start_paused = true)]
async fn controller_runtime_c9_backoff_without_an_error_keeps_growing() {
    let sink = MemorySink::new();
    let runs = runs_of(Duration::from_millis(40), &sink, |_| async {
        Ok(Outcome::Backoff)
    })
    .await;
    assert_eq!(runs, [0, 5, 15, 35]);
    assert_eq!(
        sink.value("controller_runtime_reconcile_total", &["script", "requeue"]),
        Some(4.0)
    );
    assert_eq!(
        sink.value("controller_runtime_reconcile_errors_total", &["script"]),
        Some(0.0),
        "c26"
    );
}

/// `Backoff` waits longer each time; `After` waits as long as it says, each time, and forgets what was
/// before. An error is one, whatever it says about the next run (ours: it may name the delay itself).
#[tokio::test(start_paused = true)]
async fn controller_runtime_t29_a_delay_is_not_limited_and_an_error_with_one_is_an_error() {
    let sink = MemorySink::new();
    let second = Duration::from_secs(1);
    let runs = runs_of(Duration::from_secs(4), &sink, move |run| async move {
        match run {
            1 | 2 | 5 => Ok(Outcome::Backoff),
            3 | 4 => Ok(Outcome::After(second)),
            6 => Err(ReconcileError::transient_after(second, boom())),
            7 => Err(boom().into()),
            _ => Ok(Outcome::Done),
        }
    })
    .await;
    assert_eq!(runs, [0, 5, 15, 1015, 2015, 2020, 3020, 3030]);
    let total = |result| sink.value("controller_runtime_reconcile_total", &["script", result]);
    let totals = ["requeue", "requeue_after", "error", "success"].map(total);
    assert_eq!(totals, [3.0, 2.0, 2.0, 1.0].map(Some));
    assert_eq!(
        sink.value("controller_runtime_reconcile_errors_total", &["script"]),
        Some(2.0)
    );
}

#[tokio::test(start_paused = true)]
async fn controller_runtime_c11_a_panic_is_contained_and_retried() {
    let sink = MemorySink::new();
    let runs = runs_of(Duration::from_millis(100), &sink, |run| async move {
        assert!(run > 2, "the first two runs fail");
        Ok(Outcome::Done)
    })
    .await;
    assert_eq!(runs, [0, 5, 15]);
    assert_eq!(
        sink.value("controller_runtime_reconcile_panics_total", &["script"]),
        Some(2.0)
    );
}

#[tokio::test(start_paused = true)]
async fn controller_runtime_c13_a_run_that_takes_too_long_is_ended() {
    let plane = Plane::start();
    plane.create(&config_map("a")).await;
    let sink = MemorySink::new();
    let script = Script {
        act: |_| std::future::pending(),
        runs: Arc::default(),
    };
    let controller = Controller::builder("script")
        .for_(&plane.maps)
        .timeout(Duration::from_secs(1))
        .metrics(evenkeel::observe::Metrics::new(sink.clone()))
        .reconciler(script);
    let stop = CancellationToken::new();
    let running = tokio::spawn(plane.run(controller, stop.clone()));
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert_eq!(
        sink.value("controller_runtime_reconcile_timeouts_total", &["script"]),
        Some(2.0)
    );
    stop.cancel();
    running.await.unwrap();
    plane.stop().await;
}

/// Creates a second object in the name of the first, and counts how often it had to.
struct Maker {
    maps: Store<ConfigMap>,
    created: Arc<AtomicUsize>,
}

impl Reconciler for Maker {
    async fn reconcile(
        &self,
        context: &Context<ObjectKey>,
        key: &ObjectKey,
    ) -> Result<Outcome, ReconcileError> {
        let made = self
            .maps
            .list()
            .iter()
            .any(|map| map.metadata().label("made").is_some());
        if key.name() == "a" && !made {
            self.created.fetch_add(1, Ordering::Relaxed);
            let mut map = config_map("");
            map.metadata.name = None;
            map.metadata.generate_name = Some("made-".into());
            map.metadata.labels = Some([("made".to_owned(), "yes".to_owned())].into());
            context.create(&map).await?;
        }
        // Without the ledger this would run again before the watch has shown the new object.
        Ok(Outcome::After(Duration::from_millis(1)))
    }
}

/// A watch that lags behind does not make a controller act twice (incident 10).
#[tokio::test(start_paused = true)]
async fn client_go_b31_incident_10_a_key_waits_until_its_own_write_is_seen() {
    let plane = Plane::start();
    plane.create(&config_map("a")).await;
    let created = Arc::default();
    let maker = Maker {
        maps: plane.maps.store().clone(),
        created: Arc::clone(&created),
    };
    let controller = Controller::builder("maker")
        .for_(&plane.maps)
        .reconciler(maker);
    let stop = CancellationToken::new();
    plane.maps.synced().await.unwrap();
    let silence = plane
        .server
        .faults()
        .inject(When::verb(Verb::Watch), Fault::SilentWatch);
    plane.server.faults().cut_watches();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let running = tokio::spawn(plane.run(controller, stop.clone()));
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(
        created.load(Ordering::Relaxed),
        1,
        "while the watch is silent"
    );
    silence.lift();
    plane.server.faults().cut_watches();
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(created.load(Ordering::Relaxed), 1, "after it");
    stop.cancel();
    running.await.unwrap();
    plane.stop().await;
}

/// A run may finish after the stop, and none starts; one that does not finish is cancelled
/// after the grace period (contracts controller-runtime C20, C22).
#[tokio::test(start_paused = true)]
async fn controller_runtime_c22_stopping_lets_runs_finish_and_then_cancels_them() {
    for (takes, ends_after) in [(3, 3), (60, 11)] {
        let plane = Plane::start();
        plane.create(&config_map("a")).await;
        plane.create(&config_map("b")).await;
        let runs = Arc::default();
        let script = Script {
            act: move |_| async move {
                tokio::time::sleep(Duration::from_secs(takes)).await;
                Ok(Outcome::Done)
            },
            runs: Arc::clone(&runs),
        };
        let controller = Controller::builder("script")
            .for_(&plane.maps)
            .reconciler(script);
        let term = plane
            .term(CancellationToken::new())
            .grace(Duration::from_secs(10));
        let stop = term.stop.clone();
        let running = tokio::spawn(async move { controller.run(term).await });
        tokio::time::sleep(Duration::from_millis(100)).await;
        let stopped = Instant::now();
        stop.cancel();
        running.await.unwrap().unwrap();
        let took = stopped.elapsed().as_secs_f64();
        assert!(
            (took - f64::from(ends_after)).abs() < 0.5,
            "{takes} s run: ended after {took} s"
        );
        assert_eq!(runs.lock().len(), 1, "the second key never ran");
        plane.stop().await;
    }
}
