use std::time::Duration;

use evenkeel_meta::{ResourceVersion, Status};
use futures_util::StreamExt;
use tokio::time::Instant;

use super::describe;
use crate::testing::{Answer, Pod, Scripted};
use crate::transport::TransportErrorKind;
use crate::{Error, RequestError, RetryWatch, WatchOptions};

fn event(kind: &str, name: &str, version: u64) -> String {
    format!(
        "{{\"type\":\"{kind}\",\"object\":{{\"metadata\":{{\"name\":\"{name}\",\"resourceVersion\":\"{version}\"}}}}}}\n"
    )
}

fn error(code: u16, details: &str) -> String {
    format!(
        "{{\"type\":\"ERROR\",\"object\":{{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":{code}{details}}}}}\n"
    )
}

fn gone() -> Answer {
    let mut status = serde_json::to_value(Status::expired("too old")).unwrap();
    status["kind"] = "Status".into();
    Answer::new(410).chunk(status.to_string())
}

fn retry(server: &Scripted, version: u64) -> RetryWatch<Pod> {
    let options = WatchOptions::from(version.into()).labels("app=web");
    let pods = server.client().all::<Pod>();
    pods.retry_watch(&options).unwrap()
}

async fn all(watch: &mut RetryWatch<Pod>) -> Vec<String> {
    let all = watch.map(|event| describe(&event)).collect();
    let hour = Duration::from_secs(3600);
    tokio::time::timeout(hour, all)
        .await
        .expect("it should end")
}

/// The versions that were asked for.
fn positions(server: &Scripted) -> Vec<String> {
    let targets = server.targets();
    let versions = targets.iter().map(|target| {
        let (_, rest) = target.split_once("resourceVersion=").unwrap();
        rest.split('&').next().unwrap().to_owned()
    });
    versions.collect()
}

#[tokio::test]
async fn tw1_ts84_a_version_to_begin_at_is_needed() {
    let server = Scripted::new(|_, _| Answer::ok(""));
    let pods = server.client().all::<Pod>();
    for version in [ResourceVersion::unset(), ResourceVersion::any()] {
        let refused = pods.retry_watch(&WatchOptions::from(version)).unwrap_err();
        assert_eq!(refused, RequestError::ResourceVersionRequired);
    }
    assert!(server.seen().is_empty());
}

#[tokio::test(start_paused = true)]
async fn tw1_ts84_it_goes_on_from_the_last_version_and_swallows_bookmarks() {
    let server = Scripted::new(|nth, _| match nth {
        0 => Answer::ok(event("ADDED", "a", 11) + &event("BOOKMARK", "", 15)),
        1 => Answer::ok(event("MODIFIED", "a", 16)),
        _ => Answer::ok(event("DELETED", "a", 12)).then_silent(),
    });
    let mut watch = retry(&server, 10);
    let events: Vec<_> = watch
        .by_ref()
        .take(3)
        .map(|event| describe(&event))
        .collect()
        .await;
    assert_eq!(events, ["+a", "~a", "-a"]);
    assert_eq!(positions(&server), ["10", "15", "16"]);
    assert_eq!(
        *watch.position(),
        12.into(),
        "a lower version moves it back"
    );
    assert_eq!(
        server.targets()[0],
        "/api/v1/pods?watch=true&labelSelector=app%3Dweb&allowWatchBookmarks=true&resourceVersion=10",
        "no time-out, no list"
    );
}

#[tokio::test(start_paused = true)]
async fn tw1_starts_are_a_second_apart_and_a_watch_that_lived_is_taken_up_at_once() {
    let server = Scripted::new(|nth, _| match nth {
        0..5 => Answer::ok(""),
        5 => Answer::ok("").late(Duration::from_secs(20)),
        _ => gone(),
    });
    let start = Instant::now();
    assert_eq!(all(&mut retry(&server, 10)).await, ["E410"]);
    let at: Vec<_> = server
        .seen()
        .iter()
        .map(|s| (s.at - start).as_millis())
        .collect();
    // The timer's steps are a millisecond.
    for (at, expected) in at.iter().zip([0, 1, 2, 3, 4, 5, 25]) {
        assert!(at.abs_diff(expected * 1000) < 20, "{at} for {expected} s");
    }
    assert_eq!(at.len(), 7);
}

#[tokio::test(start_paused = true)]
async fn tw1_what_the_server_asks_to_wait_is_waited_in_the_stream_and_on_opening() {
    let server = Scripted::new(|nth, _| match nth {
        0 => Answer::ok(error(500, ",\"details\":{\"retryAfterSeconds\":7}")),
        1 => Answer::new(500).chunk(
            r#"{"kind":"Status","status":"Failure","code":500,"details":{"retryAfterSeconds":9}}"#,
        ),
        _ => gone(),
    });
    assert_eq!(all(&mut retry(&server, 10)).await, ["E410"]);
    let seen = server.seen();
    let gap = |n: usize| (seen[n].at - seen[n - 1].at).as_secs();
    assert_eq!((gap(1), gap(2)), (7, 9));
}

#[tokio::test(start_paused = true)]
async fn tw2_ts84_it_survives_whatever_may_pass() {
    let server = Scripted::new(|nth, _| match nth {
        0 => Answer::ok(error(504, "")),
        1 => Answer::ok(error(500, "")),
        2 => Answer::ok(error(599, "")),
        3 => Answer::ok(event("ADDED", "a", 11)).broken(TransportErrorKind::Closed),
        4 => Answer::failed(TransportErrorKind::Refused),
        5 => Answer::new(503),
        6 => Answer::new(404),
        7 => Answer::ok(event("ADDED", "b", 12)[..20].to_owned()),
        _ => Answer::ok(event("ADDED", "b", 12) + &error(410, "")),
    });
    let mut watch = retry(&server, 10);
    assert_eq!(all(&mut watch).await, ["+a", "+b", "E410"]);
    assert!(watch.next().await.is_none(), "the end is the end");
    assert_eq!(server.seen().len(), 9);
}

#[tokio::test(start_paused = true)]
async fn tw2_ts84_b26_it_ends_where_going_on_is_in_vain() {
    for (code, told) in [(401, "E401"), (403, "E403"), (410, "E410")] {
        let server = Scripted::new(move |_, _| Answer::new(code));
        assert_eq!(all(&mut retry(&server, 10)).await, [told]);
        assert_eq!(server.seen().len(), 1, "{code}");
    }
    let server = Scripted::new(|_, _| Answer::ok(error(410, "") + &event("ADDED", "a", 11)));
    assert_eq!(all(&mut retry(&server, 10)).await, ["E410"]);
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn tw2_ts84_it_ends_at_what_it_cannot_place() {
    let nameless = "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}\n";
    let unknown = "{\"type\":\"NEWS\",\"object\":{}}\n";
    for (bad, text) in [(nameless, "no resource version"), (unknown, "unknown type")] {
        let server =
            Scripted::new(move |_, _| Answer::ok(bad.to_owned() + &event("ADDED", "b", 12)));
        let events = all(&mut retry(&server, 10)).await;
        assert_eq!(events.len(), 1, "{events:?}");
        assert!(events[0].contains(text), "{events:?}");
        assert_eq!(server.seen().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn tw2_a_request_that_makes_no_sense_is_the_end() {
    let server = Scripted::new(|_, _| Answer::ok(""));
    let pods = server.client().namespaced::<Pod>("a/b");
    let watch = pods.retry_watch(&WatchOptions::from(10.into())).unwrap();
    let events: Vec<_> = watch.collect().await;
    let Err(crate::WatchError::Refused { error, .. }) = &events[0] else {
        panic!("{events:?}")
    };
    assert!(matches!(error, Error::Request(_)));
    assert_eq!(events.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn tw1_an_object_that_does_not_decode_is_passed_on_and_moves_the_position() {
    let bad = "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"bad\",\"resourceVersion\":\"14\"},\"spec\":3}}\n";
    let server = Scripted::new(move |nth, _| match nth {
        0 => Answer::ok(bad),
        _ => gone(),
    });
    let mut watch = retry(&server, 10);
    assert_eq!(all(&mut watch).await, ["?Modified bad", "E410"]);
    assert_eq!(positions(&server), ["10", "14"]);
}
