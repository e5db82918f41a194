//! Server-side apply.

use evenkeel::client::{Error, Patch, PatchOptions, RequestError, WriteOptions};
use evenkeel::meta::{ApiResource, MetaView, Scope};
use evenkeel_apiserver::Server;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use serde_json::{Value, json};

use super::{DEPLOYMENTS, deployment, dynamic, map, world};

const SECRETS: ApiResource =
    ApiResource::new_static("", "v1", "Secret", "secrets", Scope::Namespaced);

/// What is not there is made; what is no longer applied goes.
#[tokio::test(start_paused = true)]
async fn controller_runtime_t47_an_apply_creates_and_then_updates() {
    let (_server, client) = world();
    let options = PatchOptions::default();
    let maps = client.namespaced::<ConfigMap>("default");
    let mut wanted = map("a");
    wanted["data"] = json!({"k": "1", "gone": "x"});
    let created = maps.apply("a", &wanted, &options).await.unwrap();
    wanted["data"] = json!({"k": "2"});
    let updated = maps.apply("a", &wanted, &options).await.unwrap();
    assert_eq!(updated.metadata.uid, created.metadata.uid);
    assert_eq!(updated.data.clone().unwrap().len(), 1);
    assert_eq!(updated.data.clone().unwrap()["k"], "2");
    let again = maps.apply("a", &wanted, &options).await.unwrap();
    assert_eq!(
        again.metadata.resource_version(),
        updated.metadata.resource_version()
    );

    // A whole type is a configuration too, and what was answered may be applied, less the managers.
    let mut typed: ConfigMap = again;
    typed.metadata.managed_fields = None;
    typed.data.as_mut().unwrap().insert("t".into(), "3".into());
    let of_type = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
        "data": typed.data});
    let applied = maps.apply("a", &of_type, &options).await.unwrap();
    assert_eq!(applied.data.unwrap()["t"], "3");

    let nameless = evenkeel::client::Client::from_service(Server::new());
    let maps = nameless.namespaced::<ConfigMap>("default");
    let error = maps.apply("a", &wanted, &options).await.unwrap_err();
    assert!(matches!(
        error,
        Error::Request(RequestError::FieldManagerRequired)
    ));
}

/// Fields of who made it stay theirs: another value is a conflict, until it is forced.
#[tokio::test(start_paused = true)]
async fn controller_runtime_t47_what_was_made_otherwise_can_be_applied_to() {
    let (_server, client) = world();
    let secrets = client.namespaced::<Secret>("default");
    let made = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"},
        "data": {"k": "b25l"}});
    let maker = WriteOptions::default().field_manager("maker");
    let api = client.dynamic(SECRETS, Some("default"));
    api.create(&dynamic(made.clone()), &maker).await.unwrap();
    let options = PatchOptions::default();
    let mut wanted = made.clone();
    wanted["data"] = json!({"more": "dHdv"});
    let applied = secrets.apply("s", &wanted, &options).await.unwrap();
    assert_eq!(applied.data.unwrap().len(), 2);
    wanted["data"] = json!({"k": "dHdv", "more": "dHdv"});
    let conflict = secrets.apply("s", &wanted, &options).await.unwrap_err();
    assert!(conflict.is_conflict(), "{conflict}");
    assert!(conflict.to_string().contains("maker"), "{conflict}");
    let forced = options.clone().force();
    let applied = secrets.apply("s", &wanted, &forced).await.unwrap();
    assert_eq!(applied.data.unwrap()["k"].0, b"two");
    secrets.apply("s", &wanted, &options).await.unwrap();
}

/// The status is applied by itself, typed or not.
#[tokio::test(start_paused = true)]
async fn controller_runtime_t47_a_status_is_applied_and_nothing_else() {
    let (_server, client) = world();
    let write = WriteOptions::default();
    let api = client.dynamic(DEPLOYMENTS, Some("default"));
    api.create(&dynamic(deployment("d")), &write).await.unwrap();
    let typed = client.namespaced::<Deployment>("default");
    let status = |replicas: u32| {
        let status = json!({"replicas": replicas, "observedGeneration": 1});
        Patch::apply(&json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "d"}, "status": status, "spec": {"replicas": 7}}))
    };
    let options = PatchOptions::default().field_manager("observer");
    let applied = typed.patch_status("d", &status(3), &options).await.unwrap();
    assert_eq!(applied.status.unwrap().replicas, Some(3));
    assert_eq!(applied.spec.replicas, Some(2), "as it was");
    let applied = api.patch_status("d", &status(4), &options).await.unwrap();
    assert_eq!(applied.data["status"]["replicas"], 4);
    let managers: Vec<Value> = serde_json::from_value(applied.managed_fields.unwrap()).unwrap();
    let of_status = managers
        .iter()
        .find(|entry| entry["manager"] == "observer")
        .unwrap();
    assert_eq!(of_status["subresource"], "status");
    assert_eq!(of_status["operation"], "Apply");
}
