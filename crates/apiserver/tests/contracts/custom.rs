//! Custom resources.

use serde_json::{Value, json};

use crate::harness::{Client, version};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const SHIPS: &str = "/apis/harbour.example/v1/namespaces/default/ships";

fn definition() -> Value {
    let schema = json!({
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {"masts": {"type": "integer", "default": 3, "maximum": 7}, "name": {"type": "string"}},
            },
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        },
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "ships.harbour.example"},
        "spec": {
            "group": "harbour.example",
            "scope": "Namespaced",
            "names": {"plural": "ships", "kind": "Ship", "shortNames": ["sh"]},
            "versions": [
                {
                    "name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {
                        "status": {},
                        "scale": {"specReplicasPath": ".spec.masts", "statusReplicasPath": ".status.masts"},
                    },
                    "additionalPrinterColumns": [{"name": "Masts", "type": "integer", "jsonPath": ".spec.masts"}],
                },
                {
                    "name": "v1beta1", "served": true, "storage": false,
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                },
            ],
        },
    })
}

fn ship(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "harbour.example/v1", "kind": "Ship", "metadata": {"name": name}, "spec": spec})
}

async fn with_ships() -> Client {
    let client = Client::new();
    client.get(SHIPS).await.refused_as_text();
    let created = client.post(DEFINITIONS, definition()).await.ok();
    let conditions = created["status"]["conditions"].as_array().unwrap();
    let established = conditions
        .iter()
        .any(|it| it["type"] == "Established" && it["status"] == "True");
    assert!(established);
    assert_eq!(created["status"]["acceptedNames"]["singular"], "ship");
    client
}

#[tokio::test(start_paused = true)]
async fn a_definition_is_served_at_once() {
    let client = with_ships().await;
    let created = client
        .post(SHIPS, ship("a", &json!({"name": "Ann"})))
        .await
        .ok();
    assert_eq!(created["spec"]["masts"], 3, "defaulted by its schema");
    assert_eq!(created["metadata"]["generation"], 1);
    client
        .post(SHIPS, ship("b", &json!({"masts": 8})))
        .await
        .refused(422, "Invalid");
    let groups = client.get("/apis/harbour.example").await.ok();
    assert_eq!(groups["preferredVersion"]["version"], "v1");
    let status = json!({"status": {"afloat": true}, "spec": {"name": "Bob"}, "metadata": {"labels": {"a": "b"}}});
    let patched = client
        .merge(&format!("{SHIPS}/a/status"), status)
        .await
        .ok();
    assert_eq!(patched["status"]["afloat"], true);
    assert_eq!(patched["spec"]["name"], "Ann");
    assert!(
        patched["metadata"]["labels"].is_null(),
        "nothing but the status"
    );
    assert_eq!(patched["metadata"]["generation"], 1);
    let scale = client
        .merge(
            &format!("{SHIPS}/a/scale"),
            json!({"spec": {"replicas": 5}}),
        )
        .await
        .ok();
    assert_eq!(scale["spec"]["replicas"], 5);
    assert_eq!(
        client.get(&format!("{SHIPS}/a")).await.ok()["metadata"]["generation"],
        2
    );
}

#[tokio::test(start_paused = true)]
async fn the_server_manages_the_status_of_a_definition() {
    let client = with_ships().await;
    let uri = format!("{DEFINITIONS}/ships.harbour.example");
    let managers = client.get(&uri).await.ok()["metadata"]["managedFields"].clone();
    let condition = json!({
        ".": {}, "f:lastTransitionTime": {}, "f:message": {}, "f:reason": {}, "f:status": {}, "f:type": {}
    });
    let own = &managers[1];
    assert_eq!(own["manager"], "kube-apiserver");
    assert_eq!(own["operation"], "Update");
    assert_eq!(own["subresource"], "status");
    assert_eq!(
        own["fieldsV1"],
        json!({"f:status": {
            "f:acceptedNames": {
                "f:kind": {}, "f:listKind": {}, "f:plural": {}, "f:shortNames": {}, "f:singular": {}
            },
            "f:conditions": {
                "k:{\"type\":\"Established\"}": condition,
                "k:{\"type\":\"NamesAccepted\"}": condition,
            },
        }})
    );
    assert!(managers[0]["fieldsV1"]["f:status"].is_null(), "{managers}");

    // A change that the status does not follow from leaves it alone.
    let change = json!({"metadata": {"labels": {"a": "b"}}});
    let changed = client.merge(&uri, change).await.ok();
    assert_eq!(changed["metadata"]["managedFields"][1], *own);
}

#[tokio::test(start_paused = true)]
async fn every_version_serves_the_same_objects() {
    let client = with_ships().await;
    let created = client.post(SHIPS, ship("a", &json!({}))).await.ok();
    let old = client
        .get("/apis/harbour.example/v1beta1/namespaces/default/ships")
        .await
        .ok();
    assert_eq!(old["items"][0]["apiVersion"], "harbour.example/v1beta1");
    let start = version(&created) - 1;
    let uri = format!("/apis/harbour.example/v1beta1/ships?watch=1&resourceVersion={start}");
    let event = client.watch(&uri).await.next().await.unwrap();
    assert_eq!(event["object"]["apiVersion"], "harbour.example/v1beta1");
    // Saying the same in another version changes nothing.
    let one = "/apis/harbour.example/v1beta1/namespaces/default/ships/a";
    let object = client.get(one).await.ok();
    let again = client.put(one, object).await.ok();
    assert_eq!(version(&again), version(&created));
}

#[tokio::test(start_paused = true)]
async fn g57_custom_objects_take_no_strategic_patch_and_no_blind_update() {
    let client = with_ships().await;
    client.post(SHIPS, ship("a", &json!({}))).await.ok();
    let one = format!("{SHIPS}/a");
    let refused = client
        .strategic(&one, json!({"spec": {}}))
        .await
        .refused(415, "UnsupportedMediaType");
    assert!(refused["message"].as_str().unwrap().ends_with(
        "accepted media types include: application/json-patch+json, application/merge-patch+json, \
         application/apply-patch+yaml"
    ));
    client
        .put(&one, ship("a", &json!({})))
        .await
        .refused(422, "Invalid");
    client
        .put(&format!("{SHIPS}/none"), ship("none", &json!({})))
        .await
        .refused(404, "NotFound");
}

#[tokio::test(start_paused = true)]
async fn deleting_a_definition_deletes_its_objects() {
    let client = with_ships().await;
    client.post(SHIPS, ship("a", &json!({}))).await.ok();
    let mut held = ship("b", &json!({}));
    held["metadata"]["finalizers"] = json!(["a.b/c"]);
    client.post(SHIPS, held).await.ok();
    let one = format!("{DEFINITIONS}/ships.harbour.example");
    let marked = client.delete(&one, json!({})).await.ok();
    assert_eq!(
        marked["metadata"]["finalizers"],
        json!(["customresourcecleanup.apiextensions.k8s.io"])
    );
    client
        .get(&format!("{SHIPS}/a"))
        .await
        .refused(404, "NotFound");
    client
        .post(SHIPS, ship("late", &json!({})))
        .await
        .refused(403, "Forbidden");
    client.get(&one).await.ok();
    // The last object takes the definition with it.
    client
        .merge(
            &format!("{SHIPS}/b"),
            json!({"metadata": {"finalizers": null}}),
        )
        .await
        .ok();
    client.get(&one).await.refused(404, "NotFound");
    client.get(SHIPS).await.refused_as_text();
}

#[tokio::test(start_paused = true)]
async fn bad_definitions_are_refused() {
    let client = Client::new();
    let mut misnamed = definition();
    misnamed["metadata"]["name"] = "else".into();
    client
        .post(DEFINITIONS, misnamed)
        .await
        .refused(422, "Invalid");
    let mut unstored = definition();
    unstored["spec"]["versions"][0]["storage"] = false.into();
    client
        .post(DEFINITIONS, unstored)
        .await
        .refused(422, "Invalid");
}

#[tokio::test(start_paused = true)]
async fn its_columns_are_printed() {
    let client = with_ships().await;
    client
        .post(SHIPS, ship("a", &json!({"masts": 4})))
        .await
        .ok();
    let table = client
        .accept(SHIPS, "application/json;as=Table;v=v1;g=meta.k8s.io")
        .await
        .ok();
    assert_eq!(table["columnDefinitions"][1]["name"], "Masts");
    assert_eq!(table["rows"][0]["cells"], json!(["a", 4]));
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_with_the_definition_of_what_it_watches() {
    let client = with_ships().await;
    client.post(SHIPS, ship("a", &json!({}))).await.ok();
    let mut watch = client.watch(&format!("{SHIPS}?watch=1")).await;
    assert!(watch.line().await.starts_with("ADDED a@"));
    let uri = format!("{DEFINITIONS}/ships.harbour.example");
    client.delete(&uri, json!({})).await.ok();
    assert!(watch.line().await.starts_with("DELETED a@"));
    assert_eq!(watch.next().await, None);
    client.post(DEFINITIONS, definition()).await.ok();
    client.post(SHIPS, ship("b", &json!({}))).await.ok();
    let mut watch = client.watch(&format!("{SHIPS}?watch=1")).await;
    assert!(watch.line().await.starts_with("ADDED b@"));
}
