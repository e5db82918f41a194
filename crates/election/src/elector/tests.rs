//! Whole electors against the embedded server, in virtual time.

mod ending;
mod fencing;
mod hostile;
mod migrating;
mod network;
mod reporting;
mod taking;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use evenkeel_apiserver::{Fault, Injected, Server, Verb, When};
use evenkeel_client::{Client, ClientOptions};
use evenkeel_meta::DynamicObject;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use self::network::Counting;
use crate::lease::LEASES;
use crate::{Clock, Elector, ElectorBuilder, Ended, Leadership, LossCause, Term};

const SECOND: Duration = Duration::from_secs(1);
const NAMESPACE: &str = "kube-system";

/// A server and what this test needs of it.
struct World {
    server: Server,
    network: Counting,
    client: Client,
}

impl World {
    fn new() -> Self {
        let server = Server::new();
        let network = Counting::new(server.clone());
        let client = Client::new(network.clone(), ClientOptions::default());
        Self {
            server,
            network,
            client,
        }
    }

    fn builder(&self, identity: &str) -> ElectorBuilder {
        Elector::builder(self.client.clone())
            .lease(NAMESPACE, "demo")
            .identity(identity)
            .clock(Clock::tokio())
            .seed(1)
    }

    fn elector(&self, identity: &str) -> Elector {
        self.builder(identity).build().unwrap()
    }

    async fn lead(&self, identity: &str) -> Leadership {
        let never = CancellationToken::new();
        self.elector(identity).campaign(&never).await.unwrap()
    }

    fn leases(&self) -> evenkeel_client::Api<DynamicObject> {
        self.client.dynamic(LEASES, Some(NAMESPACE))
    }

    async fn spec(&self) -> Value {
        self.leases().get("demo").await.unwrap().data["spec"].clone()
    }

    async fn holder(&self) -> String {
        self.spec().await["holderIdentity"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// A Lease that somebody made.
    async fn lease_of(&self, holder: &str, seconds: i32, transitions: i32) {
        let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "demo"}, "spec": {"holderIdentity": holder,
            "leaseDurationSeconds": seconds, "leaseTransitions": transitions}});
        let lease = serde_json::from_value(lease).unwrap();
        let options = evenkeel_client::WriteOptions::default();
        self.leases().create(&lease, &options).await.unwrap();
    }

    /// Somebody writes the Lease past the rules.
    async fn usurp(&self, holder: &str) {
        let body = json!({"spec": {"holderIdentity": holder, "leaseDurationSeconds": 15,
            "renewTime": "2026-01-01T00:00:00.000001Z", "leaseTransitions": 7}});
        let patch = evenkeel_client::Patch::merge(&body);
        self.leases()
            .patch("demo", &patch, &Default::default())
            .await
            .unwrap();
    }

    /// From now on, no request for the Lease is answered.
    fn hang(&self) -> Injected {
        let leases = When::any().on("leases");
        self.server.faults().inject(leases, Fault::Hang)
    }
}

/// Work that ends when it is told to, and says whether it runs.
#[derive(Clone, Default)]
struct Work {
    started: Arc<AtomicUsize>,
    running: Arc<AtomicBool>,
}

impl Work {
    async fn until_stopped(self, term: Term) {
        self.started.fetch_add(1, Ordering::SeqCst);
        self.running.store(true, Ordering::SeqCst);
        term.stop().cancelled().await;
        self.running.store(false, Ordering::SeqCst);
    }

    fn is_running(&self) -> bool {
        self.running.load(Ordering::SeqCst)
    }

    fn times_started(&self) -> usize {
        self.started.load(Ordering::SeqCst)
    }
}

/// Waits, in virtual time, until something holds.
async fn until(what: impl Fn() -> bool) -> Duration {
    let start = Instant::now();
    let wait = async {
        while !what() {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(Duration::from_secs(600), wait).await.unwrap();
    start.elapsed()
}

/// Runs an elector in the background.
fn run(
    elector: &Elector,
    cancel: &CancellationToken,
    work: &Work,
) -> tokio::task::JoinHandle<Ended> {
    let (elector, cancel, work) = (elector.clone(), cancel.clone(), work.clone());
    tokio::spawn(async move { elector.run(&cancel, |term| work.until_stopped(term)).await })
}
