use evenkeel_meta::{GroupResource, Status};

use super::*;
use crate::fake_server::{Answer, any, is_list, is_watch, is_watch_list};
use crate::set_aside::SetAsideReason;

fn forbidden() -> Answer {
    let things = GroupResource {
        group: "test.dev".into(),
        resource: "things".into(),
    };
    Answer::Status(Status::forbidden(&things, "", "no list for you"))
}

/// The queries of the requests, with the time-outs taken out.
pub(super) fn queries(server: &FakeServer) -> Vec<String> {
    let without_timeout = |query: String| {
        let parts = query
            .split('&')
            .filter(|part| !part.starts_with("timeoutSeconds="));
        parts.collect::<Vec<_>>().join("&")
    };
    server.requests().into_iter().map(without_timeout).collect()
}

#[tokio::test(start_paused = true)]
async fn client_go_r7_r15_ts1_the_wire_of_a_list_and_its_watch() {
    let server = FakeServer::new();
    server.put("a", 1);
    let informers = listing(&server);
    let informer = things(&informers);
    informers.start();
    informer.synced().await.unwrap();
    settle().await;
    assert_eq!(
        queries(&server),
        [
            "limit=500&resourceVersion=0",
            "watch=true&allowWatchBookmarks=true&resourceVersion=2"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn client_go_wl2_ts2_the_wire_of_a_watch_list() {
    let server = FakeServer::new();
    server.put("a", 1);
    let (_informers, informer) = running(&server).await;
    settle().await;
    assert_eq!(
        queries(&server),
        [
            "watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
        ]
    );
    server.put("b", 1);
    settle().await;
    assert_eq!(contents(&informer), server.contents());
    assert!(server.requests().is_empty(), "the same stream goes on");
}

#[tokio::test(start_paused = true)]
async fn client_go_t1_kube_rs_d13_16_what_vanished_in_a_gap_is_told_as_deleted() {
    let server = FakeServer::new();
    server.put("a", 1);
    server.put("b", 1);
    let (_informers, informer) = running(&server).await;
    let log = Log::default();
    let _registration = informer.add_handler(log.handler()).unwrap();
    settle().await;
    log.take();
    server.cut(true);
    server.delete("a");
    server.compact();
    pass(Duration::from_secs(5)).await;
    assert_eq!(log.take(), ["a~1"]);
    assert_eq!(contents(&informer), server.contents());
}

#[tokio::test(start_paused = true)]
async fn kube_rs_d1_a_410_at_the_opening_of_a_watch_relists() {
    let server = FakeServer::new();
    server.put("a", 1);
    let (_informers, informer) = running(&server).await;
    pass(Duration::from_secs(60)).await;
    server.cut(false);
    server.put("b", 1);
    server.compact();
    server.requests();
    pass(Duration::from_secs(3600)).await;
    assert_eq!(contents(&informer), server.contents());
    let asked = queries(&server);
    assert!(is_watch(&asked[0]) && is_watch_list(&asked[1]), "{asked:?}");
}

#[tokio::test(start_paused = true)]
async fn kube_rs_d2_a_server_without_watch_lists_is_listed_and_that_is_remembered() {
    let server = FakeServer::new();
    server.put("a", 1);
    let refusal = Answer::Status(Status::bad_request("sendInitialEvents is forbidden"));
    server.answer_next_as(100, is_watch_list, &refusal);
    let (informers, informer) = running(&server).await;
    settle().await;
    assert_eq!(queries(&server).len(), 3, "watch-list, list, watch");
    assert_eq!(contents(&informer), server.contents());
    server.send_error(&Status::expired("x"));
    pass(Duration::from_secs(5)).await;
    // Another informer of the resource does not try either.
    let selected = InformerOptions::default().namespace("ns");
    let other: Informer<Thing> = informers.projected(THINGS, selected);
    informers.start();
    other.synced().await.unwrap();
    let asked = queries(&server);
    assert!(!asked.iter().any(|query| is_watch_list(query)), "{asked:?}");
}

#[tokio::test(start_paused = true)]
async fn incident_13_client_go_b1_a_swallowed_marker_falls_back_to_a_list_within_ten_seconds() {
    let server = FakeServer::new();
    server.without_markers();
    for name in ["a", "b", "c"] {
        server.put(name, 1);
    }
    let informers = informers(&server);
    let informer = things(&informers);
    informers.start();
    informer
        .synced_within(Duration::from_secs(11))
        .await
        .unwrap();
    assert_eq!(contents(&informer), server.contents());
    settle().await;
    assert_eq!(
        queries(&server)
            .iter()
            .filter(|query| is_watch_list(query))
            .count(),
        1
    );
}

#[tokio::test(start_paused = true)]
async fn kube_rs_d3_incident_8_pages_whose_token_expires_end_in_one_whole_list() {
    let server = FakeServer::new();
    server.with_pages();
    for n in 0..1200 {
        server.put(&format!("t{n:04}"), n);
    }
    let informers = listing(&server);
    let informer = things(&informers);
    let log = Log::default();
    let _registration = informer.add_handler(log.handler()).unwrap();
    server.answer_next(
        |query| query.contains("continue="),
        Answer::Status(Status::expired("token")),
    );
    informers.start();
    informer
        .synced_within(Duration::from_secs(1))
        .await
        .unwrap();
    assert_eq!(informer.store().len(), 1200);
    assert_eq!(log.take().len(), 1200);
    assert_eq!(
        queries(&server)[..3],
        [
            "limit=500&resourceVersion=0",
            "limit=500&continue=after-500",
            "resourceVersion=0"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn incident_8_kube_rs_13_all_pages_are_in_before_synced() {
    let server = FakeServer::new();
    server.with_pages();
    for n in 0..1200 {
        server.put(&format!("t{n:04}"), n);
    }
    let informers = listing(&server);
    let informer = things(&informers);
    informers.start();
    informer.synced().await.unwrap();
    assert_eq!(informer.store().len(), 1200);
    assert_eq!(
        queries(&server)
            .iter()
            .filter(|query| is_list(query))
            .count(),
        3
    );
}

#[tokio::test(start_paused = true)]
async fn kube_rs_d4_client_go_b18_one_undecodable_object_in_a_list_holds_up_nobody() {
    for make in [informers, listing] {
        let server = FakeServer::new();
        server.put("a", 1);
        server.put_undecodable("bad");
        server.put("c", 3);
        let informers = make(&server);
        let informer = things(&informers);
        informers.start();
        informer
            .synced_within(Duration::from_secs(1))
            .await
            .unwrap();
        let snapshot = informer.store().snapshot();
        assert_eq!(snapshot.len(), 2);
        let aside = snapshot.is_set_aside(&key("bad")).unwrap();
        assert_eq!(aside.metadata.uid.as_ref().unwrap().as_str(), "uid-2");
        let SetAsideReason::Undecodable { message } = &aside.reason else {
            panic!("{aside:?}")
        };
        assert!(message.contains("large"), "{message}");
        // It is tried again when it changes.
        server.put("bad", 7);
        settle().await;
        assert!(
            informer
                .store()
                .snapshot()
                .is_set_aside(&key("bad"))
                .is_none()
        );
        assert_eq!(contents(&informer), server.contents());
    }
}

#[tokio::test(start_paused = true)]
async fn kube_rs_d4_an_object_that_becomes_undecodable_keeps_its_last_good_state_and_a_mark() {
    let server = FakeServer::new();
    server.put("a", 1);
    server.put("b", 1);
    let (_informers, informer) = running(&server).await;
    let log = Log::default();
    let _registration = informer.add_handler(log.handler()).unwrap();
    settle().await;
    log.take();
    let bad = server.put_undecodable("a");
    server.put("b", 2);
    settle().await;
    let snapshot = informer.store().snapshot();
    assert_eq!(snapshot.get(&key("a")).unwrap().size, 1);
    let aside = snapshot.is_set_aside(&key("a")).unwrap();
    assert_eq!(aside.metadata.resource_version, Some(bad.into()));
    assert_eq!(log.take(), ["b 1>2"]);
    // A relist finds it still there, and still bad.
    server.send_error(&Status::expired("x"));
    pass(Duration::from_secs(5)).await;
    assert!(log.take().is_empty());
    assert!(
        informer
            .store()
            .snapshot()
            .is_set_aside(&key("a"))
            .is_some()
    );
    // Its deletion cannot be decoded either, and is told with what is known.
    server.delete("a");
    settle().await;
    assert_eq!(log.take(), ["a~1"]);
    assert!(
        informer
            .store()
            .snapshot()
            .is_set_aside(&key("a"))
            .is_none()
    );
    // One that replaces a good object of the same name ends that.
    server.delete("b");
    settle().await;
    server.put("b", 5);
    settle().await;
    log.take();
    server.cut(false);
    server.delete("b");
    server.put_undecodable("b");
    pass(Duration::from_secs(5)).await;
    assert_eq!(log.take(), ["b-5"]);
    assert!(informer.store().is_empty());
}

#[tokio::test(start_paused = true)]
async fn incident_16_a_403_is_named_within_seconds_and_recovers_when_granted() {
    let server = FakeServer::new();
    server.put("a", 1);
    server.answer_next_as(6, any, &forbidden());
    let informers = informers(&server);
    let informer = things(&informers);
    informers.start();
    let error = informer
        .synced_within(Duration::from_secs(3))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("not synced: list things.test.dev: "),
        "{error}"
    );
    assert!(error.contains("is forbidden: no list for you"), "{error}");
    let error = informers
        .wait_for_sync(Duration::from_millis(1))
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("tries") || error.contains("try"), "{error}");
    informer
        .synced_within(Duration::from_secs(20))
        .await
        .unwrap();
    assert_eq!(informer.sync_state().to_string(), "synced");
}

#[tokio::test(start_paused = true)]
async fn incident_16_one_kind_without_permission_does_not_keep_another_from_syncing() {
    let server = FakeServer::new();
    server.put("a", 1);
    let informers = informers(&server);
    let denied: Informer<Thing> =
        informers.projected(THINGS, InformerOptions::default().namespace("denied"));
    let allowed = things(&informers);
    server.answer_next_as(2, any, &forbidden());
    informers.start();
    tokio::time::timeout(Duration::from_millis(500), async {
        tokio::select! {
            synced = denied.synced() => synced,
            synced = allowed.synced() => synced,
        }
    })
    .await
    .unwrap()
    .unwrap();
}

#[tokio::test(start_paused = true)]
async fn client_go_b11_r12_kube_rs_d11_everything_that_waits_is_given_up_at_once() {
    let hang = Answer::Hang;
    let busy = Answer::Status(Status {
        code: 429,
        reason: evenkeel_meta::Reason::TooManyRequests,
        ..Status::internal("busy")
    });
    let ways = [informers as fn(&FakeServer) -> Informers, listing];
    for (answer, make) in [(&hang, ways[0]), (&hang, ways[1]), (&busy, ways[0])] {
        let server = FakeServer::new();
        server.answer_next_as(10, any, answer);
        let informers = make(&server);
        let informer = things(&informers);
        informers.start();
        pass(Duration::from_secs(2)).await;
        let start = tokio::time::Instant::now();
        informers.shutdown().await;
        assert!(start.elapsed() < Duration::from_millis(1));
        assert!(informer.synced().await.is_err());
    }
}

/// A slow proxy that never lets the head of a stream through.
#[tokio::test(start_paused = true)]
async fn kube_rs_d6_a_watch_list_whose_head_never_comes_is_listed() {
    let server = FakeServer::new();
    server.put("a", 1);
    server.answer_next_as(100, is_watch_list, &Answer::Hang);
    let informers = informers(&server);
    let informer = things(&informers);
    informers.start();
    informer
        .synced_within(Duration::from_secs(11))
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn client_go_b6_a_restored_backup_is_noticed_within_one_watch() {
    let server = FakeServer::new();
    for n in 0..1200 {
        server.put("a", n);
    }
    server.put("b", 1);
    let (_informers, informer) = running(&server).await;
    let before = informer.store().snapshot();
    server.cut(true);
    server.delete("b");
    server.rewind(1000);
    // A watch from version 1201 is accepted, and silent until the server ends it.
    pass(Duration::from_secs(605)).await;
    server.cut(false);
    pass(Duration::from_secs(10)).await;
    assert_eq!(contents(&informer), server.contents());
    let after = informer.store().snapshot();
    assert_eq!(after.epoch(), before.epoch() + 1);
    assert_eq!(after.resource_version().as_number(), Some(1000));
}

#[tokio::test(start_paused = true)]
async fn client_go_r16_a_server_that_restarts_is_watched_again_and_not_listed() {
    let server = FakeServer::new();
    server.put("a", 1);
    let (_informers, informer) = running(&server).await;
    pass(Duration::from_secs(60)).await;
    server.requests();
    server.answer_next_as(4, any, &Answer::Refuse);
    server.cut(true);
    pass(Duration::from_secs(1)).await;
    let state = informer.sync_state().to_string();
    assert!(
        state.starts_with("synced, but stale: watch things.test.dev: "),
        "{state}"
    );
    assert!(!informer.freshness().watching);
    server.put("b", 1);
    pass(Duration::from_secs(60)).await;
    assert_eq!(contents(&informer), server.contents());
    assert!(server.requests().iter().all(|query| is_watch(query)));
    assert!(informer.freshness().watching && informer.sync_state().failure.is_none());
}

#[tokio::test(start_paused = true)]
async fn client_go_b5_too_large_version_costs_one_refused_request() {
    let server = FakeServer::new();
    server.put("a", 1);
    let (_informers, informer) = running(&server).await;
    settle().await;
    server.requests();
    let lagging = Answer::Status(Status::too_large_resource_version(2, 1, 1));
    server.answer_next(is_watch_list, lagging);
    server.send_error(&Status::expired("x"));
    pass(Duration::from_secs(2)).await;
    let asked = queries(&server);
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(asked[0].contains("resourceVersion=2") && !asked[1].contains("resourceVersion=2"));
    assert!(informer.freshness().watching);
}

/// Incident kubernetes#115658: a deletion is never lost between the stream and the store.
#[tokio::test(start_paused = true)]
async fn incident_1_client_go_b3_an_object_that_came_and_went_around_a_relist_is_told_once_each() {
    let server = FakeServer::new();
    let (_informers, informer) = running(&server).await;
    let inline = Log::default();
    let _inline = informer.add_handler(inline.handler()).unwrap();
    let mut stalled = informer.subscribe().unwrap();
    settle().await;
    server.put("x", 1);
    settle().await;
    let (_, event) = stalled.next().await.unwrap();
    assert_eq!(spell(&key("x"), &event), "x+1");
    server.cut(false);
    server.delete("x");
    server.compact();
    pass(Duration::from_secs(5)).await;
    assert_eq!(inline.take(), ["x+1", "x~1"]);
    let (_, event) = stalled.next().await.unwrap();
    assert_eq!(spell(&key("x"), &event), "x~1");
    assert!(stalled.try_next().is_none());
    assert!(informer.store().is_empty());
}

#[tokio::test(start_paused = true)]
async fn client_go_r22_kube_rs_17_bookmarks_keep_the_store_fresh() {
    let server = FakeServer::new();
    server.put("a", 1);
    let (_informers, informer) = running(&server).await;
    pass(Duration::from_secs(60)).await;
    assert!(informer.freshness().age() >= Some(Duration::from_secs(60)));
    server.bookmark();
    settle().await;
    assert_eq!(informer.freshness().age(), Some(Duration::ZERO));
    assert_eq!(
        informer.freshness().last_event,
        Some(Duration::from_secs(60))
    );
}
