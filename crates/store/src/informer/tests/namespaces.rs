use evenkeel_meta::GroupResource;

use super::*;
use crate::fake_server::Answer;
use crate::handler::Registration;
use crate::index::Index;
use crate::informer_set::InformerSet;
use crate::status::SyncError;

fn set(informers: &Informers, namespaces: &[&str]) -> InformerSet<Thing> {
    InformerSet::in_namespaces(namespaces.iter().copied(), |options| {
        informers.projected::<Thing>(THINGS, options)
    })
}

#[tokio::test(start_paused = true)]
async fn a_set_of_namespaces_reads_as_one_collection() {
    let server = FakeServer::new();
    server.put_in("red", "a", 1);
    server.put_in("blue", "a", 2);
    server.put_in("green", "a", 3);
    let informers = informers(&server);
    let set = set(&informers, &["red", "blue", "red"]);
    assert_eq!(set.iter().count(), 2);
    let log = Log::default();
    let noted = log.clone();
    let registrations = set
        .add_handler(move |key: &ObjectKey, event: &Event<Thing>| {
            let namespace = key.namespace().unwrap_or_default();
            noted
                .0
                .lock()
                .push(format!("{namespace}/{}", spell(key, event)));
        })
        .unwrap();
    informers.start();
    set.synced().await.unwrap();
    assert_eq!(server.requests().len(), 2, "one watch-list a namespace");
    let mut told = log.take();
    told.sort();
    assert_eq!(told, ["blue/a+2 initial", "red/a+1 initial"]);
    assert_eq!(
        set.get(&ObjectKey::namespaced("blue", "a")).unwrap().size,
        2
    );
    assert!(set.get(&ObjectKey::namespaced("green", "a")).is_none());
    assert!(set.get(&ObjectKey::cluster("a")).is_none());
    assert_eq!((set.len(), set.list().len()), (2, 2));
    assert_eq!(set.in_namespace("red").len(), 1);
    assert!(set.in_namespace("green").is_empty());
    let by_name = Index::new("name", |thing: &Thing| [thing.metadata.name.clone()]);
    set.add_index(&by_name).unwrap();
    assert_eq!(set.by_index(&by_name, "a").len(), 2);
    server.put_in("red", "b", 5);
    server.put_in("green", "b", 5);
    settle().await;
    assert_eq!(log.take(), ["red/b+5"]);
    assert_eq!(set.by_index(&by_name, "b").len(), 1);
    assert!(registrations.iter().all(Registration::has_synced));
    drop(registrations);
    server.put_in("red", "b", 6);
    settle().await;
    assert!(log.take().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_may_not_be_seen_is_named_and_keeps_no_other_from_syncing() {
    let server = FakeServer::new();
    let things = GroupResource {
        group: "test.dev".into(),
        resource: "things".into(),
    };
    let no = Answer::Status(evenkeel_meta::Status::forbidden(&things, "", "not yours"));
    let informers = informers(&server);
    let set = set(&informers, &["mine", "theirs"]);
    server.answer_paths("/namespaces/theirs/", no);
    informers.start();
    let error = set.synced_within(Duration::from_secs(3)).await.unwrap_err();
    assert!(matches!(error, SyncError::TimedOut { .. }));
    assert!(error.to_string().contains("not yours"), "{error}");
    let unsynced: Vec<_> = set.unsynced().into_iter().map(|(name, _)| name).collect();
    assert_eq!(unsynced, ["theirs"]);
    assert!(!set.has_synced());
}
