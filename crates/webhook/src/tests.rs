//! Webhooks from request to response.

#![allow(
    clippy::needless_pass_by_value,
    reason = "`json!(..)` reads best as it is"
)]

mod admission;
mod conversion;
mod http;

use ::http::{Request, Response, StatusCode};
use base64::Engine as _;
use bytes::Bytes;
use evenkeel_meta::GroupVersionKind;
use evenkeel_observe::{MemorySink, Metrics};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};

use crate::{Builder, Webhooks};

async fn post(webhooks: &Webhooks, path: &str, body: &Value) -> Value {
    let (status, answer) = send(webhooks, path, "application/json", body.to_string()).await;
    assert_eq!(status, StatusCode::OK);
    serde_json::from_slice(&answer).unwrap()
}

async fn send(
    webhooks: &Webhooks,
    path: &str,
    content_type: &str,
    body: impl Into<Bytes>,
) -> (StatusCode, Bytes) {
    let request = Request::post(path)
        .header("content-type", content_type)
        .body(Full::new(body.into()))
        .unwrap();
    read(webhooks.answer(request).await).await
}

async fn read(response: Response<Full<Bytes>>) -> (StatusCode, Bytes) {
    let status = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, body)
}

fn counted(builder: Builder) -> (Webhooks, MemorySink) {
    let sink = MemorySink::new();
    let metrics = Metrics::new(sink.clone());
    (builder.metrics(metrics).build().unwrap(), sink)
}

fn review(operation: &str, kind: &str, object: Value, old: Value) -> Value {
    let kind = GroupVersionKind::from_api_version("v1", kind);
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "u-1", "operation": operation, "name": "a", "namespace": "ns",
            "kind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
            "userInfo": {"username": "jane", "groups": ["dev"]},
            "object": object, "oldObject": old, "dryRun": false,
        },
    })
}

fn patch_of(answer: &Value) -> Option<Value> {
    let patch = answer["response"]["patch"].as_str()?;
    assert_eq!(answer["response"]["patchType"], "JSONPatch");
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(patch)
        .unwrap();
    Some(serde_json::from_slice(&bytes).unwrap())
}
