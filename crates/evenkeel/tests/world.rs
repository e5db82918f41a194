//! A reconciler in a world that behaves: an API server in memory, and the garbage collector.

#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

mod plane;

use std::sync::Arc;
use std::time::Duration;

use evenkeel::client::{Client, Error, Patch, PatchOptions, WriteOptions};
use evenkeel::meta::{DeleteOptions, MetaMut, MetaView};
use evenkeel::{Context, Controller, Manager, ObjectReconciler, Outcome, ReconcileResult};
use evenkeel_apiserver::Server;
use evenkeel_gc::GarbageCollector;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use parking_lot::Mutex;
use plane::config_map;
use serde_json::json;
use tokio_util::sync::CancellationToken;

const SEEN: &str = "example.com/seen";

/// Keeps a Secret with the words of each ConfigMap, and notes in the ConfigMap how many there are.
struct Words {
    /// Somebody else, who writes when it is least wanted: between a read and a write. Once.
    rival: Mutex<Option<Client>>,
    conflicts: Arc<Mutex<usize>>,
}

impl ObjectReconciler<ConfigMap> for Words {
    async fn reconcile(&self, context: &Context, map: Arc<ConfigMap>) -> ReconcileResult {
        if map.metadata.is_terminating() {
            return Ok(Outcome::Done);
        }
        let words = map.data.clone().unwrap_or_default();
        let count = words.len().to_string();
        let mut secret = Secret::default();
        secret.metadata.name = map.metadata.name.clone();
        secret.metadata.namespace = map.metadata.namespace.clone();
        secret.metadata.set_controller(&*map)?;
        let data = words.into_iter();
        let data = data.map(|(key, word)| (key, ByteString(word.into_bytes())));
        secret.data = Some(data.collect());
        context.apply(&secret).await?;

        if map.metadata.annotation(SEEN) != Some(&count) {
            let rival = self.rival.lock().take();
            if let Some(rival) = rival {
                let maps = rival.namespaced::<ConfigMap>("default");
                let patch = Patch::merge(&json!({"metadata": {"labels": {"rival": "was-here"}}}));
                let options = PatchOptions::default();
                maps.patch(map.metadata.name(), &patch, &options).await?;
            }
            let mut noted = ConfigMap::clone(&map);
            let annotations = noted.metadata.annotations.get_or_insert_default();
            annotations.insert(SEEN.to_owned(), count);
            let written = context.update(&noted).await;
            let is_conflict = written.as_ref().is_err_and(Error::is_conflict);
            *self.conflicts.lock() += usize::from(is_conflict);
            written?;
        }
        Ok(Outcome::Done)
    }
}

/// Nothing of what the server answers is written down here, only what becomes of the world: versions
/// that do not fit are conflicts, fields of others stay through an apply, what lost its owner goes.
#[tokio::test(start_paused = true)]
async fn kube_rs_25_a_reconciler_is_tested_against_a_server_and_not_a_script() {
    let server = Server::new();
    let client = Client::from_service(server.clone()).with_field_manager("words");
    let user = Client::from_service(server).with_field_manager("user");
    let mut manager = Manager::builder(client.clone()).build().unwrap();
    let (maps, secrets) = (manager.watch::<ConfigMap>(), manager.watch::<Secret>());
    let conflicts = Arc::new(Mutex::new(0));
    let words = Words {
        rival: Mutex::new(Some(user.clone())),
        conflicts: Arc::clone(&conflicts),
    };
    let controller = Controller::builder("words").for_(&maps).owns(&secrets);
    manager.add(controller.object_reconciler(words)).unwrap();
    let informers = manager.informers().clone();
    manager.run_leading("garbage-collector", move |term| {
        let collector = GarbageCollector::builder(term.client).informers(informers.clone());
        let collector = collector.build();
        async move {
            collector.run(term.stop).await;
            Ok(())
        }
    });
    let stop = CancellationToken::new();
    let running = tokio::spawn(manager.run(stop.clone()));
    let settle = || tokio::time::sleep(Duration::from_secs(10));
    settle().await;

    let (api, made) = (
        user.namespaced::<ConfigMap>("default"),
        client.namespaced::<Secret>("default"),
    );
    let mut map = config_map("a");
    map.data = Some(
        [("one", "eins"), ("two", "zwei")]
            .map(|(k, v)| (k.into(), v.into()))
            .into(),
    );
    let write = WriteOptions::default();
    let map = api.create(&map, &write).await.unwrap();
    let mut foreign = Secret::default();
    foreign.metadata.name = Some("foreign".to_owned());
    let foreigners = user.namespaced::<Secret>("default");
    foreigners.create(&foreign, &write).await.unwrap();
    settle().await;
    let secret = made.get("a").await.unwrap();
    assert_eq!(secret.data.as_ref().unwrap()["two"].0, b"zwei");
    assert_eq!(
        secret.metadata.controller().unwrap().uid,
        map.metadata.uid().unwrap()
    );
    let there = api.get("a").await.unwrap();
    assert_eq!(there.metadata.annotation(SEEN), Some("2"));
    assert_eq!(there.metadata.label("rival"), Some("was-here"));
    assert_eq!(*conflicts.lock(), 1, "it was noticed, and tried again");

    // The user's own fields stay, and those that are not wanted any more go.
    let label = json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "a", "labels": {"team": "u"}}, "data": {"own": "bWluZQ=="}});
    let options = PatchOptions::default();
    foreigners.apply("a", &label, &options).await.unwrap();
    let fewer = Patch::merge(&json!({"data": {"two": null, "one": "uno"}}));
    api.patch("a", &fewer, &options).await.unwrap();
    settle().await;
    let secret = made.get("a").await.unwrap();
    let data = secret.data.unwrap();
    assert_eq!(data.keys().collect::<Vec<_>>(), ["one", "own"]);
    assert_eq!(data["one"].0, b"uno");
    assert_eq!(secret.metadata.labels.unwrap()["team"], "u");
    let there = api.get("a").await.unwrap();
    assert_eq!(there.metadata.annotation(SEEN), Some("1"));

    // What is deleted by hand comes again; with its owner it goes.
    foreigners
        .delete("a", &DeleteOptions::default())
        .await
        .unwrap();
    settle().await;
    assert!(made.get_opt("a").await.unwrap().is_some());
    api.delete("a", &DeleteOptions::default()).await.unwrap();
    settle().await;
    assert!(made.get_opt("a").await.unwrap().is_none());
    assert!(made.get_opt("foreign").await.unwrap().is_some());
    stop.cancel();
    running.await.unwrap().unwrap();
}
