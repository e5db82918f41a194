use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use evenkeel_meta::{Meta, MetaView, Metadata, OwnerReference, Uid};

use super::*;
use crate::set_aside::SetAsideReason;
use crate::writer::Writer;

fn meta(name: &str, uid: &str, version: u64) -> Meta {
    Meta {
        name: name.into(),
        namespace: Some("ns".into()),
        uid: Some(Uid::from(uid)),
        resource_version: Some(version.into()),
        ..Meta::default()
    }
}

fn object(name: &str, uid: &str, version: u64) -> Metadata {
    meta(name, uid, version).into()
}

fn labelled(name: &str, version: u64, app: &str) -> Arc<Metadata> {
    let labels = [("app".to_owned(), app.to_owned())].into();
    let meta = Meta {
        labels,
        ..meta(name, name, version)
    };
    Arc::new(meta.into())
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::namespaced("ns", name)
}

fn by_app() -> Index<Metadata> {
    Index::new("app", |object: &Metadata| {
        let apps = object.metadata.label("app");
        apps.map(|apps| apps.split('+').map(str::to_owned).collect::<Vec<_>>())
            .unwrap_or_default()
    })
}

fn names(objects: &[Arc<Metadata>]) -> BTreeSet<&str> {
    objects
        .iter()
        .map(|object| object.metadata.name())
        .collect()
}

#[test]
fn client_go_s4_ts44_an_index_covers_what_is_there_and_what_comes() {
    let (mut writer, store) = Writer::with_seed(1);
    writer.put(labelled("a", 1, "web")).unwrap();
    writer.publish();
    let index = by_app();
    store.add_index(index.clone()).unwrap();
    writer.put(labelled("b", 2, "web")).unwrap();
    writer.put(labelled("c", 3, "db+cache")).unwrap();
    writer.publish();
    assert_eq!(names(&store.by_index(&index, "web")), ["a", "b"].into());
    assert_eq!(names(&store.by_index(&index, "cache")), ["c"].into());
    // TS44: a value that changes moves the object, and only it.
    writer.put(labelled("c", 4, "db+web")).unwrap();
    writer.remove(&key("a"));
    writer.publish();
    assert_eq!(names(&store.by_index(&index, "web")), ["b", "c"].into());
    assert_eq!(names(&store.by_index(&index, "db")), ["c"].into());
    assert!(store.by_index(&index, "cache").is_empty());
}

#[test]
fn client_go_s4_a_name_is_taken_once() {
    let (_writer, store) = Writer::<Metadata>::with_seed(1);
    store.add_index(by_app()).unwrap();
    let error = store.add_index(by_app()).unwrap_err();
    assert_eq!(error, AddIndexError::NameTaken { name: "app".into() });
    // The same index, or the same built-in one, is no clash: two controllers may want it.
    for _ in 0..2 {
        store.add_index(Index::owner_uid()).unwrap();
    }
}

#[test]
fn client_go_s4_an_index_that_fails_sets_the_object_aside_and_nothing_panics() {
    let (mut writer, store) = Writer::with_seed(1);
    let picky = Index::fallible("picky", |object: &Metadata| {
        match object.metadata.label("app") {
            Some("bad") => Err("bad app"),
            Some("worse") => panic!("worse app"),
            app => Ok(app.map(str::to_owned)),
        }
    });
    store.add_index(by_app()).unwrap();
    store.add_index(picky.clone()).unwrap();
    writer.put(labelled("a", 1, "good")).unwrap();
    for (version, app, message) in [(2, "bad", "bad app"), (3, "worse", "panicked: worse app")] {
        let refused = writer.put(labelled("a", version, app)).unwrap_err();
        writer.publish();
        let index = "picky".into();
        let message = message.into();
        assert_eq!(
            refused.set_aside.reason,
            SetAsideReason::Index { index, message }
        );
        // The last good state stays, in every index.
        let snapshot = store.snapshot();
        assert_eq!(
            snapshot.get(&key("a")).unwrap().metadata.resource_version(),
            Some(1.into())
        );
        assert_eq!(snapshot.count_by_index(&by_app(), "good"), 1);
        assert!(snapshot.by_index(&picky, app).is_empty());
        let aside = snapshot.is_set_aside(&key("a")).unwrap();
        assert_eq!(aside.metadata.labels["app"], app);
    }
    writer.put(labelled("a", 4, "fine")).unwrap();
    writer.publish();
    assert_eq!(store.snapshot().set_aside().count(), 0);

    // Adding one that fails for what is there changes nothing.
    let hopeless = Index::fallible("hopeless", |_: &Metadata| Err::<Vec<String>, _>("never"));
    let error = store.add_index(hopeless).unwrap_err();
    assert!(matches!(error, AddIndexError::Function { .. }), "{error}");
    writer.put(labelled("b", 5, "fine")).unwrap();
}

#[test]
fn client_go_s5_b24_values_that_nobody_has_take_no_room() {
    let (mut writer, store) = Writer::<Metadata>::with_seed(1);
    store.add_index(Index::owner_uid()).unwrap();
    for n in 0..1000u64 {
        let mut owned = meta("churn", &n.to_string(), n);
        owned.owner_references = vec![OwnerReference {
            api_version: "v1".into(),
            kind: "Owner".into(),
            name: "o".into(),
            uid: Uid::from(format!("owner-{n}").as_str()),
            controller: None,
            block_owner_deletion: None,
        }];
        writer.put(Arc::new(owned.into())).unwrap();
    }
    writer.publish();
    let contents = store.snapshot();
    assert_eq!(contents.contents().index_sizes(), [1]);
    assert_eq!(store.by_index(&Index::owner_uid(), "owner-999").len(), 1);
    writer.remove(&key("churn"));
    writer.publish();
    assert_eq!(store.snapshot().contents().index_sizes(), [0]);
}

#[test]
fn an_index_that_is_not_registered_gives_the_same_answer() {
    let (mut writer, store) = Writer::with_seed(1);
    for (name, app) in [("a", "web"), ("b", "db"), ("c", "web")] {
        writer.put(labelled(name, 1, app)).unwrap();
    }
    writer.publish();
    assert_eq!(names(&store.by_index(&by_app(), "web")), ["a", "c"].into());
    assert!(!store.snapshot().contents().has_index(&Index::namespace()));
    assert_eq!(store.in_namespace("ns").len(), 3);
    assert!(store.snapshot().contents().has_index(&Index::namespace()));
    assert!(store.in_namespace("other").is_empty());
    let selector = "app=db".parse().unwrap();
    assert_eq!(names(&store.select(&selector)), ["b"].into());
}

#[test]
fn client_go_s6_the_version_belongs_to_the_data() {
    let (mut writer, store) = Writer::with_seed(1);
    assert!(store.resource_version().is_unset());
    writer.put(labelled("a", 10, "x")).unwrap();
    writer.set_resource_version(10.into());
    assert!(store.resource_version().is_unset() && store.is_empty());
    writer.publish();
    assert_eq!((store.resource_version(), store.len()), (10.into(), 1));
    // Plain assignment: a list of another history may go down.
    writer.begin_replace();
    writer.end_replace(5.into(), true);
    assert_eq!((store.resource_version(), store.len()), (5.into(), 0));
    assert_eq!(store.snapshot().epoch(), 1);
}

#[test]
fn client_go_s3_kube_rs_30_a_replacement_is_seen_whole_or_not_at_all() {
    let (mut writer, store) = Writer::with_seed(1);
    store.add_index(by_app()).unwrap();
    for n in 0..100 {
        writer.put(labelled(&format!("o{n}"), 1, "old")).unwrap();
    }
    writer.end_replace(1.into(), false);
    let before = store.snapshot();
    writer.begin_replace();
    for n in 50..150 {
        let (version, app) = if n < 75 { (1, "old") } else { (2, "new") };
        writer
            .put(labelled(&format!("o{n}"), version, app))
            .unwrap();
    }
    assert_eq!(
        (store.len(), store.by_index(&by_app(), "new").len()),
        (100, 0)
    );
    // An index that is added meanwhile covers the replacement too.
    let by_name = Index::new("name", |object: &Metadata| {
        [object.metadata.name().to_owned()]
    });
    store.add_index(by_name.clone()).unwrap();
    // So does one that fails for an object which only the replacement has.
    let no_late = Index::fallible("no-late", |object: &Metadata| {
        let late = object.metadata.name() == "o140";
        if late {
            Err("late")
        } else {
            Ok([object.metadata.name().to_owned()])
        }
    });
    store.add_index(no_late.clone()).unwrap();
    let replaced = writer.end_replace(2.into(), false);
    let snapshot = store.snapshot();
    assert!(snapshot.contents().has_index(&by_name) && snapshot.contents().has_index(&no_late));
    let aside = snapshot.is_set_aside(&key("o140")).unwrap();
    assert_eq!(aside.metadata.labels["app"], "new");
    assert_eq!(store.by_index(&by_name, "o149").len(), 1);
    assert_eq!(store.by_index(&by_name, "o1").len(), 0);
    assert_eq!(store.snapshot().count_by_index(&by_app(), "old"), 25);
    assert_eq!(store.snapshot().count_by_index(&by_app(), "new"), 74);
    let (mut removed, mut put) = (0, 0);
    replaced.for_each_removed(|_, _| removed += 1);
    replaced.for_each_put(|_, _, _| put += 1);
    assert_eq!((removed, put), (50, 74));
    let after = store.snapshot();
    let unchanged = (50..75).map(|n| key(&format!("o{n}")));
    for key in unchanged {
        assert!(Arc::ptr_eq(
            before.get(&key).unwrap(),
            after.get(&key).unwrap()
        ));
    }
}

#[test]
fn client_go_b7_an_abandoned_replacement_leaves_nothing_behind() {
    let (mut writer, store) = Writer::with_seed(1);
    let kept = labelled("a", 1, "x");
    writer.put(Arc::clone(&kept)).unwrap();
    writer.end_replace(1.into(), false);
    let dropped = labelled("b", 2, "x");
    writer.begin_replace();
    writer.put(Arc::clone(&dropped)).unwrap();
    writer.abort_replace();
    writer.begin_replace();
    writer.put(labelled("a", 1, "x")).unwrap();
    writer.end_replace(3.into(), false);
    assert_eq!(Arc::strong_count(&dropped), 1);
    assert!(Arc::ptr_eq(&store.get(&key("a")).unwrap(), &kept));
}

#[test]
fn an_object_has_one_key_for_its_life() {
    let (mut writer, store) = Writer::with_seed(1);
    let first = labelled("a", 1, "x");
    let text = first.metadata.held_key().unwrap().as_str().as_ptr();
    // Later states bring keys of their own, which go at once.
    for object in [first, labelled("a", 2, "x"), labelled("a", 3, "y")] {
        let put = writer.put(object).unwrap();
        writer.publish();
        let snapshot = store.snapshot();
        let (key, object) = snapshot.iter().next().unwrap();
        let held = object.metadata.held_key().unwrap();
        for key in [key, held, &put.key] {
            assert_eq!(key.as_str().as_ptr(), text);
        }
    }
}

#[test]
fn an_object_that_others_hold_already_is_kept_with_its_own_key() {
    let (mut writer, store) = Writer::with_seed(1);
    writer.put(labelled("a", 1, "x")).unwrap();
    let held = labelled("a", 2, "x");
    writer.put(Arc::clone(&held)).unwrap();
    writer.publish();
    let snapshot = store.snapshot();
    let (key, object) = snapshot.iter().next().unwrap();
    assert!(Arc::ptr_eq(object, &held));
    let own = held.metadata.held_key().unwrap();
    assert_eq!(key.as_str().as_ptr(), own.as_str().as_ptr());
}

#[test]
fn an_object_that_is_the_same_by_name_only_does_not_keep_the_old_state() {
    let (mut writer, store) = Writer::with_seed(1);
    writer.put(Arc::new(object("a", "first", 7))).unwrap();
    writer.end_replace(7.into(), false);
    writer.begin_replace();
    // Another history may give the same version to another object.
    writer.put(Arc::new(object("a", "second", 7))).unwrap();
    writer.end_replace(7.into(), true);
    let there = store.get(&key("a")).unwrap();
    assert_eq!(there.metadata.uid(), Some("second"));
}

#[test]
fn client_go_s2_b14_readers_see_whole_batches_while_the_writer_goes_on() {
    let (mut writer, store) = Writer::<Metadata>::with_seed(1);
    store.add_index(Index::namespace()).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut last = 0;
                while !done.load(Ordering::Relaxed) {
                    let snapshot = store.snapshot();
                    let version = snapshot.resource_version().as_number().unwrap_or(0);
                    assert!(version >= last);
                    last = version;
                    // Each batch writes every object once more.
                    let states = snapshot
                        .iter()
                        .map(|(_, object)| object.metadata.resource_version());
                    let states: BTreeSet<_> = states.map(|v| v.unwrap().as_number()).collect();
                    assert!(states.len() <= 1, "{states:?}");
                    assert_eq!(
                        snapshot.count_by_index(&Index::namespace(), "ns"),
                        snapshot.len()
                    );
                    assert_eq!(states.first().copied().flatten().unwrap_or(0), version);
                }
            });
        }
        for version in 1..=300u64 {
            for n in 0..50 {
                writer
                    .put(Arc::new(object(&format!("o{n}"), "u", version)))
                    .unwrap();
            }
            writer.set_resource_version(version.into());
            writer.publish();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(store.resource_version(), 300.into());
}

#[tokio::test(start_paused = true)]
async fn client_go_b31_waiting_for_a_version_ends_with_it() {
    let (mut writer, store) = Writer::<Metadata>::with_seed(1);
    let waiting = {
        let store = store.clone();
        tokio::spawn(async move { store.wait_for(&20.into()).await })
    };
    tokio::task::yield_now().await;
    writer.end_replace(19.into(), false);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!waiting.is_finished());
    writer.set_resource_version(21.into());
    writer.publish();
    assert_eq!(waiting.await.unwrap(), Ok(()));
    assert_eq!(store.wait_for(&5.into()).await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn client_go_b31_waiting_for_what_cannot_come_is_given_up() {
    let (mut writer, store) = Writer::<Metadata>::with_seed(1);
    writer.end_replace(1200.into(), false);
    let opaque = ResourceVersion::parse("etcd-7");
    assert_eq!(store.wait_for(&opaque).await, Err(WaitError::Unordered));
    let wait = |wanted: u64| {
        let store = store.clone();
        tokio::spawn(async move { store.wait_for(&wanted.into()).await })
    };
    let waiting = wait(1300);
    tokio::task::yield_now().await;
    writer.end_replace(1000.into(), true);
    assert_eq!(waiting.await.unwrap(), Err(WaitError::Rewound));
    let waiting = wait(1300);
    tokio::task::yield_now().await;
    drop(writer);
    assert_eq!(waiting.await.unwrap(), Err(WaitError::Closed));
}

#[test]
fn client_go_s7_lists_by_selector_and_namespace() {
    let (mut writer, store) = Writer::with_seed(1);
    for (namespace, name, app) in [("n1", "a", "web"), ("n1", "b", "db"), ("n2", "a", "web")] {
        let labels = [("app".to_owned(), app.to_owned())].into();
        let meta = Meta {
            namespace: Some(namespace.into()),
            labels,
            ..meta(name, name, 1)
        };
        writer.put(Arc::new(Metadata::from(meta))).unwrap();
    }
    writer.publish();
    let select = |text: &str| store.select(&text.parse().unwrap()).len();
    assert_eq!(
        (
            select("app=web"),
            select("app!=web"),
            select("app in (web,db)")
        ),
        (2, 1, 3)
    );
    assert_eq!((select(""), select("app,!app")), (3, 0));
    // With the index or without, the same.
    let before = store.snapshot();
    assert!(!before.contents().has_index(&Index::namespace()));
    for _ in 0..2 {
        assert_eq!(before.in_namespace("n1").len(), 2);
        assert_eq!(
            (
                store.in_namespace("n1").len(),
                store.in_namespace("n2").len()
            ),
            (2, 1)
        );
        assert!(store.in_namespace("n3").is_empty());
    }
    assert!(store.snapshot().contents().has_index(&Index::namespace()));
    assert!(store.get(&ObjectKey::namespaced("n2", "b")).is_none());
}

#[test]
fn client_go_s8_ts46_of_a_batch_the_good_writes_count_and_the_bad_are_named() {
    let (mut writer, store) = Writer::with_seed(1);
    let picky = Index::fallible("picky", |object: &Metadata| {
        match object.metadata.label("app") {
            Some("bad") => Err("bad app"),
            app => Ok(app.map(str::to_owned)),
        }
    });
    store.add_index(picky).unwrap();
    let before = store.publications();
    let outcomes: Vec<_> = [("a", "x"), ("b", "bad"), ("c", "y"), ("d", "bad")]
        .into_iter()
        .map(|(name, app)| {
            writer
                .put(labelled(name, 1, app))
                .map_err(|refused| refused.to_string())
        })
        .collect();
    assert!(
        store.is_empty(),
        "nothing is shown before the whole batch is"
    );
    writer.publish();
    assert_eq!(store.publications() - before, 1);
    assert_eq!(names(&store.list()), ["a", "c"].into());
    assert!(outcomes[0].is_ok() && outcomes[2].is_ok());
    let error = outcomes[1].as_ref().unwrap_err();
    assert!(
        error.contains("ns/b") && error.contains("bad app"),
        "{error}"
    );
    assert!(outcomes[3].as_ref().unwrap_err().contains("ns/d"));
}

/// After any history of writes and replacements an index answers as a look at every object does.
#[test]
fn kube_rs_26_an_index_by_owner_equals_brute_force_after_every_change() {
    let (mut writer, store) = Writer::<Metadata>::with_seed(1);
    store.add_index(Index::owner_uid()).unwrap();
    let mut rng = evenkeel_pace::Rng::seeded(11);
    let owned = |n: u64, version: u64, owner: u64| {
        let owner = OwnerReference {
            api_version: "v1".into(),
            kind: "Owner".into(),
            name: "o".into(),
            uid: Uid::from(format!("owner-{owner}").as_str()),
            controller: None,
            block_owner_deletion: None,
        };
        Arc::new(Metadata::from(Meta {
            owner_references: vec![owner],
            ..meta(&format!("o{n}"), "u", version)
        }))
    };
    for version in 1..400 {
        match rng.below(10) {
            0 => {
                writer.begin_replace();
                for n in 0..30 {
                    if rng.chance(0.7) {
                        writer.put(owned(n, version, rng.below(6))).unwrap();
                    }
                }
                writer.end_replace(version.into(), false);
            }
            1..4 => drop(writer.remove(&key(&format!("o{}", rng.below(30))))),
            _ => drop(
                writer
                    .put(owned(rng.below(30), version, rng.below(6)))
                    .unwrap(),
            ),
        }
        writer.publish();
        let snapshot = store.snapshot();
        for owner in (0..6).map(|owner| format!("owner-{owner}")) {
            let has = |object: &Metadata| object.metadata.owners().any(|o| o.uid == owner);
            let brute = snapshot.iter().filter(|(_, object)| has(object)).count();
            assert_eq!(snapshot.count_by_index(&Index::owner_uid(), &owner), brute);
            assert_eq!(snapshot.by_index(&Index::owner_uid(), &owner).len(), brute);
        }
    }
}
