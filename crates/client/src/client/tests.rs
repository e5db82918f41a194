use std::time::Duration;

use evenkeel_meta::{Reason, Resource, Status};
use evenkeel_observe::{MemorySink, Metrics};
use futures_util::StreamExt;
use http::Method;
use tokio::time::Instant;

use super::{ClientOptions, RetryPolicy, Timeouts};
use crate::testing::{Answer, Pod, Scripted};
use crate::transport::TransportErrorKind;
use crate::{
    Api, Client, Credentials, Error, Impersonation, ListOptions, Secret, WatchOptions, WriteOptions,
};

const POD: &str = r#"{"metadata":{"name":"a","namespace":"ns"}}"#;

fn pods(client: &Client) -> Api<Pod> {
    client.namespaced::<Pod>("ns")
}

async fn get(server: &Scripted) -> Result<Pod, Error> {
    pods(&server.client()).get("a").await
}

async fn create(server: &Scripted) -> Result<Pod, Error> {
    let pod = Pod::named("ns", "a");
    pods(&server.client())
        .create(&pod, &WriteOptions::default())
        .await
}

async fn open_watch(server: &Scripted) -> Result<(), Error> {
    let watch = pods(&server.client()).watch(&WatchOptions::default()).await;
    watch.map(|_| ())
}

fn too_large() -> Answer {
    let status = Status::too_large_resource_version(9, 7, 1);
    Answer::new(504)
        .header("retry-after", "1")
        .chunk(serde_json::to_vec(&with_kind(&status)).unwrap())
}

fn with_kind(status: &Status) -> serde_json::Value {
    let mut value = serde_json::to_value(status).unwrap();
    value["kind"] = "Status".into();
    value["apiVersion"] = "v1".into();
    value
}

fn failure(status: &Status) -> Answer {
    Answer::new(status.code).chunk(serde_json::to_vec(&with_kind(status)).unwrap())
}

#[tokio::test(start_paused = true)]
async fn rc1_the_limit_spaces_requests_but_not_the_opening_of_a_watch() {
    let server = Scripted::new(|nth, seen| match nth {
        0..3 => Answer::ok(POD),
        _ if seen.target.contains("watch") => Answer::ok(""),
        _ => Answer::ok(POD),
    });
    let client = server.client().with_rate_limit(2.0, 1);
    let start = Instant::now();
    for _ in 0..3 {
        pods(&client).get("a").await.unwrap();
    }
    assert_eq!(start.elapsed(), Duration::from_secs(1));
    let watch = pods(&client).watch(&WatchOptions::default()).await;
    assert!(watch.is_ok());
    assert_eq!(start.elapsed(), Duration::from_secs(1));
    pods(&client.clone()).get("a").await.unwrap();
    assert_eq!(
        start.elapsed(),
        Duration::from_millis(1500),
        "clones share it"
    );
}

#[tokio::test(start_paused = true)]
async fn rc1_a_dropped_waiter_takes_nothing_from_the_others() {
    let server = Scripted::new(|_, _| Answer::ok(POD));
    let client = server.client().with_rate_limit(1.0, 1);
    let start = Instant::now();
    pods(&client).get("a").await.unwrap();
    for _ in 0..10 {
        let limit = Duration::from_millis(1);
        let pods = pods(&client);
        let dropped = tokio::time::timeout(limit, pods.get("a")).await;
        assert!(dropped.is_err());
    }
    pods(&client).get("a").await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn rc1_the_retries_of_a_watch_are_limited() {
    let server = Scripted::new(|nth, _| match nth {
        0..3 => Answer::new(429).header("retry-after", "0"),
        _ => Answer::ok(""),
    });
    let client = server.client().with_rate_limit(0.1, 1);
    let start = Instant::now();
    let watch = pods(&client).watch(&WatchOptions::default()).await;
    assert!(watch.is_ok());
    // Three retries: the first takes the burst, the others wait ten seconds each.
    assert!(start.elapsed() >= Duration::from_secs(20));
}

#[tokio::test(start_paused = true)]
async fn rc2_ts86_retry_after_is_waited_for_by_any_verb_with_the_whole_body() {
    for code in [429, 500, 501, 502, 503, 504, 599] {
        let server = Scripted::new(move |nth, _| match nth {
            0..2 => Answer::new(code).header("retry-after", "3"),
            _ => Answer::new(201).chunk(POD),
        });
        let start = Instant::now();
        create(&server).await.unwrap();
        let seen = server.seen();
        assert_eq!(seen.len(), 3, "{code}");
        assert!(
            seen.iter()
                .all(|s| s.method == Method::POST && s.body == seen[0].body)
        );
        assert!(seen[1].at - start >= Duration::from_secs(3));
        assert!(
            start.elapsed() < Duration::from_millis(6700),
            "a tenth of jitter at most"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn rc2_ten_retries_at_the_most_and_the_last_answer_counts() {
    let server = Scripted::new(|nth, _| {
        let status = Status::failure(503, Reason::ServiceUnavailable, format!("try {nth}"));
        failure(&status).header("retry-after", "1")
    });
    let error = get(&server).await.unwrap_err();
    assert_eq!(server.seen().len(), 11);
    assert_eq!(error.status().unwrap().message, "try 10");
    assert!(error.is_retryable());
}

#[tokio::test(start_paused = true)]
async fn rc2_ts86_without_an_integer_header_or_with_another_code_there_is_one_try() {
    for (code, header) in [
        (503, None),
        (429, Some("Wed, 21 Oct 2026 07:28:00 GMT")),
        (500, Some("1.5")),
        (404, Some("1")),
        (409, Some("1")),
        (410, Some("1")),
        (422, Some("1")),
    ] {
        let server = Scripted::new(move |_, _| match header {
            Some(value) => Answer::new(code).header("retry-after", value),
            None => Answer::new(code),
        });
        assert!(get(&server).await.is_err());
        assert_eq!(server.seen().len(), 1, "{code} {header:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn rc2_zero_seconds_do_not_make_a_hot_loop() {
    let server = Scripted::new(|_, _| Answer::new(429).header("retry-after", "0"));
    let start = Instant::now();
    get(&server).await.unwrap_err();
    assert!(start.elapsed() >= Duration::from_millis(500));
}

#[tokio::test(start_paused = true)]
async fn rc2_a_long_wait_is_the_callers() {
    let server = Scripted::new(|_, _| Answer::new(429).header("retry-after", "3600"));
    let start = Instant::now();
    let error = get(&server).await.unwrap_err();
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert_eq!(error.retry_after(), Some(Duration::from_secs(3600)));
}

#[tokio::test(start_paused = true)]
async fn rc2_r8_a_too_large_version_is_not_retried_here() {
    let server = Scripted::new(|_, _| too_large());
    let client = server.client();
    let error = pods(&client)
        .list(&ListOptions::default().at(9.into()))
        .await
        .unwrap_err();
    assert!(error.is_too_large_resource_version());
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn rc3_ts87_reads_survive_a_lost_connection_and_writes_do_not() {
    let flaky = || {
        Scripted::new(|nth, _| match nth {
            0..2 => Answer::failed(TransportErrorKind::Closed),
            _ => Answer::ok(POD),
        })
    };
    let server = flaky();
    get(&server).await.unwrap();
    assert_eq!(server.seen().len(), 3);

    let server = flaky();
    let error = create(&server).await.unwrap_err();
    assert_eq!(server.seen().len(), 1);
    assert_eq!(error.to_string(), r#"create pods "a": scripted Closed"#);
}

#[tokio::test(start_paused = true)]
async fn rc3_ts87_refused_and_tls_errors_are_never_retried() {
    for kind in [TransportErrorKind::Refused, TransportErrorKind::Tls] {
        let server = Scripted::new(move |_, _| Answer::failed(kind));
        let error = get(&server).await.unwrap_err();
        assert_eq!(
            error.is_connection_refused(),
            kind == TransportErrorKind::Refused
        );
        assert_eq!(server.seen().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn rc3_a_passed_time_limit_is_reported_at_once() {
    let server = Scripted::new(|_, _| Answer::no_head());
    assert!(get(&server).await.unwrap_err().is_timeout());
    assert!(open_watch(&server).await.unwrap_err().is_timeout());
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn rc3_ts87_retries_can_be_turned_off() {
    let server = Scripted::new(|_, _| Answer::failed(TransportErrorKind::Closed));
    let client = server.client().with_retry(RetryPolicy::never());
    pods(&client).get("a").await.unwrap_err();
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn rc7_ts90_the_total_bound_covers_all_tries_and_spares_watches() {
    let server = Scripted::new(|_, _| Answer::new(503).header("retry-after", "1"));
    let client = server
        .client()
        .with_timeouts(Timeouts::default().total(Duration::from_millis(2500)));
    let start = Instant::now();
    let error = pods(&client).get("a").await.unwrap_err();
    assert!(error.is_timeout(), "{error}");
    assert_eq!(start.elapsed(), Duration::from_millis(2500));
    let error = pods(&client)
        .watch(&WatchOptions::default())
        .await
        .unwrap_err();
    assert!(error.status().is_some());
    let silent = Scripted::new(|_, _| Answer::ok("{").then_silent());
    let client = silent.client().with_timeouts(client.options().timeouts);
    let start = Instant::now();
    assert!(pods(&client).get("a").await.unwrap_err().is_timeout());
    assert_eq!(start.elapsed(), Duration::from_millis(2500), "and the body");
}

#[tokio::test(start_paused = true)]
async fn m2_requests_are_counted() {
    let server = Scripted::new(|nth, seen| match nth {
        0 => Answer::new(429).header("retry-after", "1"),
        1 => Answer::failed(TransportErrorKind::Closed),
        _ if seen.target.contains("watch") => Answer::ok(""),
        _ => Answer::ok(POD),
    });
    let sink = MemorySink::new();
    let client = server
        .client()
        .with_metrics(&Metrics::new(sink.clone()))
        .with_rate_limit(1.0, 10);
    pods(&client).get("a").await.unwrap();
    assert!(pods(&client).watch(&WatchOptions::default()).await.is_ok());
    let host = "in-process";
    let requests = |code| sink.value("rest_client_requests_total", &[code, "GET", host]);
    assert_eq!(requests("429"), Some(1.0));
    assert_eq!(requests("<error>"), Some(1.0));
    assert_eq!(requests("200"), Some(2.0), "the watch counts as a GET");
    let retries = |code| sink.value("rest_client_request_retries_total", &[code, "GET", host]);
    assert_eq!(
        (retries("429"), retries("<error>"), retries("200")),
        (None, Some(1.0), Some(1.0))
    );
    let count = |name| sink.histogram_snapshot(name, &["GET", host]).unwrap().count;
    assert_eq!(
        count("rest_client_request_duration_seconds"),
        1,
        "none for the watch"
    );
    assert_eq!(count("rest_client_rate_limiter_duration_seconds"), 3);
    assert_eq!(count("rest_client_request_size_bytes"), 4);
    let size = sink.histogram_snapshot("rest_client_response_size_bytes", &["GET", host]);
    let size = size.unwrap();
    assert_eq!(
        size.count, 1,
        "of the answer that counted, and not of the watch"
    );
    assert_eq!(size.sum, POD.len() as f64);
}

#[tokio::test(start_paused = true)]
async fn rc9_a_status_body_is_taken_as_it_is() {
    let status = Status::failure(0, Reason::Unknown, "odd");
    let body = serde_json::to_vec(&with_kind(&status)).unwrap();
    let server = Scripted::new(move |_, _| Answer::new(418).chunk(body.clone()));
    assert_eq!(get(&server).await.unwrap_err().status(), Some(&status));
}

#[tokio::test(start_paused = true)]
async fn rc9_other_bodies_become_errors_by_their_code() {
    let table = [
        (400, Reason::BadRequest),
        (401, Reason::Unauthorized),
        (403, Reason::Forbidden),
        (404, Reason::NotFound),
        (405, Reason::MethodNotAllowed),
        (406, Reason::NotAcceptable),
        (409, Reason::Conflict),
        (415, Reason::UnsupportedMediaType),
        (422, Reason::Invalid),
        (429, Reason::TooManyRequests),
        (500, Reason::InternalError),
        (501, Reason::InternalError),
        (503, Reason::ServiceUnavailable),
        (504, Reason::Timeout),
        (302, Reason::Unknown),
        (402, Reason::Unknown),
        (410, Reason::Unknown),
        (413, Reason::Unknown),
    ];
    for (code, reason) in table {
        let server = Scripted::new(move |_, _| {
            Answer::new(code)
                .header("content-type", "text/html; charset=utf-8")
                .header("retry-after", "not a number")
                .chunk("<h1>gateway</h1>")
        });
        let error = get(&server).await.unwrap_err();
        let status = error.status().unwrap();
        assert_eq!((status.code, &status.reason), (code, &reason));
        let details = status.details.as_ref().unwrap();
        assert_eq!((&*details.name, &*details.kind), ("a", "pods"));
        assert_eq!(details.causes[0].reason, "UnexpectedServerResponse");
        assert_eq!(details.causes[0].message, "<h1>gateway</h1>");
        assert!(
            status.message.ends_with(r#"(get pods "a")"#),
            "{}",
            status.message
        );
        assert_eq!(error.is_expired(), code == 410, "a bare 410 counts");
    }
}

#[tokio::test(start_paused = true)]
async fn rc9_details_of_foreign_bodies() {
    let conflict = Scripted::new(|_, _| Answer::new(409));
    assert!(create(&conflict).await.unwrap_err().is_already_exists());

    let binary = Scripted::new(|_, _| Answer::new(500).chunk(vec![0xff; 5000]));
    let error = get(&binary).await.unwrap_err();
    let cause = &error.status().unwrap().details.as_ref().unwrap().causes[0];
    assert_eq!(cause.message, "unknown");

    let long = Scripted::new(|_, _| {
        Answer::new(403)
            .header("content-type", "text/plain")
            .chunk("ü".repeat(5000))
    });
    let error = get(&long).await.unwrap_err();
    let status = error.status().unwrap();
    assert_eq!(
        status.details.as_ref().unwrap().causes[0].message.len(),
        2048
    );
    assert!(status.message.starts_with("üü"));

    let success = r#"{"kind":"Status","apiVersion":"v1","status":"Success"}"#;
    let odd = Scripted::new(move |_, _| Answer::new(404).chunk(success));
    assert!(get(&odd).await.unwrap_err().is_not_found());
}

#[tokio::test(start_paused = true)]
async fn rc9_a_failure_with_code_200_is_an_error() {
    let body = with_kind(&Status::internal("odd")).to_string();
    let (list, metadata) = (body.clone(), body.clone());
    let server = Scripted::new(move |_, _| Answer::ok(body.clone()));
    assert_eq!(get(&server).await.unwrap_err().status().unwrap().code, 500);
    let server = Scripted::new(move |_, _| Answer::ok(metadata.clone()));
    let any = server
        .client()
        .metadata(Pod::api_resource(), Some("ns"))
        .get("a")
        .await;
    assert_eq!(any.unwrap_err().status().unwrap().code, 500);
    let server = Scripted::new(move |_, _| Answer::ok(list.clone()));
    let error = pods(&server.client()).list(&ListOptions::default()).await;
    assert_eq!(error.unwrap_err().status().unwrap().code, 500);
}

#[tokio::test(start_paused = true)]
async fn rc9_a_watch_needs_exactly_200() {
    let server = Scripted::new(|_, _| Answer::new(201));
    let error = open_watch(&server).await.unwrap_err();
    assert_eq!(error.status().unwrap().code, 201);
    assert!(!error.is_retryable());
}

#[tokio::test(start_paused = true)]
async fn kube_rs_d1_a_watch_refused_with_410_is_expired() {
    let server = Scripted::new(|_, _| failure(&Status::expired("too old resource version: 1 (5)")));
    let error = open_watch(&server).await.unwrap_err();
    assert!(error.is_expired());
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn kube_rs_d6_10_no_head_is_a_timeout() {
    let server = Scripted::new(|_, _| Answer::no_head());
    let client = server.client();
    let start = Instant::now();
    let error = pods(&client)
        .list(&ListOptions::default())
        .await
        .unwrap_err();
    assert!(error.is_timeout() && error.is_retryable());
    assert_eq!(error.to_string(), "list pods: no response head within 65s");
    assert_eq!(start.elapsed(), Duration::from_secs(65));
    pods(&client)
        .watch(&WatchOptions::default())
        .await
        .unwrap_err();
    assert_eq!(start.elapsed(), Duration::from_secs(95));
}

#[tokio::test(start_paused = true)]
async fn kube_rs_d6_a_silent_body_is_a_timeout_of_its_own() {
    let server = Scripted::new(|_, _| Answer::ok(&POD[..10]).then_silent());
    let start = Instant::now();
    let error = get(&server).await.unwrap_err();
    assert!(error.is_timeout(), "{error}");
    assert_eq!(start.elapsed(), Duration::from_secs(30));
    let error = pods(&server.client())
        .list(&ListOptions::default())
        .await
        .unwrap_err();
    assert!(error.is_timeout(), "{error}");
    assert_eq!(start.elapsed(), Duration::from_secs(60));
}

#[tokio::test(start_paused = true)]
async fn limits_without_end_are_none() {
    let server = Scripted::new(|_, seen| match seen.target.contains("watch") {
        true => Answer::ok("").then_silent(),
        false => Answer::ok(POD),
    });
    let mut timeouts = server.client().options().timeouts;
    timeouts.head = Duration::MAX;
    timeouts.watch_head = Duration::MAX;
    timeouts.body_idle = Duration::MAX;
    timeouts.watch_grace = Duration::MAX;
    timeouts.total = Some(Duration::MAX);
    let pods = pods(&server.client().with_timeouts(timeouts));
    pods.get("a").await.unwrap();
    let options = WatchOptions::default().timeout(Duration::MAX);
    let mut watch = pods.watch(&options).await.unwrap();
    let year = Duration::from_secs(365 * 24 * 3600);
    assert!(tokio::time::timeout(year, watch.next()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn kube_rs_d6_an_error_body_that_breaks_off_still_counts() {
    let server = Scripted::new(|_, _| Answer::new(404).chunk("{\"kind\"").then_silent());
    assert!(get(&server).await.unwrap_err().is_not_found());
}

#[tokio::test(start_paused = true)]
async fn headers_of_a_request() {
    let server = Scripted::new(|_, _| Answer::ok(POD));
    let credentials = Credentials::bearer(&Secret::new("t0ken")).unwrap();
    let options =
        ClientOptions::new("https://host/prefix/".parse().unwrap()).credentials(credentials);
    let client = Client::new(server.clone(), options).with_user_agent("operator/1.0");
    pods(&client).get("a").await.unwrap();
    let own = http::Request::get("/version?x=y")
        .header("authorization", "Bearer own")
        .body(bytes::Bytes::new())
        .unwrap();
    client.raw(own).await.unwrap();
    let seen = server.seen();
    assert_eq!(seen[0].target, "/prefix/api/v1/namespaces/ns/pods/a");
    assert_eq!(seen[0].header("authorization"), "Bearer t0ken");
    assert_eq!(seen[0].header("user-agent"), "operator/1.0");
    assert_eq!(seen[0].header("accept"), "application/json");
    assert_eq!(seen[1].target, "/prefix/version?x=y");
    assert_eq!(
        seen[1].header("authorization"),
        "Bearer own",
        "the request's own wins (TR5)"
    );
    assert!(!format!("{client:?}").contains("t0ken"));
}

#[tokio::test(start_paused = true)]
async fn tr8_impersonation_goes_with_every_request_that_does_not_bring_its_own() {
    let server = Scripted::new(|_, _| Answer::ok(POD));
    let client = server.client();
    let jane = client.with_impersonation(Impersonation::user("jane").group("a"));
    pods(&jane).get("a").await.unwrap();
    pods(&client).get("a").await.unwrap();
    let own = http::Request::get("/version").header("impersonate-user", "own");
    jane.raw(own.body(bytes::Bytes::new()).unwrap())
        .await
        .unwrap();
    let seen = server.seen();
    let headers = |nth: usize| {
        let seen = &seen[nth];
        (
            seen.header("impersonate-user"),
            seen.header("impersonate-group"),
        )
    };
    assert_eq!(headers(0), ("jane", "a"));
    assert_eq!(
        headers(1),
        ("", ""),
        "the client that it came from stays as it was"
    );
    assert_eq!(headers(2), ("own", ""));
}

#[tokio::test(start_paused = true)]
async fn a_body_in_many_chunks_is_joined() {
    let server = Scripted::new(|_, _| {
        let bytes = POD.bytes().map(|byte| vec![byte]);
        bytes.fold(Answer::new(200), Answer::chunk)
    });
    assert_eq!(get(&server).await.unwrap().metadata.name, "a");
    let empty = Scripted::new(|_, _| Answer::new(200));
    assert!(matches!(get(&empty).await, Err(Error::Decode(_))));
}

mod requests;
