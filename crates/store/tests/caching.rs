//! What informers keep of objects, and how long they live, against the embedded API server.

#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use evenkeel_apiserver::{Fault, Server, When};
use evenkeel_client::{
    ByteStream, Client, ClientOptions, Lane, RestMapper, Transport, TransportError, WriteOptions,
};
use evenkeel_meta::{
    ApiResource, DynamicObject, GroupVersionKind, Meta, Metadata, Object, ObjectKey, Scope,
};
use evenkeel_store::reflector::ReflectorOptions;
use evenkeel_store::{Event, Informer, InformerOptions, Informers, Store, SyncError, Transform};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use parking_lot::Mutex;
use serde_json::{Value, json};

const MAPS: ApiResource =
    ApiResource::new_static("", "v1", "ConfigMap", "configmaps", Scope::Namespaced);
const SECRETS: ApiResource =
    ApiResource::new_static("", "v1", "Secret", "secrets", Scope::Namespaced);

/// A projection.
#[derive(serde::Deserialize)]
struct Config {
    metadata: Meta,
    #[serde(default)]
    data: BTreeMap<String, String>,
}

impl Object for Config {
    type Meta = Meta;

    fn metadata(&self) -> &Meta {
        &self.metadata
    }
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::namespaced("default", name)
}

async fn create(client: &Client, resource: ApiResource, name: &str) {
    let object = json!({"apiVersion": "v1", "kind": resource.kind, "metadata": {"name": name},
        "data": {"k": "dg=="}});
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    let api = client.dynamic(resource, Some("default"));
    api.create(&object, &WriteOptions::default()).await.unwrap();
}

/// Lets every watch deliver.
async fn settle() {
    tokio::time::sleep(Duration::from_secs(1)).await;
}

/// Each informer has a transform of its own, or none (ours: there is no default one); another kind, or
/// another view of the same kind, is as it was. Of `managedFields` nothing is kept unless they are
/// asked for.
#[tokio::test(start_paused = true)]
async fn controller_runtime_t42_each_informer_changes_objects_in_its_own_way() {
    let client = Client::from_service(Server::new()).with_field_manager("tests");
    create(&client, MAPS, "early").await;
    create(&client, SECRETS, "early").await;
    let informers = Informers::new(client.clone());
    let all = InformerOptions::default;
    let mark = |text: &'static str| {
        Transform::new(move |object: &mut DynamicObject| {
            object.data.insert("mark".to_owned(), json!(text));
        })
    };
    let maps = informers.transformed(MAPS, all(), &mark("map"));
    let secrets = informers.transformed(SECRETS, all(), &mark("secret"));
    let whole = informers.dynamic(MAPS, all());
    let managed = informers.dynamic(MAPS, all().with_managed_fields());
    let emptied = Transform::new(|config: &mut Config| config.data.clear());
    let emptied = informers.transformed(MAPS, all(), &emptied);
    let configs: Informer<Config> = informers.projected(MAPS, all());
    let metadata = informers.metadata(MAPS, all());
    informers.start();
    informers.synced().await.unwrap();
    create(&client, MAPS, "late").await;
    create(&client, SECRETS, "late").await;
    settle().await;

    for name in ["early", "late"] {
        let get = |store: &Store<DynamicObject>| store.get(&key(name)).unwrap();
        assert_eq!(get(maps.store()).data["mark"], "map");
        assert_eq!(get(secrets.store()).data["mark"], "secret");
        let plain = get(whole.store());
        assert_eq!(plain.data.get("mark"), None);
        assert_eq!(plain.data["data"], json!({"k": "dg=="}));
        assert_eq!(plain.managed_fields, None);
        let managers = get(managed.store()).managed_fields.clone().unwrap();
        assert_eq!(managers[0]["manager"], "tests");
        assert!(emptied.store().get(&key(name)).unwrap().data.is_empty());
        assert_eq!(configs.store().get(&key(name)).unwrap().data.len(), 1);
        assert!(metadata.store().contains(&key(name)));
    }
}

/// Answers lists and watches with objects that no API server would send.
struct Odd(Vec<Value>);

impl Transport for Odd {
    fn send(
        &self,
        _: Lane,
        request: http::Request<Bytes>,
    ) -> BoxFuture<'static, Result<http::Response<ByteStream>, TransportError>> {
        let query = request.uri().query().unwrap_or_default();
        let event =
            |kind: &str, object: &Value| format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n");
        let objects = self.0.iter().map(|object| event("ADDED", object));
        let body: ByteStream = if query.contains("sendInitialEvents=true") {
            let metadata = json!({"resourceVersion": "9",
                "annotations": {"k8s.io/initial-events-end": "true"}});
            let end = event("BOOKMARK", &json!({"metadata": metadata}));
            let text: String = objects.chain([end]).collect();
            let events = stream::once(async { Ok(Bytes::from(text)) });
            events.chain(stream::pending()).boxed()
        } else if query.contains("watch=true") {
            stream::pending().boxed()
        } else {
            let text = json!({"metadata": {"resourceVersion": "9"}, "items": self.0}).to_string();
            stream::once(async { Ok(Bytes::from(text)) }).boxed()
        };
        async { Ok(http::Response::new(body)) }.boxed()
    }
}

/// `managedFields` may be anything, or the object be hardly one, and the rest is taken as ever.
#[tokio::test(start_paused = true)]
async fn controller_runtime_t42_managed_fields_are_left_out_of_strange_objects_too() {
    let fine = |managed: Value| {
        json!({"kind": "ConfigMap", "data": {"k": "v"}, "metadata": {
            "managedFields": managed, "namespace": "default", "name": "m", "resourceVersion": "1"}})
    };
    let managed = [
        json!(null),
        json!(5),
        json!("text"),
        json!({"a": [{"metadata": {"managedFields": []}}]}),
        json!([[[]], {"manager": 7, "fieldsV1": null}]),
    ];
    let strange = [
        json!({}),
        json!({"metadata": null}),
        json!({"metadata": {"managedFields": []}}),
        json!({"metadata": [], "managedFields": []}),
        json!("object"),
    ];
    for (managed, watch_list) in managed
        .into_iter()
        .flat_map(|one| [(one.clone(), true), (one, false)])
    {
        let objects = [fine(managed.clone())].into_iter().chain(strange.clone());
        let client = Client::new(Odd(objects.collect()), ClientOptions::default());
        let mut options = ReflectorOptions::default();
        options.watch_list = watch_list;
        let informers = Informers::builder(client).reflector(options).build();
        let all = InformerOptions::default;
        let (whole, kept) = (
            informers.dynamic(MAPS, all()),
            informers.dynamic(MAPS, all().with_managed_fields()),
        );
        let configs: Informer<Config> = informers.projected(MAPS, all());
        informers.start();
        informers
            .wait_for_sync(Duration::from_secs(5))
            .await
            .unwrap();
        let object = whole.store().get(&key("m")).unwrap();
        assert_eq!(object.managed_fields, None, "{managed}");
        assert_eq!(object.data["data"], json!({"k": "v"}));
        let kept = kept.store().get(&key("m")).unwrap();
        assert_eq!(kept.managed_fields.clone().unwrap_or_default(), managed);
        assert_eq!(configs.store().get(&key("m")).unwrap().data["k"], "v");
        assert_eq!(whole.store().len(), 1);
    }
}

/// What a handler is told of: names.
fn telling(informer: &Informer<DynamicObject>) -> (Arc<Mutex<Vec<String>>>, impl Sized + use<>) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&told);
    let handler = move |key: &ObjectKey, event: &Event<DynamicObject>| {
        if matches!(event, Event::Added { .. }) {
            noted.lock().push(key.name().to_owned());
        }
    };
    let registration = informer.add_handler(handler).unwrap();
    (told, registration)
}

/// An informer is asked for by kind, tells of what is there and of what comes, and can be stopped and
/// asked for anew. To ask never waits; to wait for its contents can be given up, and ends with it.
#[tokio::test(start_paused = true)]
async fn controller_runtime_t43_an_informer_of_a_kind_comes_goes_and_comes_again() {
    let server = Server::new();
    let client = Client::from_service(server.clone());
    create(&client, MAPS, "early").await;
    let mapper = RestMapper::new(client.clone());
    let kind = GroupVersionKind::from_api_version("v1", "ConfigMap");
    let resource = mapper.by_kind(&kind).await.unwrap().api_resource;
    let informers = Informers::new(client.clone());
    let ask = || {
        let all = InformerOptions::default();
        let informer = informers.dynamic(resource.clone(), all.namespace("default"));
        informers.start();
        informer
    };

    // Nothing can be listed.
    let denied = server
        .faults()
        .inject(When::any().on("configmaps"), Fault::forbidden());
    let first = ask();
    let (told, _registration) = telling(&first);
    let limit = Duration::from_secs(5);
    assert!(tokio::time::timeout(limit, first.synced()).await.is_err());
    let waiting = tokio::spawn({
        let first = first.clone();
        async move { first.synced().await }
    });
    settle().await;
    first.stop();
    let stopped = tokio::time::timeout(limit, waiting).await.unwrap().unwrap();
    assert!(
        matches!(stopped, Err(SyncError::Stopped { .. })),
        "{stopped:?}"
    );
    denied.lift();

    let second = ask();
    let (again, _registration) = telling(&second);
    second.synced().await.unwrap();
    create(&client, MAPS, "late").await;
    settle().await;
    assert_eq!(*again.lock(), ["early", "late"]);

    second.stop();
    settle().await;
    create(&client, MAPS, "later").await;
    let third = ask();
    let (anew, _registration) = telling(&third);
    third.synced().await.unwrap();
    create(&client, MAPS, "last").await;
    settle().await;
    let mut told_anew = anew.lock().clone();
    told_anew[..3].sort();
    assert_eq!(told_anew, ["early", "late", "later", "last"]);
    assert_eq!(
        *again.lock(),
        ["early", "late"],
        "who was stopped is told nothing"
    );
    assert_eq!(second.store().len(), 2, "and can still be read");
    assert!(told.lock().is_empty());
    let metadata: Informer<Metadata> = informers.metadata(MAPS, InformerOptions::default());
    assert!(!metadata.has_synced(), "others are not concerned");
}
