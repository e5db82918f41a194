//! A server in trouble.

use std::time::Duration;

use tokio::time::Instant;

use super::{ClientOptions, POD, get, pods};
use crate::Client;
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
