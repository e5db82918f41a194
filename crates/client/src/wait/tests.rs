use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use evenkeel_meta::{DynamicObject, Meta};
use serde_json::json;
use tokio::time::Instant;

use super::{Verdict, WaitError, condition_is, is_deleted, is_established, is_present};
use crate::testing::{Answer, Pod, Scripted};
use crate::transport::TransportErrorKind;
use crate::{Error, RequestError};

/// A list of no pod, or of one.
fn list(version: u64, pod: &str) -> Answer {
    Answer::ok(format!(
        "{{\"metadata\":{{\"resourceVersion\":\"{version}\"}},\"items\":[{pod}]}}"
    ))
}

fn pod(version: u64, uid: &str, node: &str) -> String {
    format!(
        "{{\"metadata\":{{\"name\":\"a\",\"namespace\":\"ns\",\"uid\":\"{uid}\",\"resourceVersion\":\"{version}\"}},\
         \"spec\":{{\"nodeName\":\"{node}\"}}}}"
    )
}

fn event(kind: &str, pod: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"object\":{pod}}}\n")
}

fn gone() -> String {
    event(
        "ERROR",
        r#"{"kind":"Status","status":"Failure","code":410}"#,
    )
}

fn runs_on(node: &'static str) -> impl Fn(Option<&Pod>) -> bool {
    move |pod| pod.is_some_and(|pod| pod.spec.node_name.as_deref() == Some(node))
}

async fn wait(
    server: &Scripted,
    condition: impl Fn(Option<&Pod>) -> bool,
) -> Result<Option<Pod>, WaitError> {
    let pods = server.client().namespaced::<Pod>("ns");
    let day = Duration::from_secs(86_400);
    let waited = tokio::time::timeout(day, pods.wait_for("a", condition)).await;
    waited.expect("it should end")
}

#[tokio::test(start_paused = true)]
async fn tw3_what_is_so_already_is_answered_by_the_list() {
    let server = Scripted::new(|_, _| list(5, &pod(4, "u", "n1")));
    let found = wait(&server, runs_on("n1")).await.unwrap().unwrap();
    assert_eq!(found.metadata.name, "a");
    assert_eq!(
        server.targets(),
        ["/api/v1/namespaces/ns/pods?fieldSelector=metadata.name%3Da&limit=500"]
    );
}

#[tokio::test(start_paused = true)]
async fn tw3_the_watch_begins_where_the_list_ended_and_the_wait_ends_with_the_state() {
    let server = Scripted::new(|nth, _| match nth {
        0 => list(5, ""),
        _ => {
            Answer::ok(event("ADDED", &pod(6, "u", "n1")) + &event("MODIFIED", &pod(7, "u", "n2")))
                .then_silent()
        }
    });
    let found = wait(&server, runs_on("n2")).await.unwrap().unwrap();
    assert_eq!(found.metadata.resource_version, Some(7.into()));
    let watch = &server.targets()[1];
    assert!(watch.contains("fieldSelector=metadata.name%3Da"), "{watch}");
    assert!(watch.contains("resourceVersion=5"), "{watch}");
}

#[tokio::test(start_paused = true)]
async fn tw3_conditions_in_sequence_are_each_tried_on_the_last_state_first() {
    let server = Scripted::new(|nth, _| match nth {
        0 => list(5, ""),
        _ => Answer::ok(event("ADDED", &pod(6, "u", "n1")) + &event("DELETED", &pod(9, "u", "n1")))
            .then_silent(),
    });
    let pods = server.client().namespaced::<Pod>("ns");
    let mut waiter = pods.waiter("a").unwrap();
    assert!(waiter.until(is_present()).await.unwrap().is_some());
    assert!(waiter.until(runs_on("n1")).await.unwrap().is_some());
    assert!(
        waiter
            .until(is_deleted("u".into()))
            .await
            .unwrap()
            .is_none()
    );
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn tw3_kube_rs_12_a_watch_that_fell_behind_is_no_error() {
    let server = Scripted::new(|nth, seen| match nth {
        0 => list(5, &pod(4, "u", "n1")),
        1 => Answer::ok(gone()),
        2 => Answer::new(503),
        3 => Answer::failed(TransportErrorKind::Refused),
        _ => {
            assert!(!seen.target.contains("watch"));
            list(20, &pod(19, "u", "n2"))
        }
    });
    let found = wait(&server, runs_on("n2")).await.unwrap().unwrap();
    assert_eq!(found.metadata.resource_version, Some(19.into()));
    assert_eq!(server.seen().len(), 5);
}

#[tokio::test(start_paused = true)]
async fn tw3_a_deletion_that_nobody_saw_shows_in_the_new_list() {
    let server = Scripted::new(|nth, _| match nth {
        0 => list(5, &pod(4, "u", "n1")),
        1 => Answer::ok(gone()),
        _ => list(20, ""),
    });
    assert_eq!(wait(&server, is_deleted("u".into())).await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn tw3_another_object_of_the_name_is_a_deletion_of_the_first() {
    let server = Scripted::new(|nth, _| match nth {
        0 => list(5, &pod(4, "u", "n1")),
        _ => Answer::ok(event("MODIFIED", &pod(6, "v", "n1"))).then_silent(),
    });
    let left = wait(&server, is_deleted("u".into())).await.unwrap();
    assert_eq!(left.unwrap().metadata.uid, Some("v".into()));
}

#[tokio::test(start_paused = true)]
async fn tw3_a_server_that_always_falls_behind_is_listed_with_growing_pauses() {
    let server = Scripted::new(|nth, seen| {
        assert!(nth < 1000, "a hot loop");
        match seen.target.contains("watch") {
            true => Answer::ok(gone()),
            false => list(5, ""),
        }
    });
    let limit = Duration::from_secs(3600);
    let waited = tokio::time::timeout(limit, wait(&server, is_present())).await;
    assert!(waited.is_err(), "no error in an hour");
    let lists = server
        .targets()
        .iter()
        .filter(|t| !t.contains("watch"))
        .count();
    assert!(lists < 130, "{lists}");
}

#[tokio::test(start_paused = true)]
async fn tw3_what_cannot_be_followed_is_an_error_at_once() {
    for on_open in [false, true] {
        let server = Scripted::new(move |nth, _| match (nth, on_open) {
            (0, true) => list(5, ""),
            _ => Answer::new(403),
        });
        let error = wait(&server, is_present()).await.unwrap_err();
        assert!(
            matches!(&error, WaitError::Request(e) if e.is_forbidden()),
            "{error}"
        );
    }
    let server = Scripted::new(|_, _| list(5, r#"{"metadata":{"name":"a"},"spec":3}"#));
    let error = wait(&server, is_present()).await.unwrap_err();
    assert!(matches!(error, WaitError::Request(Error::Decode(_))));

    let all = server.client().all::<Pod>();
    let error = all.waiter("a").unwrap_err();
    assert!(matches!(error, RequestError::NamespaceRequired { .. }));
}

#[tokio::test(start_paused = true)]
async fn tw3_a_condition_that_can_never_be_met_ends_the_wait() {
    let server = Scripted::new(|_, _| list(5, &pod(4, "u", "n1")));
    let pods = server.client().namespaced::<Pod>("ns");
    let never = |_: Option<&Pod>| Verdict::Never("it is another node's".into());
    let error = pods.wait_for("a", never).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "pods \"a\" will not come to it: it is another node's"
    );
}

#[tokio::test(start_paused = true)]
async fn tw3_a_wait_that_is_given_up_goes_on_later_and_loses_nothing() {
    let server = Scripted::new(|nth, _| match nth {
        0 => list(5, ""),
        1 => Answer::ok(event("ADDED", &pod(6, "u", "n1"))).late(Duration::from_secs(20)),
        _ => Answer::ok("").then_silent(),
    });
    let checks = Arc::new(AtomicUsize::new(0));
    let pods = server.client().namespaced::<Pod>("ns");
    let mut waiter = pods.waiter("a").unwrap();
    let start = Instant::now();
    let mut outcome = None;
    while outcome.is_none() {
        let counted = Arc::clone(&checks);
        let condition = move |pod: Option<&Pod>| {
            counted.fetch_add(1, Ordering::Relaxed);
            pod.is_some()
        };
        let turn = tokio::time::timeout(Duration::from_secs(1), waiter.until(condition)).await;
        outcome = turn.ok().map(|met| met.unwrap().is_some());
    }
    assert_eq!(outcome, Some(true));
    assert_eq!(server.seen().len(), 2, "neither list nor watch began anew");
    assert!(start.elapsed() < Duration::from_secs(22));
    assert!(checks.load(Ordering::Relaxed) > 15);
}

fn with_conditions(conditions: &serde_json::Value) -> DynamicObject {
    let object = json!({
        "apiVersion": "x.io/v1", "kind": "Widget", "metadata": {"name": "a", "generation": 3},
        "status": {"conditions": conditions},
    });
    serde_json::from_value(object).unwrap()
}

#[test]
fn a_condition_of_the_present_generation_counts() {
    let ready = condition_is("Ready", "True");
    let says = |conditions: serde_json::Value| ready(Some(&with_conditions(&conditions)));
    assert!(says(
        json!([{"type": "Other"}, {"type": "Ready", "status": "True"}])
    ));
    assert!(says(
        json!([{"type": "Ready", "status": "True", "observedGeneration": 3}])
    ));
    for not in [
        json!([{"type": "Ready", "status": "True", "observedGeneration": 2}]),
        json!([{"type": "Ready", "status": "False"}]),
        json!([{"type": "Other", "status": "True"}]),
        json!([3, {"type": ["Ready"]}]),
        json!("none"),
    ] {
        assert!(!says(not.clone()), "{not}");
    }
    assert!(!ready(None));
    assert!(!ready(Some(&DynamicObject::default())));
}

#[test]
fn a_definition_is_established_or_never_will_be() {
    let established = is_established();
    let says = |conditions: serde_json::Value| established(Some(&with_conditions(&conditions)));
    let accepted = json!({"type": "NamesAccepted", "status": "True"});
    assert_eq!(says(json!([accepted])), Verdict::NotYet);
    let done = json!([accepted, {"type": "Established", "status": "True"}]);
    assert_eq!(says(done), Verdict::Met);
    let taken = json!([{"type": "NamesAccepted", "status": "False", "message": "taken"}]);
    assert_eq!(
        says(taken),
        Verdict::Never("its names are not accepted: taken".into())
    );
    assert_eq!(established(None), Verdict::NotYet);
}

#[test]
fn an_object_without_the_uid_is_gone() {
    let deleted = is_deleted::<Pod>("u".into());
    assert!(deleted(None));
    let mut pod = Pod::named("ns", "a");
    assert!(deleted(Some(&pod)), "no UID is another UID");
    pod.metadata = Meta {
        uid: Some("u".into()),
        ..pod.metadata
    };
    assert!(!deleted(Some(&pod)));
}
