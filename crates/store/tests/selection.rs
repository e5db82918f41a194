//! Which objects an informer has, and how some of them are found, against the embedded API server.

#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

use std::collections::BTreeSet;
use std::time::Duration;

use evenkeel_apiserver::{Fault, Server, Verb, When};
use evenkeel_client::{Client, Patch, PatchOptions, WriteOptions};
use evenkeel_meta::{
    ApiResource, DeleteOptions, DynamicObject, MetaView, Metadata, Object, ObjectKey, Scope,
};
use evenkeel_store::{Index, Informer, InformerOptions, InformerSet, Informers};
use serde_json::json;

const MAPS: ApiResource =
    ApiResource::new_static("", "v1", "ConfigMap", "configmaps", Scope::Namespaced);
const NAMESPACES: ApiResource =
    ApiResource::new_static("", "v1", "Namespace", "namespaces", Scope::Cluster);

struct World {
    server: Server,
    client: Client,
    informers: Informers,
}

impl World {
    /// With the namespaces `a`, `b` and `c`, labelled by their names.
    async fn new() -> Self {
        let server = Server::builder().log_requests(1000).build();
        let client = Client::from_service(server.clone());
        let informers = Informers::new(client.clone());
        let world = Self {
            server,
            client,
            informers,
        };
        let namespaces = world.client.dynamic(NAMESPACES, None);
        for name in ["a", "b", "c"] {
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace",
                "metadata": {"name": name, "labels": {"l": name}}});
            let namespace = serde_json::from_value(namespace).unwrap();
            let write = WriteOptions::default();
            namespaces.create(&namespace, &write).await.unwrap();
        }
        world
    }

    async fn create(&self, namespace: &str, name: &str, label: &str, colour: &str) {
        let labels = match label {
            "" => json!({}),
            label => json!({"l": label}),
        };
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "labels": labels, "annotations": {"colour": colour}}});
        let map: DynamicObject = serde_json::from_value(map).unwrap();
        let maps = self.client.dynamic(MAPS, Some(namespace));
        maps.create(&map, &WriteOptions::default()).await.unwrap();
    }

    async fn label(&self, namespace: &str, name: &str, label: Option<&str>) {
        let maps = self.client.dynamic(MAPS, Some(namespace));
        let patch = Patch::merge(&json!({"metadata": {"labels": {"l": label}}}));
        let patched = maps.patch(name, &patch, &PatchOptions::default()).await;
        patched.unwrap();
    }

    async fn delete(&self, namespace: &str, name: &str) {
        let maps = self.client.dynamic(MAPS, Some(namespace));
        maps.delete(name, &DeleteOptions::default()).await.unwrap();
    }
}

fn names<K: Object>(objects: impl IntoIterator<Item = impl AsRef<K>>) -> BTreeSet<String> {
    let keys = objects.into_iter().map(|one| one.as_ref().metadata().key());
    keys.map(|key| key.to_string()).collect()
}

fn set_of<const N: usize>(keys: [&str; N]) -> BTreeSet<String> {
    keys.map(str::to_owned).into()
}

fn by_annotation() -> Index<Metadata> {
    Index::new("colour", |object: &Metadata| {
        object.metadata.annotation("colour").map(str::to_owned)
    })
}

fn by_label() -> Index<Metadata> {
    Index::new("label", |object: &Metadata| {
        object.metadata.label("l").map(str::to_owned)
    })
}

/// Lets every watch deliver.
async fn settle() {
    tokio::time::sleep(Duration::from_secs(1)).await;
}

/// By label, by namespace, by an index and by two, in one store and in several. An index that was not
/// added answers all the same, from a look at every object (ours: upstream's is an error).
#[tokio::test(start_paused = true)]
async fn controller_runtime_t36_objects_are_found_by_labels_namespaces_and_indexes() {
    let world = World::new().await;
    world.create("a", "m1", "x", "red").await;
    world.create("a", "m2", "y", "red").await;
    world.create("b", "m1", "x", "blue").await;
    world.create("c", "m1", "x", "red").await;
    let everything = InformerOptions::default;
    let all = world.informers.metadata(MAPS, everything());
    let some = InformerSet::in_namespaces(["a", "b"], |options| {
        world.informers.metadata(MAPS, options)
    });
    let namespaces = world.informers.metadata(NAMESPACES, everything());
    let (by_colour, by_label, not_added) = (by_annotation(), by_label(), by_label());

    // Nothing has synced, or can.
    let lists = When::verb(Verb::List);
    let denied = [lists, When::verb(Verb::Watch)].map(|when| {
        let faults = world.server.faults();
        faults.inject(when.user_agent("evenkeel"), Fault::forbidden())
    });
    world.informers.start();
    settle().await;
    assert!(!all.has_synced());
    all.add_index(by_colour.clone()).unwrap();
    some.add_index(&by_colour).unwrap();
    assert!(all.store().by_index(&by_colour, "red").is_empty());
    denied.iter().for_each(evenkeel_apiserver::Injected::lift);
    let limit = Duration::from_secs(120);
    world.informers.wait_for_sync(limit).await.unwrap();
    // Filled already.
    all.add_index(by_label.clone()).unwrap();
    namespaces.add_index(by_label.clone()).unwrap();

    let store = all.store();
    let x = "l=x".parse().unwrap();
    let everywhere = ["a/m1", "b/m1", "c/m1"];
    assert_eq!(names(store.select(&x)), set_of(everywhere));
    assert_eq!(names(some.select(&x)), set_of(["a/m1", "b/m1"]));
    assert_eq!(names(store.in_namespace("a")), set_of(["a/m1", "a/m2"]));
    assert_eq!(names(some.in_namespace("a")), set_of(["a/m1", "a/m2"]));
    let red = set_of(["a/m1", "a/m2", "c/m1"]);
    assert_eq!(names(store.by_index(&by_colour, "red")), red);
    let red = set_of(["a/m1", "a/m2"]);
    assert_eq!(names(some.by_index(&by_colour, "red")), red);
    let snapshot = store.snapshot();
    let red = BTreeSet::from_iter(snapshot.keys_by_index(&by_colour, "red"));
    let x = BTreeSet::from_iter(snapshot.keys_by_index(&by_label, "x"));
    let both: Vec<String> = red.intersection(&x).map(ToString::to_string).collect();
    assert_eq!(both, ["a/m1", "c/m1"]);
    assert_eq!(names(store.by_index(&not_added, "x")), set_of(everywhere));

    let keys = namespaces.store().snapshot().keys_by_index(&by_label, "b");
    assert_eq!(keys, [ObjectKey::cluster("b")]);
}

/// Of other namespaces nothing is asked for and nothing is there, which the set tells (ours: to read
/// there is no error). What is in no namespace is seen beside it.
#[tokio::test(start_paused = true)]
async fn controller_runtime_t39_a_set_of_namespaces_has_nothing_of_others() {
    let world = World::new().await;
    for namespace in ["a", "b", "c"] {
        world.create(namespace, "m", "x", "red").await;
    }
    world.server.take_requests();
    let some = InformerSet::in_namespaces(["a", "b"], |options| {
        world.informers.metadata(MAPS, options)
    });
    let namespaces = world
        .informers
        .metadata(NAMESPACES, InformerOptions::default());
    world.informers.start();
    world.informers.synced().await.unwrap();
    let sent = world.server.take_requests().into_iter();
    let paths: BTreeSet<String> = sent.map(|request| request.path).collect();
    let asked = [
        "/api/v1/namespaces",
        "/api/v1/namespaces/a/configmaps",
        "/api/v1/namespaces/b/configmaps",
    ];
    assert_eq!(paths, set_of(asked));
    world.create("c", "late", "x", "red").await;
    world.create("a", "late", "x", "red").await;
    settle().await;

    let ours = set_of(["a/late", "a/m", "b/m"]);
    assert_eq!(names(some.list()), ours);
    assert_eq!(names(some.select(&"l=x".parse().unwrap())), ours);
    assert_eq!(names(some.by_index(&by_annotation(), "red")), ours);
    assert!(some.get(&ObjectKey::namespaced("b", "m")).is_some());
    assert!(some.get(&ObjectKey::namespaced("c", "m")).is_none());
    assert!(some.in_namespace("c").is_empty());
    let without = InformerSet::in_namespaces(["a", "b"], |options| {
        world.informers.metadata(NAMESPACES, options)
    });
    assert_eq!(
        without.len(),
        namespaces.store().len(),
        "each is there once"
    );
    assert!(without.get(&ObjectKey::cluster("c")).is_some());
    let covered = ["a", "b", "c", "default"].map(|namespace| some.covers(namespace));
    assert_eq!(covered, [true, true, false, false]);
    let store = namespaces.store();
    assert!(
        ["a", "b", "c"]
            .iter()
            .all(|name| store.contains(&ObjectKey::cluster(name)))
    );
}

/// A selector as it is written, and what it means.
type Selector = (&'static str, fn(&ObjectKey, Option<&str>) -> bool);

/// "The rest" is all namespaces but those that others mirror.
const PLACES: [(Option<&str>, Selector); 3] = [
    (None, ("", |_, _| true)),
    (Some("a"), ("", |key, _| key.namespace() == Some("a"))),
    (
        None,
        ("metadata.namespace!=a,metadata.namespace!=b", |key, _| {
            !matches!(key.namespace(), Some("a" | "b"))
        }),
    ),
];
const LABELS: [Selector; 6] = [
    ("", |_, _| true),
    ("l=x", |_, label| label == Some("x")),
    ("l!=x", |_, label| label != Some("x")),
    ("l in (x,y)", |_, label| {
        label.is_some_and(|label| label != "z")
    }),
    ("l", |_, label| label.is_some()),
    ("!l", |_, label| label.is_none()),
];
const NAMES: [Selector; 3] = [
    ("", |_, _| true),
    ("metadata.name=m1", |key, _| key.name() == "m1"),
    ("metadata.name!=m1", |key, _| key.name() != "m1"),
];

/// Every way to say which objects an informer shall have, each against what it means. What begins and
/// what ceases to be selected comes and goes. Selectors override nothing (ours: an informer's options
/// are its own).
#[tokio::test(start_paused = true)]
async fn controller_runtime_t40_an_informer_has_what_its_selectors_select() {
    let world = World::new().await;
    for namespace in ["a", "b", "c", "default"] {
        for (name, label) in [("m1", "x"), ("m2", "y"), ("m3", "z"), ("m4", "")] {
            world.create(namespace, name, label, "red").await;
        }
    }
    let all = world.informers.metadata(MAPS, InformerOptions::default());
    let mut selections: Vec<(Informer<Metadata>, [Selector; 3])> = Vec::new();
    for (namespace, place) in PLACES {
        for label in LABELS {
            for name in NAMES {
                let fields = [place.0, name.0];
                let fields: Vec<_> = fields.into_iter().filter(|one| !one.is_empty()).collect();
                let mut options = InformerOptions::default()
                    .labels(&label.0.parse().unwrap())
                    .fields(&fields.join(",").parse().unwrap());
                options.namespace = namespace.map(str::to_owned);
                let informer = world.informers.metadata(MAPS, options);
                selections.push((informer, [place, label, name]));
            }
        }
    }
    world.informers.start();
    world.informers.synced().await.unwrap();
    let check = || {
        let mut sizes = BTreeSet::new();
        for (informer, selectors) in &selections {
            let means = |object: &Metadata| {
                let (key, label) = (object.metadata.key(), object.metadata.label("l"));
                selectors.iter().all(|(_, means)| means(&key, label))
            };
            let everything = all.store().list().into_iter();
            let expected = names(everything.filter(|object| means(object)));
            let texts = selectors.map(|(text, _)| text);
            assert_eq!(names(informer.store().list()), expected, "{texts:?}");
            sizes.insert(expected.len());
        }
        sizes.len()
    };
    assert_eq!(selections.len(), 54);
    assert!(check() > 8, "they are told apart");
    for namespace in ["a", "b", "c"] {
        world.label(namespace, "m1", Some("z")).await;
        world.label(namespace, "m2", Some("x")).await;
        world.label(namespace, "m3", None).await;
        world.label(namespace, "m4", Some("x")).await;
        world.delete(namespace, "m2").await;
        world.create(namespace, "m5", "x", "red").await;
    }
    settle().await;
    check();
}
