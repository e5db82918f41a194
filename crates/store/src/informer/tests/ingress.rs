use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use evenkeel_client::{ByteStream, Client, ClientOptions, Lane, Transport, TransportError};
use evenkeel_meta::{MetaView, Object, PackedMeta, Status};
use futures_util::{FutureExt, StreamExt, stream};

use super::*;
use crate::set_aside::SetAsideReason;
use crate::transform::Transform;

/// Fails where it sees an object twice.
fn mark_once() -> Transform<Thing> {
    Transform::new(|thing: &mut Thing| {
        let marked = thing.metadata.labels.insert("marked".into(), String::new());
        assert!(marked.is_none(), "transformed twice");
        thing.size += 1000;
    })
}

fn is_marked(thing: &Thing) -> bool {
    thing.metadata.label("marked").is_some() && thing.size >= 1000
}

#[tokio::test(start_paused = true)]
async fn client_go_i12_q12_b12_ts25_ts41_a_transform_is_applied_once_on_every_way_in() {
    for make in [informers, listing] {
        let server = FakeServer::new();
        server.put("a", 1);
        server.put("b", 1);
        let informers = make(&server);
        let all = InformerOptions::default();
        let informer = informers.transformed(THINGS, all, &mark_once());
        let log = Log::default();
        let noted = log.clone();
        let handler = move |key: &ObjectKey, event: &Event<Thing>| {
            assert!(
                event.object().is_some_and(|thing| is_marked(thing)),
                "{key}"
            );
            noted.note(key, event);
        };
        let registration = informer.add_handler(handler).unwrap();
        let registration = registration.resync_every(Duration::from_secs(60));
        informers.start();
        informer.synced().await.unwrap();
        // Changed and deleted over the watch, found changed and gone by a relist, and resynced.
        server.put("a", 2);
        server.put("c", 1);
        server.delete("b");
        settle().await;
        server.cut(false);
        server.put("a", 3);
        server.delete("c");
        server.compact();
        pass(Duration::from_secs(5)).await;
        server.send_error(&Status::expired("x"));
        pass(Duration::from_secs(60)).await;
        assert_eq!(registration.panics(), 0);
        assert_eq!(informer.store().snapshot().set_aside().count(), 0);
        assert!(informer.store().list().iter().all(|thing| is_marked(thing)));
        let told = log.take();
        let expected = [
            "a 1001>1002",
            "b-1001",
            "a 1002>1003",
            "c~1001",
            "a 1003>1003",
        ];
        for line in expected {
            assert!(told.iter().any(|there| there == line), "{line}: {told:?}");
        }
    }
}

/// Upstream never gets beyond such an object by list, and loses it by watch.
#[tokio::test(start_paused = true)]
async fn client_go_r21_q12_an_object_whose_transform_fails_is_set_aside_and_the_rest_goes_on() {
    for make in [informers, listing] {
        let server = FakeServer::new();
        server.put("a", 1);
        server.put("bad", 13);
        server.put("worse", 14);
        let informers = make(&server);
        let transform = Transform::fallible(|thing: &mut Thing| match thing.size {
            13 => Err("thirteen"),
            14 => panic!("fourteen"),
            _ => Ok(()),
        });
        let informer = informers.transformed(THINGS, InformerOptions::default(), &transform);
        let log = Log::default();
        let _registration = informer.add_handler(log.handler()).unwrap();
        informers.start();
        let limit = Duration::from_secs(1);
        informer.synced_within(limit).await.unwrap();
        let reason = |name: &str| {
            let snapshot = informer.store().snapshot();
            snapshot
                .is_set_aside(&key(name))
                .map(|aside| aside.reason.clone())
        };
        let transform = |message: &str| {
            let message = message.to_owned();
            Some(SetAsideReason::Transform { message })
        };
        assert_eq!(reason("bad"), transform("thirteen"));
        assert_eq!(reason("worse"), transform("panicked: fourteen"));
        assert_eq!(informer.store().len(), 1);
        log.take();
        // By watch: the last good state stays, marked, and the next good one ends that.
        let version = server.put("a", 13);
        settle().await;
        assert_eq!(reason("a"), transform("thirteen"));
        assert_eq!(informer.store().get(&key("a")).unwrap().size, 1);
        assert_eq!(informer.store().resource_version(), version.into());
        server.put("a", 2);
        server.put("bad", 3);
        settle().await;
        assert_eq!((reason("a"), reason("bad")), (None, None));
        assert_eq!(log.take(), ["a 1>2", "bad+3"]);
        // The last state of a deleted object may be bad, too.
        server.put("a", 13);
        server.delete("a");
        settle().await;
        assert_eq!(log.take(), ["a~2"]);
    }
}

#[tokio::test(start_paused = true)]
async fn informers_are_shared_by_those_who_ask_with_the_same_transform() {
    let server = FakeServer::new();
    let informers = informers(&server);
    let all = InformerOptions::default;
    let transform = mark_once();
    let first = informers.transformed(THINGS, all(), &transform);
    let same = informers.transformed(THINGS, all(), &transform.clone());
    let other = informers.transformed(THINGS, all(), &mark_once());
    assert!(Arc::ptr_eq(&first.shared, &same.shared));
    assert!(!Arc::ptr_eq(&first.shared, &other.shared));
    assert!(!Arc::ptr_eq(&first.shared, &things(&informers).shared));
}

/// A list whose end never comes.
struct Endless(&'static [&'static str]);

impl Transport for Endless {
    fn send(
        &self,
        _: Lane,
        _: http::Request<Bytes>,
    ) -> BoxFuture<'static, Result<http::Response<ByteStream>, TransportError>> {
        let chunks = stream::iter(self.0).map(|chunk| Ok(Bytes::from_static(chunk.as_bytes())));
        let body = chunks.chain(stream::pending()).boxed();
        async { Ok(http::Response::new(body)) }.boxed()
    }
}

/// Nothing waits for a list to be whole: its objects are decoded, and made smaller, as they come.
#[tokio::test(start_paused = true)]
async fn client_go_b8_objects_of_a_list_are_decoded_and_transformed_one_by_one() {
    let transport = Endless(&[
        r#"{"kind":"ThingList","metadata":{"resourceVersion":"9"},"items":["#,
        r#"{"metadata":{"name":"a","namespace":"ns"},"size":1},"#,
        r#"{"metadata":{"name":"b","namespace":"ns"},"size":2},{"metadata":{"na"#,
    ]);
    let options = ReflectorOptions {
        watch_list: false,
        ..ReflectorOptions::default()
    };
    let client = Client::new(transport, ClientOptions::default());
    let informers = Informers::builder(client).reflector(options).build();
    let seen = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&seen);
    let transform = Transform::new(move |_: &mut Thing| {
        counter.fetch_add(1, Ordering::Relaxed);
    });
    let informer = informers.transformed(THINGS, InformerOptions::default(), &transform);
    informers.start();
    pass(Duration::from_secs(1)).await;
    assert_eq!(seen.load(Ordering::Relaxed), 2);
    assert!(informer.store().is_empty() && !informer.has_synced());
}

/// What was decoded is what the store and every handler hold.
#[tokio::test(start_paused = true)]
async fn store_and_handlers_hold_one_allocation() {
    let server = FakeServer::new();
    for n in 0..100 {
        server.put(&format!("t{n}"), n);
    }
    let informers = listing(&server);
    let informer = things(&informers);
    let mut subscription = informer.subscribe().unwrap();
    informers.start();
    informer.synced().await.unwrap();
    while let Some((key, event)) = subscription.try_next() {
        let held = informer.store().get(&key).unwrap();
        assert!(Arc::ptr_eq(event.object().unwrap(), &held));
    }
}

#[tokio::test(start_paused = true)]
async fn compact_objects_read_as_the_whole_does() {
    let server = FakeServer::new();
    for n in 0..100 {
        server.put(&format!("t{n}"), n);
    }
    let informers = informers(&server);
    let informer = informers.compact::<Thing>(THINGS, InformerOptions::default());
    informers.start();
    informer.synced().await.unwrap();
    server.put("t7", 700);
    server.delete("t8");
    settle().await;
    assert_eq!(informer.store().len(), 99);
    for (key, object) in informer.store().snapshot().iter() {
        let thing = object.decode().unwrap();
        assert_eq!(thing.metadata.name, key.name());
        let size = if key.name() == "t7" {
            "700"
        } else {
            &key.name()[1..]
        };
        assert_eq!(thing.size.to_string(), size);
    }
}

/// The pods of a ReplicaSet keep what they have in common once.
#[tokio::test(start_paused = true)]
async fn metadata_informers_share_what_siblings_have_in_common() {
    let server = FakeServer::new();
    for name in ["a", "b"] {
        server.put_owned(name, 1, "owner");
    }
    let informers = informers(&server);
    let informer = informers.metadata(THINGS, InformerOptions::default());
    informers.start();
    informer.synced().await.unwrap();
    let owner = |name: &str| {
        let object = informer.store().get(&key(name)).unwrap();
        object.metadata.owners().next().unwrap().uid.as_ptr()
    };
    assert_eq!(owner("a"), owner("b"));
}

#[derive(serde::Deserialize)]
struct Packed {
    metadata: PackedMeta,
}

impl Object for Packed {
    type Meta = PackedMeta;

    fn metadata(&self) -> &PackedMeta {
        &self.metadata
    }

    fn packed_mut(&mut self) -> Option<&mut PackedMeta> {
        Some(&mut self.metadata)
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_objects_of_a_projection_have_in_common_is_kept_once() {
    for make in [informers, listing] {
        let server = FakeServer::new();
        server.put_owned("a", 1, "owner-uid");
        server.put_owned("b", 1, "owner-uid");
        let informers = make(&server);
        let informer = informers.projected::<Packed>(THINGS, InformerOptions::default());
        informers.start();
        informer.synced().await.unwrap();
        server.put_owned("a", 2, "owner-uid");
        server.put_owned("c", 1, "owner-uid");
        settle().await;
        let things = informer.store().list();
        let owners: Vec<_> = things
            .iter()
            .map(|thing| thing.metadata.owners().next().unwrap().uid)
            .collect();
        assert_eq!(owners, ["owner-uid"; 3]);
        assert!(owners.iter().all(|uid| std::ptr::eq(*uid, owners[0])));
    }
}
