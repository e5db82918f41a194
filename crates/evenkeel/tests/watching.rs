//! What a controller watches: conditions, owners, maps, indexes and priorities.

#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

mod plane;

use std::time::Duration;

use evenkeel::meta::{LabelSelector, MetaView, ObjectKey};
use evenkeel::observe::{MemorySink, Metrics};
use evenkeel::store::{Event, Index, Informer, InformerOptions};
use evenkeel::{Context, Controller, ObjectReconciler, Outcome, ReconcileResult, Watch, changed};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use plane::journal::{Journal, names, run, settle};
use plane::parts::{annotated, labelled, owned, secret};
use plane::{Plane, config_map};
use tokio_util::sync::CancellationToken;

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
    let going = plane.begin(controller);
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
    going.end().await;
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
        let going = plane.begin(controller);
        assert_eq!(names(&journal.settled().await), ["a"]);
        plane.delete("a").await;
        assert_eq!(names(&journal.settled().await), ["a"], "it begins");
        plane.update(&config_map("a")).await;
        assert_eq!(names(&journal.settled().await), ["a"], "it ends");
        going.end().await;
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
    let going = plane.begin(controller);
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
    going.end().await;
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
    let going = plane.begin(controller);
    let mut map = owned("child", &[("v1", "tenant", true)]);
    map.metadata.owner_references.as_mut().unwrap()[0].kind = "Namespace".to_owned();
    plane.create(&map).await;
    assert_eq!(journal.settled().await, [ObjectKey::cluster("tenant")]);
    going.end().await;
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
    let going = plane.begin(controller);
    plane.create(&labelled("a", "one")).await;
    assert_eq!(journal.settled().await, ["one"]);
    plane.update(&labelled("a", "two")).await;
    assert_eq!(journal.settled().await, ["one", "two"]);
    let mut both = labelled("a", "two");
    both.metadata.annotations = Some([("x".to_owned(), "y".to_owned())].into());
    plane.update(&both).await;
    assert_eq!(journal.settled().await, ["two"]);
    going.end().await;
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
    let going = plane.begin(controller);
    assert_eq!(names(&journal.settled().await), ["a", "b", "c"]);
    let api = plane.client.namespaced("default");
    api.create(
        &secret("s", "x"),
        &evenkeel::client::WriteOptions::default(),
    )
    .await
    .unwrap();
    assert_eq!(names(&journal.settled().await), ["a", "b"]);
    going.end().await;
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
        let going = plane.begin(controller);
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
        going.end().await;
    }
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
    let going = plane.begin(controller);
    settle().await;
    for _ in 0..2 {
        plane.create(&config_map("a")).await;
        assert_eq!(names(&journal.settled().await), ["a"]);
        plane.delete("a").await;
        assert_eq!(names(&journal.settled().await), ["a"]);
    }
    assert!(events.lock().iter().all(|is_update| !is_update));
    going.end().await;
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
    let going = plane.begin(controller);
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
    going.end().await;
    plane.stop().await;
}
