use std::time::Duration;

use evenkeel_apiserver::{Fault, Verb, When};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, Secret};
use serde_json::{Value, json};

use crate::plane::{Plane, deployment, eventually, seconds, settle};

async fn namespace(plane: &Plane) {
    let n = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
    plane.create::<Namespace>(n).await;
}

fn map(name: &str, finalizers: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "n", "finalizers": finalizers}})
}

async fn delete(plane: &Plane) {
    let namespaces = plane.client.all::<Namespace>();
    namespaces.delete("n", &Default::default()).await.unwrap();
}

async fn is_there(plane: &Plane) -> bool {
    let namespaces = plane.client.all::<Namespace>();
    namespaces.get_opt("n").await.unwrap().is_some()
}

/// `type status reason message`, in the order of the list.
async fn conditions(plane: &Plane) -> Vec<String> {
    let n = plane.client.all::<Namespace>().get("n").await.unwrap();
    let conditions = n.status.unwrap().conditions.unwrap_or_default();
    let text = |c: &k8s_openapi::api::core::v1::NamespaceCondition| {
        let of = |text: &Option<String>| text.clone().unwrap();
        format!(
            "{} {} {} {}",
            c.type_,
            c.status,
            of(&c.reason),
            of(&c.message)
        )
    };
    conditions.iter().map(text).collect()
}

const EMPTY: [&str; 5] = [
    "NamespaceDeletionDiscoveryFailure False ResourcesDiscovered All resources successfully discovered",
    "NamespaceDeletionGroupVersionParsingFailure False ParsedGroupVersions All legacy kube types successfully parsed",
    "NamespaceDeletionContentFailure False ContentDeleted All content successfully deleted, may be waiting on finalization",
    "NamespaceContentRemaining False ContentRemoved All content successfully removed",
    "NamespaceFinalizersRemaining False ContentHasNoFinalizers All content-preserving finalizers finished",
];

#[tokio::test(start_paused = true)]
async fn kcm_ns1_after_a_quiet_time_pods_first_and_nothing_else_while_one_is_left() {
    let plane = Plane::new();
    let nodes = plane.nodes(Duration::ZERO);
    let manager = plane.manager();
    namespace(&plane).await;
    settle().await;
    let mut web = deployment("web", 2, json!({}));
    web["metadata"]["namespace"] = "n".into();
    web["spec"]["template"]["metadata"]["finalizers"] = json!(["example.com/hold"]);
    plane.create::<Deployment>(web).await;
    plane.create::<ConfigMap>(map("map", json!([]))).await;
    settle().await;
    let pods = plane.client.namespaced::<Pod>("n");
    let pods = async || pods.list(&Default::default()).await.unwrap().items;
    assert_eq!(pods().await.len(), 2);

    delete(&plane).await;
    seconds(4).await;
    assert!(
        pods()
            .await
            .iter()
            .all(|pod| pod.metadata.deletion_timestamp.is_none()),
        "too soon"
    );
    seconds(3).await;
    assert!(
        pods()
            .await
            .iter()
            .all(|pod| pod.metadata.deletion_timestamp.is_some())
    );
    assert_eq!(conditions(&plane).await, EMPTY);
    seconds(60).await;
    let maps = plane.client.namespaced::<ConfigMap>("n");
    let sets = plane.client.namespaced::<ReplicaSet>("n");
    assert!(
        maps.get("map")
            .await
            .unwrap()
            .metadata
            .deletion_timestamp
            .is_none(),
        "pods remain"
    );
    let kept = sets.list(&Default::default()).await.unwrap().items;
    assert!(kept.len() == 1 && kept[0].metadata.deletion_timestamp.is_none());
    assert_eq!(
        pods().await.len(),
        2,
        "none was made in the place of those that go"
    );

    for pod in pods().await {
        let free = evenkeel_client::Patch::merge(&json!({"metadata": {"finalizers": null}}));
        let api = plane.client.namespaced::<Pod>("n");
        api.patch(&pod.metadata.name.unwrap(), &free, &Default::default())
            .await
            .unwrap();
    }
    eventually("the namespace is gone", async || !is_there(&plane).await).await;
    manager.stop().await;
    nodes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn kcm_ns2_the_conditions_tell_what_is_left_and_what_holds_it() {
    let plane = Plane::new();
    let manager = plane.manager();
    namespace(&plane).await;
    settle().await;
    plane
        .create::<ConfigMap>(map("a", json!(["q.r/s", "x.y/z"])))
        .await;
    plane.create::<ConfigMap>(map("b", json!(["x.y/z"]))).await;
    plane.create::<ConfigMap>(map("c", json!([]))).await;
    let secret = json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "s", "namespace": "n", "finalizers": ["x.y/z"]}});
    plane.create::<Secret>(secret).await;
    delete(&plane).await;
    seconds(7).await;
    let told = conditions(&plane).await;
    assert_eq!(told[..3], EMPTY[..3]);
    assert_eq!(
        told[3..],
        [
            "NamespaceContentRemaining True SomeResourcesRemain Some resources are remaining: configmaps. has 2 resource instances, secrets. has 1 resource instances",
            "NamespaceFinalizersRemaining True SomeFinalizersRemain Some content in the namespace has finalizers remaining: q.r/s in 1 resource instances, x.y/z in 3 resource instances",
        ]
    );
    seconds(120).await;
    assert!(is_there(&plane).await);
    let free = evenkeel_client::Patch::merge(&json!({"metadata": {"finalizers": null}}));
    let maps = plane.client.namespaced::<ConfigMap>("n");
    for name in ["a", "b"] {
        maps.patch(name, &free, &Default::default()).await.unwrap();
    }
    let secrets = plane.client.namespaced::<Secret>("n");
    secrets
        .patch("s", &free, &Default::default())
        .await
        .unwrap();
    eventually("the namespace is gone", async || !is_there(&plane).await).await;
    manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn kcm_ns3_what_cannot_be_deleted_keeps_the_namespace_and_nothing_else() {
    let plane = Plane::new();
    let manager = plane.manager();
    namespace(&plane).await;
    settle().await;
    plane.create::<ConfigMap>(map("map", json!([]))).await;
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "n"}});
    plane.create::<Secret>(secret).await;
    let refused = When::verb(Verb::DeleteCollection).on("configmaps");
    let refused = plane.server.faults().inject(refused, Fault::forbidden());
    delete(&plane).await;
    seconds(30).await;
    let told = conditions(&plane).await;
    assert!(told[2].starts_with("NamespaceDeletionContentFailure True ContentDeletionFailed Failed to delete all resource types, 1 remaining: "), "{told:?}");
    let secrets = plane.client.namespaced::<Secret>("n");
    assert!(
        secrets.get_opt("s").await.unwrap().is_none(),
        "the other kinds were emptied"
    );
    assert!(is_there(&plane).await);
    refused.lift();
    eventually("the namespace is gone", async || !is_there(&plane).await).await;
    manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn kcm_ns1_a_new_namespace_of_the_same_name_is_left_alone() {
    let plane = Plane::new();
    let manager = plane.manager();
    namespace(&plane).await;
    settle().await;
    delete(&plane).await;
    eventually("the namespace is gone", async || !is_there(&plane).await).await;
    namespace(&plane).await;
    settle().await;
    plane.create::<ConfigMap>(map("map", json!([]))).await;
    seconds(60).await;
    assert!(is_there(&plane).await);
    plane
        .client
        .namespaced::<ConfigMap>("n")
        .get("map")
        .await
        .unwrap();
    manager.stop().await;
}
