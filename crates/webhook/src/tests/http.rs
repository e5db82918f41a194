use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::FutureExt;
use http_body::Frame;

use super::*;
use crate::{AdmissionRequest, Verdict};

fn webhooks() -> (Webhooks, MemorySink) {
    let handler = |request: &AdmissionRequest| match request.uid.as_str() {
        "" => Verdict::denied("who asks?"),
        _ => Verdict::allowed(),
    };
    counted(Webhooks::builder().admission("/a", handler))
}

#[tokio::test]
async fn controller_runtime_t68_f10_what_is_no_review_is_told_in_a_review() {
    let (webhooks, sink) = webhooks();
    let good = review("CREATE", "Pod", json!({}), Value::Null).to_string();
    let other = r#"{"apiVersion": "v1", "kind": "Pod", "request": {"uid": "1"}}"#;
    let conversion = good.replace("AdmissionReview", "ConversionReview");
    let later = good.replace("admission.k8s.io/v1", "admission.k8s.io/v9");
    for (content_type, body, message) in [
        ("application/json", "", "request body is empty"),
        (
            "text/plain",
            &*good,
            "contentType=text/plain, expected application/json",
        ),
        ("", &good, "contentType=, expected application/json"),
        ("application/json", "{", "cannot decode the review: EOF"),
        ("application/json", "[]", "cannot decode the review: "),
        (
            "application/json",
            "{}",
            "expected AdmissionReview of admission.k8s.io/v1 or",
        ),
        ("application/json", other, "got Pod of \"v1\""),
        ("application/json", &conversion, "got ConversionReview of"),
        (
            "application/json",
            &later,
            "got AdmissionReview of \"admission.k8s.io/v9\"",
        ),
        (
            "application/json",
            r#"{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}"#,
            "the review has no request",
        ),
    ] {
        let (status, answer) = send(&webhooks, "/a", content_type, body.to_owned()).await;
        assert_eq!(status, StatusCode::OK, "{message}");
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        let response = &answer["response"];
        assert_eq!(answer["kind"], "AdmissionReview");
        assert_eq!(
            (&response["allowed"], &response["status"]["code"]),
            (&json!(false), &json!(400))
        );
        let told = response["status"]["message"].as_str().unwrap();
        assert!(told.contains(message), "{told}");
    }
    for content_type in [
        "application/json",
        "application/json; charset=utf-8",
        "Application/JSON",
    ] {
        let (_, answer) = send(&webhooks, "/a", content_type, good.clone()).await;
        assert!(String::from_utf8_lossy(&answer).contains("\"allowed\":true"));
    }
    let requests =
        |code: &str| sink.value("controller_runtime_webhook_requests_total", &["/a", code]);
    assert_eq!(requests("200"), Some(13.0));
    assert_eq!(requests("500"), Some(0.0));
    let latency = sink.histogram_snapshot("controller_runtime_webhook_latency_seconds", &["/a"]);
    assert_eq!(latency.unwrap().count, 13);
    assert_eq!(
        sink.value("evenkeel_webhook_denials_total", &["/a", "400"]),
        Some(10.0)
    );
}

/// As long as anybody reads.
struct Endless {
    chunk: Bytes,
    given: usize,
}

impl http_body::Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.given += self.chunk.len();
        assert!(self.given < 8 * 1024 * 1024, "read further than the limit");
        Poll::Ready(Some(Ok(Frame::data(self.chunk.clone()))))
    }
}

#[tokio::test]
async fn controller_runtime_t68_an_endless_body_is_read_up_to_the_limit() {
    let (webhooks, _) = webhooks();
    let body = Endless {
        chunk: Bytes::from(vec![b' '; 64 * 1024]),
        given: 0,
    };
    let request = Request::post("/a").header("content-type", "application/json");
    let (status, answer) = read(webhooks.answer(request.body(body).unwrap()).await).await;
    assert_eq!(status, StatusCode::OK);
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(
        answer["response"]["status"],
        json!({"status": "Failure", "reason": "RequestEntityTooLarge", "code": 413,
            "message": "request entity is too large; limit is 7340032 bytes"})
    );
    // Exactly the limit is none too much.
    let (_, answer) = send(&webhooks, "/a", "application/json", vec![b' '; 7_340_032]).await;
    assert!(
        String::from_utf8_lossy(&answer).contains("EOF"),
        "{answer:?}"
    );
}

/// Breaks off.
struct Broken;

impl http_body::Body for Broken {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        Poll::Ready(Some(Err(std::io::Error::other("cut"))))
    }
}

#[tokio::test]
async fn controller_runtime_t68_a_body_that_breaks_off_and_other_paths_and_methods() {
    let (webhooks, sink) = webhooks();
    let request = Request::post("/a").body(Broken).unwrap();
    let (_, answer) = read(webhooks.answer(request).await).await;
    assert!(
        String::from_utf8_lossy(&answer).contains("cut"),
        "{answer:?}"
    );

    let (status, _) = send(&webhooks, "/b", "application/json", "{}").await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let request = Request::get("/a").body(Full::new(Bytes::new())).unwrap();
    let response = webhooks.answer(request).await;
    assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(response.headers()["allow"], "POST");
    let requests = sink.value("controller_runtime_webhook_requests_total", &["/a", "405"]);
    assert_eq!(requests, Some(1.0));
}

#[tokio::test]
async fn a_dropped_request_is_no_longer_in_flight() {
    struct Hangs;
    impl crate::Handler for Hangs {
        fn handle<'a>(&'a self, _: &'a AdmissionRequest) -> crate::BoxFuture<'a, Verdict> {
            Box::pin(std::future::pending())
        }
    }
    let (webhooks, sink) = counted(Webhooks::builder().admission("/a", Hangs));
    let in_flight = || sink.value("controller_runtime_webhook_requests_in_flight", &["/a"]);
    let body = review("CREATE", "Pod", json!({}), Value::Null).to_string();
    let request = Request::post("/a").header("content-type", "application/json");
    let request = request.body(Full::new(Bytes::from(body))).unwrap();
    let mut answer = Box::pin(webhooks.answer(request));
    assert!((&mut answer).now_or_never().is_none());
    assert_eq!(in_flight(), Some(1.0));
    drop(answer);
    assert_eq!(in_flight(), Some(0.0));
}
