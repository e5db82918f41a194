//! SIGTERM to a controller manager in whatever state it is: it ends in time with the documented code,
//! and the Lease is given back after everything else or not touched.

use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use evenkeel_apiserver::{Fault, Listener, Server, When};
use evenkeel_client::{Api, Client};
use evenkeel_meta::{ApiResource, DynamicObject, Scope};
use tokio::time::Instant;

use crate::process::{Folder, Process, start};

const LEASES: ApiResource = ApiResource::new_static(
    "coordination.k8s.io",
    "v1",
    "Lease",
    "leases",
    Scope::Namespaced,
);
/// When a kubelet kills, unless told otherwise.
const KILL: Duration = Duration::from_secs(30);
/// For what waits for nothing, on a machine that is busy.
const AT_ONCE: Duration = Duration::from_secs(5);

struct Stage {
    folder: Folder,
    server: Server,
    listener: Listener,
    leases: Api<DynamicObject>,
}

impl Stage {
    async fn new() -> Self {
        let folder = Folder::new();
        let server = Server::builder().log_requests(10_000).build();
        let listener = server.listen((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        folder.file("config", &listener.kubeconfig());
        let client = Client::from_service(server.clone());
        Self {
            folder,
            server,
            listener,
            leases: client.dynamic(LEASES, Some("kube-system")),
        }
    }

    fn manager(&self) -> Process {
        start(self.folder.evenkeel(&[
            "controller-manager",
            "--kubeconfig=config",
            "--secure-port=0",
        ]))
    }

    fn leader(&self) -> Process {
        let manager = self.manager();
        manager.says("Successfully acquired lease");
        manager.says("Caches are synced, starting workers controller=\"deployment\"");
        manager
    }

    async fn holder(&self) -> String {
        let lease = self.leases.get("kube-controller-manager").await.unwrap();
        lease.data["spec"]["holderIdentity"]
            .as_str()
            .unwrap()
            .to_owned()
    }
}

/// Waits for the end of what was told to stop `since`; it is in time, and no error.
fn ends_well(process: Process, since: Instant, bound: Duration) {
    process.end().succeeds();
    assert!(since.elapsed() < bound, "{:?}", since.elapsed());
}

/// The server accepts connections and says nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_stop_during_the_start() {
    let folder = Folder::new();
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = silent.local_addr().unwrap();
    let master = format!("--master=http://{address}");
    let process = start(folder.evenkeel(&["controller-manager", &master, "--secure-port=0"]));
    process.says("Starting controller manager");
    let since = Instant::now();
    process.signal("TERM");
    ends_well(process, since, AT_ONCE);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_while_standing_by_leaves_the_lease_alone() {
    let stage = Stage::new().await;
    let leader = stage.leader();
    let holder = stage.holder().await;
    let standby = stage.manager();
    standby.says("Standing by: another controller manager leads");
    let since = Instant::now();
    standby.signal("TERM");
    ends_well(standby, since, AT_ONCE);
    assert_eq!(stage.holder().await, holder);
    leader.signal("TERM");
    leader.end().succeeds();
}

/// The Lease is blanked by the last write of all, but for the event that says so.
#[tokio::test(flavor = "multi_thread")]
async fn a_stop_while_leading_gives_the_lease_back_last() {
    let stage = Stage::new().await;
    let leader = stage.leader();
    stage.server.take_requests();
    let since = Instant::now();
    leader.signal("TERM");
    ends_well(leader, since, AT_ONCE);
    assert_eq!(stage.holder().await, "");
    let requests = stage.server.take_requests();
    let mut writes = requests
        .iter()
        .filter(|request| request.method != http::Method::GET && !request.path.contains("/events"));
    let last = writes.next_back().unwrap();
    assert!(
        last.method == http::Method::PUT && last.path.ends_with("/leases/kube-controller-manager"),
        "{requests:#?}"
    );
}

/// Nobody listens any more.
#[tokio::test(flavor = "multi_thread")]
async fn a_stop_with_the_api_server_gone() {
    let stage = Stage::new().await;
    let leader = stage.leader();
    let holder = stage.holder().await;
    let standby = stage.manager();
    standby.says("Standing by: another controller manager leads");
    let leases = stage.leases;
    stage.listener.shutdown().await;
    let since = Instant::now();
    standby.signal("TERM");
    ends_well(standby, since, AT_ONCE);
    let since = Instant::now();
    leader.signal("TERM");
    ends_well(leader, since, KILL);
    let lease = leases.get("kube-controller-manager").await.unwrap();
    assert_eq!(lease.data["spec"]["holderIdentity"], holder.as_str());
}

/// The answer about the Lease is waited for, until somebody has had enough.
#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_a_stop_at_once() {
    let stage = Stage::new().await;
    let leader = stage.leader();
    stage
        .server
        .faults()
        .inject(When::any().on("leases.coordination.k8s.io"), Fault::Hang);
    leader.signal("TERM");
    leader.says("Stopping; a second signal ends the process at once");
    let since = Instant::now();
    leader.signal("INT");
    let ended = leader.end();
    ended.refuses(1, &["ended at once by a second signal"]);
    assert!(since.elapsed() < AT_ONCE, "{:?}", since.elapsed());
}
