//! The board in docs/grafana asks for metrics that are there.

#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use evenkeel::client::Client;
use evenkeel::election::Clock;
use evenkeel::meta::{ApiResource, DynamicObject, ObjectKey, Resource, Scope};
use evenkeel::store::InformerOptions;
use evenkeel::webhook::{AdmissionRequest, Conversion, Verdict, Webhooks};
use evenkeel::{
    Context, Controller, Election, Manager, Outcome, ReconcileResult, Reconciler, Registry, Tls,
    TlsFiles,
};
use evenkeel_apiserver::Server;
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

const BOARD: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/grafana/evenkeel.json"
);

/// Says when it has run.
struct Once(Arc<Notify>);

impl Reconciler for Once {
    async fn reconcile(&self, _: &Context, _: &ObjectKey) -> ReconcileResult {
        self.0.notify_one();
        Ok(Outcome::Done)
    }
}

/// The metrics that the expressions name: what stands before the braces of labels.
fn asked(board: &Value) -> BTreeSet<String> {
    let panels = board["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
    let expressions = targets.map(|target| target["expr"].as_str().unwrap());
    let names = expressions.flat_map(|text| {
        let pieces: Vec<&str> = text.split('{').collect();
        assert!(pieces.len() > 1, "{text}");
        let before = pieces[..pieces.len() - 1].to_vec();
        before.into_iter().map(|piece| {
            let is_other = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
            piece.rsplit(is_other).next().unwrap().to_owned()
        })
    });
    names.collect()
}

/// The names of all series, and of the families without any yet.
fn exported(registry: &Registry) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for line in registry.encode().lines() {
        if let Some(family) = line.strip_prefix("# TYPE ") {
            let (name, kind) = family.split_once(' ').unwrap();
            let ends: &[&str] = match kind {
                "counter" => &["_total"],
                "histogram" => &["_bucket", "_sum", "_count"],
                _ => &[""],
            };
            names.extend(ends.iter().map(|end| format!("{name}{end}")));
        }
    }
    names
}

#[tokio::test(start_paused = true)]
async fn every_metric_of_the_board_is_exported() {
    let registry = Registry::new();
    let client = Client::from_service(Server::new()).with_metrics(&registry.metrics());
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    let map: DynamicObject = serde_json::from_value(map).unwrap();
    let maps = client.dynamic(ConfigMap::api_resource(), Some("default"));
    maps.create(&map, &Default::default()).await.unwrap();

    let mut election = Election::new("kube-system", "board");
    election.clock = Some(Clock::tokio());
    let builder = Manager::builder(client).registry(registry.clone());
    let mut manager = builder.election(election).build().unwrap();
    let has_run = Arc::new(Notify::new());
    let informer = manager.watch::<ConfigMap>();
    let once = Once(Arc::clone(&has_run));
    // Nobody serves it, which is counted too.
    let nowhere = ApiResource::new_static("example.com", "v1", "No", "nos", Scope::Cluster);
    let _unserved = manager
        .informers()
        .metadata(nowhere, InformerOptions::default());
    manager
        .add(
            Controller::builder("board")
                .for_(&informer)
                .metrics(registry.metrics())
                .reconciler(once),
        )
        .unwrap();
    let _webhooks = Webhooks::builder()
        .metrics(registry.metrics())
        .admission("/a", |_: &AdmissionRequest| Verdict::allowed())
        .conversion(Conversion::by("", "ConfigMap", |object, _| Ok(object)))
        .build()
        .unwrap();
    // No such files: what counts is that it is counted.
    let files = TlsFiles::in_directory("/nowhere");
    assert!(Tls::from_files(files, &registry.metrics()).is_err());

    let stop = CancellationToken::new();
    let running = tokio::spawn(manager.run(stop.clone()));
    let patience = Duration::from_secs(60);
    tokio::time::timeout(patience, has_run.notified())
        .await
        .unwrap();
    let exported = exported(&registry);
    stop.cancel();
    running.await.unwrap().unwrap();

    let board = std::fs::read(BOARD);
    let board: Value = serde_json::from_slice(&board.unwrap()).unwrap();
    let asked = asked(&board);
    assert!(asked.len() > 20, "{asked:?}");
    let missing: Vec<_> = asked.difference(&exported).collect();
    assert!(
        missing.is_empty(),
        "{BOARD} asks for {missing:?}; there are {exported:?}"
    );
}
