//! The modes.

use std::future::Future;
use std::hash::Hash;
use std::time::Instant;

use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube_client::{Api, Client, Config};
use kube_core::metadata::PartialObjectMeta;
use kube_core::{ApiResource, DynamicObject, Resource};
use kube_runtime::reflector::{self, Store, store::Writer};
use kube_runtime::watcher::{self, Event};
use kube_runtime::{WatchStreamExt, watcher as watch};
use tokio::runtime::Runtime;

use super::events::Events;

/// What an idle process watches.
const IDLE: usize = 30;

pub fn run(mode: &str, url: &str, ca: &str) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let _inside = runtime.enter();
    let mut config = Config::new(url.parse().unwrap());
    config.root_cert_file = Some(ca.into());
    let client = Client::try_from(config).unwrap();
    let pods: Api<Pod> = Api::all(client.clone());
    let metadata: Api<PartialObjectMeta<Pod>> = Api::all(client.clone());
    let lists = watcher::Config::default();
    let streams = watcher::Config::default().streaming_lists();
    match mode {
        "typed" => follow(&runtime, reflector::store(), watch(pods, lists)),
        "typed-streaming" => follow(&runtime, reflector::store(), watch(pods, streams)),
        "metadata" => follow(&runtime, reflector::store(), watch(metadata, lists)),
        "metadata-streaming" => follow(&runtime, reflector::store(), watch(metadata, streams)),
        "idle" => idle(&runtime, &client),
        _ => panic!("no mode {mode}"),
    }
}

fn follow<K>(
    runtime: &Runtime,
    (store, writer): (Store<K>, Writer<K>),
    stream: impl Stream<Item = watcher::Result<Event<K>>> + Send + 'static,
) where
    K: Resource + Clone + Send + Sync + 'static,
    K::DynamicType: Clone + Eq + Hash + Send + Sync + Default,
{
    let events = Events::new();
    let noted = events.clone();
    let start = begin();
    runtime.spawn(drive(writer, stream, move |object| {
        noted.note(object.meta().resource_version.as_deref());
    }));
    runtime.block_on(store.wait_until_ready()).unwrap();
    println!("synced {}", start.elapsed().as_micros() as f64 / 1000.0);
    events.obey();
}

fn idle(runtime: &Runtime, client: &Client) {
    let start: Vec<_> = (0..IDLE)
        .map(|number| {
            let resource = ApiResource {
                group: "bench".into(),
                version: "v1".into(),
                api_version: "bench/v1".into(),
                kind: format!("Thing{number}"),
                plural: format!("things{number}"),
            };
            let things: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
            let writer = Writer::new(resource);
            let store = writer.as_reader();
            let stream = watch(things, watcher::Config::default());
            (store, drive(writer, stream, |_| {}))
        })
        .collect();
    begin();
    let stores: Vec<_> = start
        .into_iter()
        .map(|(store, task)| {
            runtime.spawn(task);
            store
        })
        .collect();
    for store in stores {
        runtime.block_on(store.wait_until_ready()).unwrap();
    }
    println!("synced 0");
    Events::new().obey();
}

fn drive<K>(
    writer: Writer<K>,
    stream: impl Stream<Item = watcher::Result<Event<K>>> + Send + 'static,
    note: impl Fn(&K) + Send + 'static,
) -> impl Future<Output = ()> + Send + 'static
where
    K: Resource + Clone + Send + Sync + 'static,
    K::DynamicType: Clone + Eq + Hash + Send + Sync,
{
    let stream = reflector::reflector(writer, stream.default_backoff());
    stream.for_each(move |event| {
        match event {
            Ok(Event::Apply(object) | Event::InitApply(object) | Event::Delete(object)) => {
                note(&object);
            }
            Ok(Event::Init | Event::InitDone) => {}
            Err(error) => eprintln!("{error}"),
        }
        std::future::ready(())
    })
}

/// Waits for the word.
fn begin() -> Instant {
    println!("ready");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    assert_eq!(line.trim(), "start");
    Instant::now()
}
