use std::time::Duration;

use evenkeel_client::Patch;
use evenkeel_meta::{DeleteOptions, PropagationPolicy};
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

use crate::plane::{Plane, eventually, replica_set, seconds, settle};

async fn ready(plane: &Plane, name: &str, count: i32) {
    eventually(&format!("{count} pods of {name} are ready"), async || {
        let set: ReplicaSet = plane.get(name).await;
        set.status.unwrap().ready_replicas.unwrap_or(0) == count
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn kcm_rs1_a_failed_pod_is_replaced_and_left() {
    let plane = Plane::new();
    let nodes = plane.nodes(Duration::ZERO);
    let manager = plane.manager();
    plane
        .create::<ReplicaSet>(replica_set("web", 3, json!({})))
        .await;
    ready(&plane, "web", 3).await;
    let name = plane.active_pods().await[0].metadata.name.clone().unwrap();
    let failed = Patch::merge(&json!({"status": {"phase": "Failed"}}));
    plane
        .api::<Pod>()
        .patch_status(&name, &failed, &Default::default())
        .await
        .unwrap();
    settle().await;
    ready(&plane, "web", 3).await;
    assert_eq!(plane.active_pods().await.len(), 3);
    assert_eq!(plane.list::<Pod>().await.len(), 4);
    let left: Pod = plane.get(&name).await;
    assert!(left.metadata.deletion_timestamp.is_none());
    manager.stop().await;
    nodes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn kcm_rs1_a_set_on_its_way_out_makes_no_pods() {
    let plane = Plane::new();
    let nodes = plane.nodes(Duration::ZERO);
    let manager = plane.manager();
    let mut web = replica_set("web", 2, json!({}));
    web["metadata"]["finalizers"] = json!(["example.com/hold"]);
    plane.create::<ReplicaSet>(web).await;
    ready(&plane, "web", 2).await;
    let foreground = DeleteOptions::with_policy(PropagationPolicy::Foreground);
    plane
        .api::<ReplicaSet>()
        .delete("web", &foreground)
        .await
        .unwrap();
    seconds(60).await;
    assert!(plane.list::<Pod>().await.is_empty());
    let status = plane.get::<ReplicaSet>("web").await.status.unwrap();
    assert_eq!(status.replicas, 0, "it is still counted");
    manager.stop().await;
    nodes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn kcm_rs3_the_status_counts_what_is_there() {
    let plane = Plane::new();
    let manager = plane.manager();
    let mut template = crate::plane::template("web");
    template["metadata"]["labels"]["tier"] = "front".into();
    plane
        .create::<ReplicaSet>(replica_set("web", 3, json!({"template": template})))
        .await;
    settle().await;
    let status =
        async || serde_json::to_value(plane.get::<ReplicaSet>("web").await.status).unwrap();
    let fresh = json!({"replicas": 3, "fullyLabeledReplicas": 3, "terminatingReplicas": 0, "observedGeneration": 1});
    assert_eq!(status().await, fresh);

    let nodes = plane.nodes(Duration::ZERO);
    ready(&plane, "web", 3).await;
    let pods = plane.active_pods().await;
    let name = |at: usize| pods[at].metadata.name.clone().unwrap();
    // One loses a label of the template that the selector does not ask for; one goes slowly.
    plane
        .patch::<Pod>(&name(0), json!({"metadata": {"labels": {"tier": null}}}))
        .await;
    plane
        .patch::<Pod>(
            &name(1),
            json!({"metadata": {"finalizers": ["example.com/hold"]}}),
        )
        .await;
    plane
        .api::<Pod>()
        .delete(&name(1), &Default::default())
        .await
        .unwrap();
    settle().await;
    assert_eq!(
        status().await,
        json!({"replicas": 3, "fullyLabeledReplicas": 2, "readyReplicas": 3,
        "availableReplicas": 3, "terminatingReplicas": 1, "observedGeneration": 1})
    );
    let events = plane.events().await;
    let made = events
        .iter()
        .filter(|event| event.starts_with("Normal SuccessfulCreate Created pod: web-"));
    assert_eq!(made.count(), 4);

    plane
        .patch::<ReplicaSet>("web", json!({"spec": {"replicas": 1}}))
        .await;
    settle().await;
    let status = status().await;
    assert_eq!(
        (&status["replicas"], &status["observedGeneration"]),
        (&json!(1), &json!(2))
    );
    let events = plane.events().await;
    let removed = events
        .iter()
        .filter(|event| event.starts_with("Normal SuccessfulDelete Deleted pod: web-"));
    assert_eq!(removed.count(), 2);
    manager.stop().await;
    nodes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn kcm_rs4_a_pod_is_available_when_it_has_been_ready_for_long_enough() {
    let plane = Plane::new();
    let nodes = plane.nodes(Duration::ZERO);
    let manager = plane.manager();
    let since = plane.now();
    plane
        .create::<ReplicaSet>(replica_set("web", 2, json!({"minReadySeconds": 20})))
        .await;
    ready(&plane, "web", 2).await;
    assert_eq!(
        plane
            .get::<ReplicaSet>("web")
            .await
            .status
            .unwrap()
            .available_replicas,
        None
    );
    eventually("they are available", async || {
        plane
            .get::<ReplicaSet>("web")
            .await
            .status
            .unwrap()
            .available_replicas
            == Some(2)
    })
    .await;
    let took = plane.now().saturating_since(since);
    assert!((20..22).contains(&took.as_secs()), "{took:?}");
    manager.stop().await;
    nodes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn kcm_rs2_surplus_pods_go_by_what_they_cost() {
    let plane = Plane::new();
    let nodes = plane.nodes(Duration::ZERO);
    let manager = plane.manager();
    plane
        .create::<ReplicaSet>(replica_set("web", 4, json!({})))
        .await;
    ready(&plane, "web", 4).await;
    let mut names: Vec<_> = plane
        .active_pods()
        .await
        .into_iter()
        .map(|pod| pod.metadata.name.unwrap())
        .collect();
    let dear = names.remove(2);
    let cost =
        json!({"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "100"}}});
    plane.patch::<Pod>(&dear, cost).await;
    plane
        .patch::<ReplicaSet>("web", json!({"spec": {"replicas": 1}}))
        .await;
    settle().await;
    let left = plane.active_pods().await;
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].metadata.name.as_ref(), Some(&dear));
    manager.stop().await;
    nodes.stop().await;
}
