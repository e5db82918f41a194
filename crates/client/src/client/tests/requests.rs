use std::sync::Arc;
use std::time::Duration;

use evenkeel_meta::DeleteOptions;
use futures_util::future::join_all;
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::Instant;

use super::{POD, create, get, open_watch, pods};
use crate::testing::{Answer, Pod, Scripted};
use crate::transport::TransportErrorKind;
use crate::{
    Error, ListOptions, OverloadBackoff, Patch, PatchOptions, RequestError, RetryPolicy,
    WatchOptions, WriteOptions,
};

#[tokio::test(start_paused = true)]
async fn rc12_warnings_of_every_verb_go_to_the_handler_whatever_their_code() {
    let server = Scripted::new(|_, seen| {
        let body = match seen.target.contains("watch") {
            true => "",
            false => POD,
        };
        Answer::ok(body)
            .header("warning", r#"299 - "old" , 199 api "odd""#)
            .header("warning", "nonsense")
    });
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let writes = Arc::clone(&heard);
    let client = server.client().with_warning_handler(move |warning| {
        let text = format!("{} {} {}", warning.code, warning.agent, warning.text);
        writes.lock().push(text);
    });
    let pods = pods(&client);
    pods.get("a").await.unwrap();
    assert_eq!(*heard.lock(), ["299 - old", "199 api odd"]);
    let pod = Pod::named("ns", "a");
    pods.create(&pod, &WriteOptions::default()).await.unwrap();
    pods.delete("a", &DeleteOptions::default()).await.unwrap();
    let _ = pods.watch(&WatchOptions::default()).await.unwrap();
    assert_eq!(heard.lock().len(), 8);

    let refusing = Scripted::new(|_, _| Answer::new(403).header("warning", "299 - \"no\""));
    let client = refusing.client();
    let counts = Arc::clone(&heard);
    let client = client.with_warning_handler(move |_| counts.lock().clear());
    super::pods(&client).get("a").await.unwrap_err();
    assert!(heard.lock().is_empty(), "of errors too");
}

#[tokio::test(start_paused = true)]
async fn rc5_the_try_before_is_named_when_it_failed_in_another_way() {
    let server = Scripted::new(|nth, _| match nth {
        0 => Answer::failed(TransportErrorKind::Closed),
        _ => Answer::no_head(),
    });
    let error = get(&server).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "get pods \"a\": no response head within 65s - error from a previous attempt: scripted Closed"
    );
    let same = Scripted::new(|_, _| Answer::failed(TransportErrorKind::Closed));
    let error = get(&same).await.unwrap_err();
    assert_eq!(error.to_string(), "get pods \"a\": scripted Closed");
    assert_eq!(same.seen().len(), 11);
    // An answer in between is not a failure of the connection.
    let answered = Scripted::new(|nth, _| match nth {
        0 => Answer::failed(TransportErrorKind::Closed),
        1 => Answer::new(503).header("retry-after", "1"),
        _ => Answer::no_head(),
    });
    let error = get(&answered).await.unwrap_err();
    assert!(!error.to_string().contains("previous attempt"), "{error}");
    let refused = Scripted::new(|nth, _| match nth {
        0 => Answer::failed(TransportErrorKind::Closed),
        _ => Answer::new(500),
    });
    let error = get(&refused).await.unwrap_err();
    assert!(!error.to_string().contains("previous attempt"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn rc2_rc3_ts86_ts87_how_often_is_a_matter_of_the_policy() {
    for retries in [0, 1, 5] {
        let policy = RetryPolicy::default().max_retries(retries);
        let busy = Scripted::new(|_, _| Answer::new(501).header("retry-after", "0"));
        let client = busy.client().with_retry(policy);
        let pod = Pod::named("ns", "a");
        let posted = pods(&client).create(&pod, &WriteOptions::default()).await;
        assert!(posted.is_err());
        assert_eq!(busy.seen().len() as u32, 1 + retries);
        let lost = Scripted::new(|_, _| Answer::failed(TransportErrorKind::Closed));
        let client = lost.client().with_retry(policy);
        pods(&client).get("a").await.unwrap_err();
        assert_eq!(lost.seen().len() as u32, 1 + retries);
    }
    let lost = Scripted::new(|_, _| Answer::failed(TransportErrorKind::Closed));
    create(&lost).await.unwrap_err();
    assert_eq!(lost.seen().len(), 1, "a write that may have taken effect");
}

#[tokio::test(start_paused = true)]
async fn rc14_all_requests_slow_down_while_the_server_is_overloaded() {
    let server = Scripted::new(|nth, _| match nth {
        0..3 => Answer::new(500),
        _ => Answer::ok(POD),
    });
    let backoff = OverloadBackoff::new(Duration::from_secs(2), Duration::from_secs(5));
    let client = server.client().with_overload_backoff(backoff);
    let other = client.clone();
    let start = Instant::now();
    for _ in 0..2 {
        pods(&client).get("a").await.unwrap_err();
        pods(&other).get("a").await.ok();
    }
    let at: Vec<_> = server
        .seen()
        .iter()
        .map(|s| (s.at - start).as_secs())
        .collect();
    assert_eq!(at, [0, 2, 6, 11], "2 s, 4 s, at the most 5 s");
    pods(&client).get("a").await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 11, "a good answer ends it");
    let plain = Scripted::new(|_, _| Answer::new(500));
    let start = Instant::now();
    for _ in 0..5 {
        get(&plain).await.unwrap_err();
    }
    assert_eq!(start.elapsed(), Duration::ZERO, "off by default");
}

#[tokio::test(start_paused = true)]
async fn rc14_answers_to_what_was_under_way_lengthen_no_pause() {
    let server = Scripted::new(|nth, _| match nth {
        0..50 => Answer::new(429).late(Duration::from_secs(1)),
        _ => Answer::ok(POD),
    });
    let backoff = OverloadBackoff::new(Duration::from_secs(2), Duration::from_secs(600));
    let client = server.client().with_overload_backoff(backoff);
    let pods = pods(&client);
    let start = Instant::now();
    join_all((0..50).map(|_| pods.get("a"))).await;
    pods.get("a").await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 3);
}

#[tokio::test(start_paused = true)]
async fn incident_14_kube_rs_20_retries_wait_as_asked_count_in_the_limit_and_are_spread() {
    const CLIENTS: usize = 100;
    let server = Scripted::new(|nth, _| match nth {
        0..CLIENTS => Answer::new(429).header("retry-after", "3"),
        _ => Answer::ok(POD),
    });
    // Without a limit: nobody before its time, and not all at once.
    let start = Instant::now();
    let client = server.client();
    let pods_of = pods(&client);
    let outcomes = join_all((0..CLIENTS).map(|_| pods_of.get("a"))).await;
    assert!(outcomes.iter().all(Result::is_ok));
    let retried: Vec<_> = server.seen()[CLIENTS..]
        .iter()
        .map(|s| (s.at - start).as_millis())
        .collect();
    assert_eq!(retried.len(), CLIENTS);
    assert!(retried.iter().all(|at| *at >= 3000), "{retried:?}");
    let spread = retried.iter().max().unwrap() - retried.iter().min().unwrap();
    assert!(spread >= 200, "within {spread} ms");

    // With one: the retries take their turn in it like all other requests.
    let server = Scripted::new(|nth, _| match nth {
        0..CLIENTS => Answer::new(429).header("retry-after", "0"),
        _ => Answer::ok(POD),
    });
    let client = server.client().with_rate_limit(10.0, 1);
    let pods_of = pods(&client);
    let start = Instant::now();
    join_all((0..CLIENTS).map(|_| pods_of.get("a"))).await;
    assert_eq!(server.seen().len(), 2 * CLIENTS);
    assert!(
        start.elapsed() >= Duration::from_millis(19_900),
        "{:?}",
        start.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn rc7_ts90_a_total_bound_passes_though_the_server_would_answer() {
    let server = Scripted::new(|_, _| Answer::ok(POD).late(Duration::from_secs(2)));
    let bound = crate::Timeouts::default().total(Duration::from_secs(1));
    let client = server.client().with_timeouts(bound);
    let start = Instant::now();
    assert!(pods(&client).get("a").await.unwrap_err().is_timeout());
    assert_eq!(start.elapsed(), Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn json_is_asked_for_and_sent() {
    let server = Scripted::new(|_, _| Answer::ok(POD));
    create(&server).await.unwrap();
    let seen = &server.seen()[0];
    assert_eq!(seen.header("accept"), "application/json");
    assert_eq!(seen.header("content-type"), "application/json");
}

#[tokio::test(start_paused = true)]
async fn dy1_an_apply_takes_no_managed_fields_and_needs_a_manager_on_subresources_too() {
    let server = Scripted::new(|_, _| Answer::ok(POD));
    let pods = pods(&server.client());
    let as_me = PatchOptions::default().field_manager("me");
    let read = json!({"metadata": {"name": "a", "managedFields": [{"manager": "other"}]}});
    let refused = pods.apply("a", &read, &as_me).await.unwrap_err();
    assert!(matches!(
        refused,
        Error::Request(RequestError::ManagedFieldsApplied)
    ));
    let status = pods.subresource::<Pod>("status");
    let patch = Patch::apply(&json!({"metadata": {"name": "a"}, "status": {}}));
    let refused = status.patch("a", &patch, &PatchOptions::default()).await;
    assert!(matches!(
        refused,
        Err(Error::Request(RequestError::FieldManagerRequired))
    ));
    assert!(server.seen().is_empty());
    let nulled = json!({"metadata": {"name": "a", "managedFields": null}});
    pods.apply("a", &nulled, &as_me).await.unwrap();
    status.patch("a", &patch, &as_me).await.unwrap();
    // A merge patch may well empty them.
    let merge = Patch::merge(&json!({"metadata": {"managedFields": [{}]}}));
    pods.patch("a", &merge, &PatchOptions::default())
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn lw1_a_list_is_one_request_and_list_and_watch_select_the_same() {
    let server = Scripted::new(|_, seen| match seen.target.contains("watch") {
        true => Answer::ok(""),
        false => Answer::ok(r#"{"metadata":{"resourceVersion":"5","continue":"more"},"items":[]}"#),
    });
    let pods = pods(&server.client());
    let list = ListOptions::default()
        .labels("app=web")
        .fields("spec.nodeName=n");
    let page = pods.list_page(&list).await.unwrap();
    assert_eq!(page.info.continue_token, "more");
    let watch = WatchOptions::from(page.info.resource_version)
        .labels("app=web")
        .fields("spec.nodeName=n");
    let _ = pods.watch(&watch).await.unwrap();
    let targets = server.targets();
    assert_eq!(targets.len(), 2, "a page is a page");
    let selectors = "labelSelector=app%3Dweb&fieldSelector=spec.nodeName%3Dn";
    assert!(
        targets.iter().all(|target| target.contains(selectors)),
        "{targets:?}"
    );
    let refused = Scripted::new(|_, _| Answer::new(403).chunk("no").then_silent());
    assert!(
        open_watch(&refused).await.is_err(),
        "and a failed watch leaves nothing open"
    );
}

#[tokio::test(start_paused = true)]
async fn rc9_a_status_is_taken_for_one_in_no_other_shape() {
    let whole = serde_json::to_value(evenkeel_meta::Status::internal("x")).unwrap();
    let odd = [
        json!({"kind": "Status", "status": "Failure", "code": "500"}),
        json!({"kind": "Status", "status": "Failure", "details": {"retryAfterSeconds": "3"}}),
        json!({"kind": "Status", "status": "Failure", "details": {"causes": {"a": 1}}}),
        json!({"kind": "Status", "status": 7}),
        json!({"kind": ["Status"], "status": "Failure"}),
        json!({"kind": "Status", "status": "Success", "code": 200}),
        json!({"kind": "Status"}),
        json!([whole.clone()]),
        json!("Status"),
        json!(null),
        whole,
    ];
    for body in odd {
        let text = body.to_string();
        let server = Scripted::new(move |_, _| Answer::new(404).chunk(text.clone()));
        let error = get(&server).await.unwrap_err();
        assert!(error.is_not_found(), "{body}: {error}");
    }
}
