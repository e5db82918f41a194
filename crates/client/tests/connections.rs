//! Which connections requests use, seen from the server's end of the socket.

#![expect(clippy::unwrap_used, reason = "a helper that fails is a failed test")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use evenkeel_client::{Client, Config, RetryPolicy};
use evenkeel_meta::{ApiResource, Metadata, Scope};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Answers each request over HTTP/1.1 with 503, to be tried again at once, and a body of this
/// size. Tells how many connections and requests there were.
async fn overloaded(size: usize) -> (String, Arc<AtomicUsize>, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (connections, requests) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counts = (Arc::clone(&connections), Arc::clone(&requests));
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            connections.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(answer(stream, size, Arc::clone(&requests)));
        }
    });
    (url, counts.0, counts.1)
}

async fn answer(mut stream: TcpStream, size: usize, requests: Arc<AtomicUsize>) {
    let mut head = Vec::new();
    while let Ok(byte) = stream.read_u8().await {
        head.push(byte);
        if !head.ends_with(b"\r\n\r\n") {
            continue;
        }
        head.clear();
        requests.fetch_add(1, Ordering::Relaxed);
        let answer = format!(
            "HTTP/1.1 503 X\r\nretry-after: 0\r\ncontent-length: {size}\r\n\r\n{}",
            "x".repeat(size)
        );
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

#[tokio::test]
async fn rc6_the_body_of_a_failed_try_is_read_so_that_its_connection_serves_the_next_one() {
    for size in [0, 2048, 100_000] {
        let (url, connections, requests) = overloaded(size).await;
        let config = Config::new(&url).unwrap();
        let client = Client::connect(&config).unwrap();
        let client = client.with_retry(RetryPolicy::default().max_retries(3));
        let pods = ApiResource::new_static("", "v1", "Pod", "pods", Scope::Namespaced);
        let pods = client.metadata(pods, Some("ns"));
        let outcome: Result<Metadata, _> = pods.get("a").await;
        assert!(outcome.unwrap_err().is_retryable());
        assert_eq!(requests.load(Ordering::Relaxed), 4);
        assert_eq!(connections.load(Ordering::Relaxed), 1, "{size} bytes");
    }
}
