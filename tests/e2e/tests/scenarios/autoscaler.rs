//! The autoscaler of `examples/`, as its user runs it.

use std::net::UdpSocket;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use anyhow::ensure;
use evenkeel_client::{Patch, PatchOptions};
use evenkeel_e2e::manifest::{DEPLOYMENTS, LEASES, deployment};
use evenkeel_e2e::observe::field;
use evenkeel_e2e::server::free_port;
use evenkeel_e2e::{Env, Process, Signal, eventually, poll, program};
use evenkeel_meta::{ApiResource, Scope};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

const SOON: Duration = Duration::from_secs(60);

const AUTOSCALERS: ApiResource = ApiResource::new_static(
    "example.evenkeel.dev",
    "v1",
    "Autoscaler",
    "autoscalers",
    Scope::Namespaced,
);

/// It scales up by what it is told and by what it is sent, down after a while, not while the source
/// is down, and not at all what somebody has scaled to 0.
pub(crate) async fn it_follows_the_numbers_and_nobody_who_wants_no_pods(
    env: Env,
) -> anyhow::Result<()> {
    let mut tasks = JoinSet::new();
    let number = Arc::new(AtomicI64::new(45));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let source = format!("http://{}", listener.local_addr()?);
    tasks.spawn(serve(listener, Arc::clone(&number)));
    let push = format!("127.0.0.1:{}", free_port()?);
    let mut command = Command::new(program::example("autoscaler")?);
    command
        .env("KUBECONFIG", env.kubeconfig())
        .arg("--health-probe-bind-address=127.0.0.1:0")
        .args(["--source", &source, "--push-bind-address", &push]);
    let mut operator = Process::start("operator", command, env.folder())?;

    env.create(&DEPLOYMENTS, Some("default"), deployment("web", 1, "web"))
        .await?;
    let autoscaler = json!({
        "apiVersion": "example.evenkeel.dev/v1", "kind": "Autoscaler",
        "metadata": {"name": "web"},
        "spec": {
            "deployment": "web", "metric": "orders", "perPod": 10, "max": 12,
            "intervalSeconds": 1, "stabilizationSeconds": 3,
        }
    });
    poll::until(SOON, "the kind is served", async || {
        let wanted = autoscaler.clone();
        let created = env.create(&AUTOSCALERS, Some("default"), wanted).await;
        Ok(created.ok())
    })
    .await?;
    replicas_are(&env, 5).await?;
    condition_is(&env, "Active", "True", "Scaling").await?;

    // A datagram may come before anybody listens; a number that is sent counts for a second.
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    eventually(SOON, "what is sent counts", async || {
        socket.send_to(b"orders 80\n", &push)?;
        let replicas = replicas(&env).await?;
        Ok(if replicas == 8 {
            Ok(())
        } else {
            Err(replicas.to_string())
        })
    })
    .await?;
    replicas_are(&env, 5).await?;

    number.store(-1, Ordering::Relaxed);
    condition_is(&env, "Fresh", "False", "SourceFailed").await?;
    ensure!(replicas(&env).await? == 5, "scaled by no number");
    number.store(5, Ordering::Relaxed);
    // It is asked again half a minute after it has failed.
    condition_is(&env, "Fresh", "True", "Read").await?;
    replicas_are(&env, 1).await?;

    number.store(45, Ordering::Relaxed);
    replicas_are(&env, 5).await?;
    scale(&env, 0).await?;
    condition_is(&env, "Active", "False", "ScaledToZero").await?;
    ensure!(replicas(&env).await? == 0, "a user was fought");
    scale(&env, 2).await?;
    replicas_are(&env, 5).await?;
    condition_is(&env, "Active", "True", "Scaling").await?;

    operator.signal(Signal::Terminate)?;
    let status = operator.wait(SOON).await?;
    ensure!(status.success(), "it did not stop in order: {status}");
    let lease = env.client().dynamic(LEASES, Some("default"));
    let lease = lease.get("autoscaler").await?;
    let holder = field(&lease, "/spec/holderIdentity");
    let holder = holder.as_str().unwrap_or_default();
    ensure!(holder.is_empty(), "{holder} holds the Lease still");
    Ok(())
}

/// Answers every request with the number, or with an error if it is negative.
async fn serve(listener: TcpListener, number: Arc<AtomicI64>) -> std::io::Result<()> {
    loop {
        let (mut stream, _) = listener.accept().await?;
        // The head of a request without a body is one read, here at least.
        let _ = stream.read(&mut [0; 4096]).await;
        let number = number.load(Ordering::Relaxed);
        let (status, body) = match number {
            ..0 => ("503 Service Unavailable", String::new()),
            _ => ("200 OK", number.to_string()),
        };
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
        let _ = stream.write_all(answer.as_bytes()).await;
    }
}

async fn scale(env: &Env, replicas: i32) -> anyhow::Result<()> {
    let api = env.client().dynamic(DEPLOYMENTS, Some("default"));
    let patch = Patch::merge(&json!({"spec": {"replicas": replicas}}));
    api.patch("web", &patch, &PatchOptions::default()).await?;
    Ok(())
}

async fn replicas(env: &Env) -> anyhow::Result<i64> {
    let api = env.client().dynamic(DEPLOYMENTS, Some("default"));
    let deployment = api.get("web").await?;
    Ok(field(&deployment, "/spec/replicas").as_i64().unwrap_or(-1))
}

async fn replicas_are(env: &Env, wanted: i64) -> anyhow::Result<()> {
    eventually(SOON, &format!("{wanted} replicas"), async || {
        let replicas = replicas(env).await?;
        Ok(if replicas == wanted {
            Ok(())
        } else {
            Err(replicas.to_string())
        })
    })
    .await
}

async fn condition_is(env: &Env, type_: &str, status: &str, reason: &str) -> anyhow::Result<()> {
    let api = env.client().dynamic(AUTOSCALERS, Some("default"));
    eventually(SOON, &format!("{type_} is {reason}"), async || {
        let autoscaler = api.get("web").await?;
        let conditions = field(&autoscaler, "/status/conditions");
        let mut conditions = conditions.as_array().into_iter().flatten();
        let is_so = conditions
            .any(|one| one["type"] == type_ && one["status"] == status && one["reason"] == reason);
        Ok(if is_so {
            Ok(())
        } else {
            Err(field(&autoscaler, "/status").to_string())
        })
    })
    .await
}
