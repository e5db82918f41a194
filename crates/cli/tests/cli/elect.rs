//! `evenkeel elect`: a command that runs only while its process leads.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use evenkeel_apiserver::{Fault, Listener, Server, When};
use evenkeel_client::{Api, Client, Config, Patch};
use evenkeel_meta::{ApiResource, DynamicObject, Scope};
use serde_json::json;
use tokio::time::{Duration, Instant, sleep};

use crate::process::{Folder, Process, SOON, start};

/// A short lease: 3 s, given up after 1.5 s.
const SHORT: [&str; 3] = [
    "--leader-elect-lease-duration=3s",
    "--leader-elect-renew-deadline=1500ms",
    "--leader-elect-retry-period=300ms",
];
/// Says when it begins and when it is told to end, and ends then.
const OBEDIENT: &str = "trap 'echo told; exit 7' TERM; echo begun; while :; do sleep 0.05; done";
/// Does not end for a SIGTERM. Its child tells whether it lives.
const STUBBORN: &str =
    "trap '' TERM; echo begun; while :; do date +%s%N >> alive; sleep 0.05; done";

struct Stage {
    folder: Folder,
    server: Server,
    client: Client,
    _listener: Listener,
}

impl Stage {
    async fn new() -> Self {
        let folder = Folder::new();
        let server = Server::new();
        let listener = server.listen((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        folder.file("config", &listener.kubeconfig());
        let config = Config::from_kubeconfig_text(&listener.kubeconfig(), None).unwrap();
        Self {
            folder,
            server,
            client: Client::connect(&config).unwrap(),
            _listener: listener,
        }
    }

    fn elect(&self, script: &str) -> Process {
        let fixed = ["elect", "--kubeconfig=config", "--lease=default/job"];
        let command = ["--", "sh", "-c", script];
        let args = [&fixed[..], &SHORT, &["--grace=2s"], &command].concat();
        start(self.folder.evenkeel(&args))
    }

    fn leases(&self) -> Api<DynamicObject> {
        let leases = ApiResource::new_static(
            "coordination.k8s.io",
            "v1",
            "Lease",
            "leases",
            Scope::Namespaced,
        );
        self.client.dynamic(leases, Some("default"))
    }

    async fn holder(&self) -> String {
        let lease = self.leases().get("job").await.unwrap();
        lease.data["spec"]["holderIdentity"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// Waits until the file is not written to any more.
    async fn falls_silent(&self, file: &str) {
        let path: PathBuf = self.folder.path(file);
        let deadline = Instant::now() + SOON;
        let mut before = std::fs::metadata(&path).unwrap().len();
        loop {
            sleep(Duration::from_millis(400)).await;
            let now = std::fs::metadata(&path).unwrap().len();
            if now == before {
                return;
            }
            before = now;
            assert!(Instant::now() < deadline, "it goes on");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_runs_in_one_process_and_its_exit_code_is_passed_on() {
    let stage = Stage::new().await;
    let first = stage.elect(OBEDIENT);
    first.says("begun");
    let second = stage.elect(OBEDIENT);
    second.says("Attempting to acquire leader lease lease=\"default/job\"");
    sleep(Duration::from_secs(4)).await;
    assert!(!second.has_said("begun"), "two at once");

    // Told to stop: so is the command, and then the next one begins at once.
    let since = Instant::now();
    first.signal("TERM");
    let ended = first.end();
    assert_eq!(ended.code, Some(7), "{ended:#?}");
    assert!(ended.stdout.contains("told"));
    second.says("begun");
    assert!(since.elapsed() < Duration::from_secs(2), "released");
    second.signal("INT");
    assert_eq!(second.end().code, Some(7));
    assert_eq!(stage.holder().await, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_ends_by_itself_gives_the_lease_back() {
    let stage = Stage::new().await;
    for (script, code) in [("exit 0", 0), ("exit 42", 42), ("kill -9 $$", 137)] {
        let ended = stage.elect(script).end();
        assert_eq!(ended.code, Some(code), "{ended:#?}");
        assert_eq!(stage.holder().await, "");
    }
    let mut command = stage.folder.evenkeel(&["elect", "--kubeconfig=config"]);
    command.args(["--lease=job", "--", "/no/such/program"]);
    start(command)
        .end()
        .refuses(1, &["cannot run /no/such/program"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_does_not_end_is_killed_after_its_grace() {
    let stage = Stage::new().await;
    let stubborn = stage.elect(STUBBORN);
    stubborn.says("begun");
    stubborn.signal("TERM");
    stubborn.says("The command does not end");
    assert_eq!(stubborn.end().code, Some(137));
    stage.falls_silent("alive").await;
    assert_eq!(stage.holder().await, "", "and the lease is given back");
}

/// What a shell has put into the background is part of the command: the next leader begins when it has
/// ended too, whether the shell ends by itself or is told to.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_command_leaves_behind_ends_before_the_lease_is_given_back() {
    let stage = Stage::new().await;
    for (rest, code) in [("exit 3", 3), ("read never < fifo", 143)] {
        // Told to end, it goes on for a second; and one does not end at all.
        let left = "(trap 'sleep 1; echo cleaned; exit' TERM; while :; do sleep 0.05; done) &\n";
        let deaf = "(trap '' TERM; while :; do date >> alive; sleep 0.05; done) >&- 2>&- &\n";
        let make = "rm -f fifo; mkfifo fifo; ";
        for (script, killed) in [
            (format!("{make}{left}sleep 0.3; echo begun; {rest}"), false),
            (
                format!("{make}{left}{deaf}sleep 0.3; echo begun; {rest}"),
                true,
            ),
        ] {
            let elect = stage.elect(&script);
            elect.says("begun");
            let holder = stage.holder().await;
            if code == 143 {
                elect.signal("TERM");
            }
            sleep(Duration::from_millis(500)).await;
            assert_eq!(stage.holder().await, holder, "kept while something ends");
            elect.says("cleaned");
            let ended = elect.end();
            assert_eq!(ended.code, Some(code), "{ended:#?}");
            let was_killed = ended
                .stderr
                .contains("The command does not end: killing it");
            assert_eq!(was_killed, killed, "{ended:#?}");
            assert_eq!(stage.holder().await, "");
            if killed {
                stage.falls_silent("alive").await;
            }
        }
    }
}

/// The server hangs: SIGTERM at the renew deadline, SIGKILL before the lease is over.
#[tokio::test(flavor = "multi_thread")]
async fn incident_3_losing_the_lead_ends_the_command_before_the_lease_is_over() {
    let stage = Stage::new().await;
    let obedient = stage.elect(OBEDIENT);
    obedient.says("begun");
    let fault = stage
        .server
        .faults()
        .inject(When::any().on("leases"), Fault::Hang);
    obedient.says("told");
    obedient.end().refuses(1, &["lost the lead"]);
    fault.lift();

    let stubborn = stage.elect(STUBBORN);
    stubborn.says("begun");
    let hung = Instant::now();
    let _fault = stage
        .server
        .faults()
        .inject(When::any().on("leases"), Fault::Hang);
    stubborn.says("The command does not end: killing it");
    // 300 ms until the next renewal, which is given 1.5 s; the fence is open for 2.6 s.
    let took = hung.elapsed();
    assert!(took < Duration::from_secs(4), "{took:?}");
    stage.falls_silent("alive").await;
    stubborn.end().refuses(1, &["lost the lead"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rival_that_leads_already_ends_the_command_at_once() {
    let stage = Stage::new().await;
    let stubborn = stage.elect(STUBBORN);
    stubborn.says("begun");
    let body = json!({"spec": {"holderIdentity": "rival", "leaseDurationSeconds": 60,
        "leaseTransitions": 9}});
    let options = Default::default();
    let rival = Patch::merge(&body);
    stage.leases().patch("job", &rival, &options).await.unwrap();
    stubborn.says("Lost the lead");
    stage.falls_silent("alive").await;
    stubborn.end().refuses(1, &["held by rival"]);
    assert_eq!(stage.holder().await, "rival");
}

/// A command that outlives its `elect` would go on without a lease.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_elect_takes_its_command_with_it() {
    let stage = Stage::new().await;
    let killed =
        stage.elect("echo begun; exec sh -c 'while :; do date >> alive; sleep 0.05; done'");
    killed.says("begun");
    let deadline = Instant::now() + SOON;
    while !stage.folder.path("alive").exists() {
        assert!(Instant::now() < deadline);
        sleep(Duration::from_millis(20)).await;
    }
    killed.signal("KILL");
    stage.falls_silent("alive").await;
}
