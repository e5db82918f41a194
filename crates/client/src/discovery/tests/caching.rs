use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;

use super::{GROUPS, V2, plain, show};
use crate::discovery::DiscoveryCache;
use crate::testing::{Answer, Scripted};

/// The plain server, whose extension comes back when told to.
fn recovering() -> (Scripted, Arc<AtomicBool>) {
    let back = Arc::new(AtomicBool::new(false));
    let seen_back = Arc::clone(&back);
    let base = plain();
    let server = Scripted::new(move |nth, seen| match &*seen.target {
        "/apis/metrics.k8s.io/v1beta1" if seen_back.load(Ordering::Relaxed) => Answer::ok(
            r#"{"resources":[{"name":"nodes","namespaced":false,"kind":"NodeMetrics","verbs":["get"]}]}"#,
        ),
        "/apis/apps/v1beta2" if !seen_back.load(Ordering::Relaxed) => Answer::new(503),
        _ => base.behave(nth, seen),
    });
    (server, back)
}

#[tokio::test(start_paused = true)]
async fn d3_filled_on_first_use_and_kept() {
    let server = Scripted::new(|_, seen| match &*seen.target {
        "/api" => Answer::new(404),
        _ => Answer::ok(GROUPS.replace("\"Stale\"", "\"Current\"")).header("content-type", V2),
    });
    let cache = DiscoveryCache::new(server.client());
    assert!(cache.held().is_none() && !cache.is_fresh());
    let first = cache.get().await.unwrap();
    tokio::time::advance(Duration::from_secs(100_000)).await;
    assert!(
        Arc::ptr_eq(&first, &cache.get().await.unwrap()),
        "no expiry"
    );
    assert_eq!(server.targets(), ["/api", "/apis"]);
    cache.invalidate();
    assert!(!cache.is_fresh());
    assert!(!Arc::ptr_eq(&first, &cache.get().await.unwrap()));
    assert_eq!(server.seen().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn d3_ts97_what_failed_for_now_is_asked_for_again_alone_and_lands_in_its_place() {
    let (server, back) = recovering();
    let cache = DiscoveryCache::new(server.client());
    assert_eq!(cache.get().await.unwrap().failures.len(), 2);
    let asked = server.seen().len();
    assert_eq!(cache.get().await.unwrap().failures.len(), 2);
    back.store(true, Ordering::Relaxed);
    let whole = cache.get().await.unwrap();
    assert!(whole.failures.is_empty());
    let metrics = "/apis/metrics.k8s.io/v1beta1";
    let apps = "/apis/apps/v1beta2";
    assert_eq!(server.targets()[asked..], [metrics, apps, metrics, apps]);
    let all: Vec<_> = whole.resources.iter().map(show).collect();
    assert_eq!(
        all,
        [
            "pods v1 *",
            "nodes v1 *",
            "nodes metrics.k8s.io/v1beta1 *",
            "deployments apps/v1 *",
            "deployments apps/v1beta2"
        ]
    );
    cache.get().await.unwrap();
    assert_eq!(server.seen().len(), asked + 4);
}

#[tokio::test(start_paused = true)]
async fn d3_ts97_what_failed_for_good_stays_until_it_is_invalidated() {
    let base = plain();
    let server = Scripted::new(move |nth, seen| match &*seen.target {
        "/apis/metrics.k8s.io/v1beta1" => Answer::new(403),
        _ => base.behave(nth, seen),
    });
    let cache = DiscoveryCache::new(server.client());
    assert!(!cache.get().await.unwrap().failures[0].may_pass());
    let asked = server.seen().len();
    assert_eq!(cache.get().await.unwrap().failures.len(), 1);
    assert_eq!(server.seen().len(), asked);
    cache.invalidate();
    cache.get().await.unwrap();
    assert_eq!(server.seen().len(), 2 * asked);
}

#[tokio::test(start_paused = true)]
async fn d3_ts97_without_its_groups_the_cache_stays_invalid() {
    let server = Scripted::new(|nth, _| match nth {
        0..2 => Answer::new(403),
        _ => Answer::ok(GROUPS).header("content-type", V2),
    });
    let cache = DiscoveryCache::new(server.client());
    for _ in 0..2 {
        assert!(cache.get().await.unwrap_err().is_forbidden());
        assert!(!cache.is_fresh());
    }
    assert!(cache.get().await.unwrap().find("deploy").is_some());
}

#[tokio::test(start_paused = true)]
async fn d3_ts97_the_next_caller_asks_where_one_was_dropped() {
    let server = Scripted::new(|nth, _| match nth {
        0 => Answer::no_head(),
        _ => Answer::ok(GROUPS).header("content-type", V2),
    });
    let cache = DiscoveryCache::new(server.client());
    let waits = cache.clone();
    let waiting = tokio::spawn(async move { waits.get().await });
    let dropped = tokio::time::timeout(Duration::from_millis(5), cache.get()).await;
    assert!(dropped.is_err());
    waiting.abort();
    assert!(cache.get().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn y1_d3_readers_share_one_discovery_and_errors_are_not_kept() {
    let fails = Arc::new(AtomicBool::new(true));
    let failing = Arc::clone(&fails);
    let server = Scripted::new(move |_, _| match failing.load(Ordering::Relaxed) {
        true => Answer::new(403).late(Duration::from_millis(10)),
        false => Answer::ok(GROUPS)
            .header("content-type", V2)
            .late(Duration::from_millis(10)),
    });
    let cache = DiscoveryCache::new(server.client());
    let outcomes = join_all((0..100).map(|_| cache.get())).await;
    assert!(
        outcomes
            .iter()
            .all(|o| o.as_ref().is_err_and(crate::Error::is_forbidden))
    );
    assert_eq!(server.targets(), ["/api"], "one asked for all");
    fails.store(false, Ordering::Relaxed);
    let outcomes = join_all((0..100).map(|_| cache.get())).await;
    let first = outcomes[0].as_ref().unwrap();
    assert!(
        outcomes
            .iter()
            .all(|o| Arc::ptr_eq(o.as_ref().unwrap(), first))
    );
    // The stale group version may be asked for by those that come later.
    assert_eq!(server.targets()[1..3], ["/api", "/apis"]);
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn d3_an_answer_from_before_an_invalidation_is_not_kept() {
    let server = Scripted::new(|_, _| {
        Answer::ok(GROUPS)
            .header("content-type", V2)
            .late(Duration::from_millis(10))
    });
    let cache = DiscoveryCache::new(server.client());
    let asking = cache.clone();
    let asking = tokio::spawn(async move { asking.get().await });
    tokio::time::sleep(Duration::from_millis(5)).await;
    cache.invalidate();
    assert!(asking.await.unwrap().is_ok());
    assert!(!cache.is_fresh());
}

#[tokio::test(start_paused = true)]
async fn d2_group_versions_are_asked_for_sixteen_at_a_time_and_no_more_after_a_drop() {
    let groups: Vec<_> = (0..100)
        .map(|n| format!(r#"{{"name":"g{n}","versions":[{{"version":"v1"}}]}}"#))
        .collect();
    let groups = format!(r#"{{"groups":[{}]}}"#, groups.join(","));
    let server = Scripted::new(move |_, seen| match &*seen.target {
        "/api" => Answer::new(404),
        "/apis" => Answer::ok(groups.clone()),
        _ => Answer::ok(r#"{"resources":[]}"#).late(Duration::from_secs(1)),
    });
    let client = server.client();
    let limit = Duration::from_millis(1500);
    assert!(
        tokio::time::timeout(limit, client.discover())
            .await
            .is_err()
    );
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(server.seen().len() - 2, 32, "two rounds of sixteen");
    client.discover().await.unwrap();
}
