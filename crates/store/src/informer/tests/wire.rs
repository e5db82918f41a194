//! What is asked and answered, frame by frame.

use evenkeel_meta::{LabelSelector, Reason, Status};
use serde_json::{Value, json};

use super::faults::queries;
use super::*;
use crate::fake_server::{Answer, any, is_list, is_watch, is_watch_list};

fn thing(name: &str, size: u32, version: u64) -> Value {
    json!({
        "apiVersion": "test.dev/v1", "kind": "Thing", "size": size,
        "metadata": {"name": name, "namespace": "ns", "uid": name, "resourceVersion": version.to_string()},
    })
}

async fn start(informers: &Informers) -> Informer<Thing> {
    let informer = things(informers);
    informers.start();
    informer.synced().await.unwrap();
    settle().await;
    informer
}

#[tokio::test(start_paused = true)]
async fn client_go_lw1_selectors_go_with_lists_watches_and_watch_lists_alike() {
    for make in [informers, listing] {
        let server = FakeServer::new();
        server.with_pages();
        server.put("a", 1);
        let informers = make(&server);
        let selector: LabelSelector = "app=web".parse().unwrap();
        let fields = "spec.nodeName=n1".parse().unwrap();
        let options = InformerOptions::default().labels(&selector).fields(&fields);
        let informer: Informer<Thing> = informers.projected(THINGS, options);
        informers.start();
        informer.synced().await.unwrap();
        // Through a stream that is lost, one that must be listed anew, and a check after silence.
        pass(Duration::from_secs(100)).await;
        server.cut(false);
        pass(Duration::from_secs(30)).await;
        server.send_error(&Status::expired("x"));
        pass(Duration::from_secs(30)).await;
        let asked = server.requests();
        assert!(asked.len() >= 4, "{asked:?}");
        for query in asked {
            assert!(query.contains("labelSelector=app%3Dweb"), "{query}");
            assert!(
                query.contains("fieldSelector=spec.nodeName%3Dn1"),
                "{query}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn client_go_wl1_watch_lists_are_tried_unless_they_are_turned_off() {
    for (make, first) in [
        (informers as fn(&FakeServer) -> Informers, true),
        (listing, false),
    ] {
        let server = FakeServer::new();
        let informers = make(&server);
        start(&informers).await;
        let asked = queries(&server);
        assert_eq!(is_watch_list(&asked[0]), first, "{asked:?}");
        assert_eq!(asked.iter().any(|query| is_list(query)), !first);
    }
}

#[tokio::test(start_paused = true)]
async fn client_go_r13_ts24_a_list_is_the_state_of_its_version_and_a_table_is_no_list() {
    let server = FakeServer::new();
    server.put("a", 1);
    let table = Answer::Body(
        r#"{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"9"},"rows":[{"cells":["a"]}]}"#,
    );
    server.answer_next(any, table);
    let informers = listing(&server);
    let informer = things(&informers);
    informers.start();
    let error = informer.synced_within(Duration::from_millis(500)).await;
    let error = error.unwrap_err().to_string();
    assert!(error.contains("expected a list, got Table"), "{error}");
    assert!(informer.store().resource_version().is_unset());
    pass(Duration::from_secs(2)).await;
    assert!(informer.has_synced());
    assert_eq!(informer.store().resource_version(), server.version().into());
    // Of another group, a Table is an object like any other.
    let mut other = thing("table", 4, server.version() + 1);
    other["kind"] = json!("Table");
    server.send_frame("ADDED", &other);
    settle().await;
    assert_eq!(informer.store().get(&key("table")).unwrap().size, 4);
}

#[tokio::test(start_paused = true)]
async fn client_go_r20_ts18_events_that_are_none_are_skipped_or_followed_by_a_list() {
    let server = FakeServer::new();
    server.put("a", 1);
    let informers = informers(&server);
    let informer = start(&informers).await;
    let told: Arc<Mutex<Vec<ObjectKey>>> = Arc::default();
    let keys = Arc::clone(&told);
    let _handler = informer
        .add_handler(move |key: &ObjectKey, _: &Event<Thing>| keys.lock().push(key.clone()))
        .unwrap();
    // No metadata: nobody can tell what it is, and it says nothing of how far the stream is.
    server.send_frame("ADDED", &json!({"kind": "Nonsense", "apiVersion": "v1"}));
    server.send_frame("MODIFIED", &thing("a", 2, 50));
    settle().await;
    assert_eq!(informer.store().len(), 1);
    assert_eq!(informer.store().get(&key("a")).unwrap().size, 2);
    assert_eq!(informer.store().resource_version(), 50.into());
    for kind in ["ADDED", "MODIFIED", "DELETED"] {
        for metadata in [json!({}), json!({"namespace": "ns"}), json!({"name": ""})] {
            server.send_frame(kind, &json!({"kind": "Nonsense", "metadata": metadata}));
        }
    }
    settle().await;
    assert!(told.lock().iter().all(|told| *told == key("a")), "{told:?}");
    assert_eq!(informer.store().resource_version(), 50.into());
    assert_eq!(informer.store().len(), 1);
    assert_eq!(informer.store().snapshot().set_aside().count(), 0);
    // An event of a type that nobody knows may be anything: the contents are fetched anew.
    server.requests();
    server.put("b", 7);
    settle().await;
    server.send_frame("TWISTED", &thing("a", 3, 51));
    pass(Duration::from_secs(5)).await;
    assert!(is_watch_list(&server.requests()[0]));
    assert!(informer.store().contains(&key("b")));
}

#[tokio::test(start_paused = true)]
async fn client_go_wl4_ts4_a_marker_that_says_false_is_none() {
    let server = FakeServer::new();
    server.without_markers();
    server.put("a", 1);
    let informers = informers(&server);
    let informer = things(&informers);
    informers.start();
    settle().await;
    let marker = |value: &str| {
        json!({"kind": "Thing", "metadata": {"resourceVersion": "9",
            "annotations": {"k8s.io/initial-events-end": value}}})
    };
    for value in ["false", "True", ""] {
        server.send_frame("BOOKMARK", &marker(value));
        settle().await;
        assert!(!informer.has_synced(), "{value}");
    }
    server.send_frame("BOOKMARK", &marker("true"));
    settle().await;
    assert!(informer.has_synced());
    assert_eq!(informer.store().resource_version(), 9.into());
}

/// Nothing is shown, and nobody told, before the marker.
#[tokio::test(start_paused = true)]
async fn client_go_wl3_ts3_ts5_what_comes_before_the_marker_is_shown_with_it() {
    let server = FakeServer::new();
    server.without_markers();
    server.put("a", 1);
    server.put("b", 1);
    let informers = informers(&server);
    let informer = things(&informers);
    let log = Log::default();
    let _registration = informer.add_handler(log.handler()).unwrap();
    informers.start();
    settle().await;
    server.put("a", 2);
    server.delete("b");
    settle().await;
    assert!(informer.store().is_empty() && log.take().is_empty());
    // Without the marker, the same is asked once more.
    pass(Duration::from_secs(2)).await;
    server.cut(false);
    settle().await;
    let asked = queries(&server);
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0], asked[1]);
    assert!(informer.store().is_empty() && log.take().is_empty());
    server.put("a", 3);
    let marker = json!({"kind": "Thing", "metadata": {"resourceVersion": "9",
        "annotations": {"k8s.io/initial-events-end": "true"}}});
    server.send_frame("BOOKMARK", &marker);
    settle().await;
    assert_eq!(log.take(), ["a+3 initial"]);
    assert_eq!(contents(&informer), server.contents());
    // Nor is any of it told later on.
    server.put("a", 4);
    settle().await;
    assert_eq!(log.take(), ["a 3>4"]);
}

#[tokio::test(start_paused = true)]
async fn client_go_wl6_ts6_ts7_a_busy_server_is_asked_the_same_again_and_a_refusal_is_listed() {
    let server = FakeServer::new();
    server.put("a", 1);
    server.put("b", 1);
    let busy = Status {
        code: 429,
        reason: Reason::TooManyRequests,
        ..Status::internal("busy")
    };
    server.answer_next_as(2, is_watch_list, &Answer::Status(busy));
    let informers = informers(&server);
    let informer = things(&informers);
    informers.start();
    informer.synced().await.unwrap();
    let asked = queries(&server);
    assert!(asked.len() == 3 && asked.iter().all(|query| *query == asked[0]));

    let other = FakeServer::new();
    other.put("a", 1);
    other.put("b", 1);
    let mut invalid = Status::bad_request("sendInitialEvents is forbidden");
    (invalid.code, invalid.reason) = (422, Reason::Invalid);
    other.answer_next(is_watch_list, Answer::Status(invalid));
    let informers = self::informers(&other);
    let informer = start(&informers).await;
    let asked = queries(&other);
    assert_eq!(asked[1], "limit=500&resourceVersion=0");
    assert!(is_watch(&asked[2]), "{asked:?}");
    assert_eq!(informer.store().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn client_go_ts8_kube_rs_14_a_stream_that_ends_is_resumed_without_initial_events() {
    let server = FakeServer::new();
    server.put("a", 1);
    let informers = informers(&server);
    let informer = start(&informers).await;
    let log = Log::default();
    let _registration = informer.add_handler(log.handler()).unwrap();
    let last = server.put("a", 2);
    pass(Duration::from_secs(60)).await;
    log.take();
    server.requests();
    for _ in 0..3 {
        server.bookmark();
        server.cut(false);
        pass(Duration::from_secs(60)).await;
    }
    let asked = queries(&server);
    let resumed = format!("watch=true&allowWatchBookmarks=true&resourceVersion={last}");
    assert_eq!(asked, [resumed.clone(), resumed.clone(), resumed]);
    assert!(log.take().is_empty());
}

#[tokio::test(start_paused = true)]
async fn client_go_ts9_ts10_a_410_keeps_what_is_there_and_lists_from_there_on() {
    let server = FakeServer::new();
    for n in 0..8 {
        server.put("a", n);
    }
    let informers = listing(&server);
    let informer = start(&informers).await;
    let log = Log::default();
    let _registration = informer.add_handler(log.handler()).unwrap();
    pass(Duration::from_secs(5)).await;
    log.take();
    server.requests();
    let gone = Answer::Status(Status::expired("too old"));
    server.answer_next(is_watch, gone.clone());
    server.answer_next(is_list, gone);
    server.bookmark();
    server.cut(false);
    settle().await;
    // The pass has ended, and the store goes on showing what it had.
    assert_eq!(contents(&informer), server.contents());
    pass(Duration::from_secs(5)).await;
    let asked = queries(&server);
    assert_eq!(asked[1..3], ["resourceVersion=9", "limit=500"], "{asked:?}");
    assert!(log.take().is_empty());
    assert!(informer.freshness().watching);
}

#[tokio::test(start_paused = true)]
async fn client_go_ts11_an_expired_page_leads_to_one_list_at_the_first_version() {
    let server = FakeServer::new();
    server.with_pages();
    for n in 0..10 {
        server.put(&format!("t{n}"), n);
    }
    let options = ReflectorOptions {
        watch_list: false,
        page_size: Some(4),
        ..ReflectorOptions::default()
    };
    let builder = Informers::builder(server.client()).seed(7);
    let informers = builder.reflector(options).build();
    let informer = start(&informers).await;
    server.requests();
    server.bookmark();
    settle().await;
    let expired = Answer::Status(Status::expired("token"));
    server.answer_next(|query| query.contains("continue="), expired);
    server.send_error(&Status::expired("x"));
    pass(Duration::from_secs(5)).await;
    let asked = queries(&server);
    let expected = [
        "limit=4&resourceVersion=11",
        "limit=4&continue=after-4",
        "resourceVersion=11",
    ];
    assert_eq!(asked[..3], expected);
    assert_eq!(informer.store().len(), 10);
}

/// An object that the server cannot read any more was deleted past its finalizers.
#[tokio::test(start_paused = true)]
async fn client_go_ts22_a_corrupt_object_that_was_deleted_vanishes_and_the_others_stay() {
    let server = FakeServer::new();
    server.put("a", 1);
    server.put("corrupt", 1);
    let informers = informers(&server);
    let informer = start(&informers).await;
    let log = Log::default();
    let _registration = informer.add_handler(log.handler()).unwrap();
    settle().await;
    log.take();
    pass(Duration::from_secs(60)).await;
    server.bookmark();
    settle().await;
    let status = Status {
        reason: Reason::StoreReadError,
        ..Status::internal("data from the storage is not transformable")
    };
    server.cut_off("corrupt");
    server.send_error(&status);
    pass(Duration::from_secs(5)).await;
    assert_eq!(log.take(), ["corrupt~1"]);
    assert_eq!(contents(&informer), server.contents());
}

/// Every way in which the version moves, and the data with it.
#[tokio::test(start_paused = true)]
async fn client_go_r26_s6_ts45_the_version_can_be_read_at_any_time_and_belongs_to_the_data() {
    let server = FakeServer::new();
    let informers = informers(&server);
    let informer = things(&informers);
    assert!(informer.freshness().resource_version.is_unset());
    informers.start();
    informer.synced().await.unwrap();
    let store = informer.store().clone();
    let reached = || {
        let version = store.resource_version();
        assert_eq!(informer.freshness().resource_version, version);
        version.as_number().unwrap()
    };
    assert_eq!(reached(), 1);
    server.send_frame("ADDED", &thing("a", 1, 10));
    settle().await;
    assert_eq!((reached(), store.len()), (10, 1));
    server.send_frame("MODIFIED", &thing("a", 2, 20));
    settle().await;
    assert_eq!((reached(), store.get(&key("a")).unwrap().size), (20, 2));
    server.send_frame("DELETED", &thing("a", 2, 30));
    settle().await;
    assert_eq!((reached(), store.len()), (30, 0));
    // What is no object moves nothing; a batch ends at its last version.
    server.send_frame("ADDED", &json!({"kind": "Status"}));
    server.send_frame("ADDED", &thing("b", 1, 40));
    server.send_frame("ADDED", &thing("c", 1, 50));
    settle().await;
    assert_eq!((reached(), store.len()), (50, 2));
    let bookmark = json!({"kind": "Thing", "metadata": {"resourceVersion": "60"}});
    server.send_frame("BOOKMARK", &bookmark);
    settle().await;
    assert_eq!((reached(), store.len()), (60, 2));
}

/// Incident kubernetes#87615: the connection dies and nobody is told.
#[tokio::test(start_paused = true)]
async fn incident_2_a_connection_that_dies_in_silence_is_resumed_where_it_was_and_nothing_is_listed()
 {
    let server = FakeServer::new();
    server.put("a", 1);
    let informers = informers(&server);
    let informer = start(&informers).await;
    pass(Duration::from_secs(60)).await;
    let last = server.put("a", 2);
    settle().await;
    server.requests();
    server.half_open();
    server.put("a", 3);
    server.put("b", 1);
    pass(Duration::from_secs(44)).await;
    assert_eq!(informer.store().len(), 1);
    pass(Duration::from_secs(2)).await;
    assert_eq!(contents(&informer), server.contents());
    let asked = queries(&server);
    assert_eq!(
        asked,
        [format!(
            "watch=true&allowWatchBookmarks=true&resourceVersion={last}"
        )]
    );
}

#[tokio::test(start_paused = true)]
async fn kube_rs_12_a_410_in_the_stream_is_no_error_to_anybody() {
    let server = FakeServer::new();
    server.put("a", 1);
    let informers = informers(&server);
    let informer = start(&informers).await;
    server.put("b", 1);
    server.send_error(&Status::expired("too old"));
    for _ in 0..50 {
        pass(Duration::from_millis(100)).await;
        assert!(informer.has_synced());
        assert_eq!(informer.sync_state().to_string(), "synced");
    }
    assert_eq!(contents(&informer), server.contents());
}

/// kube-rs pauses everything with one backoff.
#[tokio::test(start_paused = true)]
async fn kube_rs_d7_a_kind_that_fails_delays_no_other() {
    let (good, bad) = (FakeServer::new(), FakeServer::new());
    good.put("a", 1);
    let denied = Answer::Status(Status::bad_request("no"));
    bad.answer_next_as(10_000, any, &denied);
    let (fine, failing) = (informers(&good), informers(&bad));
    let _failing = things(&failing);
    failing.start();
    let informer = start(&fine).await;
    for n in 2..60 {
        good.put("a", n);
        settle().await;
        assert_eq!(informer.store().get(&key("a")).unwrap().size, n);
        pass(Duration::from_secs(5)).await;
    }
    // Nor does one informer of a factory keep another of it.
    let theirs = InformerOptions::default().namespace("theirs");
    good.answer_paths("/namespaces/theirs/", denied);
    let other: Informer<Thing> = fine.projected(THINGS, theirs);
    fine.start();
    for n in 60..80 {
        good.put("a", n);
        settle().await;
        assert_eq!(informer.store().get(&key("a")).unwrap().size, n);
        pass(Duration::from_secs(5)).await;
    }
    assert!(
        other
            .sync_state()
            .failure
            .is_some_and(|failure| failure.tries > 2)
    );
}
