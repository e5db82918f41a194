//! What is asked for by the client, by the call, and by a patch.

use std::collections::BTreeSet;

use evenkeel::client::{
    Api, Error, FieldValidation, ListOptions, Patch, PatchOptions, WatchOptions, WriteOptions,
};
use evenkeel::meta::{DynamicObject, FieldSelector, LabelSelector};
use evenkeel_apiserver::Server;
use serde_json::{Value, json};

use super::{MAPS, PODS, dynamic, map, pod, world};

/// The parameters of the one request that was made.
fn query(server: &Server) -> BTreeSet<String> {
    let sent = server.take_requests();
    assert_eq!(sent.len(), 1);
    let parts = sent[0].query.split('&').filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

fn set<const N: usize>(parts: [&str; N]) -> BTreeSet<String> {
    parts.map(str::to_owned).into()
}

/// What a call says holds before what its client says, of each option by itself. Selectors are the
/// same for lists, watches and deletions, as types and as text; a watch has no pages.
#[tokio::test(start_paused = true)]
async fn controller_runtime_t49_options_of_client_and_call_are_joined() {
    let (server, client) = world();
    let strict = client.with_field_validation(FieldValidation::Strict);
    let maps: Api<DynamicObject> = strict.dynamic(MAPS, Some("default"));
    let a = dynamic(map("a"));
    let write = WriteOptions::default();
    maps.create(&a, &write).await.unwrap();
    assert_eq!(
        query(&server),
        set(["fieldManager=tests", "fieldValidation=Strict"])
    );
    let other = write.clone().field_manager("other");
    maps.update(&a, &other).await.unwrap();
    assert_eq!(
        query(&server),
        set(["fieldManager=other", "fieldValidation=Strict"])
    );
    let lax = other.field_validation(FieldValidation::Ignore).dry_run();
    maps.update(&a, &lax).await.unwrap();
    let all = ["dryRun=All", "fieldManager=other", "fieldValidation=Ignore"];
    assert_eq!(query(&server), set(all));
    // A patch has all that a write has.
    let mut forced = PatchOptions::default().force();
    forced.write = lax;
    maps.apply("a", &map("a"), &forced).await.unwrap();
    let mut with_force = set(all);
    with_force.insert("force=true".to_owned());
    assert_eq!(query(&server), with_force);
    let dry = maps.with_client(client.with_dry_run());
    dry.apply("a", &map("a"), &PatchOptions::default())
        .await
        .unwrap();
    assert_eq!(query(&server), set(["dryRun=All", "fieldManager=tests"]));

    let labels: LabelSelector = "l in (a,b)".parse().unwrap();
    let fields = FieldSelector::equal("metadata.name", "a");
    let selected = set([
        "labelSelector=l%20in%20%28a%2Cb%29",
        "fieldSelector=metadata.name%3Da",
    ]);
    let decoded = |parts: &BTreeSet<String>| {
        let parts = parts
            .iter()
            .map(|part| part.replace('+', "%20").to_lowercase());
        parts.collect::<BTreeSet<_>>()
    };
    let text = ListOptions::default()
        .labels("l in (a,b)")
        .fields("metadata.name=a");
    let list = ListOptions::default().labels(&labels).fields(&fields);
    assert_eq!(list, text);
    let list = list.page_size(3);
    maps.list(&list).await.unwrap();
    let sent = query(&server);
    assert!(sent.contains("limit=3"), "{sent:?}");
    assert!(decoded(&sent).is_superset(&decoded(&selected)), "{sent:?}");
    let watch = WatchOptions::default().labels(&labels).fields(&fields);
    drop(maps.watch(&watch).await.unwrap());
    let sent = query(&server);
    assert!(decoded(&sent).is_superset(&decoded(&selected)), "{sent:?}");
    let pages = |part: &String| part.starts_with("limit") || part.starts_with("continue");
    assert!(!sent.iter().any(pages), "{sent:?}");
    maps.delete_collection(&Default::default(), &list)
        .await
        .unwrap();
    let sent = query(&server);
    assert!(decoded(&sent).is_superset(&decoded(&selected)), "{sent:?}");
}

fn conflicts<T: std::fmt::Debug>(outcome: Result<T, Error>) {
    let error = outcome.unwrap_err();
    assert!(error.is_conflict(), "{error}");
}

/// A patch that names a resource version holds for that state alone, of whatever kind it is; one that
/// names none holds for any. A strategic one knows what makes two elements the same.
#[tokio::test(start_paused = true)]
async fn controller_runtime_t49_patches_hold_for_one_state_or_for_any() {
    let (_server, client) = world();
    let (write, patching) = (WriteOptions::default(), PatchOptions::default());
    let pods: Api<DynamicObject> = client.dynamic(PODS, Some("default"));
    let created = pods.create(&dynamic(pod("p")), &write).await.unwrap();
    let label = |value: &str| json!({"metadata": {"labels": {"l": value}}});
    let touched = pods.patch("p", &Patch::merge(&label("1")), &patching).await;
    touched.unwrap();

    // The difference between what was read and what is wanted, for what was read.
    let mut wanted = created.clone();
    wanted.metadata.labels = [("l".to_owned(), "2".to_owned())].into();
    let patch = Patch::between(&created, &wanted).unwrap().unwrap();
    conflicts(pods.patch("p", &patch, &patching).await);
    let current = pods.get("p").await.unwrap();
    let patch = Patch::between(&current, &wanted).unwrap().unwrap();
    pods.patch("p", &patch, &patching).await.unwrap();
    // And for any state.
    let (mut before, mut after) = (created.clone(), wanted);
    for object in [&mut before, &mut after] {
        object.metadata.resource_version = None;
        object
            .metadata
            .labels
            .insert("same".to_owned(), "s".to_owned());
    }
    after.metadata.labels.insert("l".to_owned(), "3".to_owned());
    let patch = Patch::between(&before, &after).unwrap().unwrap();
    let patched = pods.patch("p", &patch, &patching).await.unwrap();
    assert_eq!(patched.metadata.labels["l"], "3");
    assert_eq!(
        patched.metadata.labels.get("same"),
        None,
        "only what differs is sent"
    );

    let image = |version: Option<&Value>| {
        let mut patch = json!({"spec": {"containers": [{"name": "c", "image": "other"}]}});
        if let Some(version) = version {
            patch["metadata"]["resourceVersion"] = version.clone();
        }
        Patch::strategic(&patch)
    };
    let old = json!(created.metadata.resource_version);
    conflicts(pods.patch("p", &image(Some(&old)), &patching).await);
    let now = json!(patched.metadata.resource_version);
    let patched = pods
        .patch("p", &image(Some(&now)), &patching)
        .await
        .unwrap();
    let containers = patched.data["spec"]["containers"].as_array().unwrap();
    assert_eq!(containers.len(), 1, "it is the same one");
    assert_eq!(containers[0]["image"], "other");
    let any = json!({"spec": {"containers": [{"name": "c", "image": "third"}]}});
    let patched = pods
        .patch("p", &Patch::strategic(&any), &patching)
        .await
        .unwrap();
    assert_eq!(patched.data["spec"]["containers"][0]["image"], "third");
}
