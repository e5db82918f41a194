use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::fake_server::{Answer, any};
use crate::index::Index;
use crate::status::SyncPhase;
use crate::store::WaitError;

#[tokio::test(start_paused = true)]
async fn client_go_i17_kube_rs_3_one_informer_a_collection_and_start_is_idempotent() {
    let server = FakeServer::new();
    let (informers, informer) = running(&server).await;
    let again = things(&informers);
    assert!(Arc::ptr_eq(&again.shared, &informer.shared));
    informers.start();
    informers.start();
    settle().await;
    assert_eq!(server.requests().len(), 1);
    let narrow: Informer<Thing> =
        informers.projected(THINGS, InformerOptions::default().namespace("ns"));
    assert!(!Arc::ptr_eq(&narrow.shared, &informer.shared));
    assert_eq!(narrow.sync_state().phase, SyncPhase::NotStarted);
    informers.start();
    narrow.synced().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn client_go_i17_shutdown_ends_every_task_and_start_does_nothing_after_it() {
    let server = FakeServer::new();
    server.put("a", 1);
    let (informers, informer) = running(&server).await;
    let calls = Arc::new(AtomicUsize::new(0));
    let (began, returned) = (Arc::clone(&calls), Arc::clone(&calls));
    let registration = informer
        .add_slow_handler(move |_, _| {
            began.fetch_add(1, Ordering::SeqCst);
            let returned = Arc::clone(&returned);
            async move {
                tokio::time::sleep(Duration::from_secs(5)).await;
                returned.fetch_add(10, Ordering::SeqCst);
            }
        })
        .unwrap();
    server.put("b", 1);
    settle().await;
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    informers.shutdown().await;
    // The call under way was waited for; what waited behind it was dropped (I5).
    assert_eq!(calls.load(Ordering::SeqCst), 11);
    assert_eq!(server.open_streams(), 0);
    assert_eq!(informer.sync_state().phase, SyncPhase::Stopped);
    assert!(registration.synced().await.is_err());
    assert!(informer.add_handler(Log::default().handler()).is_err());
    assert!(informer.subscribe().is_err());
    // What was there can still be read.
    assert_eq!(informer.store().len(), 2);
    let after = things(&informers);
    informers.start();
    assert!(after.synced().await.is_err());
}

/// What client-go has a function of its own for: `synced_within` is its precondition,
/// `wait_until` its wait, and a deletion that was missed ends it like any other.
#[tokio::test(start_paused = true)]
async fn client_go_ts85_a_state_is_waited_for_with_or_without_the_first_list() {
    let server = FakeServer::new();
    let informers = informers(&server);
    let informer = things(&informers);
    let limit = Duration::from_secs(5);
    server.answer_next_as(20, any, &Answer::Refuse);
    informers.start();
    let store = informer.store().clone();
    let is_empty = store.wait_until(|snapshot| snapshot.is_empty().then_some(()));
    assert!(
        is_empty.await.is_some(),
        "nothing is asked for but the state"
    );
    assert!(informer.synced_within(limit).await.is_err());

    let there = tokio::spawn({
        let store = store.clone();
        async move {
            store
                .wait_until(|snapshot| snapshot.get(&key("a")).cloned())
                .await
        }
    });
    server.put("a", 7);
    informer.synced().await.unwrap();
    assert_eq!(there.await.unwrap().unwrap().size, 7);

    let gone = tokio::spawn(async move {
        let gone =
            |snapshot: &crate::Snapshot<Thing>| snapshot.get(&key("a")).is_none().then_some(());
        store.wait_until(gone).await
    });
    settle().await;
    assert!(!gone.is_finished());
    // Nobody is told of the deletion; a list finds it.
    server.cut(true);
    server.delete("a");
    server.compact();
    assert!(gone.await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn dropping_the_factory_ends_everything_at_once() {
    let server = FakeServer::new();
    server.put("a", 1);
    let (informers, informer) = running(&server).await;
    let slow = informer
        .add_slow_handler(|_, _| std::future::pending())
        .unwrap();
    let mut subscription = informer.subscribe().unwrap();
    settle().await;
    let never_started: Informer<Thing> =
        informers.projected(THINGS, InformerOptions::default().namespace("ns"));
    drop(informers);
    settle().await;
    assert_eq!(server.open_streams(), 0);
    assert!(informer.add_handler(Log::default().handler()).is_err());
    assert!(never_started.synced().await.is_err());
    assert!(slow.synced().await.is_err());
    // A subscription is told what was there, then that it is over.
    assert!(subscription.next().await.is_some());
    assert!(subscription.next().await.is_none());
    assert_eq!(
        informer.store().wait_for(&99.into()).await,
        Err(WaitError::Closed)
    );
}

#[tokio::test(start_paused = true)]
async fn client_go_b18_one_informer_can_be_stopped_alone_and_asked_for_anew() {
    let server = FakeServer::new();
    server.put("a", 1);
    let (informers, informer) = running(&server).await;
    informer.stop();
    settle().await;
    assert_eq!(server.open_streams(), 0);
    assert_eq!(informer.sync_state().phase, SyncPhase::Stopped);
    let anew = things(&informers);
    informers.start();
    anew.synced().await.unwrap();
    assert_eq!(contents(&anew), server.contents());
}

#[tokio::test(start_paused = true)]
async fn client_go_b31_a_write_can_be_waited_for_and_is_then_readable() {
    let server = FakeServer::new();
    server.put("a", 1);
    let (_informers, informer) = running(&server).await;
    let store = informer.store().clone();
    let written = server.put("b", 1);
    store.wait_for(&written.into()).await.unwrap();
    assert_eq!(store.get(&key("b")).unwrap().size, 1);
    let next = (written + 1).into();
    let waited = tokio::time::timeout(Duration::from_secs(1), store.wait_for(&next)).await;
    assert!(waited.is_err(), "{waited:?}");
    // A bookmark is as good as an event.
    server.put("other", 1);
    server.bookmark();
    store.wait_for(&server.version().into()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn indexes_can_be_added_at_any_time() {
    let server = FakeServer::new();
    server.put("a", 1);
    let (_informers, informer) = running(&server).await;
    assert_eq!(informer.store().in_namespace("ns").len(), 1);
    let by_size = Index::new("size", |thing: &Thing| [thing.size.to_string()]);
    informer.add_index(by_size.clone()).unwrap();
    assert_eq!(informer.store().by_index(&by_size, "1").len(), 1);
    server.put("a", 2);
    settle().await;
    assert_eq!(informer.store().by_index(&by_size, "1").len(), 0);
    assert_eq!(informer.store().by_index(&by_size, "2").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn client_go_m5_metrics_have_the_names_that_dashboards_know() {
    use evenkeel_observe::{MemorySink, Metrics};
    let sink = MemorySink::new();
    let server = FakeServer::new();
    server.put("a", 1);
    server.put_undecodable("bad");
    let informers = Informers::builder(server.client())
        .metrics(Metrics::new(sink.clone()))
        .build();
    let informer = things(&informers);
    informers.start();
    informer.synced().await.unwrap();
    let mut subscription = informer.subscribe().unwrap();
    let panicking = informer
        .add_handler(|_: &ObjectKey, _: &Event<Thing>| panic!("no"))
        .unwrap();
    panicking.synced().await.unwrap();
    server.put("b", 1);
    settle().await;
    let labels = ["things.test.dev", "test.dev", "v1", "things"];
    let value = |name: &str| sink.value(name, &labels);
    assert_eq!(value("informer_store_resource_version"), Some(4.0));
    assert_eq!(value("informer_objects"), Some(2.0));
    assert_eq!(value("informer_queued_items"), Some(2.0));
    assert_eq!(value("informer_set_aside_objects"), Some(1.0));
    assert_eq!(value("informer_set_aside_total"), Some(1.0));
    assert_eq!(value("informer_handler_panics_total"), Some(2.0));
    assert_eq!(value("reflector_watches_total"), Some(1.0));
    let [name, group, version, resource] = labels;
    let passes = |cause| {
        sink.value(
            "reflector_lists_total",
            &[name, group, version, resource, cause],
        )
    };
    assert_eq!(passes("start"), Some(1.0));
    let latency = sink.histogram_snapshot("informer_processing_latency_seconds", &labels);
    assert!(latency.unwrap().count > 0);
    let kind = &crate::metrics::PROCESSING_LATENCY.kind;
    let evenkeel_observe::MetricKind::Histogram { buckets } = kind else {
        panic!("{kind:?}")
    };
    let bounds = [
        0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
    ];
    assert_eq!(*buckets, bounds);
    while subscription.try_next().is_some() {}
    assert_eq!(value("informer_queued_items"), Some(0.0));
}
