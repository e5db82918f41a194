use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio::io::{DuplexStream, duplex};
use tokio::time::Instant;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::super::exec::{AttachOptions, Process};
use super::super::socket::{Protocol, Socket};
use super::{PING_EVERY, SILENCE};
use crate::error::Error;

/// A process and the server that runs it, without a network between.
async fn process(room: usize) -> (Process, WebSocketStream<DuplexStream>) {
    let (ours, theirs) = duplex(room);
    let socket = Socket::over(Box::new(ours), Protocol::V5).await;
    let options = AttachOptions::default().stdin();
    let process = Process::start(socket, &options, "exec in pods \"a\"".into());
    let peer = WebSocketStream::from_raw_socket(theirs, Role::Server, None).await;
    (process, peer)
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_is_gone_is_noticed_in_a_minute() {
    let (mut process, _peer) = process(1 << 20).await;
    let start = Instant::now();
    let error = process.status().await.unwrap_err();
    assert_eq!(start.elapsed(), SILENCE);
    assert!(error.is_timeout(), "{error}");
    assert_eq!(
        error.to_string(),
        "exec in pods \"a\": no sign of life within 60s"
    );
}

#[tokio::test(start_paused = true)]
async fn a_quiet_peer_that_answers_pings_is_waited_for() {
    let (mut process, mut peer) = process(1 << 20).await;
    let start = Instant::now();
    let hour = Duration::from_secs(3600);
    let pinged = tokio::spawn(async move {
        let mut pings = 0;
        while start.elapsed() < hour {
            if let Some(Ok(Message::Ping(_))) = peer.next().await {
                pings += 1;
            }
        }
        let report = [&[3], &br#"{"status":"Success"}"#[..]].concat();
        peer.send(Message::Binary(report.into())).await.unwrap();
        pings
    });
    assert!(process.status().await.unwrap().success());
    assert!(start.elapsed() >= hour);
    let expected = hour.as_secs() / PING_EVERY.as_secs();
    assert_eq!(pinged.await.unwrap(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_peer_is_alive_for_as_long_as_its_output_waits_to_be_read() {
    let (mut process, mut peer) = process(1 << 10).await;
    let server = tokio::spawn(async move {
        let chunk = [&[1], &[7; 1 << 10][..]].concat();
        for _ in 0..200 {
            peer.send(Message::Binary(chunk.clone().into())).await?;
        }
        let report = [&[3], &br#"{"status":"Success"}"#[..]].concat();
        peer.send(Message::Binary(report.into())).await?;
        peer.close(None).await
    });
    // Nobody reads for a long time.
    let waited = tokio::time::timeout(Duration::from_secs(3600), process.status()).await;
    assert!(waited.is_err());
    let output = process.output().await.unwrap();
    assert_eq!(output.stdout.len(), 200 << 10);
    server.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_message_larger_than_any_server_sends_is_an_error() {
    let (process, mut peer) = process(1 << 20).await;
    let server = tokio::spawn(async move {
        let _ = peer.send(Message::Binary(vec![1; 5 << 20].into())).await;
        peer
    });
    let error = process.output().await.unwrap_err();
    assert!(matches!(error, Error::Transport(_)), "{error}");
    assert!(!error.is_retryable());
    server.abort();
}
