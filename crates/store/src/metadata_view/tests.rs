use evenkeel_meta::{MetaView, Status};
use parking_lot::Mutex;

use super::*;
use crate::fake_server::{FakeServer, THINGS, Thing};
use crate::informers::{InformerOptions, Informers};
use crate::transform::Transform;

async fn settle() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn handler(&self) -> impl MetadataHandler + use<> {
        let log = self.clone();
        move |key: &ObjectKey, event: MetadataEvent<'_>| {
            let uid = |object: MetadataRef<'_>| object.uid().unwrap_or_default().to_owned();
            log.0.lock().push(match event {
                MetadataEvent::Present { object, initial } => {
                    format!(
                        "{}+{}{}",
                        key.name(),
                        uid(object),
                        if initial { " initial" } else { "" }
                    )
                }
                MetadataEvent::Gone {
                    last_known,
                    reported,
                } => {
                    let sign = if reported { '-' } else { '~' };
                    format!(
                        "{}{sign}{}",
                        key.name(),
                        last_known.map(uid).unwrap_or_default()
                    )
                }
            });
        }
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock())
    }
}

#[tokio::test(start_paused = true)]
async fn a_view_attaches_to_the_informer_that_is_there() {
    let server = FakeServer::new();
    server.put("a", 1);
    let informers = Informers::new(server.client());
    let things = informers.projected::<Thing>(THINGS, InformerOptions::default());
    let view = informers.metadata_view(THINGS);
    let log = Log::default();
    let registration = view.add_handler(log.handler()).unwrap();
    informers.start();
    view.synced_within(Duration::from_secs(1)).await.unwrap();
    registration.synced().await.unwrap();
    server.put("b", 1);
    server.put("a", 2);
    server.delete("b");
    settle().await;
    assert_eq!(
        log.take(),
        ["a+uid-1 initial", "b+uid-2", "a+uid-1", "b-uid-2"]
    );
    assert_eq!(server.requests().len(), 1, "one watch serves both");
    let key = ObjectKey::namespaced("ns", "a");
    let version = view.read(&key, |metadata| metadata.resource_version());
    assert_eq!(
        version.flatten(),
        things.store().get(&key).unwrap().metadata.resource_version
    );
}

#[tokio::test(start_paused = true)]
async fn a_view_makes_a_metadata_informer_where_there_is_none_that_shows_everything() {
    let server = FakeServer::new();
    server.put("a", 1);
    let informers = Informers::new(server.client());
    let selected = InformerOptions::default().namespace("ns");
    let _narrow = informers.projected::<Thing>(THINGS, selected);
    let view = informers.metadata_view(THINGS);
    let again = informers.metadata_view(THINGS);
    informers.start();
    view.synced().await.unwrap();
    again.synced().await.unwrap();
    assert_eq!(informers.sync_states().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn kube_rs_d4_a_view_shows_what_the_store_could_not_take() {
    let server = FakeServer::new();
    server.put_undecodable("bad");
    let informers = Informers::new(server.client());
    let _things = informers.projected::<Thing>(THINGS, InformerOptions::default());
    let view = informers.metadata_view(THINGS);
    let (early, late) = (Log::default(), Log::default());
    let _early = view.add_handler(early.handler()).unwrap();
    informers.start();
    view.synced().await.unwrap();
    let _late = view.add_handler(late.handler()).unwrap();
    settle().await;
    assert_eq!(early.take(), ["bad+uid-1"]);
    assert_eq!(late.take(), ["bad+uid-1"]);
    let bad = ObjectKey::namespaced("ns", "bad");
    assert_eq!(
        view.read(&bad, |metadata| metadata.name().to_owned()),
        Some("bad".to_owned())
    );
    // A list that brings the same is no news; one that lacks it is.
    server.send_error(&Status::expired("x"));
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(early.take().is_empty());
    server.cut(false);
    server.delete("bad");
    server.compact();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(early.take(), ["bad~uid-1"]);
}

/// Metadata that keeps the name alone.
#[derive(serde::Deserialize)]
struct Named {
    metadata: Name,
}

#[derive(serde::Deserialize)]
struct Name(evenkeel_meta::PackedMeta);

impl MetaView for Name {
    fn name(&self) -> &str {
        self.0.name()
    }
    fn namespace(&self) -> Option<&str> {
        self.0.namespace()
    }
    fn uid(&self) -> Option<&str> {
        self.0.uid()
    }
    fn resource_version(&self) -> Option<evenkeel_meta::ResourceVersion> {
        self.0.resource_version()
    }
    fn generation(&self) -> Option<i64> {
        None
    }
    fn creation_timestamp(&self) -> Option<evenkeel_meta::Timestamp> {
        None
    }
    fn deletion_timestamp(&self) -> Option<evenkeel_meta::Timestamp> {
        None
    }
    fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        std::iter::empty()
    }
    fn annotations(&self) -> impl Iterator<Item = (&str, &str)> {
        std::iter::empty()
    }
    fn label(&self, _: &str) -> Option<&str> {
        None
    }
    fn annotation(&self, _: &str) -> Option<&str> {
        None
    }
    fn finalizers(&self) -> impl Iterator<Item = &str> {
        std::iter::empty()
    }
    fn owners(&self) -> impl Iterator<Item = evenkeel_meta::OwnerView<'_>> {
        std::iter::empty()
    }
}

impl Object for Named {
    type Meta = Name;

    fn metadata(&self) -> &Name {
        &self.metadata
    }
}

/// A collector that took it for the whole would find every object without owners.
#[tokio::test(start_paused = true)]
async fn a_projection_without_owners_never_serves_as_a_view() {
    let server = FakeServer::new();
    server.put_owned("a", 1, "owner-uid");
    let informers = Informers::new(server.client());
    let all = InformerOptions::default();
    let _names = informers.projected::<Named>(THINGS, all.clone());
    let transform = Transform::new(|thing: &mut Thing| thing.metadata.owner_references.clear());
    let _ownerless = informers.transformed(THINGS, all, &transform);
    assert!(informers.find_metadata_view(&THINGS).is_none());
    let view = informers.metadata_view(THINGS);
    informers.start();
    view.synced().await.unwrap();
    let key = ObjectKey::namespaced("ns", "a");
    let owners = view.read(&key, |metadata| {
        metadata
            .owners()
            .map(|owner| owner.uid.to_owned())
            .collect::<Vec<_>>()
    });
    assert_eq!(owners.unwrap(), ["owner-uid"]);
}
