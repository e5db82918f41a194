//! Where keys come from: channels, streams, metadata, namespaces, and watches that come and go.

#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

mod plane;

use std::time::Duration;

use evenkeel::meta::{ApiResource, DynamicObject, Metadata, ObjectKey, Resource, Scope};
use evenkeel::store::{Informer, InformerOptions, InformerSet};
use evenkeel::{Context, Controller, Outcome, ReconcileResult};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use plane::journal::{Journal, names, run, settle};
use plane::parts::{owned, secret};
use plane::{Plane, config_map};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

const WIDGETS: ApiResource =
    ApiResource::new_static("example.com", "v1", "Widget", "widgets", Scope::Namespaced);

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
    let going = plane.begin(controller);
    tokio::time::sleep(Duration::from_secs(60)).await;
    let read = polled.load(std::sync::atomic::Ordering::Relaxed);
    assert!((1024..1100).contains(&read), "{read}");
    going.end().await;
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
    let going = plane.begin(controller);
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
    going.end().await;
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
