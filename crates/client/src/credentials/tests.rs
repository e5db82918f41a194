use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use http::Method;

use super::{Credentials, Secret};
use crate::testing::{Answer, Pod, Scripted, scratch};
use crate::{Client, ClientOptions, CredentialError, Error};

fn token_file(name: &str, token: &str) -> PathBuf {
    let path = scratch(name).join("token");
    std::fs::write(&path, token).unwrap();
    path
}

async fn header(credentials: &Credentials) -> String {
    let value = credentials.offer().await.unwrap().header.unwrap();
    value.to_str().unwrap().to_owned()
}

#[tokio::test(start_paused = true)]
async fn tr5_ts91_kube_rs_23_a_token_file_is_read_again_after_fifty_seconds() {
    let path = token_file("tr5-reread", "one\n");
    let credentials = Credentials::token_file(&path, None).unwrap();
    std::fs::write(&path, "two").unwrap();
    tokio::time::advance(Duration::from_secs(49)).await;
    assert_eq!(header(&credentials).await, "Bearer one");
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(header(&credentials).await, "Bearer two");
}

#[tokio::test(start_paused = true)]
async fn tr5_ts91_an_empty_or_unreadable_file_keeps_the_last_token() {
    let path = token_file("tr5-keep", "one");
    let credentials = Credentials::token_file(&path, None).unwrap();
    for broken in [Some("  \n"), Some("new\nline"), None] {
        match broken {
            Some(text) => std::fs::write(&path, text).unwrap(),
            None => std::fs::remove_file(&path).unwrap(),
        }
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(header(&credentials).await, "Bearer one");
    }
    // A failed read is not remembered: the next request reads again.
    std::fs::write(&path, "two").unwrap();
    assert_eq!(header(&credentials).await, "Bearer two");
}

#[tokio::test(start_paused = true)]
async fn tr5_a_missing_file_needs_an_inline_token() {
    let path = scratch("tr5-missing").join("token");
    let error = Credentials::token_file(&path, None).unwrap_err();
    assert!(matches!(&error, CredentialError::TokenFile { path: named, .. } if *named == path));
    let inline = Secret::new("inline");
    let credentials = Credentials::token_file(&path, Some(&inline)).unwrap();
    assert_eq!(header(&credentials).await, "Bearer inline");
    std::fs::write(&path, "file").unwrap();
    assert_eq!(
        header(&credentials).await,
        "Bearer file",
        "the file beats it"
    );
}

#[cfg(unix)]
#[tokio::test(start_paused = true)]
async fn tr5_ts91_incident_9_many_requests_across_a_change_do_not_wait_for_each_other() {
    let path = token_file("tr5-many", "one");
    let credentials = Credentials::token_file(&path, None).unwrap();
    // A pipe is read no sooner than it is written.
    std::fs::remove_file(&path).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    tokio::time::advance(Duration::from_secs(51)).await;
    let mut reader = Box::pin(header(&credentials));
    assert!((&mut reader).now_or_never().is_none());
    for _ in 0..49 {
        let copy = header(&credentials).now_or_never();
        assert_eq!(copy.as_deref(), Some("Bearer one"), "nobody else reads");
    }
    tokio::task::spawn_blocking(move || std::fs::write(&path, "two").unwrap());
    assert_eq!(reader.await, "Bearer two");
    let copy = header(&credentials).now_or_never();
    assert_eq!(copy.as_deref(), Some("Bearer two"));
}

#[tokio::test(start_paused = true)]
async fn tr5_a_dropped_reader_does_not_keep_the_others_from_reading() {
    let path = token_file("tr5-dropped", "one");
    let credentials = Credentials::token_file(&path, None).unwrap();
    std::fs::write(&path, "two").unwrap();
    tokio::time::advance(Duration::from_secs(51)).await;
    let mut reader = Box::pin(credentials.offer());
    // A quick one may be through already.
    let _ = (&mut reader).now_or_never();
    drop(reader);
    assert_eq!(header(&credentials).await, "Bearer two");
}

/// A server that takes one token only.
fn takes(token: &'static str) -> Scripted {
    Scripted::new(move |_, seen| {
        if seen.header("authorization") == format!("Bearer {token}") {
            Answer::ok(r#"{"metadata":{"name":"a"}}"#)
        } else {
            Answer::new(401)
        }
    })
}

#[tokio::test(start_paused = true)]
async fn b28_a_rotated_token_is_read_again_on_401() {
    let path = token_file("b28", "old");
    let credentials = Credentials::token_file(&path, None).unwrap();
    let server = takes("new");
    let options = ClientOptions::default().credentials(credentials);
    let pods = Client::new(server.clone(), options).namespaced::<Pod>("ns");
    assert!(
        pods.get("a").await.unwrap_err().is_unauthorized(),
        "nothing new in the file"
    );
    assert_eq!(server.seen().len(), 1);

    std::fs::write(&path, "new").unwrap();
    pods.get("a").await.unwrap();
    pods.get("a").await.unwrap();
    assert_eq!(
        server.seen().len(),
        4,
        "401, again with the new one, then no more 401"
    );
}

#[tokio::test(start_paused = true)]
async fn b28_a_write_is_sent_again_whole() {
    let path = token_file("b28-write", "old");
    let credentials = Credentials::token_file(&path, None).unwrap();
    std::fs::write(&path, "new").unwrap();
    let server = takes("new");
    let client = Client::new(
        server.clone(),
        ClientOptions::default().credentials(credentials),
    );
    let request = http::Request::builder().method(Method::POST).uri("/x");
    client
        .raw(request.body(Bytes::from("body")).unwrap())
        .await
        .unwrap();
    assert!(server.seen().iter().all(|seen| seen.body == "body"));
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn b28_a_fixed_token_gets_one_try() {
    let credentials = Credentials::bearer(&Secret::new("old")).unwrap();
    let server = takes("new");
    let client = Client::new(
        server.clone(),
        ClientOptions::default().credentials(credentials),
    );
    let error = client.namespaced::<Pod>("ns").get("a").await.unwrap_err();
    assert!(error.is_unauthorized());
    assert_eq!(server.seen().len(), 1);
}

#[test]
fn rc15_secrets_are_not_printed() {
    let secret = Secret::new("hunter2");
    let all = format!(
        "{secret:?} {:?} {:?} {:?}",
        Credentials::bearer(&secret),
        Credentials::basic("me", &secret),
        Credentials::bearer(&Secret::new("hunter2\n")),
    );
    assert!(!all.contains("hunter2"), "{all}");
    assert!(!all.contains("aHVudGVyMg"), "{all}");
    let unsendable = Credentials::bearer(&Secret::new("new\nline")).unwrap_err();
    assert!(!Error::from(unsendable).is_retryable());
}

#[tokio::test]
async fn basic_auth_is_encoded() {
    let credentials = Credentials::basic("Aladdin", &"open sesame".into()).unwrap();
    assert_eq!(
        header(&credentials).await,
        "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
    );
}
