//! A stop in whatever state a Manager is: it ends within its bound, without an error unless a part
//! did not stop, and the Lease is given back after everything was joined and only then. In virtual
//! time, over the embedded server.

#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

mod plane;

use std::future::pending;
use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use evenkeel::client::{Client, Patch, WriteOptions};
use evenkeel::election::Clock;
use evenkeel::meta::ObjectKey;
use evenkeel::webhook::{Denial, Review, Validator, Webhooks};
use evenkeel::{
    Context, Controller, Election, Endpoint, Manager, ManagerError, Outcome, ReconcileResult,
    Reconciler,
};
use evenkeel_apiserver::{Fault, Injected, LoggedRequest, Server, Verb, When};
use futures_util::future::BoxFuture;
use k8s_openapi::api::core::v1::ConfigMap;
use plane::{LEASES, config_map};
use serde_json::json;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

const GRACE: Duration = Duration::from_secs(10);
/// How long a release of the Lease may take at most: the renew deadline of the default timing.
const RELEASE: Duration = Duration::from_secs(10);
/// For what waits for nothing.
const AT_ONCE: Duration = Duration::from_millis(100);

struct Stage {
    server: Server,
    client: Client,
    /// How many reconciles and leading works have begun.
    begun: Arc<AtomicUsize>,
}

type Work =
    dyn for<'a> Fn(&'a Context, &'a ObjectKey) -> BoxFuture<'a, ReconcileResult> + Send + Sync;

struct Act {
    begun: Arc<AtomicUsize>,
    work: Box<Work>,
}

impl Reconciler for Act {
    async fn reconcile(&self, context: &Context, key: &ObjectKey) -> ReconcileResult {
        self.begun.fetch_add(1, Ordering::Relaxed);
        (self.work)(context, key).await
    }
}

fn nothing<'a>(_: &'a Context, _: &'a ObjectKey) -> BoxFuture<'a, ReconcileResult> {
    Box::pin(async { Ok(Outcome::Done) })
}

/// A Manager under way.
struct Running {
    stop: CancellationToken,
    running: JoinHandle<Result<(), ManagerError>>,
}

impl Running {
    fn start(manager: Manager) -> Self {
        let stop = CancellationToken::new();
        let running = tokio::spawn(manager.run(stop.clone()));
        Self { stop, running }
    }

    /// Stops it; how long that took, and what became of it.
    async fn stop(self) -> (Duration, Result<(), ManagerError>) {
        let since = Instant::now();
        self.stop.cancel();
        let ended = self.running.await.unwrap();
        (since.elapsed(), ended)
    }

    /// Stops it, without an error.
    async fn stops_within(self, bound: Duration) -> Duration {
        let (took, ended) = self.stop().await;
        ended.unwrap();
        assert!(took <= bound, "{took:?}");
        took
    }
}

impl Stage {
    /// A server with one ConfigMap.
    async fn new() -> Self {
        let server = Server::builder().log_requests(10_000).build();
        let client = Client::from_service(server.clone());
        let maps = client.namespaced::<ConfigMap>("default");
        maps.create(&config_map("a"), &WriteOptions::default())
            .await
            .unwrap();
        Self {
            server,
            client,
            begun: Arc::default(),
        }
    }

    /// A Manager that elects a leader, with a controller that does `work` for each ConfigMap.
    fn manager(
        &self,
        identity: &str,
        work: impl for<'a> Fn(&'a Context, &'a ObjectKey) -> BoxFuture<'a, ReconcileResult>
        + Send
        + Sync
        + 'static,
    ) -> Manager {
        let mut election = Election::new("kube-system", "test");
        election.identity = Some(identity.to_owned());
        election.clock = Some(Clock::tokio());
        let builder = Manager::builder(self.client.clone()).election(election);
        let mut manager = builder.grace_period(GRACE).build().unwrap();
        let maps = manager.watch::<ConfigMap>();
        let (begun, work) = (Arc::clone(&self.begun), Box::new(work));
        let controller = Controller::builder("maps")
            .for_(&maps)
            .reconciler(Act { begun, work });
        manager.add(controller).unwrap();
        manager
    }

    fn begun(&self) -> usize {
        self.begun.load(Ordering::Relaxed)
    }

    /// Requests of this sort are never answered.
    fn hang(&self, when: When) -> Injected {
        self.server.faults().inject(when, Fault::Hang)
    }

    async fn holder(&self) -> Option<String> {
        let leases = self.client.dynamic(LEASES, Some("kube-system"));
        let lease = leases.get_opt("test").await.unwrap()?;
        Some(lease.data["spec"]["holderIdentity"].as_str()?.to_owned())
    }

    /// The writes since the last call, as method and last part of the path.
    fn writes(&self) -> Vec<String> {
        let writes = |request: &LoggedRequest| request.method != http::Method::GET;
        let requests = self.server.take_requests();
        let requests = requests.iter().filter(|request| writes(request));
        requests
            .map(|request| {
                let name = request.path.rsplit('/').next().unwrap_or_default();
                format!("{} {name}", request.method)
            })
            .collect()
    }
}

/// Told to stop before it has done anything, it does nothing.
#[tokio::test(start_paused = true)]
async fn a_stop_before_the_start() {
    let stage = Stage::new().await;
    let manager = stage.manager("me", nothing);
    let stop = CancellationToken::new();
    stop.cancel();
    let since = Instant::now();
    manager.run(stop).await.unwrap();
    assert!(since.elapsed() <= AT_ONCE);
    assert_eq!((stage.begun(), stage.holder().await), (0, None));
}

/// The first request for the Lease is on its way, and is not waited for.
#[tokio::test(start_paused = true)]
async fn a_stop_during_the_start() {
    let stage = Stage::new().await;
    let hung = stage.hang(When::any().on("leases.coordination.k8s.io"));
    let running = Running::start(stage.manager("me", nothing));
    sleep(Duration::from_secs(3)).await;
    running.stops_within(AT_ONCE).await;
    hung.lift();
    assert_eq!((stage.begun(), stage.holder().await), (0, None));
}

/// Leading, and its stores are not synced: lists hang.
#[tokio::test(start_paused = true)]
async fn a_stop_before_the_sync() {
    let stage = Stage::new().await;
    let _hung = [Verb::List, Verb::Watch].map(|verb| stage.hang(When::verb(verb).on("configmaps")));
    let running = Running::start(stage.manager("me", nothing));
    sleep(Duration::from_secs(3)).await;
    assert_eq!(stage.holder().await.as_deref(), Some("me"));
    running.stops_within(AT_ONCE).await;
    assert_eq!(stage.begun(), 0);
    assert_eq!(stage.holder().await.as_deref(), Some(""));
}

/// The run may finish, and write: the Lease is held until then, and given back after its last write.
#[tokio::test(start_paused = true)]
async fn a_stop_during_a_reconcile_that_finishes() {
    let stage = Stage::new().await;
    let manager = stage.manager("me", |context, key| {
        Box::pin(async move {
            context.draining().await;
            sleep(Duration::from_secs(4)).await;
            let patch = Patch::merge(&json!({"data": {"last": "write"}}));
            let map = config_map(key.name());
            context.patch::<ConfigMap>(&map.metadata, &patch).await?;
            Ok(Outcome::Done)
        })
    });
    let running = Running::start(manager);
    sleep(Duration::from_secs(3)).await;
    assert_eq!(stage.begun(), 1);
    stage.writes();
    let stop = running.stop.clone();
    stop.cancel();
    sleep(Duration::from_millis(3_900)).await;
    assert_eq!(stage.holder().await.as_deref(), Some("me"));
    let took = running.stops_within(Duration::from_millis(200)).await;
    assert!(took >= Duration::from_millis(90), "{took:?}");
    let writes = stage.writes();
    let last = &writes[writes.len() - 2..];
    assert_eq!(last, ["PATCH a", "PUT test"], "{writes:?}");
    assert_eq!(stage.holder().await.as_deref(), Some(""));
    assert_eq!(stage.begun(), 1);
}

/// The run heeds nothing: it is dropped a second after the grace period, which is no error, and the
/// Lease is given back after that.
#[tokio::test(start_paused = true)]
async fn a_stop_during_a_reconcile_that_never_ends() {
    let stage = Stage::new().await;
    let manager = stage.manager("me", |_, _| Box::pin(pending()));
    let running = Running::start(manager);
    sleep(Duration::from_secs(3)).await;
    assert_eq!(stage.begun(), 1);
    running.stop.cancel();
    sleep(GRACE + Duration::from_millis(900)).await;
    assert_eq!(stage.holder().await.as_deref(), Some("me"));
    running.stops_within(2 * AT_ONCE).await;
    assert_eq!(stage.holder().await.as_deref(), Some(""));
}

/// The leader is not disturbed, and the standby has begun nothing.
#[tokio::test(start_paused = true)]
async fn a_stop_while_standing_by() {
    let stage = Stage::new().await;
    let leader = Running::start(stage.manager("leader", nothing));
    sleep(Duration::from_secs(3)).await;
    assert_eq!(stage.begun(), 1);
    let standby = Running::start(stage.manager("standby", nothing));
    sleep(Duration::from_secs(60)).await;
    standby.stops_within(AT_ONCE).await;
    assert_eq!(stage.holder().await.as_deref(), Some("leader"));
    assert_eq!(stage.begun(), 1);
    leader.stops_within(AT_ONCE).await;
}

/// A standby takes over at once.
#[tokio::test(start_paused = true)]
async fn a_stop_while_leading() {
    let stage = Stage::new().await;
    let leader = Running::start(stage.manager("leader", nothing));
    sleep(Duration::from_secs(3)).await;
    let standby = Running::start(stage.manager("standby", nothing));
    sleep(Duration::from_secs(60)).await;
    leader.stops_within(AT_ONCE).await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(stage.holder().await.as_deref(), Some("standby"));
    assert_eq!(stage.begun(), 2, "it has run the key too");
    standby.stops_within(AT_ONCE).await;
    assert_eq!(stage.holder().await.as_deref(), Some(""));
}

struct Hung(Arc<Notify>);

impl Validator<ConfigMap> for Hung {
    async fn create(&self, _: &mut Review<'_>, _: &ConfigMap) -> Result<(), Denial> {
        self.0.notify_one();
        pending().await
    }
}

/// The open request gets its ten seconds. It does not keep the Lease: webhooks stop last.
#[tokio::test(start_paused = true)]
async fn a_stop_with_a_hung_webhook() {
    let stage = Stage::new().await;
    let asked = Arc::new(Notify::new());
    let webhooks = Webhooks::builder().validating::<ConfigMap>(Hung(Arc::clone(&asked)));
    let endpoint = Endpoint::bind(([127, 0, 0, 1], 0).into(), None);
    let endpoint = endpoint.await.unwrap();
    let address = endpoint.local_addr().unwrap();
    let mut manager = stage.manager("me", nothing);
    manager.serve(endpoint.with_webhooks(webhooks.build().unwrap()));
    let running = Running::start(manager);
    sleep(Duration::from_secs(3)).await;
    let review = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {"uid": "1", "operation": "CREATE",
            "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
            "object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}},
    })
    .to_string();
    let mut open = TcpStream::connect(address).unwrap();
    write!(
        open,
        "POST /validate--v1-configmap HTTP/1.1\r\nHost: localhost\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{review}",
        review.len()
    )
    .unwrap();
    asked.notified().await;
    let stop = running.stop.clone();
    stop.cancel();
    sleep(AT_ONCE).await;
    assert_eq!(stage.holder().await.as_deref(), Some(""));
    let took = running.stops_within(Duration::from_secs(10)).await;
    assert!(took >= Duration::from_millis(9_800), "{took:?}");
}

/// Nothing is answered any more: what waits for an answer is not waited for, and the attempt to give
/// the Lease back has a bound.
#[tokio::test(start_paused = true)]
async fn a_stop_while_leading_with_the_api_server_gone() {
    let stage = Stage::new().await;
    let running = Running::start(stage.manager("me", nothing));
    sleep(Duration::from_secs(3)).await;
    let gone = stage.hang(When::any());
    stage.server.faults().cut_watches();
    sleep(Duration::from_secs(1)).await;
    let took = running.stops_within(RELEASE + AT_ONCE).await;
    gone.lift();
    assert_eq!(
        stage.holder().await.as_deref(),
        Some("me"),
        "left to run out after {took:?}"
    );
}

/// The run waits for an answer that never comes. The lease is lost meanwhile, or the grace period ends.
#[tokio::test(start_paused = true)]
async fn a_stop_during_a_reconcile_with_the_api_server_gone() {
    let stage = Stage::new().await;
    let manager = stage.manager("me", |context, _| {
        Box::pin(async move {
            sleep(Duration::from_secs(3)).await;
            context.create(&config_map("b")).await?;
            Ok(Outcome::Done)
        })
    });
    let running = Running::start(manager);
    sleep(Duration::from_secs(3)).await;
    let gone = stage.hang(When::any());
    stage.server.faults().cut_watches();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(stage.begun(), 1);
    running
        .stops_within(GRACE + Duration::from_secs(1) + RELEASE + AT_ONCE)
        .await;
    gone.lift();
    assert_eq!(stage.holder().await.as_deref(), Some("me"));
}

/// Neither campaigning nor filling queues holds up a stop.
#[tokio::test(start_paused = true)]
async fn a_stop_while_standing_by_with_the_api_server_gone() {
    let stage = Stage::new().await;
    let leader = Running::start(stage.manager("leader", nothing));
    sleep(Duration::from_secs(3)).await;
    let standby = Running::start(stage.manager("standby", nothing));
    sleep(Duration::from_secs(3)).await;
    let gone = stage.hang(When::any());
    stage.server.faults().cut_watches();
    sleep(Duration::from_secs(5)).await;
    standby.stops_within(AT_ONCE).await;
    gone.lift();
    leader.stops_within(RELEASE).await;
}
