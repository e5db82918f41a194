//! What a reconciler makes of its object: parts that it owns, and a finalizer until they are gone.
#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

mod plane;

use std::sync::Arc;

use evenkeel::client::{Patch, PatchOptions};
use evenkeel::meta::{DeleteOptions, MetaMut, MetaView, Object, ObjectKey};
use evenkeel::store::{InformerOptions, Store};
use evenkeel::{Context, Controller, ObjectReconciler, Outcome, ReconcileResult, Written};
use http::Method;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use parking_lot::Mutex;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use plane::journal::settle;
use plane::{Plane, config_map};

const FINALIZER: &str = "example.com/secrets";

/// Keeps a Secret of the same name for each ConfigMap, with the same text in `word`.
struct Secrets {
    secrets: Store<Secret>,
    done: Arc<Mutex<Vec<Written>>>,
}

impl ObjectReconciler<ConfigMap> for Secrets {
    async fn reconcile(&self, context: &Context, map: Arc<ConfigMap>) -> ReconcileResult {
        let key = map.metadata.key();
        let secret = self.secrets.get(&key);
        if map.metadata.is_terminating() {
            if let Some(secret) = &secret {
                context.delete(&**secret, DeleteOptions::default()).await?;
                return Ok(Outcome::Done);
            }
            let (rest, written) = context.remove_finalizer(&map, FINALIZER).await?;
            assert!(!rest.metadata.has_finalizer(FINALIZER));
            assert_eq!(written, Written::Patched);
            return Ok(Outcome::Done);
        }
        let had_it = map.metadata.has_finalizer(FINALIZER);
        let (map, written) = context.add_finalizer(&map, FINALIZER).await?;
        assert!(map.metadata.has_finalizer(FINALIZER));
        assert_eq!(written == Written::Unchanged, had_it);
        let word = map.data.clone().unwrap_or_default().remove("word");
        let (secret, written) = context
            .create_or_patch(
                secret.as_deref(),
                || named(&key),
                |secret| {
                    secret.string_data = None;
                    let bytes = k8s_openapi::ByteString(word.unwrap_or_default().into_bytes());
                    let data = secret.data.get_or_insert_default();
                    data.insert("word".to_owned(), bytes);
                    secret.metadata.set_controller(&*map)
                },
            )
            .await?;
        assert_eq!(secret.metadata().name(), key.name());
        self.done.lock().push(written);
        Ok(Outcome::Done)
    }
}

fn named(key: &ObjectKey) -> Secret {
    let mut secret = Secret::default();
    secret.metadata.name = Some(key.name().to_owned());
    secret.metadata.namespace = key.namespace().map(str::to_owned);
    secret
}

#[tokio::test(start_paused = true)]
async fn parts_are_made_mended_and_cleaned_up() {
    let plane = Plane::start();
    let secrets = plane
        .informers()
        .typed::<Secret>(InformerOptions::default());
    plane.informers().start();
    let done = Arc::new(Mutex::new(Vec::new()));
    let reconciler = Secrets {
        secrets: secrets.store().clone(),
        done: Arc::clone(&done),
    };
    let controller = Controller::builder("secrets")
        .for_(&plane.maps)
        .owns(&secrets)
        .object_reconciler(reconciler);
    let stop = CancellationToken::new();
    let running = tokio::spawn(plane.run(controller, stop.clone()));
    settle().await;

    let mut map = config_map("web");
    map.metadata.finalizers = Some(vec!["example.com/other".to_owned()]);
    map.data = Some([("word".to_owned(), "one".to_owned())].into());
    plane.create(&map).await;
    settle().await;
    assert_eq!(done.lock().first(), Some(&Written::Created));
    assert_eq!(done.lock().last(), Some(&Written::Unchanged));
    let api = plane.client.namespaced::<Secret>("default");
    let secret = api.get("web").await.unwrap();
    let owner = secret.metadata.controller().unwrap();
    assert_eq!((owner.kind, owner.name), ("ConfigMap", "web"));
    let maps = plane.client.namespaced::<ConfigMap>("default");
    let finalizers = maps.get("web").await.unwrap().metadata.finalizers.unwrap();
    assert_eq!(finalizers, ["example.com/other", FINALIZER]);

    // What others wrote beside it stays, and the patch holds for the state that was read.
    plane.server.take_requests();
    let other = json!({"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u0"});
    let owners = [other, json!(secret.metadata.owner_references.unwrap()[0])];
    let foreign = Patch::merge(&json!({"metadata": {
        "labels": {"team": "a"}, "ownerReferences": owners,
    }}));
    let options = PatchOptions::default();
    api.patch("web", &foreign, &options).await.unwrap();
    let word = Patch::merge(&json!({"data": {"word": "two"}}));
    maps.patch("web", &word, &options).await.unwrap();
    settle().await;
    let secret = api.get("web").await.unwrap();
    assert_eq!(secret.metadata.label("team"), Some("a"));
    assert_eq!(json!(secret.metadata.owner_references), json!(owners));
    assert_eq!(secret.data.unwrap()["word"].0, b"two");
    let patches = |requests: &[evenkeel_apiserver::LoggedRequest]| {
        let ours = requests.iter().filter(|request| {
            request.method == Method::PATCH && request.path.contains("/secrets/")
        });
        ours.count()
    };
    assert_eq!(
        patches(&plane.server.take_requests()),
        2,
        "the foreign one, and one of ours: what is as it should be is not written"
    );

    plane.delete("web").await;
    settle().await;
    assert!(api.get("web").await.unwrap_err().is_not_found());
    let rest = maps.get("web").await.unwrap().metadata.finalizers.unwrap();
    assert_eq!(rest, ["example.com/other"]);
    stop.cancel();
    running.await.unwrap();
    plane.stop().await;
}

/// Two controllers, each with a finalizer of its own, that saw the same state.
struct Pins(Store<ConfigMap>, &'static str);

impl ObjectReconciler<ConfigMap> for Pins {
    async fn reconcile(&self, context: &Context, map: Arc<ConfigMap>) -> ReconcileResult {
        // What this one acts on may be older than what the other one has written.
        let shown = self.0.get(&map.metadata.key()).unwrap_or(map);
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        context.add_finalizer(&shown, self.1).await?;
        Ok(Outcome::Done)
    }
}

#[tokio::test(start_paused = true)]
async fn kube_rs_28_two_who_add_a_finalizer_at_once_leave_one_each() {
    let plane = Plane::start();
    let stop = CancellationToken::new();
    let names = ["example.com/one", "example.com/two"];
    let running = names.map(|name| {
        let pins = Pins(plane.maps.store().clone(), name);
        let controller = Controller::builder(name)
            .for_(&plane.maps)
            .object_reconciler(pins);
        tokio::spawn(plane.run(controller, stop.clone()))
    });
    settle().await;
    plane.server.take_requests();
    plane.create(&config_map("web")).await;
    settle().await;
    let maps = plane.client.namespaced::<ConfigMap>("default");
    let mut finalizers = maps.get("web").await.unwrap().metadata.finalizers.unwrap();
    finalizers.sort();
    assert_eq!(finalizers, names);
    let requests = plane.server.take_requests();
    let patches = requests
        .iter()
        .filter(|request| request.method == Method::PATCH);
    let mut codes: Vec<u16> = patches.map(|request| request.code).collect();
    codes.sort_unstable();
    assert_eq!(codes, [200, 200, 409], "nothing was written over");
    stop.cancel();
    for running in running {
        running.await.unwrap();
    }
    plane.stop().await;
}
