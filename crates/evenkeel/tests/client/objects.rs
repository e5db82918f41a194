//! Everything that can be done to objects.

use std::fmt::Debug;

use evenkeel::client::{
    Api, Error, FieldValidation, ListOptions, Patch, PatchOptions, WriteOptions,
};
use evenkeel::meta::{
    ApiResource, Complete, DeleteOptions, MetaView, Metadata, Object, Reason, Scope,
};
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::{MAPS, NODES, deployment, dynamic, map, world};

const LABELLED: &str = "l=x";

fn label<K: Object>(object: &K) -> Option<&str> {
    object.metadata().label("l")
}

/// From one that is not there to several that go at once. `made` is an object of this name, with this
/// label if one is given.
async fn life<K>(api: Api<K>, made: impl Fn(&str, Option<&str>) -> K)
where
    K: Object + Complete + Serialize + DeserializeOwned + PartialEq + Debug + Send + Sync,
{
    let (write, patching) = (WriteOptions::default(), PatchOptions::default());
    let (delete, all) = (DeleteOptions::default(), ListOptions::default());
    let patch = Patch::merge(&json!({"metadata": {"labels": {"l": "patched"}}}));
    for missing in [
        api.get("a").await.unwrap_err(),
        api.update(&made("a", None), &write).await.unwrap_err(),
        api.patch("a", &patch, &patching).await.unwrap_err(),
        api.delete("a", &delete).await.unwrap_err(),
    ] {
        assert!(missing.is_not_found(), "{missing}");
    }
    assert_eq!(api.get_opt("a").await.unwrap(), None);

    let created = api.create(&made("a", None), &write).await.unwrap();
    assert!(created.metadata().uid().is_some());
    let again = api.create(&made("a", None), &write).await.unwrap_err();
    assert!(again.is_already_exists(), "{again}");
    assert_eq!(api.get("a").await.unwrap(), created);
    let updated = api.update(&made("a", Some("updated")), &write).await;
    assert_eq!(label(&updated.unwrap()), Some("updated"));
    let patched = api.patch("a", &patch, &patching).await.unwrap();
    assert_eq!(label(&patched), Some("patched"));
    assert_eq!(api.get("a").await.unwrap(), patched);
    assert_eq!(patched.metadata().uid(), created.metadata().uid());

    for name in ["b", "c"] {
        api.create(&made(name, Some("x")), &write).await.unwrap();
    }
    let names = async |options: &ListOptions| {
        let items = api.list(options).await.unwrap().items;
        let names = items.iter().map(|one| one.metadata().name().to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!(names(&all).await, ["a", "b", "c"]);
    let labelled = all.clone().labels(LABELLED);
    assert_eq!(names(&labelled).await, ["b", "c"]);
    api.delete_collection(&delete, &labelled).await.unwrap();
    assert_eq!(names(&all).await, ["a"]);
    api.delete("a", &delete).await.unwrap();
    assert_eq!(api.get_opt("a").await.unwrap(), None);
    assert!(names(&all).await.is_empty());
}

fn labelled(kind: &str, name: &str, label: Option<&str>) -> serde_json::Value {
    let labels = label.map(|label| json!({"l": label}));
    json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "labels": labels}})
}

/// Typed or not, in a namespace or in none, it is all the same.
#[tokio::test(start_paused = true)]
async fn controller_runtime_t44_every_verb_does_what_it_says_for_every_sort_of_object() {
    let (_server, client) = world();
    let typed =
        |kind: &'static str| move |name: &str, label: Option<&str>| labelled(kind, name, label);
    let (maps, nodes) = (typed("ConfigMap"), typed("Node"));
    let namespace = Some("default");
    life(client.namespaced::<ConfigMap>("default"), |name, label| {
        serde_json::from_value(maps(name, label)).unwrap()
    })
    .await;
    life(client.all::<Node>(), |name, label| {
        serde_json::from_value(nodes(name, label)).unwrap()
    })
    .await;
    let of = |made| dynamic(made);
    life(client.dynamic(MAPS, namespace), |name, label| {
        of(maps(name, label))
    })
    .await;
    life(client.dynamic(NODES, None), |name, label| {
        of(nodes(name, label))
    })
    .await;
}

/// Of metadata alone nothing is made and nothing replaced: that it cannot be is for the compiler.
#[tokio::test(start_paused = true)]
async fn controller_runtime_t44_metadata_is_read_patched_and_deleted() {
    let (_server, client) = world();
    for (resource, namespace) in [(MAPS, Some("default")), (NODES, None)] {
        let objects = client.dynamic(resource.clone(), namespace);
        let api: Api<Metadata> = client.metadata(resource.clone(), namespace);
        assert!(api.get("a").await.unwrap_err().is_not_found());
        for (name, label) in [("a", None), ("b", Some("x")), ("c", Some("x"))] {
            let object = dynamic(labelled(&resource.kind, name, label));
            objects
                .create(&object, &WriteOptions::default())
                .await
                .unwrap();
        }
        assert_eq!(api.get("a").await.unwrap().metadata.name(), "a");
        let patch = Patch::merge(&json!({"metadata": {"labels": {"l": "patched"}}}));
        let patched = api.patch("a", &patch, &PatchOptions::default()).await;
        assert_eq!(label(&patched.unwrap()), Some("patched"));
        let all = ListOptions::default();
        assert_eq!(api.list(&all).await.unwrap().items.len(), 3);
        let delete = DeleteOptions::default();
        let some = all.clone().labels(LABELLED);
        api.delete_collection(&delete, &some).await.unwrap();
        api.delete("a", &delete).await.unwrap();
        assert!(api.list(&all).await.unwrap().items.is_empty());
    }
}

fn reason(error: &Error) -> &Reason {
    &error.status().unwrap().reason
}

/// A kind that nobody serves, an object without one, and fields that the schema forbids, of a built-in
/// kind and of a custom one.
#[tokio::test(start_paused = true)]
async fn controller_runtime_t44_what_the_server_cannot_take_is_an_error() {
    let (_server, client) = world();
    let write = WriteOptions::default();
    let nothing = ApiResource::new_static("no.one", "v1", "Thing", "things", Scope::Namespaced);
    let nothing = client.dynamic(nothing, Some("default"));
    let mut thing = dynamic(map("a"));
    thing.types.api_version = "no.one/v1".to_owned();
    thing.types.kind = "Thing".to_owned();
    for missing in [
        nothing.create(&thing, &write).await.unwrap_err(),
        nothing.update(&thing, &write).await.unwrap_err(),
        nothing.get("a").await.unwrap_err(),
        nothing.list(&ListOptions::default()).await.unwrap_err(),
        nothing
            .delete("a", &DeleteOptions::default())
            .await
            .unwrap_err(),
    ] {
        assert!(missing.is_not_found(), "{missing}");
    }

    let maps = client.dynamic(MAPS, Some("default"));
    let mut odd = dynamic(map("a"));
    odd.data.insert("data".to_owned(), json!({"k": 5}));
    let error = maps.create(&odd, &write).await.unwrap_err();
    assert_eq!(reason(&error), &Reason::BadRequest);
    let mut unknown = dynamic(map("a"));
    unknown.data.insert("bogus".to_owned(), json!(1));
    let strict = write.clone().field_validation(FieldValidation::Strict);
    let error = maps.create(&unknown, &strict).await.unwrap_err();
    assert_eq!(reason(&error), &Reason::BadRequest);
    let mut negative = dynamic(deployment("a"));
    negative.data["spec"]["replicas"] = json!(-1);
    let deployments = client.dynamic(super::DEPLOYMENTS, Some("default"));
    let error = deployments.create(&negative, &write).await.unwrap_err();
    assert_eq!(reason(&error), &Reason::Invalid);

    evenkeel::define(&client, [super::definition(&["v1"])])
        .await
        .unwrap();
    let things = ApiResource::new_static("example.com", "v1", "Thing", "things", Scope::Namespaced);
    let things = client.dynamic(things, Some("default"));
    let mut thing = dynamic(json!({"apiVersion": "example.com/v1", "kind": "Thing",
        "metadata": {"name": "a"}, "spec": {"size": "large"}}));
    let error = things.create(&thing, &write).await.unwrap_err();
    assert_eq!(reason(&error), &Reason::Invalid);
    assert!(error.to_string().contains("spec.size"), "{error}");
    thing.data["spec"]["size"] = json!(1);
    thing.types = Default::default();
    let error = things.create(&thing, &write).await.unwrap_err();
    assert_eq!(reason(&error), &Reason::BadRequest);
}
