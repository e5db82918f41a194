//! A server in trouble.

use std::time::Duration;

use tokio::time::Instant;

use super::{ClientOptions, POD, get, pods};
use crate::Client;
use crate::client::server_backoff::ServerBackoff;
use crate::testing::{Answer, Scripted};
use crate::transport::TransportErrorKind;

#[tokio::test(start_paused = true)]
async fn incident_14_retries_wait_as_asked_spread_and_count_against_the_limit() {
    let server = Scripted::new(|nth, _| match nth {
        0..100 => Answer::new(429).header("retry-after", "1"),
        _ => Answer::ok(POD),
    });
    let clients = (0..100).map(|seed| {
        let options = ClientOptions {
            seed,
            ..ClientOptions::default()
        };
        Client::new(server.clone(), options)
    });
    let start = Instant::now();
    let all = clients.map(|client| async move { pods(&client).get("a").await });
    futures_util::future::join_all(all).await;
    let at: Vec<_> = server.seen()[100..]
        .iter()
        .map(|seen| seen.at - start)
        .collect();
    assert!(
        at.iter().all(|at| (1000..1110).contains(&at.as_millis())),
        "{at:?}"
    );
    let distinct: std::collections::BTreeSet<_> = at.iter().map(Duration::as_millis).collect();
    assert!(distinct.len() > 30, "spread: {distinct:?}");

    let server = Scripted::new(|nth, _| match nth {
        0 => Answer::new(429).header("retry-after", "1"),
        _ => Answer::ok(POD),
    });
    let client = server.client().with_rate_limit(0.1, 2);
    let start = Instant::now();
    pods(&client).get("a").await.unwrap();
    pods(&client).get("a").await.unwrap();
    assert!(
        start.elapsed() >= Duration::from_secs(9),
        "the retry took a token"
    );
}

#[tokio::test(start_paused = true)]
async fn rc5_an_error_of_another_kind_before_the_last_is_told() {
    let texts = |kinds: &'static [TransportErrorKind]| async move {
        let server = Scripted::new(|nth, _| match kinds.get(nth) {
            Some(kind) => Answer::failed(*kind),
            None => Answer::new(503),
        });
        get(&server).await.unwrap_err().to_string()
    };
    use TransportErrorKind::{Closed, Refused};
    assert_eq!(
        texts(&[Closed, Refused]).await,
        r#"get pods "a": scripted Refused - error from a previous attempt: scripted Closed"#
    );
    assert_eq!(texts(&[Refused]).await, r#"get pods "a": scripted Refused"#);
    let same = texts(&[Closed; 11]).await;
    assert_eq!(same, r#"get pods "a": scripted Closed"#);
    let answered = texts(&[Closed]).await;
    assert!(!answered.contains("previous attempt"), "{answered}");
    let between = Scripted::new(|nth, _| match nth {
        0 => Answer::failed(Closed),
        1 => Answer::new(503).header("retry-after", "1"),
        _ => Answer::failed(Refused),
    });
    let error = get(&between).await.unwrap_err().to_string();
    assert!(!error.contains("previous attempt"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn rc14_a_server_in_trouble_is_spared_by_all_requests_of_a_client() {
    let server = Scripted::new(|nth, _| match nth {
        0..3 => Answer::new([429, 500, 503][nth]),
        3 => Answer::new(404),
        _ => Answer::ok(POD),
    });
    let seconds = Duration::from_secs;
    let client = server.client().with_server_backoff(seconds(2), seconds(5));
    let start = Instant::now();
    for _ in 0..3 {
        pods(&client).get("a").await.unwrap_err();
    }
    let clone = client.with_user_agent("other");
    pods(&clone).get("a").await.unwrap_err();
    pods(&client).get("a").await.unwrap();
    let seen = server.seen();
    let at: Vec<_> = seen
        .iter()
        .map(|seen| (seen.at - start).as_secs())
        .collect();
    assert_eq!(at, [0, 2, 6, 11, 11], "2 s, 4 s, 5 s; 404 ends it");

    let asked = Scripted::new(|nth, _| match nth {
        0 => Answer::new(429).header("retry-after", "4"),
        _ => Answer::ok(POD),
    });
    let client = asked.client().with_server_backoff(seconds(2), seconds(2));
    let start = Instant::now();
    pods(&client).get("a").await.unwrap();
    assert!(
        start.elapsed() < seconds(5),
        "the longer wait of the two, not both"
    );
    assert!(start.elapsed() >= seconds(4));
}

#[test]
fn rc14_the_variables_need_each_other() {
    let with = |variables: &'static [(&str, &str)]| {
        let get = |name: &str| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        ServerBackoff::from_variables(get, 0).is_some()
    };
    const BASE: (&str, &str) = ("KUBE_CLIENT_BACKOFF_BASE", "1");
    const LONGEST: (&str, &str) = ("KUBE_CLIENT_BACKOFF_DURATION", "120");
    assert!(with(&[BASE, LONGEST]));
    assert!(!with(&[BASE]));
    assert!(!with(&[LONGEST]));
    assert!(!with(&[("KUBE_CLIENT_BACKOFF_BASE", "0"), LONGEST]));
    assert!(!with(&[("KUBE_CLIENT_BACKOFF_BASE", "x"), LONGEST]));
}
