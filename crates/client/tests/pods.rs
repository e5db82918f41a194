//! Commands in pods and connections to their ports, against a WebSocket server in the test.

#![expect(clippy::unwrap_used, reason = "a helper that fails is a failed test")]

#[path = "pods/server.rs"]
mod server;

use std::time::Duration;

use evenkeel_client::{AttachOptions, Client, Config, Error, ExecOptions, PodHandle};
use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_tungstenite::tungstenite::Message;

use self::server::{Peer, TlsWebSocket, WebSockets, plain_http};

const V5: &str = "v5.channel.k8s.io";
const V4: &str = "v4.channel.k8s.io";
const SUCCESS: &str = r#"{"metadata":{},"status":"Success"}"#;

fn pod(url: &str) -> PodHandle {
    let config = Config::new(url).unwrap();
    Client::connect(&config).unwrap().pod("shop", "web")
}

fn on(channel: u8, text: impl AsRef<[u8]>) -> Message {
    let mut message = vec![channel];
    message.extend_from_slice(text.as_ref());
    Message::Binary(message.into())
}

/// The next message, as its channel and its bytes.
async fn next(peer: &mut Peer) -> Option<(u8, Vec<u8>)> {
    loop {
        match peer.next().await?.ok()? {
            Message::Binary(bytes) => return Some((bytes[0], bytes[1..].to_vec())),
            Message::Close(_) => return None,
            _ => {}
        }
    }
}

#[tokio::test]
async fn a_command_is_run_and_what_it_wrote_is_read() {
    let server = WebSockets::start(V5, async |mut peer: Peer| {
        peer.send(on(1, "")).await.unwrap();
        peer.send(on(1, "out ")).await.unwrap();
        peer.send(on(2, "err")).await.unwrap();
        peer.send(on(9, "nobody's")).await.unwrap();
        peer.send(Message::Binary(Vec::new().into())).await.unwrap();
        peer.send(on(1, "put")).await.unwrap();
        peer.send(on(3, SUCCESS)).await.unwrap();
        peer.close(None).await.unwrap();
    })
    .await;
    let command = ExecOptions::new(["sh", "-c", "a b"]).container("c");
    let output = pod(server.url()).exec(&command).await.unwrap();
    let output = output.output().await.unwrap();
    assert!(output.status.success());
    assert_eq!(
        (&*output.stdout, &*output.stderr),
        (&b"out put"[..], &b"err"[..])
    );
    let request = server.request();
    assert_eq!(
        request.target,
        "/api/v1/namespaces/shop/pods/web/exec?command=sh&command=-c&command=a%20b\
         &container=c&stdout=true&stderr=true"
    );
    assert_eq!(request.protocols, format!("{V5}, {V4}"));
}

#[tokio::test]
async fn a_large_input_and_a_large_output_flow_side_by_side() {
    // Neither fits a socket's or a pipe's buffer: whoever does not read while it writes hangs.
    const SIZE: usize = 8 << 20;
    let server = WebSockets::start(V5, async |mut peer: Peer| {
        loop {
            let (channel, bytes) = next(&mut peer).await.unwrap();
            match channel {
                0 => peer.send(on(1, bytes)).await.unwrap(),
                255 => break assert_eq!(bytes, [0], "the end of the input is told"),
                _ => panic!("channel {channel}"),
            }
        }
        peer.send(on(3, SUCCESS)).await.unwrap();
        peer.close(None).await.unwrap();
    })
    .await;
    let command = ExecOptions::new(["cat"]).stdin();
    let mut cat = pod(server.url()).exec(&command).await.unwrap();
    assert!(cat.can_end_input());
    let mut stdin = cat.stdin.take().unwrap();
    let writing = async move {
        let chunk = vec![7; 1 << 20];
        for _ in 0..SIZE >> 20 {
            stdin.write_all(&chunk).await.unwrap();
        }
    };
    let (output, ()) = tokio::join!(cat.output(), writing);
    let output = output.unwrap();
    assert_eq!(output.stdout.len(), SIZE);
    assert!(output.stdout.iter().all(|byte| *byte == 7));
}

#[tokio::test]
async fn the_exit_code_is_told_and_a_command_that_is_not_there_is_an_error() {
    for (report, code) in [
        (
            r#"{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"42"}]}}"#,
            Some(42),
        ),
        (
            r#"{"status":"Failure","reason":"InternalError","code":500,"message":"no such file"}"#,
            None,
        ),
    ] {
        let server = WebSockets::start(V5, async move |mut peer: Peer| {
            // Cut in two, as nothing forbids.
            let (head, tail) = report.split_at(30);
            peer.send(on(3, head)).await.unwrap();
            peer.send(on(3, tail)).await.unwrap();
            // The server does not hang up: the status is enough.
            while next(&mut peer).await.is_some() {}
        })
        .await;
        let command = ExecOptions::new(["x"]);
        let mut process = pod(server.url()).exec(&command).await.unwrap();
        match (process.status().await, code) {
            (Ok(status), Some(code)) => assert_eq!(status.code(), code),
            (Err(Error::Api(status)), None) => assert_eq!(status.message, "no such file"),
            (outcome, _) => panic!("{outcome:?}"),
        }
        drop(process);
        server.finished().await;
    }
}

#[tokio::test]
async fn a_connection_that_ends_without_a_status_is_an_error() {
    let server = WebSockets::start(V5, async |mut peer: Peer| {
        peer.send(on(1, "half")).await.unwrap();
        peer.close(None).await.unwrap();
    })
    .await;
    let process = pod(server.url())
        .exec(&ExecOptions::new(["x"]))
        .await
        .unwrap();
    let error = process.output().await.unwrap_err();
    assert!(matches!(error, Error::Transport(_)) && error.is_retryable());
    let text = error.to_string();
    assert!(
        text.starts_with("exec in pods \"web\": the connection ended"),
        "{text}"
    );

    let server = WebSockets::start(V5, async |peer: Peer| drop(peer)).await;
    let process = pod(server.url())
        .exec(&ExecOptions::new(["x"]))
        .await
        .unwrap();
    let error = process.output().await.unwrap_err();
    assert!(matches!(error, Error::Transport(_)), "{error}");
}

#[tokio::test]
async fn dropping_a_process_ends_the_connection() {
    let server = WebSockets::start(
        V5,
        async |mut peer: Peer| {
            while next(&mut peer).await.is_some() {}
        },
    )
    .await;
    let command = ExecOptions::new(["sleep"]).stdin();
    let mut process = pod(server.url()).exec(&command).await.unwrap();
    let mut stdout = process.stdout.take().unwrap();
    drop(process);
    server.finished().await;
    assert_eq!(
        stdout.read(&mut [0; 8]).await.unwrap(),
        0,
        "and its streams"
    );
}

#[tokio::test]
async fn output_that_nobody_wants_holds_nothing_up() {
    let server = WebSockets::start(V5, async |mut peer: Peer| {
        for _ in 0..100 {
            peer.send(on(2, vec![0; 32 << 10])).await.unwrap();
        }
        peer.send(on(1, "done")).await.unwrap();
        peer.send(on(3, SUCCESS)).await.unwrap();
        peer.close(None).await.unwrap();
    })
    .await;
    let mut process = pod(server.url())
        .exec(&ExecOptions::new(["x"]))
        .await
        .unwrap();
    drop(process.stderr.take());
    assert_eq!(process.output().await.unwrap().stdout, b"done");
}

#[tokio::test]
async fn a_terminal_has_a_size_and_no_standard_error() {
    let server = WebSockets::start(V5, async |mut peer: Peer| {
        // The end of the input may come before the size.
        let bytes = loop {
            let (channel, bytes) = next(&mut peer).await.unwrap();
            if channel == 4 {
                break bytes;
            }
        };
        peer.send(on(1, bytes)).await.unwrap();
        peer.send(on(3, SUCCESS)).await.unwrap();
        peer.close(None).await.unwrap();
    })
    .await;
    let terminal = AttachOptions::default().tty().stdin();
    let process = pod(server.url()).attach(&terminal).await.unwrap();
    assert!(process.stderr.is_none());
    process.resize(120, 40).await.unwrap();
    let output = process.output().await.unwrap();
    assert_eq!(output.stdout, br#"{"Width":120,"Height":40}"#);
    assert_eq!(
        server.request().target,
        "/api/v1/namespaces/shop/pods/web/attach?stdin=true&stdout=true&tty=true"
    );
}

#[tokio::test]
async fn an_older_server_is_spoken_to_in_version_4() {
    let server = WebSockets::start(V4, async |mut peer: Peer| {
        assert_eq!(next(&mut peer).await.unwrap(), (0, b"hi".to_vec()));
        peer.send(on(1, "hi")).await.unwrap();
        peer.send(on(3, SUCCESS)).await.unwrap();
        peer.close(None).await.unwrap();
        while let Some((channel, _)) = next(&mut peer).await {
            assert_ne!(channel, 255, "it knows no end of a stream");
        }
    })
    .await;
    let command = ExecOptions::new(["cat"]).stdin();
    let mut process = pod(server.url()).exec(&command).await.unwrap();
    assert!(!process.can_end_input());
    process
        .stdin
        .as_mut()
        .unwrap()
        .write_all(b"hi")
        .await
        .unwrap();
    assert_eq!(process.output().await.unwrap().stdout, b"hi");
    server.finished().await;
}

#[tokio::test]
async fn a_server_that_takes_no_protocol_of_ours_is_an_error() {
    let server = WebSockets::start("", async |_| {}).await;
    let error = pod(server.url())
        .exec(&ExecOptions::new(["x"]))
        .await
        .unwrap_err();
    let text = error.to_string();
    assert!(
        text.ends_with("exec in pods \"web\": the server took none of the protocols offered"),
        "{text}"
    );
    assert!(!error.is_retryable());
}

#[tokio::test]
async fn a_refusal_is_what_the_server_says() {
    let status = r#"{"kind":"Status","status":"Failure","reason":"NotFound","code":404,"message":"no such pod"}"#;
    let (url, requests) = plain_http(404, status).await;
    let error = pod(&url).exec(&ExecOptions::new(["x"])).await.unwrap_err();
    assert!(error.is_not_found());
    assert_eq!(error.status().unwrap().message, "no such pod");
    assert_eq!(requests(), 1);

    let (url, _) = plain_http(200, "fine").await;
    let error = pod(&url).exec(&ExecOptions::new(["x"])).await.unwrap_err();
    assert_eq!(error.status().unwrap().code, 200, "it did not switch");
}

#[tokio::test]
async fn a_command_whose_connection_is_lost_is_not_run_again() {
    let (url, requests) = plain_http(0, "").await;
    let error = pod(&url).exec(&ExecOptions::new(["rm"])).await.unwrap_err();
    assert!(matches!(error, Error::Transport(_)), "{error}");
    assert_eq!(requests(), 1);
}

#[tokio::test]
async fn a_tunnel_carries_bytes_both_ways() {
    let server = WebSockets::start(V4, async |mut peer: Peer| {
        // The port's number comes first, in one piece or not.
        peer.send(on(0, [0x90])).await.unwrap();
        peer.send(on(0, [0x1f])).await.unwrap();
        peer.send(on(1, [0x90, 0x1f])).await.unwrap();
        let (channel, bytes) = next(&mut peer).await.unwrap();
        assert_eq!((channel, &*bytes), (0, &b"ping"[..]));
        peer.send(on(0, "pong")).await.unwrap();
        peer.close(None).await.unwrap();
    })
    .await;
    let mut tunnel = pod(server.url()).connect(8080).await.unwrap();
    tunnel.write_all(b"ping").await.unwrap();
    let mut answer = String::new();
    tunnel.read_to_string(&mut answer).await.unwrap();
    assert_eq!(answer, "pong");
    let request = server.request();
    assert_eq!(
        request.target,
        "/api/v1/namespaces/shop/pods/web/portforward?ports=8080"
    );
    assert_eq!(request.protocols, V4);
}

#[tokio::test]
async fn a_port_that_nobody_listens_at_is_an_error_of_reading() {
    let server = WebSockets::start(V4, async |mut peer: Peer| {
        peer.send(on(0, [0x90, 0x1f])).await.unwrap();
        peer.send(on(1, [0x90, 0x1f])).await.unwrap();
        peer.send(on(1, "connection refused")).await.unwrap();
        peer.close(None).await.unwrap();
    })
    .await;
    let mut tunnel = pod(server.url()).connect(8080).await.unwrap();
    let error = tunnel.read(&mut [0; 8]).await.unwrap_err();
    assert_eq!(error.to_string(), "connection refused");
    assert_eq!(tunnel.read(&mut [0; 8]).await.unwrap(), 0, "told once");
}

#[tokio::test]
async fn dropping_a_tunnel_ends_the_connection() {
    let server = WebSockets::start(
        V4,
        async |mut peer: Peer| {
            while next(&mut peer).await.is_some() {}
        },
    )
    .await;
    drop(pod(server.url()).connect(8080).await.unwrap());
    let limit = Duration::from_secs(30);
    tokio::time::timeout(limit, server.finished())
        .await
        .unwrap();
}

#[tokio::test]
async fn a_stream_that_the_server_ends_is_at_its_end_while_the_others_go_on() {
    let server = WebSockets::start(V5, async |mut peer: Peer| {
        peer.send(on(1, "last words")).await.unwrap();
        peer.send(on(255, [1])).await.unwrap();
        // Only when the output's end was seen.
        assert_eq!(next(&mut peer).await.unwrap(), (0, b"go on".to_vec()));
        peer.send(on(2, "more")).await.unwrap();
        peer.send(on(3, SUCCESS)).await.unwrap();
        peer.close(None).await.unwrap();
    })
    .await;
    let command = ExecOptions::new(["x"]).stdin();
    let mut process = pod(server.url()).exec(&command).await.unwrap();
    let mut text = String::new();
    let mut stdout = process.stdout.take().unwrap();
    let limit = Duration::from_secs(30);
    let read = tokio::time::timeout(limit, stdout.read_to_string(&mut text)).await;
    read.expect("the end was told").unwrap();
    assert_eq!(text, "last words");
    let stdin = process.stdin.as_mut().unwrap();
    stdin.write_all(b"go on").await.unwrap();
    assert_eq!(process.output().await.unwrap().stderr, b"more");
}

#[tokio::test]
async fn over_tls_the_connection_is_http_1() {
    let server = TlsWebSocket::start(V5, async |mut peer: Peer| {
        peer.send(on(1, "hi")).await.unwrap();
        peer.send(on(3, SUCCESS)).await.unwrap();
        peer.close(None).await.unwrap();
    })
    .await;
    let config = Config::new(server.url()).unwrap().ca_pem(server.ca_pem());
    let client = Client::connect(&config).unwrap();
    let pod = client.pod("shop", "web");
    let process = pod.exec(&ExecOptions::new(["x"])).await.unwrap();
    assert_eq!(process.output().await.unwrap().stdout, b"hi");
    // The server would have spoken HTTP/2 as well.
    assert_eq!(server.spoken().await, b"http/1.1");
}
