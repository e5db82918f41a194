//! Kinds that an operator brings with it.
#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

use std::time::Duration;

use evenkeel::DefineError;
use evenkeel::client::{Client, ListOptions};
use evenkeel::meta::{ApiResource, DynamicObject, Scope};
use evenkeel_apiserver::{Fault, Server, Verb, When};
use serde_json::json;

const BUCKETS: ApiResource =
    ApiResource::new_static("example.com", "v1", "Bucket", "buckets", Scope::Namespaced);

fn definition(plural: &str, kind: &str) -> DynamicObject {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let version = json!({"name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": schema}});
    let text = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.com")},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "versions": [version],
            "names": {"plural": plural, "kind": kind},
        },
    });
    serde_json::from_value(text).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_kind_is_served_when_it_is_defined_and_once_more_changes_nothing() {
    let server = Server::builder().log_requests(100).build();
    let client = Client::from_service(server.clone()).with_field_manager("tests");
    for _ in 0..2 {
        evenkeel::define(&client, [definition("buckets", "Bucket")])
            .await
            .unwrap();
        let buckets = client.dynamic(BUCKETS, Some("default"));
        assert!(
            buckets
                .list(&ListOptions::default())
                .await
                .unwrap()
                .items
                .is_empty()
        );
    }
    let requests = server.take_requests();
    let waits = requests
        .iter()
        .filter(|one| one.method == "GET" && one.path.ends_with("/customresourcedefinitions"));
    assert!(waits.count() >= 2, "it looked whether the kind is served");
}

#[tokio::test(start_paused = true)]
async fn what_is_not_served_is_named() {
    let server = Server::new();
    let client = Client::from_service(server.clone()).with_field_manager("tests");
    let mut broken = definition("baskets", "Basket");
    broken.data["spec"]["versions"] = json!([]);
    let error = evenkeel::define(&client, [broken]).await.unwrap_err();
    assert!(matches!(&error, DefineError::Apply { name, .. } if name == "baskets.example.com"));
    assert!(
        error
            .to_string()
            .starts_with("cannot define baskets.example.com: "),
        "{error}"
    );

    // It may define, and not look.
    let looks = When::verb(Verb::List).on("customresourcedefinitions");
    server.faults().inject(looks, Fault::forbidden());
    let unseen = evenkeel::define(&client, [definition("buckets", "Bucket")]);
    let waited = tokio::time::timeout(Duration::from_secs(60), unseen).await;
    let error = waited.unwrap().unwrap_err();
    assert!(matches!(&error, DefineError::Wait { name, .. } if name == "buckets.example.com"));
    let text = "buckets.example.com is defined and not served: ";
    assert!(error.to_string().starts_with(text), "{error}");
}
