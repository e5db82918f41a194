//! kube-rs's watcher with its reflector, four times: ConfigMaps listed, ConfigMaps streamed, their
//! metadata, and a custom resource. For each line of input it prints what its stores hold, on one line:
//! `{"listed": {"namespace/name": "resource version"}}`. The scenario `kube_rs` runs it.

use std::collections::BTreeMap;
use std::hash::Hash;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::{Api, Client};
use kube_core::metadata::PartialObjectMeta;
use kube_core::{ApiResource, DynamicObject, Resource};
use kube_runtime::reflector::{self, store::Writer};
use kube_runtime::{WatchStreamExt, watcher};

type Versions = BTreeMap<String, String>;
type View = Box<dyn Fn() -> Versions>;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let _inside = runtime.enter();
    let client = runtime.block_on(Client::try_default()).unwrap();
    let widgets = ApiResource {
        group: "interop.example".into(),
        version: "v1".into(),
        api_version: "interop.example/v1".into(),
        kind: "Widget".into(),
        plural: "widgets".into(),
    };
    let lists = watcher::Config::default;
    let streams = lists().streaming_lists();
    let maps: Api<ConfigMap> = Api::all(client.clone());
    let metadata: Api<PartialObjectMeta<ConfigMap>> = Api::all(client.clone());
    let custom: Api<DynamicObject> = Api::all_with(client, &widgets);
    let views = [
        ("listed", mirror(maps.clone(), (), lists())),
        ("streamed", mirror(maps, (), streams)),
        ("metadata", mirror(metadata, (), lists())),
        ("custom", mirror(custom, widgets, lists())),
    ];
    for line in std::io::stdin().lines() {
        line.unwrap();
        let stores: BTreeMap<_, _> = views.iter().map(|(name, view)| (name, view())).collect();
        println!("{}", serde_json::to_string(&stores).unwrap());
    }
}

/// Keeps a store like the server's; what is returned reads it.
fn mirror<K>(api: Api<K>, kind: K::DynamicType, config: watcher::Config) -> View
where
    K: Resource + Clone + std::fmt::Debug + serde::de::DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Clone + Eq + Hash + Send + Sync + 'static,
{
    let writer = Writer::new(kind);
    let store = writer.as_reader();
    let stream = watcher(api, config).default_backoff();
    tokio::spawn(reflector::reflector(writer, stream).for_each(|event| {
        if let Err(error) = event {
            eprintln!("{error}");
        }
        std::future::ready(())
    }));
    Box::new(move || {
        let objects = store.state();
        let objects = objects.iter().map(|object| {
            let meta = object.meta();
            let key = match (&meta.namespace, &meta.name) {
                (Some(namespace), Some(name)) => format!("{namespace}/{name}"),
                (_, name) => name.clone().unwrap_or_default(),
            };
            (key, meta.resource_version.clone().unwrap_or_default())
        });
        objects.collect()
    })
}
