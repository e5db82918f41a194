use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use evenkeel_meta::{GroupResource, GroupVersionKind};
use futures_util::future::join_all;

use super::{CORE, GROUPS, V2, aggregated, show};
use crate::discovery::{MapError, RestMapper};
use crate::testing::{Answer, Scripted};

const GADGETS: &str = r#"{"metadata":{"name":"y.io"},"versions":[{"version":"v1","resources":[
    {"resource":"gadgets","responseKind":{"kind":"Gadget"},"scope":"Namespaced","singularResource":"gadget","verbs":["get"]}]}]}"#;

/// The aggregated server without its stale group; `gadgets.y.io` are served once they are defined.
fn growing() -> (Scripted, Arc<AtomicBool>) {
    let defined = Arc::new(AtomicBool::new(false));
    let seen_defined = Arc::clone(&defined);
    let server = Scripted::new(move |_, seen| {
        let groups = GROUPS.replace("\"Stale\"", "\"Current\"");
        let body = match &*seen.target {
            "/api" => CORE.to_owned(),
            _ if seen_defined.load(Ordering::Relaxed) => {
                groups.replacen("\"items\":[", &format!("\"items\":[{GADGETS},"), 1)
            }
            _ => groups,
        };
        Answer::ok(body)
            .header("content-type", V2)
            .late(Duration::from_millis(10))
    });
    (server, defined)
}

fn gadget() -> GroupVersionKind {
    GroupVersionKind::from_api_version("y.io/v1", "Gadget")
}

#[tokio::test(start_paused = true)]
async fn d5_kinds_and_resources_map_to_each_other_without_asking_again() {
    let server = aggregated();
    let mapper = RestMapper::new(server.client());
    let kind = GroupVersionKind::from_api_version("apps/v1", "Deployment");
    let found = mapper.by_kind(&kind).await.unwrap();
    assert_eq!(show(&found), "deployments apps/v1 *");
    let resource = found.api_resource.group_resource();
    let back = mapper.by_resource(&resource).await.unwrap();
    assert_eq!(back.api_resource.group_version_kind(), kind);
    let old = GroupVersionKind::from_api_version("x.io/v1", "Widget");
    assert_eq!(
        show(&mapper.by_kind(&old).await.unwrap()),
        "widgets x.io/v1"
    );
    let preferred = mapper.by_group_kind("x.io", "Widget").await.unwrap();
    assert_eq!(show(&preferred), "widgets x.io/v2 *");
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn d5_ts98_a_miss_asks_once_and_finds_what_was_defined_meanwhile() {
    let (server, defined) = growing();
    let mapper = RestMapper::new(server.client());
    mapper.find("pods").await.unwrap();
    defined.store(true, Ordering::Relaxed);
    tokio::time::advance(Duration::from_secs(2)).await;
    let found = mapper.by_kind(&gadget()).await.unwrap();
    assert_eq!(show(&found), "gadgets y.io/v1 *");
    assert_eq!(server.seen().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn d5_ts98_a_miss_in_a_fresh_discovery_is_an_error_without_a_request() {
    let (server, _) = growing();
    let mapper = RestMapper::new(server.client());
    for _ in 0..10 {
        let error = mapper.by_kind(&gadget()).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "the server serves no y.io/v1, Kind=Gadget"
        );
        assert!(!error.is_retryable());
    }
    assert_eq!(server.seen().len(), 2);
    tokio::time::advance(Duration::from_secs(2)).await;
    mapper.by_kind(&gadget()).await.unwrap_err();
    assert_eq!(server.seen().len(), 4, "what is old is asked for anew");
}

#[tokio::test(start_paused = true)]
async fn d5_many_misses_share_one_discovery() {
    let (server, defined) = growing();
    let mapper = RestMapper::new(server.client());
    mapper.find("pods").await.unwrap();
    tokio::time::advance(Duration::from_secs(2)).await;
    defined.store(true, Ordering::Relaxed);
    let kinds = join_all((0..100).map(|_| mapper.find("gadget"))).await;
    assert!(kinds.iter().all(Result::is_ok));
    assert_eq!(server.seen().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn d5_b29_a_group_that_is_down_costs_hits_nothing_and_is_named_by_misses() {
    let server = Scripted::new(|_, seen| match &*seen.target {
        "/api" => Answer::ok(CORE).header("content-type", V2),
        "/apis" => Answer::ok(GROUPS).header("content-type", V2),
        _ => Answer::new(503),
    });
    let mapper = RestMapper::new(server.client());
    for text in ["pods", "deploy", "widgets.v1.x.io"] {
        mapper.find(text).await.unwrap();
    }
    assert_eq!(server.seen().len(), 2, "hits do not ask for what is down");

    let metrics = GroupVersionKind::from_api_version("metrics.k8s.io/v1beta1", "NodeMetrics");
    let error = mapper.by_kind(&metrics).await.unwrap_err();
    assert!(error.is_retryable());
    let MapError::NotServed { unknown, .. } = &error else {
        panic!("{error}")
    };
    assert!(
        unknown[0].starts_with("metrics.k8s.io/v1beta1: "),
        "{error}"
    );
    let text = error.to_string();
    assert!(
        text.contains("could not be read: metrics.k8s.io/v1beta1"),
        "{text}"
    );

    let other = mapper.by_kind(&gadget()).await.unwrap_err();
    assert!(!other.is_retryable(), "it could not be in that group");
    assert!(mapper.find("nodemetrics").await.unwrap_err().is_retryable());
}

#[tokio::test(start_paused = true)]
async fn d5_a_server_that_cannot_be_asked_is_no_miss() {
    let server = Scripted::new(|_, _| Answer::new(500));
    let mapper = RestMapper::new(server.client());
    let error = mapper.find("pods").await.unwrap_err();
    assert!(matches!(error, MapError::Discovery(_)) && error.is_retryable());
}

#[tokio::test(start_paused = true)]
async fn d6_a_short_name_of_two_resources_names_the_other_one() {
    let mapper = RestMapper::new(aggregated().client());
    let found = mapper.find("po").await.unwrap();
    assert_eq!(show(&found.resource), "pods v1 *");
    let widgets = GroupResource {
        group: "x.io".into(),
        resource: "widgets".into(),
    };
    assert_eq!(found.others, [widgets], "versions of one do not count");
    let exact = mapper.find("pods").await.unwrap();
    assert!(exact.others.is_empty(), "an exact name wins untouched");
}

#[tokio::test(start_paused = true)]
async fn d6_a_group_may_be_cut_short_where_no_group_has_that_name() {
    let mapper = RestMapper::new(aggregated().client());
    let find = async |text| show(&mapper.find(text).await.unwrap().resource);
    assert_eq!(find("deploy.ap").await, "deployments apps/v1 *");
    assert_eq!(find("deployments.app").await, "deployments apps/v1 *");
    assert_eq!(find("po.x").await, "widgets x.io/v2 *");
}

#[tokio::test(start_paused = true)]
async fn d2_d5_a_version_that_came_back_is_not_the_preferred_one_by_standing_first() {
    let groups = r#"{"items":[{"metadata":{"name":"x.io"},"versions":[{"version":"v2","freshness":"Stale"},
        {"version":"v1","resources":[{"resource":"widgets","responseKind":{"kind":"Widget"}}]}]}]}"#;
    let server = Scripted::new(move |_, seen| match &*seen.target {
        "/api" => Answer::new(404),
        "/apis" => Answer::ok(groups).header("content-type", V2),
        _ => Answer::ok(r#"{"resources":[{"name":"widgets","kind":"Widget"}]}"#),
    });
    let mapper = RestMapper::new(server.client());
    mapper.cache().get().await.unwrap();
    let whole = mapper.cache().get().await.unwrap();
    let all: Vec<_> = whole.resources.iter().map(show).collect();
    assert_eq!(all, ["widgets x.io/v2", "widgets x.io/v1 *"]);
    let found = mapper.find("widgets").await.unwrap();
    assert_eq!(show(&found.resource), "widgets x.io/v1 *");
    assert_eq!(
        show(&mapper.by_group_kind("x.io", "Widget").await.unwrap()),
        "widgets x.io/v1 *"
    );
}
