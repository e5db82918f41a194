//! What a controller watches: filters, owners, indexes, streams, and watches that come and go.

#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

mod plane;

use std::time::Duration;

use evenkeel::meta::{
    ApiResource, DynamicObject, LabelSelector, MetaView, Metadata, ObjectKey, Resource, Scope,
};
use evenkeel::observe::{MemorySink, Metrics};
use evenkeel::store::{Event, Index, Informer, InformerOptions, InformerSet};
use evenkeel::{Context, Controller, ObjectReconciler, Outcome, ReconcileResult, Watch, changed};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use plane::journal::{Journal, names, run, settle};
use plane::{Plane, config_map};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

const WIDGETS: ApiResource =
    ApiResource::new_static("example.com", "v1", "Widget", "widgets", Scope::Namespaced);

fn secret(name: &str, label: &str) -> Secret {
    let mut secret = Secret::default();
    secret.metadata.name = Some(name.to_owned());
    secret.metadata.namespace = Some("default".to_owned());
    secret.metadata.labels = Some([("map".to_owned(), label.to_owned())].into());
    secret
}

fn owned(name: &str, owners: &[(&str, &str, bool)]) -> ConfigMap {
    let mut map = config_map(name);
    let owners = owners
        .iter()
        .map(|(api_version, owner, controller)| OwnerReference {
            api_version: (*api_version).to_owned(),
            kind: "ConfigMap".to_owned(),
            name: (*owner).to_owned(),
            uid: format!("uid-of-{owner}"),
            controller: Some(*controller),
            ..OwnerReference::default()
        });
    map.metadata.owner_references = Some(owners.collect());
    map
}

fn labelled(name: &str, value: &str) -> ConfigMap {
    let mut map = config_map(name);
    map.metadata.labels = Some([("l".to_owned(), value.to_owned())].into());
    map
}

fn annotated(name: &str, value: &str) -> ConfigMap {
    let mut map = config_map(name);
    map.metadata.annotations = Some([("a".to_owned(), value.to_owned())].into());
    map
}

/// A condition on changes swallows updates, and neither additions nor deletions; one that is
/// said after another is asked only about what that one lets pass (F7).
#[tokio::test(start_paused = true)]
async fn controller_runtime_f7_t62_conditions_are_joined_in_order_and_hit_their_watch_alone() {
    let plane = Plane::start();
    let journal = Journal::new();
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = std::sync::Arc::clone(&asked);
    let second = changed::by(move |_: &ConfigMap, _: &ConfigMap| {
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        true
    });
    let secrets: Informer<Secret> = plane.informers().typed(InformerOptions::default());
    plane.informers().start();
    let controller = Controller::builder("maps")
        .for_(Watch::of(&plane.maps).when(changed::labels()).when(second))
        .watches(&secrets, |secret: &Secret| Some(secret.metadata.key()))
        .reconciler(journal.clone());
    let stop = CancellationToken::new();
    let running = run(controller, plane.term(stop.clone()));
    plane.create(&config_map("a")).await;
    assert_eq!(names(&journal.settled().await), ["a"]);
    plane.update(&annotated("a", "1")).await;
    assert_eq!(journal.settled().await, []);
    assert_eq!(
        asked.load(std::sync::atomic::Ordering::Relaxed),
        0,
        "not asked in vain"
    );
    plane.update(&labelled("a", "1")).await;
    assert_eq!(names(&journal.settled().await), ["a"]);
    assert_eq!(asked.load(std::sync::atomic::Ordering::Relaxed), 1);
    plane
        .client
        .namespaced("default")
        .create(
            &secret("s", "a"),
            &evenkeel::client::WriteOptions::default(),
        )
        .await
        .unwrap();
    assert_eq!(
        names(&journal.settled().await),
        ["s"],
        "the other watch has no condition"
    );
    plane.delete("a").await;
    assert_eq!(names(&journal.settled().await), ["a"]);
    stop.cancel();
    running.await.unwrap();
    plane.stop().await;
}

/// The deletion timestamp changes nothing that a condition looks at, and passes all the same.
#[tokio::test(start_paused = true)]
async fn incident_12_no_condition_swallows_the_beginning_of_a_deletion() {
    for condition in [
        changed::generation(),
        changed::labels(),
        changed::annotations().and(changed::labels()),
        !changed::resource_version(),
    ] {
        let plane = Plane::start();
        let journal = Journal::new();
        let mut map = config_map("a");
        map.metadata.finalizers = Some(vec!["example.com/wait".to_owned()]);
        plane.create(&map).await;
        let controller = Controller::builder("maps")
            .for_(Watch::of(&plane.maps).when(condition))
            .reconciler(journal.clone());
        let stop = CancellationToken::new();
        let running = run(controller, plane.term(stop.clone()));
        assert_eq!(names(&journal.settled().await), ["a"]);
        plane.delete("a").await;
        assert_eq!(names(&journal.settled().await), ["a"], "it begins");
        plane.update(&config_map("a")).await;
        assert_eq!(names(&journal.settled().await), ["a"], "it ends");
        stop.cancel();
        running.await.unwrap();
        plane.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn controller_runtime_t65_only_some_objects_and_those_that_cease_to_be_of_them() {
    let plane = Plane::start();
    let journal = Journal::new();
    let selector: LabelSelector = "l=1".parse().unwrap();
    let controller = Controller::builder("maps")
        .for_(
            Watch::of(&plane.maps)
                .labelled(selector)
                .only(|map| map.metadata.name.as_deref() != Some("not")),
        )
        .reconciler(journal.clone());
    let stop = CancellationToken::new();
    let running = run(controller, plane.term(stop.clone()));
    for map in [labelled("a", "1"), labelled("b", "2"), labelled("not", "1")] {
        plane.create(&map).await;
    }
    assert_eq!(names(&journal.settled().await), ["a"]);
    plane.update(&labelled("a", "2")).await;
    assert_eq!(names(&journal.settled().await), ["a"], "it left");
    plane.update(&labelled("a", "3")).await;
    assert_eq!(journal.settled().await, []);
    plane.update(&labelled("b", "1")).await;
    assert_eq!(names(&journal.settled().await), ["b"], "it came");
    stop.cancel();
    running.await.unwrap();
    plane.stop().await;
}

/// The old and the new owner are told (F6); by group, kind and name in any version, whatever the
/// UID (F5).
#[tokio::test(start_paused = true)]
async fn controller_runtime_t63_f5_f6_owners_before_and_after_are_told() {
    let plane = Plane::start();
    let (controlled, shared) = (Journal::new(), Journal::new());
    let owner = |journal: &Journal, name: &str| {
        let builder = Controller::builder(name).for_(Watch::of(&plane.maps).only(|_| false));
        let maps = &plane.maps;
        match name {
            "controlled" => builder.owns(maps),
            _ => builder.co_owns(maps),
        }
        .reconciler(journal.clone())
    };
    let stop = CancellationToken::new();
    let runs = [(&controlled, "controlled"), (&shared, "shared")]
        .map(|(journal, name)| run(owner(journal, name), plane.term(stop.clone())));
    plane
        .create(&owned(
            "child",
            &[
                ("v1", "x", true),
                ("v1", "y", false),
                ("apps/v1", "w", false),
            ],
        ))
        .await;
    assert_eq!(names(&controlled.settled().await), ["x"]);
    assert_eq!(names(&shared.settled().await), ["x", "y"], "no other group");
    plane.update(&owned("child", &[("v2", "x2", true)])).await;
    assert_eq!(names(&controlled.settled().await), ["x", "x2"]);
    assert_eq!(names(&shared.settled().await), ["x", "x2", "y"]);
    plane.delete("child").await;
    assert_eq!(names(&controlled.settled().await), ["x2"]);
    stop.cancel();
    for running in runs {
        running.await.unwrap();
    }
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn controller_runtime_t63_an_owner_without_a_namespace_owns_objects_that_have_one() {
    let plane = Plane::start();
    let journal = Journal::new();
    let namespaces: Informer<Namespace> = plane.informers().typed(InformerOptions::default());
    plane.informers().start();
    let controller = Controller::builder("tenants")
        .for_(Watch::of(&namespaces).only(|_| false))
        .owns(&plane.maps)
        .reconciler(journal.clone());
    let stop = CancellationToken::new();
    let running = run(controller, plane.term(stop.clone()));
    let mut map = owned("child", &[("v1", "tenant", true)]);
    map.metadata.owner_references.as_mut().unwrap()[0].kind = "Namespace".to_owned();
    plane.create(&map).await;
    assert_eq!(journal.settled().await, [ObjectKey::cluster("tenant")]);
    stop.cancel();
    running.await.unwrap();
    plane.stop().await;
}

/// A map function is asked about both states, and what both give runs once (F6).
#[tokio::test(start_paused = true)]
async fn controller_runtime_f6_t63_a_map_is_asked_about_both_states() {
    let plane = Plane::start();
    let journal: Journal<String> = Journal::new();
    let controller = Controller::builder("labels")
        .watches(&plane.maps, |map: &ConfigMap| {
            map.metadata
                .labels
                .clone()
                .unwrap_or_default()
                .into_values()
        })
        .reconciler(journal.clone());
    let stop = CancellationToken::new();
    let running = run(controller, plane.term(stop.clone()));
    plane.create(&labelled("a", "one")).await;
    assert_eq!(journal.settled().await, ["one"]);
    plane.update(&labelled("a", "two")).await;
    assert_eq!(journal.settled().await, ["one", "two"]);
    let mut both = labelled("a", "two");
    both.metadata.annotations = Some([("x".to_owned(), "y".to_owned())].into());
    plane.update(&both).await;
    assert_eq!(journal.settled().await, ["two"]);
    stop.cancel();
    running.await.unwrap();
    plane.stop().await;
}

/// A Secret concerns the maps that name it in a label, as the index of maps says.
#[tokio::test(start_paused = true)]
async fn an_event_concerns_the_objects_that_an_index_finds() {
    let plane = Plane::start();
    let journal = Journal::new();
    let by_secret = Index::new("secret", |map: &ConfigMap| {
        map.metadata
            .labels
            .clone()
            .unwrap_or_default()
            .into_values()
    });
    plane.maps.add_index(by_secret.clone()).unwrap();
    let secrets: Informer<Secret> = plane.informers().typed(InformerOptions::default());
    plane.informers().start();
    for map in [labelled("a", "s"), labelled("b", "s"), labelled("c", "t")] {
        plane.create(&map).await;
    }
    let controller = Controller::builder("maps")
        .for_(&plane.maps)
        .watches_by(&secrets, &by_secret, |secret| secret.metadata.name.clone())
        .reconciler(journal.clone());
    let stop = CancellationToken::new();
    let running = run(controller, plane.term(stop.clone()));
    assert_eq!(names(&journal.settled().await), ["a", "b", "c"]);
    let api = plane.client.namespaced("default");
    api.create(
        &secret("s", "x"),
        &evenkeel::client::WriteOptions::default(),
    )
    .await
    .unwrap();
    assert_eq!(names(&journal.settled().await), ["a", "b"]);
    stop.cancel();
    running.await.unwrap();
    plane.stop().await;
}

/// What was there and what a resync tells of waits behind what happens, unless said otherwise.
#[tokio::test(start_paused = true)]
async fn controller_runtime_c19_t64_the_first_contents_and_resyncs_are_not_urgent() {
    struct Priorities(std::sync::Arc<parking_lot::Mutex<Vec<(String, i32)>>>);
    impl evenkeel::Reconciler for Priorities {
        async fn reconcile(&self, context: &Context, key: &ObjectKey) -> ReconcileResult {
            self.0
                .lock()
                .push((key.name().to_owned(), context.priority()));
            Ok(Outcome::Done)
        }
    }
    let plane = Plane::start();
    plane.create(&config_map("a")).await;
    for (ours, background, change) in [(None, -100, 0), (Some((-5, 7)), -5, 7)] {
        let seen = std::sync::Arc::default();
        let mut watch = Watch::of(&plane.maps).resync_every(Duration::from_secs(60));
        if let Some((background, change)) = ours {
            watch = watch.background_priority(background).priority(change);
        }
        let reconciler = Priorities(std::sync::Arc::clone(&seen));
        let controller = Controller::builder("maps")
            .for_(watch)
            .reconciler(reconciler);
        let stop = CancellationToken::new();
        let running = run(controller, plane.term(stop.clone()));
        let expect = |priority| vec![("a".to_owned(), priority)];
        settle().await;
        assert_eq!(
            std::mem::take(&mut *seen.lock()),
            expect(background),
            "first"
        );
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(
            std::mem::take(&mut *seen.lock()),
            expect(background),
            "resync"
        );
        plane.update(&labelled("a", &change.to_string())).await;
        settle().await;
        assert_eq!(std::mem::take(&mut *seen.lock()), expect(change), "update");
        stop.cancel();
        running.await.unwrap();
    }
    plane.stop().await;
}

/// Keys by a channel: they wait in it until the controller works, it waits for its senders, and
/// ends with them (T26, T66).
#[tokio::test(start_paused = true)]
async fn controller_runtime_t26_t66_keys_are_received_from_a_bounded_channel() {
    let plane = Plane::start();
    let journal: Journal<u32> = Journal::new();
    let (keys, received) = mpsc::channel(2);
    let controller = std::sync::Arc::new(
        Controller::builder("poll")
            .receives(received)
            .reconciler(journal.clone()),
    );
    keys.send(1).await.unwrap();
    keys.send(2).await.unwrap();
    assert!(
        keys.try_send(3).is_err(),
        "the channel is full, and nobody works yet"
    );
    let start = || {
        let (controller, stop) = (std::sync::Arc::clone(&controller), CancellationToken::new());
        let term = plane.term(stop.clone());
        (
            tokio::spawn(async move { controller.run(term).await.unwrap() }),
            stop,
        )
    };
    let (running, stop) = start();
    keys.send(3).await.unwrap();
    assert_eq!(journal.settled().await, [1, 2, 3]);
    stop.cancel();
    running.await.unwrap();
    keys.send(4).await.unwrap();
    assert!(journal.settled().await.is_empty(), "no term");
    let (running, stop) = start();
    assert_eq!(journal.settled().await, [4], "the next one");
    drop(keys);
    settle().await;
    stop.cancel();
    running.await.unwrap();
    plane.stop().await;
}

/// A stream that never ends is not read faster than its keys are worked off.
#[tokio::test(start_paused = true)]
async fn a_stream_of_keys_waits_for_the_workers() {
    struct Never;
    impl evenkeel::Reconciler<u64> for Never {
        async fn reconcile(&self, context: &Context<u64>, _: &u64) -> ReconcileResult {
            context.stopping().await;
            Ok(Outcome::Done)
        }
    }
    let plane = Plane::start();
    let polled = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let counter = std::sync::Arc::clone(&polled);
    let keys = futures_util::stream::poll_fn(move |_| {
        std::task::Poll::Ready(Some(
            counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed),
        ))
    });
    let controller = Controller::builder("flood").follows(keys).reconciler(Never);
    let stop = CancellationToken::new();
    let running = run(controller, plane.term(stop.clone()));
    tokio::time::sleep(Duration::from_secs(60)).await;
    let read = polled.load(std::sync::atomic::Ordering::Relaxed);
    assert!((1024..1100).contains(&read), "{read}");
    stop.cancel();
    running.await.unwrap();
    plane.stop().await;
}

/// Watches are added to a running controller and removed from it, and survive the term.
#[tokio::test(start_paused = true)]
async fn a_watch_may_come_and_go_while_the_controller_runs() {
    let plane = Plane::start();
    let journal = Journal::new();
    let controller = std::sync::Arc::new(
        Controller::builder("maps")
            .for_(&plane.maps)
            .reconciler(journal.clone()),
    );
    let handle = controller.handle();
    let start = || {
        let (controller, stop) = (std::sync::Arc::clone(&controller), CancellationToken::new());
        let term = plane.term(stop.clone());
        (
            tokio::spawn(async move { controller.run(term).await.unwrap() }),
            stop,
        )
    };
    let api = plane.client.namespaced("default");
    api.create(
        &secret("s", "one"),
        &evenkeel::client::WriteOptions::default(),
    )
    .await
    .unwrap();
    let (running, stop) = start();
    assert_eq!(journal.settled().await, []);

    let secrets: Informer<Secret> = plane.informers().typed(InformerOptions::default());
    plane.informers().start();
    let label = |secret: &Secret| {
        Some(ObjectKey::namespaced(
            "default",
            secret.metadata.labels.as_ref()?.get("map")?,
        ))
    };
    let watch = handle.watches(&secrets, label).unwrap();
    assert_eq!(
        names(&journal.settled().await),
        ["one"],
        "what is there comes first"
    );
    api.create(
        &secret("t", "two"),
        &evenkeel::client::WriteOptions::default(),
    )
    .await
    .unwrap();
    assert_eq!(names(&journal.settled().await), ["two"]);
    stop.cancel();
    running.await.unwrap();

    let (running, stop) = start();
    assert_eq!(
        names(&journal.settled().await),
        ["one", "two"],
        "in the next term too"
    );
    drop(watch);
    api.create(
        &secret("u", "three"),
        &evenkeel::client::WriteOptions::default(),
    )
    .await
    .unwrap();
    assert_eq!(journal.settled().await, []);
    let ends = handle.watches(&secrets, label).unwrap();
    secrets.stop();
    settle().await;
    assert!(handle.watches(&secrets, label).is_err());
    stop.cancel();
    running.await.unwrap();

    let (running, stop) = start();
    plane.create(&config_map("a")).await;
    let _ = journal.take();
    assert_eq!(
        names(&journal.settled().await),
        ["a"],
        "a watch that ended stops nobody"
    );
    drop(ends);
    stop.cancel();
    running.await.unwrap();
    plane.stop().await;
}

/// Two controllers look at the metadata of one kind: one LIST and WATCH, and no more than
/// metadata on the wire.
#[tokio::test(start_paused = true)]
async fn controller_runtime_t62_metadata_alone_is_watched_once_for_two_controllers() {
    let plane = Plane::start();
    let (one, other) = (Journal::new(), Journal::new());
    let secrets = || -> Informer<Metadata> {
        let options = InformerOptions::default().namespace("default");
        plane.informers().metadata(Secret::api_resource(), options)
    };
    let stop = CancellationToken::new();
    let runs = [(&one, "one"), (&other, "other")].map(|(journal, name)| {
        let controller = Controller::builder(name)
            .for_(&secrets())
            .reconciler(journal.clone());
        run(controller, plane.term(stop.clone()))
    });
    plane.informers().start();
    settle().await;
    let api = plane.client.namespaced("default");
    api.create(
        &secret("s", "x"),
        &evenkeel::client::WriteOptions::default(),
    )
    .await
    .unwrap();
    assert_eq!(names(&one.settled().await), ["s"]);
    assert_eq!(names(&other.settled().await), ["s"]);
    let mut requests = plane.server.take_requests();
    requests.retain(|request| request.method == "GET" && request.path.ends_with("/secrets"));
    assert_eq!(requests.len(), 1, "one list and watch in one: {requests:?}");
    stop.cancel();
    for running in runs {
        running.await.unwrap();
    }
    plane.stop().await;
}

/// Two namespaces as one collection.
#[tokio::test(start_paused = true)]
async fn some_namespaces_are_watched_as_one() {
    let plane = Plane::start();
    let journal = Journal::new();
    let maps = InformerSet::in_namespaces(["default", "kube-system"], |options| {
        plane.informers().typed::<ConfigMap>(options)
    });
    plane.informers().start();
    let controller = Controller::builder("maps")
        .for_(&maps)
        .owns(&maps)
        .reconciler(journal.clone());
    let stop = CancellationToken::new();
    let running = run(controller, plane.term(stop.clone()));
    for namespace in ["default", "kube-system", "kube-public"] {
        let mut map = owned("child", &[("v1", "owner", true)]);
        map.metadata.namespace = Some(namespace.to_owned());
        let api = plane.client.namespaced::<ConfigMap>(namespace);
        api.create(&map, &evenkeel::client::WriteOptions::default())
            .await
            .unwrap();
    }
    let ran: Vec<String> = journal
        .settled()
        .await
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        ran,
        [
            "default/child",
            "default/owner",
            "kube-system/child",
            "kube-system/owner"
        ]
    );
    stop.cancel();
    running.await.unwrap();
    plane.stop().await;
}

/// An object that was deleted and made anew with the same generation is two additions.
#[tokio::test(start_paused = true)]
async fn kube_rs_18_an_object_that_is_made_anew_passes_every_condition() {
    let plane = Plane::start();
    let journal = Journal::new();
    let events = std::sync::Arc::new(parking_lot::Mutex::new(Vec::new()));
    let told = std::sync::Arc::clone(&events);
    let controller = Controller::builder("maps")
        .for_(Watch::of(&plane.maps).when(changed::generation()))
        .watches_events(&plane.maps, move |_, event: &Event<ConfigMap>, _| {
            told.lock().push(matches!(event, Event::Updated { .. }));
        })
        .reconciler(journal.clone());
    let stop = CancellationToken::new();
    let running = run(controller, plane.term(stop.clone()));
    settle().await;
    for _ in 0..2 {
        plane.create(&config_map("a")).await;
        assert_eq!(names(&journal.settled().await), ["a"]);
        plane.delete("a").await;
        assert_eq!(names(&journal.settled().await), ["a"]);
    }
    assert!(events.lock().iter().all(|is_update| !is_update));
    stop.cancel();
    running.await.unwrap();
    plane.stop().await;
}

/// A key whose object is gone is done without a call (C25), and no error (kube-rs 19).
#[tokio::test(start_paused = true)]
async fn controller_runtime_c25_kube_rs_19_a_reconciler_of_objects_is_not_asked_about_one_that_is_gone()
 {
    struct Objects(std::sync::Arc<parking_lot::Mutex<Vec<String>>>);
    impl ObjectReconciler<ConfigMap> for Objects {
        async fn reconcile(&self, _: &Context, map: std::sync::Arc<ConfigMap>) -> ReconcileResult {
            self.0.lock().push(map.metadata.name.clone().unwrap());
            Ok(Outcome::Done)
        }
    }
    let plane = Plane::start();
    let (sink, seen) = (MemorySink::new(), std::sync::Arc::default());
    let controller = Controller::builder("maps")
        .for_(&plane.maps)
        .owns(&plane.maps)
        .metrics(Metrics::new(sink.clone()))
        .object_reconciler(Objects(std::sync::Arc::clone(&seen)));
    let stop = CancellationToken::new();
    let running = run(controller, plane.term(stop.clone()));
    plane.create(&config_map("owner")).await;
    plane
        .create(&owned("child", &[("v1", "owner", true)]))
        .await;
    settle().await;
    let before = seen.lock().len();
    plane.delete("owner").await;
    plane.delete("child").await;
    settle().await;
    assert_eq!(seen.lock().len(), before, "{:?}", seen.lock());
    let total = |result| {
        sink.value("controller_runtime_reconcile_total", &["maps", result])
            .unwrap()
    };
    assert!(total("success") > 3.0, "they ran");
    assert_eq!(total("error"), 0.0);
    stop.cancel();
    running.await.unwrap();
    plane.stop().await;
}

/// A kind that is not served yet holds up the controller that watches it and no other, which
/// starts to work when it is served.
#[tokio::test(start_paused = true)]
async fn a_kind_that_is_not_served_yet_is_waited_for_and_named() {
    let plane = Plane::start();
    let (waiting, going) = (Journal::new(), Journal::new());
    let widgets = plane
        .informers()
        .dynamic(WIDGETS, InformerOptions::default());
    plane.informers().start();
    let late = std::sync::Arc::new(
        Controller::builder("widgets")
            .for_(&widgets)
            .owns(&plane.maps)
            .reconciler(waiting.clone()),
    );
    let stop = CancellationToken::new();
    let (controller, term) = (std::sync::Arc::clone(&late), plane.term(stop.clone()));
    let runs = [
        tokio::spawn(async move { controller.run(term).await.unwrap() }),
        run(
            Controller::builder("maps")
                .for_(&plane.maps)
                .reconciler(going.clone()),
            plane.term(stop.clone()),
        ),
    ];
    plane.create(&config_map("a")).await;
    assert_eq!(names(&going.settled().await), ["a"]);
    let unsynced = late.unsynced();
    assert!(
        unsynced.len() == 1
            && unsynced[0].contains("widgets.example.com")
            && unsynced[0].contains("404"),
        "{unsynced:?}"
    );

    let crd: DynamicObject = serde_json::from_value(serde_json::json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    })).unwrap();
    let crds = ApiResource::new_static(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        Scope::Cluster,
    );
    plane
        .client
        .dynamic(crds, None)
        .create(&crd, &evenkeel::client::WriteOptions::default())
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let widget: DynamicObject = serde_json::from_value(serde_json::json!({
        "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "default"},
    })).unwrap();
    plane
        .client
        .dynamic(WIDGETS, Some("default"))
        .create(&widget, &evenkeel::client::WriteOptions::default())
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(names(&waiting.settled().await), ["w"]);
    assert_eq!(late.unsynced(), Vec::<String>::new());
    stop.cancel();
    for running in runs {
        running.await.unwrap();
    }
    plane.stop().await;
}
