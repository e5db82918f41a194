//! What one thread does in process: `cargo run --release -p evenkeel-apiserver --example throughput [pods]`.

use std::io::Write;
use std::time::Duration;

use bytes::Bytes;
use evenkeel_apiserver::{Identity, Server};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};

type Error = Box<dyn std::error::Error>;

const PODS: &str = "/api/v1/namespaces/default/pods";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let count: u32 = std::env::args()
        .nth(1)
        .map_or(Ok(5_000), |count| count.parse())?;
    let server = Server::new();
    let template = pod_of_a_replica_set();
    let mut names = Vec::new();
    measure("create", count, async |_| {
        let pod = call(&server, "POST", PODS, "application/json", &template).await?;
        names.push(
            pod["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        );
        Ok(())
    })
    .await?;
    measure("bind", count, async |at| {
        let uri = format!("{PODS}/{}/binding", names[at]);
        let binding =
            json!({"metadata": {"name": names[at]}, "target": {"kind": "Node", "name": "n"}});
        call(&server, "POST", &uri, "application/json", &binding)
            .await
            .map(drop)
    })
    .await?;
    measure("status", count, async |at| {
        let uri = format!("{PODS}/{}/status", names[at]);
        call(
            &server,
            "PATCH",
            &uri,
            "application/strategic-merge-patch+json",
            &running(),
        )
        .await
        .map(drop)
    })
    .await?;
    measure("get", count, async |at| {
        let uri = format!("{PODS}/{}", names[at]);
        call(&server, "GET", &uri, "application/json", &Value::Null)
            .await
            .map(drop)
    })
    .await?;
    measure("list of all", 1, async |_| {
        call(&server, "GET", PODS, "application/json", &Value::Null)
            .await
            .map(drop)
    })
    .await?;
    measure("delete", count, async |at| {
        let uri = format!("{PODS}/{}", names[at]);
        call(
            &server,
            "DELETE",
            &uri,
            "application/json",
            &json!({"gracePeriodSeconds": 0}),
        )
        .await
        .map(drop)
    })
    .await
}

async fn measure(
    what: &str,
    count: u32,
    mut step: impl AsyncFnMut(usize) -> Result<(), Error>,
) -> Result<(), Error> {
    let begun = tokio::time::Instant::now();
    for at in 0..count {
        step(at as usize).await?;
    }
    let each: Duration = begun.elapsed() / count;
    writeln!(
        std::io::stdout(),
        "{what:12} {each:>10.1?} each, {:>8.0} a second",
        1.0 / each.as_secs_f64()
    )?;
    Ok(())
}

async fn call(
    server: &Server,
    method: &str,
    uri: &str,
    media: &str,
    body: &Value,
) -> Result<Value, Error> {
    let body = if body.is_null() {
        Bytes::new()
    } else {
        Bytes::from(body.to_string())
    };
    let request = http::Request::builder()
        .method(method)
        .uri(uri)
        .header("content-type", media)
        .body(Full::new(body))?;
    let answer = server.handle(request, Identity::admin()).await;
    let code = answer.status();
    let bytes = answer.into_body().collect().await?.to_bytes();
    if !code.is_success() {
        return Err(String::from_utf8_lossy(&bytes).into_owned().into());
    }
    // Names are all that is read here; the client's decoding is not what is measured.
    Ok(if method == "POST" {
        serde_json::from_slice(&bytes)?
    } else {
        Value::Null
    })
}

fn pod_of_a_replica_set() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "generateName": "web-7b4696b95-",
            "labels": {"app": "web", "pod-template-hash": "7b4696b95"},
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-7b4696b95",
                "uid": "5c8f1c0e-0000-4000-8000-000000000000", "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": {
            "containers": [{
                "name": "web", "image": "web:1", "ports": [{"containerPort": 80}],
                "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}},
            }],
        },
    })
}

fn running() -> Value {
    let condition = |kind: &str| json!({"type": kind, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let conditions = ["Initialized", "Ready", "ContainersReady", "PodScheduled"].map(condition);
    json!({"status": {
        "phase": "Running",
        "podIP": "10.0.0.1",
        "startTime": "2026-01-01T00:00:00Z",
        "conditions": conditions,
        "containerStatuses": [{
            "name": "web", "image": "web:1", "imageID": "", "ready": true, "restartCount": 0, "started": true,
            "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
        }],
    }})
}
