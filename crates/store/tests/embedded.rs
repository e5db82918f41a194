//! Informers against the embedded API server, in process, with the clock paused.

#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_apiserver::{Fault, Server, Verb, When};
use evenkeel_client::{Client, ListOptions, Patch, PatchOptions, WriteOptions};
use evenkeel_meta::{
    ApiResource, DeleteOptions, DynamicObject, MetaView, Metadata, ObjectKey, Reason,
    ResourceVersion, Scope, TypeMeta,
};
use evenkeel_pace::Rng;
use evenkeel_store::{Deletion, Event, Index, Informer, InformerOptions, Informers};
use parking_lot::Mutex;
use serde_json::json;

const CONFIG_MAPS: ApiResource =
    ApiResource::new_static("", "v1", "ConfigMap", "configmaps", Scope::Namespaced);

struct World {
    server: Server,
    client: Client,
    informers: Informers,
}

impl World {
    fn new(seed: u64) -> Self {
        let server = Server::builder().seed(seed).build();
        let client = Client::from_service(server.clone());
        let informers = Informers::builder(client.clone()).seed(seed).build();
        Self {
            server,
            client,
            informers,
        }
    }

    fn dynamic(&self) -> Informer<DynamicObject> {
        self.informers
            .dynamic(CONFIG_MAPS, InformerOptions::default())
    }

    fn metadata(&self) -> Informer<Metadata> {
        self.informers
            .metadata(CONFIG_MAPS, InformerOptions::default())
    }

    async fn create(&self, name: &str, colour: &str) -> ResourceVersion {
        let object = config_map(name, colour);
        let api = self.client.dynamic(CONFIG_MAPS, Some("default"));
        let created = api.create(&object, &WriteOptions::default()).await.unwrap();
        created.metadata.resource_version.unwrap()
    }

    async fn paint(&self, name: &str, colour: &str) -> ResourceVersion {
        let api = self.client.dynamic(CONFIG_MAPS, Some("default"));
        let patch = Patch::merge(&json!({"data": {"colour": colour}}));
        let painted = api
            .patch(name, &patch, &PatchOptions::default())
            .await
            .unwrap();
        painted.metadata.resource_version.unwrap()
    }

    async fn delete(&self, name: &str) {
        let api = self.client.dynamic(CONFIG_MAPS, Some("default"));
        api.delete(name, &DeleteOptions::default()).await.unwrap();
    }

    /// Names and versions, as the server has them.
    async fn truth(&self) -> BTreeMap<ObjectKey, String> {
        let api = self.client.metadata(CONFIG_MAPS, None);
        let list = api.list(&ListOptions::default()).await.unwrap();
        list.items.iter().map(identity).collect()
    }
}

fn config_map(name: &str, colour: &str) -> DynamicObject {
    let mut object = DynamicObject {
        types: TypeMeta {
            api_version: "v1".into(),
            kind: "ConfigMap".into(),
        },
        ..DynamicObject::default()
    };
    object.metadata.name = name.into();
    object.data.insert("data".into(), json!({"colour": colour}));
    object
}

fn identity<K: evenkeel_meta::Object>(object: &K) -> (ObjectKey, String) {
    let metadata = object.metadata();
    let version = metadata.resource_version().unwrap_or_default();
    let identity = format!("{} {version}", metadata.uid().unwrap_or_default());
    (metadata.key(), identity)
}

fn contents<K: evenkeel_meta::Object + 'static>(
    store: &evenkeel_store::Store<K>,
) -> BTreeMap<ObjectKey, String> {
    store
        .list()
        .iter()
        .map(|object| identity(&**object))
        .collect()
}

fn colour(object: &DynamicObject) -> &str {
    object.data["data"]["colour"].as_str().unwrap_or_default()
}

async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn client_go_b31_every_write_can_be_read_once_its_version_is_reached() {
    let world = World::new(1);
    world.create("a", "red").await;
    let informer = world.dynamic();
    world.informers.start();
    informer.synced().await.unwrap();
    let store = informer.store();
    let a = ObjectKey::namespaced("default", "a");
    assert_eq!(colour(&store.get(&a).unwrap()), "red");
    for n in 0..20 {
        let version = world.paint("a", &format!("c{n}")).await;
        store.wait_for(&version).await.unwrap();
        assert_eq!(colour(&store.get(&a).unwrap()), format!("c{n}"));
    }
    world.delete("a").await;
    let gone = store
        .wait_until(|snapshot| (!snapshot.contains(&a)).then_some(()))
        .await;
    assert_eq!(gone, Some(()));
}

#[tokio::test(start_paused = true)]
async fn one_list_and_watch_serves_every_handler_of_a_collection() {
    let world = World::new(1);
    world.create("a", "red").await;
    let (dynamic, metadata) = (world.dynamic(), world.metadata());
    let by_name = Index::new("name", |object: &Metadata| {
        [object.metadata.name().to_owned()]
    });
    metadata.add_index(by_name.clone()).unwrap();
    let again = world.dynamic();
    world.informers.start();
    world
        .informers
        .wait_for_sync(Duration::from_secs(5))
        .await
        .unwrap();
    let version = world.create("b", "blue").await;
    for store in [dynamic.store(), again.store()] {
        store.wait_for(&version).await.unwrap();
        assert_eq!(store.len(), 2 + system(store));
    }
    metadata.store().wait_for(&version).await.unwrap();
    assert_eq!(metadata.store().by_index(&by_name, "b").len(), 1);
    world.informers.shutdown().await;
}

/// Objects that the server puts there itself.
fn system<K: evenkeel_meta::Object + 'static>(store: &evenkeel_store::Store<K>) -> usize {
    store.len() - store.in_namespace("default").len()
}

#[tokio::test(start_paused = true)]
async fn kube_rs_d13_a_deletion_in_a_compacted_gap_is_told() {
    let world = World::new(1);
    world.create("a", "red").await;
    world.create("b", "red").await;
    let informer = world.metadata();
    let told = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&told);
    let handler = move |key: &ObjectKey, event: &Event<Metadata>| {
        if let Event::Deleted(deletion) = event {
            log.lock().push((
                key.name().to_owned(),
                matches!(deletion, Deletion::Final(_)),
            ));
        }
    };
    let _registration = informer.add_handler(handler).unwrap();
    world.informers.start();
    informer.synced().await.unwrap();
    pass(Duration::from_secs(2)).await;
    world.server.faults().cut_watches();
    world.delete("a").await;
    world.create("c", "red").await;
    world.server.compact();
    pass(Duration::from_secs(10)).await;
    assert_eq!(*told.lock(), [("a".to_owned(), false)]);
    assert_eq!(contents(informer.store()), world.truth().await);
    world.delete("b").await;
    pass(Duration::from_secs(1)).await;
    assert_eq!(told.lock().last(), Some(&("b".to_owned(), true)));
}

#[tokio::test(start_paused = true)]
async fn incident_13_a_server_without_the_marker_is_listed() {
    let world = World::new(1);
    world.create("a", "red").await;
    world
        .server
        .faults()
        .inject(When::verb(Verb::Watch), Fault::NoInitialEventsEnd);
    let informer = world.metadata();
    world.informers.start();
    informer
        .synced_within(Duration::from_secs(30))
        .await
        .unwrap();
    let version = world.create("b", "red").await;
    informer.store().wait_for(&version).await.unwrap();
    assert_eq!(contents(informer.store()), world.truth().await);
}

#[tokio::test(start_paused = true)]
async fn incident_16_a_missing_permission_is_named_and_noticed_when_granted() {
    let world = World::new(1);
    world.create("a", "red").await;
    let faults = world.server.faults();
    let denied = faults.inject(
        When::any().on("configmaps").user_agent("evenkeel"),
        Fault::forbidden(),
    );
    let informer = world.metadata();
    world.informers.start();
    let error = informer
        .synced_within(Duration::from_secs(3))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("not synced: list configmaps: "),
        "{error}"
    );
    assert!(error.contains("403"), "{error}");
    denied.lift();
    informer
        .synced_within(Duration::from_secs(60))
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn client_go_r16_a_busy_server_delays_and_loses_nothing() {
    let world = World::new(1);
    world.create("a", "red").await;
    let informer = world.metadata();
    world.informers.start();
    informer.synced().await.unwrap();
    pass(Duration::from_secs(2)).await;
    let faults = world.server.faults();
    faults.inject(
        When::verb(Verb::Watch).times(3),
        Fault::too_many_requests(1),
    );
    faults.inject(When::verb(Verb::List), Fault::internal_error());
    faults.cut_watches();
    let version = world.create("b", "red").await;
    // A list would fail: it is the watch that goes on.
    tokio::time::timeout(Duration::from_secs(60), informer.store().wait_for(&version))
        .await
        .unwrap()
        .unwrap();
}

async fn soak(seed: u64, steps: usize) {
    let mut rng = Rng::seeded(seed);
    let world = World::new(seed);
    let faults = world.server.faults();
    let watched = || When::verb(Verb::Watch).on("configmaps");
    let listed = || When::verb(Verb::List).on("configmaps");
    let (dynamic, metadata) = (world.dynamic(), world.metadata());
    let view = Arc::new(Mutex::new(BTreeMap::new()));
    let seen = Arc::clone(&view);
    let registration = metadata
        .add_handler(move |key: &ObjectKey, event: &Event<Metadata>| {
            let mut view = seen.lock();
            match event {
                Event::Added { object, .. } => {
                    assert!(view.insert(key.clone(), identity(&**object).1).is_none());
                }
                Event::Updated { new, .. } => {
                    assert!(view.insert(key.clone(), identity(&**new).1).is_some());
                }
                Event::Deleted(_) => {
                    view.remove(key);
                }
            }
        })
        .unwrap();
    world.informers.start();
    let mut names: Vec<String> = Vec::new();
    for step in 0..steps {
        match rng.below(100) {
            0..30 => {
                let name = format!("c{step}");
                world.create(&name, "new").await;
                names.push(name);
            }
            30..55 if !names.is_empty() => {
                let at = rng.below(names.len() as u64) as usize;
                world.paint(&names[at], &format!("s{step}")).await;
            }
            55..70 if !names.is_empty() => {
                let at = rng.below(names.len() as u64) as usize;
                let name = names.swap_remove(at);
                world.delete(&name).await;
                if rng.chance(0.3) {
                    world.create(&name, "again").await;
                    names.push(name);
                }
            }
            70..76 => faults.cut_watches(),
            76..78 => {
                faults.cut_watches();
                world.server.compact();
            }
            78 => drop(faults.inject(watched().times(2), Fault::expired())),
            79 => drop(faults.inject(watched().times(1), Fault::internal_error())),
            80 => drop(faults.inject(watched().times(3), Fault::too_many_requests(1))),
            81 => drop(faults.inject(
                listed().times(1),
                Fault::refuse(504, Reason::Timeout, "slow"),
            )),
            82 => drop(faults.inject(watched().times(1), Fault::Hang)),
            83 => drop(faults.inject(watched().times(1), Fault::NoInitialEventsEnd)),
            84 => drop(faults.inject(watched().times(1), Fault::Delay(Duration::from_secs(2)))),
            _ => pass(rng.between(Duration::ZERO..Duration::from_secs(4))).await,
        }
    }
    faults.clear();
    pass(Duration::from_secs(900)).await;
    let truth = world.truth().await;
    assert_eq!(
        contents(dynamic.store()),
        truth,
        "seed {seed}: whole objects"
    );
    assert_eq!(contents(metadata.store()), truth, "seed {seed}: metadata");
    assert_eq!(*view.lock(), truth, "seed {seed}: handler");
    assert_eq!(registration.panics(), 0, "seed {seed}");
    world.informers.shutdown().await;
}

/// A failing seed replays by itself.
#[tokio::test(start_paused = true)]
async fn soak_in_the_end_every_store_equals_the_server() {
    for seed in 0..20 {
        soak(seed, 300).await;
    }
}
