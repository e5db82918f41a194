use std::net::Ipv4Addr;

use bytes::Bytes;
use evenkeel_apiserver::{Listener, Server};
use evenkeel_client::{Api, Client, Config, ListOptions, WriteOptions};
use evenkeel_events::Event;
use k8s_openapi::api::apps::v1::Deployment;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::process::{Folder, Process, SOON, free_port, start};

struct Stage {
    folder: Folder,
    client: Client,
    _listener: Listener,
}

impl Stage {
    async fn new() -> Self {
        let folder = Folder::new();
        let listener = Server::new()
            .listen((Ipv4Addr::LOCALHOST, 0))
            .await
            .unwrap();
        folder.file("config", &listener.kubeconfig());
        let config = Config::from_kubeconfig_text(&listener.kubeconfig(), None).unwrap();
        Self {
            folder,
            client: Client::connect(&config).unwrap(),
            _listener: listener,
        }
    }

    fn manager(&self, flags: &[&str]) -> Process {
        let args = [
            &[
                "controller-manager",
                "--kubeconfig=config",
                "--secure-port=0",
            ],
            flags,
        ]
        .concat();
        start(self.folder.evenkeel(&args))
    }
}

fn web(replicas: i32) -> Deployment {
    serde_json::from_value(json!({
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "example.com/c"}]}}},
    }))
    .unwrap()
}

async fn available(api: &Api<Deployment>, replicas: i32) {
    let deadline = Instant::now() + SOON;
    loop {
        let status = api.get("web").await.unwrap().status.unwrap_or_default();
        if status.available_replicas == Some(replicas) {
            return;
        }
        assert!(Instant::now() < deadline, "{status:?}");
        sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_gets_its_pods_from_three_processes() {
    let stage = Stage::new().await;
    let manager = stage.manager(&[]);
    for line in [
        "Starting controller manager",
        "Connected to the API server",
        "Attempting to acquire leader lease",
        "Successfully acquired lease",
        "Starting controller controller=\"deployment\"",
        "Caches are synced, starting workers controller=\"replicaset\" workers=5",
    ] {
        manager.says(line);
    }
    let nodes = start(
        stage
            .folder
            .evenkeel(&["nodes", "--kubeconfig=config", "--count=2"]),
    );
    nodes.says("Starting simulated nodes");
    let api = stage.client.namespaced::<Deployment>("default");
    api.create(&web(3), &WriteOptions::default()).await.unwrap();
    available(&api, 3).await;
    for process in [nodes, manager] {
        process.signal("TERM");
        process.end().succeeds();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_leader_hands_over_at_once_and_says_so_in_events() {
    let stage = Stage::new().await;
    let first = stage.manager(&[]);
    first.says("Successfully acquired lease");
    let second = stage.manager(&[]);
    second.says("Standing by: another controller manager leads leader=");
    assert!(!second.has_said("Successfully acquired lease"));
    let since = Instant::now();
    first.signal("TERM");
    second.says("Successfully acquired lease");
    // The lease is good for 15 s; without the release that is how long this would take.
    assert!(
        since.elapsed() < std::time::Duration::from_secs(10),
        "{:?}",
        since.elapsed()
    );
    first.end().succeeds();
    let events = stage.client.namespaced::<Event>("kube-system");
    let events = events.list(&ListOptions::default()).await.unwrap().items;
    let messages: Vec<_> = events.iter().map(|event| event.message.as_str()).collect();
    for what in ["became leader", "stopped leading"] {
        assert!(
            messages.iter().any(|message| message.ends_with(what)),
            "{messages:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn health_and_metrics_are_served_over_both_ports() {
    let stage = Stage::new().await;
    let (secure, plain) = (free_port(), free_port());
    let ports = [
        format!("--secure-port={secure}"),
        format!("--http-port={plain}"),
    ];
    let args = [
        "controller-manager",
        "--kubeconfig=config",
        "--bind-address=127.0.0.1",
        &ports[0],
        &ports[1],
    ];
    let manager = start(stage.folder.evenkeel(&args));
    manager.says(&format!("Serving securely on 127.0.0.1:{secure}"));
    manager.says("Caches are synced");
    let https = Config::new(&format!("https://127.0.0.1:{secure}"))
        .unwrap()
        .insecure();
    let http = Config::new(&format!("http://127.0.0.1:{plain}")).unwrap();
    for config in [https, http] {
        let client = Client::connect(&config).unwrap();
        let get = async |path: &str| {
            let request = http::Request::get(path).body(Bytes::new()).unwrap();
            let answer = client.raw(request).await.unwrap();
            String::from_utf8(answer.into_body().to_vec()).unwrap()
        };
        assert_eq!(get("/healthz").await, "ok");
        assert_eq!(get("/livez").await, "ok");
        assert!(
            get("/readyz?verbose")
                .await
                .contains("[+]controller-deployment ok")
        );
        let metrics = get("/metrics").await;
        for name in [
            "leader_election_master_status{name=\"kube-controller-manager\"} 1",
            "workqueue_depth{name=\"deployment\"",
            "rest_client_requests_total",
        ] {
            assert!(metrics.contains(name), "{name}: {metrics}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_election_the_chosen_controllers_run_at_once() {
    let stage = Stage::new().await;
    let manager = stage.manager(&[
        "--leader-elect=false",
        "--controllers=deployment",
        "--log-format=json",
    ]);
    manager.says("\"message\":\"Caches are synced, starting workers\"");
    manager.signal("TERM");
    let ended = manager.end();
    ended.succeeds();
    let lines: Vec<serde_json::Value> = ended
        .stderr
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let started: Vec<_> = lines
        .iter()
        .filter(|line| line["message"] == "Starting controller")
        .map(|line| line["controller"].as_str().unwrap())
        .collect();
    assert_eq!(started, ["deployment"]);
    assert!(!ended.stderr.contains("leader lease"), "{ended:#?}");
}
