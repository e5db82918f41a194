//! Informers over the wire format, against a fake server, with the clock paused.

mod delivery;
mod faults;
mod handlers;
mod ingress;
mod lifecycle;
mod logs;
mod model;
mod namespaces;
mod relist;
mod resync;
mod soak;
mod stopping;
mod wire;

use std::time::Duration;

use evenkeel_meta::ObjectKey;
use parking_lot::Mutex;

use super::*;
use crate::fake_server::{FakeServer, THINGS, Thing};
use crate::informers::{InformerOptions, Informers};
use crate::reflector::ReflectorOptions;

fn key(name: &str) -> ObjectKey {
    ObjectKey::namespaced("ns", name)
}

fn informers(server: &FakeServer) -> Informers {
    Informers::builder(server.client()).seed(7).build()
}

/// Lists instead of watch-lists.
fn listing(server: &FakeServer) -> Informers {
    let options = ReflectorOptions {
        watch_list: false,
        ..ReflectorOptions::default()
    };
    Informers::builder(server.client())
        .seed(7)
        .reflector(options)
        .build()
}

fn things(informers: &Informers) -> Informer<Thing> {
    informers.projected(THINGS, InformerOptions::default())
}

/// Started and synced.
async fn running(server: &FakeServer) -> (Informers, Informer<Thing>) {
    let informers = informers(server);
    let informer = things(&informers);
    informers.start();
    informer.synced().await.unwrap();
    (informers, informer)
}

/// Lets everything run that can, without letting time pass.
async fn settle() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}

/// Lets time pass in small steps, so that timers fire in their order.
async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
    settle().await;
}

/// Names and sizes in the store.
fn contents(informer: &Informer<Thing>) -> std::collections::BTreeMap<String, u64> {
    informer
        .store()
        .snapshot()
        .iter()
        .map(|(key, thing)| (key.name().to_owned(), u64::from(thing.size)))
        .collect()
}

/// What a handler was told, one line an event.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock())
    }

    fn handler(&self) -> impl Handler<Thing> + use<> {
        let log = self.clone();
        move |key: &ObjectKey, event: &Event<Thing>| log.note(key, event)
    }

    fn note(&self, key: &ObjectKey, event: &Event<Thing>) {
        self.0.lock().push(spell(key, event));
    }
}

fn spell(key: &ObjectKey, event: &Event<Thing>) -> String {
    use crate::event::Deletion;
    let name = key.name();
    match event {
        Event::Added { object, initial } => {
            format!(
                "{name}+{}{}",
                object.size,
                if *initial { " initial" } else { "" }
            )
        }
        Event::Updated { old, new } => format!("{name} {}>{}", old.size, new.size),
        Event::Deleted(Deletion::Final(last)) => format!("{name}-{}", last.size),
        Event::Deleted(Deletion::Unknown {
            last_known: Some(last),
        }) => format!("{name}~{}", last.size),
        Event::Deleted(Deletion::Unknown { last_known: None }) => format!("{name}~"),
    }
}
