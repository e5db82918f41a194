//! What handlers are told, and in what order.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_meta::{MetaView, Status};

use super::*;
use crate::event::Deletion;
use crate::filter::Filtered;
use crate::index::Index;

/// The server loses the stream and its history, and is listed.
async fn relist(server: &FakeServer) {
    server.cut(false);
    server.compact();
    pass(Duration::from_secs(5)).await;
}

#[tokio::test(start_paused = true)]
async fn client_go_i1_states_come_in_order_and_store_and_indexes_show_them_by_then() {
    let server = FakeServer::new();
    let (_informers, informer) = running(&server).await;
    let by_size = Index::new("size", |thing: &Thing| [thing.size.to_string()]);
    informer.add_index(by_size.clone()).unwrap();
    let store = informer.store().clone();
    let last = Arc::new(Mutex::new(BTreeMap::<String, u64>::new()));
    let seen = Arc::clone(&last);
    let registration = informer
        .add_handler(move |key: &ObjectKey, event: &Event<Thing>| {
            let object = event.object().unwrap();
            let version = |thing: &Thing| thing.metadata().resource_version().unwrap();
            let told = version(object).as_number().unwrap();
            let before = seen.lock().insert(key.to_string(), told).unwrap_or(0);
            assert!(told > before, "{key}: {told} after {before}");
            let snapshot = store.snapshot();
            assert!(snapshot.resource_version().has_reached(&told.into()));
            // Gone by now is a later state, too.
            if let Some(there) = snapshot.get(key) {
                assert!(version(there).has_reached(&told.into()));
                let indexed = snapshot.keys_by_index(&by_size, &there.size.to_string());
                assert!(indexed.contains(key));
            }
        })
        .unwrap();
    let mut rng = evenkeel_pace::Rng::seeded(3);
    for _ in 0..2000 {
        let name = format!("t{}", rng.below(10));
        match rng.below(10) {
            0 => server.delete(&name),
            1 => settle().await,
            _ => drop(server.put(&name, rng.below(50) as u32)),
        }
    }
    settle().await;
    assert_eq!(registration.panics(), 0);
    assert_eq!(contents(&informer), server.contents());
    assert_eq!(last.lock().len(), 10);
}

/// A burst becomes visible in steps of a thousand events at most, and each step is told after it.
#[tokio::test(start_paused = true)]
async fn client_go_q8_a_burst_is_published_in_batches() {
    let server = FakeServer::new();
    let (_informers, informer) = running(&server).await;
    let store = informer.store().clone();
    let sizes = Arc::new(Mutex::new(BTreeSet::new()));
    let seen = Arc::clone(&sizes);
    let _registration = informer
        .add_handler(move |_: &ObjectKey, _: &Event<Thing>| {
            seen.lock().insert(store.len());
        })
        .unwrap();
    settle().await;
    let before = informer.store().publications();
    for n in 0..2500 {
        server.put(&format!("t{n}"), n);
    }
    settle().await;
    assert_eq!(informer.store().len(), 2500);
    let published = informer.store().publications() - before;
    assert!((3..=5).contains(&published), "{published} publications");
    let sizes: Vec<_> = sizes.lock().iter().copied().collect();
    assert_eq!(sizes.len() as u64, published);
    assert!(
        sizes.windows(2).all(|pair| pair[1] - pair[0] <= 1000),
        "{sizes:?}"
    );
}

/// A relist is one step for readers, and comes after what was told before it.
#[tokio::test(start_paused = true)]
async fn client_go_q2_ts35_a_relist_is_one_step_in_its_place() {
    let server = FakeServer::new();
    server.with_pages();
    for n in 0..1200 {
        server.put(&format!("old{n}"), 1);
    }
    let informers = listing(&server);
    let informer = things(&informers);
    informers.start();
    informer.synced().await.unwrap();
    let store = informer.store().clone();
    let watcher = tokio::spawn(async move {
        let mut changes = store.changes();
        let mut shapes = BTreeSet::new();
        while changes.changed().await {
            let snapshot = store.snapshot();
            let old = snapshot
                .iter()
                .filter(|(key, _)| key.name().starts_with("old"));
            shapes.insert((old.count(), snapshot.len()));
        }
        shapes
    });
    server.cut(false);
    for n in 0..1200 {
        server.delete(&format!("old{n}"));
    }
    for n in 0..1500 {
        server.put(&format!("new{n}"), 1);
    }
    server.compact();
    pass(Duration::from_secs(5)).await;
    informers.shutdown().await;
    let shapes = watcher.await.unwrap();
    assert!(
        shapes
            .iter()
            .all(|shape| [(1200, 1200), (0, 1500)].contains(shape)),
        "{shapes:?}"
    );
    assert!(shapes.contains(&(0, 1500)));
}

/// What a stalled handler has not taken yet when lists find objects gone.
#[tokio::test(start_paused = true)]
async fn client_go_q16_ts33_ts34_deletions_that_a_list_finds_are_told_once_with_the_newest_state() {
    let server = FakeServer::new();
    let (_informers, informer) = running(&server).await;
    let mut stalled = informer.subscribe().unwrap();
    let inline = Log::default();
    let _inline = informer.add_handler(inline.handler()).unwrap();
    settle().await;
    let mut take = || {
        let events = std::iter::from_fn(|| stalled.try_next());
        events
            .map(|(key, event)| spell(&key, &event))
            .collect::<Vec<_>>()
    };
    // Added and gone before anybody looked: nothing is left to tell, and never a deletion alone.
    server.put("x", 1);
    settle().await;
    server.cut(false);
    server.delete("x");
    relist(&server).await;
    assert_eq!(inline.take(), ["x+1", "x~1"]);
    assert!(take().is_empty());
    // Known, deleted by event, then missing in a list: one deletion.
    server.put("x", 1);
    settle().await;
    assert_eq!(take(), ["x+1"]);
    server.delete("x");
    settle().await;
    relist(&server).await;
    assert_eq!(take(), ["x-1"]);
    inline.take();
    // Known, changed twice, then missing: the newest state that was seen.
    server.put("x", 1);
    settle().await;
    assert_eq!(take(), ["x+1"]);
    server.put("x", 2);
    server.put("x", 3);
    settle().await;
    server.cut(false);
    server.delete("x");
    relist(&server).await;
    relist(&server).await;
    assert_eq!(take(), ["x~3"]);
    assert_eq!(inline.take().last().unwrap(), "x~3");
    relist(&server).await;
    assert!(take().is_empty() && inline.take().is_empty());
}

#[tokio::test(start_paused = true)]
async fn client_go_q17_ts40_a_resync_never_shows_an_older_state_after_a_newer() {
    let server = FakeServer::new();
    let (_informers, informer) = running(&server).await;
    let subscription = informer.subscribe().unwrap();
    let mut subscription = subscription.resync_every(Duration::from_secs(1));
    let mut last = BTreeMap::new();
    let mut rng = evenkeel_pace::Rng::seeded(9);
    for n in 1..=300 {
        server.put(&format!("t{}", rng.below(5)), n);
        pass(rng.between(Duration::ZERO..Duration::from_millis(900))).await;
        for _ in 0..rng.below(6) {
            let Some((key, event)) = subscription.try_next() else {
                break;
            };
            let size = event.object().unwrap().size;
            let before = last.insert(key.clone(), size).unwrap_or(0);
            assert!(size >= before, "{key}: {size} after {before}");
        }
    }
    // Twice each while nobody takes.
    for n in 301..=310 {
        server.put(&format!("t{}", n % 5), n);
        settle().await;
    }
    while let Some((key, event)) = subscription.try_next() {
        last.insert(key, event.object().unwrap().size);
    }
    let last = last.into_iter();
    let last: BTreeMap<_, _> = last
        .map(|(key, size)| (key.name().to_owned(), u64::from(size)))
        .collect();
    assert_eq!(
        last,
        server.contents(),
        "the newest state is told in the end"
    );
}

/// TS43 and TS51: who asked for no resync is told of nothing else.
#[tokio::test(start_paused = true)]
async fn client_go_ts43_ts51_what_a_gap_changed_is_told_and_nothing_else() {
    let server = FakeServer::new();
    for name in ["pod1", "pod2"] {
        server.put(name, 1);
    }
    let (_informers, informer) = running(&server).await;
    let (log, resyncing) = (Log::default(), Log::default());
    let _log = informer.add_handler(log.handler()).unwrap();
    let registration = informer.add_handler(resyncing.handler()).unwrap();
    let _resyncing = registration.resync_every(Duration::from_secs(3));
    settle().await;
    log.take();
    resyncing.take();
    server.cut(false);
    server.put("pod2", 2);
    server.put("pod3", 1);
    server.compact();
    pass(Duration::from_secs(5)).await;
    let mut told = log.take();
    told.sort();
    assert_eq!(told, ["pod2 1>2", "pod3+1"], "and not as initial");
    let told = resyncing.take();
    for line in ["pod1 1>1", "pod2 1>2", "pod3+1"] {
        assert!(told.iter().any(|there| there == line), "{line}: {told:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn client_go_ts53_one_handler_added_twice_is_told_twice() {
    let server = FakeServer::new();
    let (_informers, informer) = running(&server).await;
    let log = Log::default();
    let first = informer.add_handler(log.handler()).unwrap();
    let second = informer.add_handler(log.handler()).unwrap();
    server.put("a", 1);
    settle().await;
    assert_eq!(log.take(), ["a+1", "a+1"]);
    first.remove();
    server.put("a", 2);
    settle().await;
    assert_eq!(log.take(), ["a 1>2"]);
    drop(second);
    server.put("a", 3);
    settle().await;
    assert!(log.take().is_empty());
}

#[tokio::test(start_paused = true)]
async fn client_go_i13_ts56_a_handler_that_panics_each_time_is_told_everything_and_harms_nobody() {
    let server = FakeServer::new();
    for n in 0..5 {
        server.put(&format!("t{n}"), n);
    }
    let informers = informers(&server);
    let informer = things(&informers);
    let calm = Log::default();
    let wild = informer
        .add_handler(|_: &ObjectKey, _: &Event<Thing>| panic!("every time"))
        .unwrap();
    let _calm = informer.add_handler(calm.handler()).unwrap();
    informers.start();
    informer
        .synced_within(Duration::from_secs(1))
        .await
        .unwrap();
    wild.synced_within(Duration::from_secs(1)).await.unwrap();
    assert_eq!((wild.panics(), calm.take().len()), (5, 5));
}

/// Whatever is known of an object that is gone, everybody can tell which it was.
#[tokio::test(start_paused = true)]
async fn client_go_t1_ts61_every_deletion_names_its_object() {
    let server = FakeServer::new();
    server.put("real", 1);
    server.put("stale", 1);
    server.put_undecodable("unread");
    server.put_undecodable("unseen");
    let (_informers, informer) = running(&server).await;
    let told = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&told);
    let _registration = informer
        .add_handler(move |key: &ObjectKey, event: &Event<Thing>| {
            let Event::Deleted(deletion) = event else {
                return;
            };
            let known = match deletion {
                Deletion::Final(_) => "final",
                Deletion::Unknown {
                    last_known: Some(_),
                } => "last known",
                Deletion::Unknown { last_known: None } => "nothing",
            };
            noted
                .lock()
                .push(format!("{:?} {} {known}", key.namespace(), key.name()));
        })
        .unwrap();
    settle().await;
    server.delete("real");
    server.delete("unseen");
    settle().await;
    server.cut(false);
    server.delete("stale");
    server.delete("unread");
    server.compact();
    pass(Duration::from_secs(5)).await;
    let expected = [
        r#"Some("ns") real final"#,
        r#"Some("ns") unseen nothing"#,
        r#"Some("ns") stale last known"#,
        r#"Some("ns") unread nothing"#,
    ];
    assert_eq!(*told.lock(), expected);
}

#[tokio::test(start_paused = true)]
async fn client_go_i15_ts62_what_crosses_a_filter_comes_or_goes() {
    let server = FakeServer::new();
    server.put("in", 10);
    server.put("out", 1);
    let (_informers, informer) = running(&server).await;
    let log = Log::default();
    let filtered = Filtered::new(|thing: &Thing| thing.size >= 10, log.handler());
    let registration = informer.add_handler(filtered).unwrap();
    registration.synced().await.unwrap();
    assert_eq!(log.take(), ["in+10 initial"]);
    for (name, size, told) in [
        ("in", 11, "in 10>11"),
        ("in", 2, "in~11"),
        ("in", 3, ""),
        ("in", 12, "in+12"),
        ("out", 2, ""),
        ("out", 20, "out+20"),
    ] {
        server.put(name, size);
        settle().await;
        assert_eq!(log.take().join(""), told, "{name} {size}");
    }
    server.delete("in");
    server.put("out", 4);
    server.delete("out");
    settle().await;
    assert_eq!(log.take(), ["in-12", "out~20"]);
    assert_eq!(registration.panics(), 0);
}

/// Nothing between the stream and a handler takes two states for one because they look alike.
#[tokio::test(start_paused = true)]
async fn incident_12_a_deletion_that_begins_and_one_that_ends_are_told_though_nothing_else_changed()
{
    let server = FakeServer::new();
    server.put("a", 1);
    let (_informers, informer) = running(&server).await;
    let told = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&told);
    let _registration = informer
        .add_handler(move |_: &ObjectKey, event: &Event<Thing>| {
            let terminating = |thing: &Thing| thing.metadata().is_terminating();
            noted.lock().push(match event {
                Event::Added { object, .. } => format!("added {}", terminating(object)),
                Event::Updated { old, new } => {
                    format!("updated {} {}", terminating(old), terminating(new))
                }
                Event::Deleted(deletion) => {
                    format!("deleted {}", terminating(deletion.last_known().unwrap()))
                }
            });
        })
        .unwrap();
    settle().await;
    // By watch, with the generation as it was; by a list, where the stream missed it.
    server.terminate("a");
    settle().await;
    server.delete("a");
    settle().await;
    assert_eq!(
        std::mem::take(&mut *told.lock()),
        ["added false", "updated false true", "deleted true"]
    );
    server.put("a", 1);
    settle().await;
    server.cut(false);
    server.terminate("a");
    server.compact();
    pass(Duration::from_secs(5)).await;
    server.send_error(&Status::expired("x"));
    server.delete("a");
    pass(Duration::from_secs(5)).await;
    assert_eq!(
        *told.lock(),
        ["added false", "updated false true", "deleted true"]
    );
}

/// A handler is synced when all that was there has been dealt with, however that ends.
#[tokio::test(start_paused = true)]
async fn client_go_q10_ts36_ts37_synced_means_taken_and_dealt_with() {
    let server = FakeServer::new();
    server.put("a", 1);
    server.put("b", 1);
    let informers = informers(&server);
    let informer = things(&informers);
    let mut subscription = informer.subscribe().unwrap();
    assert!(!subscription.has_synced());
    informers.start();
    informer.synced().await.unwrap();
    assert!(
        !subscription.has_synced(),
        "the store has, the handler has not"
    );
    // One of them goes before it was taken: it is not waited for.
    server.delete("b");
    settle().await;
    assert!(subscription.next().await.unwrap().1.is_initial());
    assert!(!subscription.has_synced(), "taken, and not dealt with");
    server.put("c", 1);
    settle().await;
    let (key, event) = subscription.next().await.unwrap();
    assert_eq!(spell(&key, &event), "c+1");
    assert!(subscription.has_synced(), "before what is new");
}
