//! What becomes of keys: one run at a time, each after its last trigger, none before everything is there.

#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

mod plane;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use evenkeel::meta::ObjectKey;
use evenkeel::store::{Informer, InformerOptions};
use evenkeel::{Controller, Outcome, Watch};
use evenkeel_apiserver::{Fault, Verb, When};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use parking_lot::Mutex;
use plane::act::Act;
use plane::journal::{Journal, run, settle};
use plane::parts::annotated;
use plane::{Plane, config_map};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

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
    let going = plane.begin(controller);
    tokio::time::sleep(Duration::from_millis(50)).await;
    for value in 0..5 {
        plane.update(&annotated("a", &value.to_string())).await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    settle().await;
    let (runs, most) = {
        let tally = tally.lock();
        (tally.runs, tally.most_of_one)
    };
    assert_eq!((runs, most), (2, 1));
    going.end().await;
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
    // Counts what happens: it tells the order of what happens in one instant, too.
    let order = Arc::new(AtomicUsize::new(0));
    let (seen, clock) = (Arc::clone(&last), Arc::clone(&order));
    let act = Act::new(move |_, key: &u32| {
        let (seen, clock) = (Arc::clone(&seen), Arc::clone(&clock));
        Box::pin(async move {
            let started = clock.fetch_add(1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(1)).await;
            seen.lock().insert(*key, started);
            Ok(Outcome::Done)
        })
    });
    let controller = Controller::builder("keys")
        .receives(received)
        .concurrency(2)
        .reconciler(act);
    let going = plane.begin(controller);
    let mut triggered = HashMap::new();
    for _ in 0..2 {
        for key in 0..100 {
            triggered.insert(key, order.fetch_add(1, Ordering::SeqCst));
            keys.send(key).await.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let last = last.lock().clone();
    assert_eq!(last.len(), 100);
    assert!(
        last.iter().all(|(key, started)| *started > triggered[key]),
        "{last:?} {triggered:?}"
    );
    going.end().await;
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
    let going = plane.begin(controller);
    tokio::time::sleep(Duration::from_secs(600)).await;
    let runs = runs.lock().clone();
    assert!(runs.len() == 10_000 && runs.values().all(|count| *count == 3));
    going.end().await;
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
    let going = plane.begin(controller);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(*first.lock(), None, "the secrets have not been listed");
    denied.iter().for_each(evenkeel_apiserver::Injected::lift);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(
        *first.lock(),
        Some(20),
        "all were handled before the first run"
    );
    going.end().await;
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
    let going = plane.begin(controller);
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
    going.end().await;
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
    let going = plane.begin(controller);
    assert_eq!(journal.settled().await.len(), 10);
    going.end().await;
    plane.stop().await;
}
