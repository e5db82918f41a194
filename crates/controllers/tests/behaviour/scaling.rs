use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use serde_json::json;

use crate::plane::{Plane, annotation, deployment, progressing, seconds, settle};

#[tokio::test(start_paused = true)]
async fn kcm_d9_a_scaled_rollout_keeps_its_proportions() {
    let plane = Plane::new();
    let nodes = plane.nodes(Duration::ZERO);
    let manager = plane.manager();
    let spec = json!({"strategy": {"rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2}}});
    plane
        .create::<Deployment>(deployment("web", 10, spec))
        .await;
    plane.rolled_out("web").await;
    nodes.stop().await;
    plane.set_image("web", "img:2").await;
    settle().await;
    assert_eq!(plane.sizes().await, [8, 5]);

    plane
        .patch::<Deployment>("web", json!({"spec": {"replicas": 15}}))
        .await;
    settle().await;
    assert_eq!(
        plane.sizes().await,
        [11, 7],
        "18 in the proportion of 8 and 5"
    );
    for set in plane.sets().await {
        assert_eq!(
            (
                annotation(&set, "desired-replicas"),
                annotation(&set, "max-replicas")
            ),
            (Some("15"), Some("18"))
        );
    }
    assert_eq!(plane.active_pods().await.len(), 18);

    plane
        .patch::<Deployment>("web", json!({"spec": {"replicas": 8}}))
        .await;
    settle().await;
    assert_eq!(
        plane.sizes().await,
        [6, 5],
        "7 and 4, and the rollout has gone on by one"
    );
    assert_eq!(plane.active_pods().await.len(), 11);
    let nodes = plane.nodes(Duration::ZERO);
    plane.rolled_out("web").await;
    assert_eq!(plane.sizes().await, [0, 8]);
    manager.stop().await;
    nodes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn kcm_d9_scaling_alone_is_no_rollout() {
    let plane = Plane::new();
    let nodes = plane.nodes(Duration::from_secs(1));
    let manager = plane.manager();
    plane
        .create::<Deployment>(deployment("web", 3, json!({})))
        .await;
    plane.rolled_out("web").await;
    plane
        .patch::<Deployment>("web", json!({"spec": {"replicas": 10}}))
        .await;
    settle().await;
    plane.rolled_out("web").await;
    let set = &plane.sets().await[0];
    assert_eq!(
        (
            annotation(set, "desired-replicas"),
            annotation(set, "max-replicas")
        ),
        (Some("10"), Some("13"))
    );
    assert_eq!(annotation(set, "revision"), Some("1"));
    assert!(plane.events().await.iter().any(|event| {
        event.starts_with("Normal ScalingReplicaSet Scaled up replica set web-")
            && event.ends_with(" from 3 to 10")
    }));

    // To nothing, and from nothing again.
    plane
        .patch::<Deployment>("web", json!({"spec": {"replicas": 0}}))
        .await;
    plane.rolled_out("web").await;
    settle().await;
    assert_eq!(plane.active_pods().await.len(), 0);
    plane
        .patch::<Deployment>("web", json!({"spec": {"replicas": 2}}))
        .await;
    plane.rolled_out("web").await;
    let status = plane.status("web").await;
    assert_eq!(
        progressing(&status),
        "NewReplicaSetAvailable",
        "at no time was there a rollout"
    );
    assert_eq!(plane.sets().await.len(), 1);
    manager.stop().await;
    nodes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn kcm_d9_the_old_sets_go_when_the_new_one_is_complete() {
    let plane = Plane::new();
    let nodes = plane.nodes(Duration::from_secs(10));
    let manager = plane.manager();
    plane
        .create::<Deployment>(deployment("web", 4, json!({})))
        .await;
    plane.rolled_out("web").await;
    plane.set_image("web", "img:2").await;
    seconds(3).await;
    assert_eq!(plane.sizes().await, [3, 2]);
    // Scaled to what the new set has by the time that it is available.
    plane
        .patch::<Deployment>("web", json!({"spec": {"replicas": 1}}))
        .await;
    plane.rolled_out("web").await;
    assert_eq!(plane.sizes().await, [0, 1]);
    manager.stop().await;
    nodes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn kcm_d14_a_paused_deployment_is_scaled_and_counted_and_no_more() {
    let plane = Plane::new();
    let nodes = plane.nodes(Duration::ZERO);
    let manager = plane.manager();
    plane
        .create::<Deployment>(deployment("web", 2, json!({"paused": true})))
        .await;
    settle().await;
    assert!(plane.sets().await.is_empty());
    let status = plane.status("web").await;
    assert_eq!(progressing(&status), "DeploymentPaused");
    assert_eq!(status.observed_generation, Some(1));

    plane
        .patch::<Deployment>("web", json!({"spec": {"paused": false}}))
        .await;
    plane.rolled_out("web").await;
    plane
        .patch::<Deployment>("web", json!({"spec": {"paused": true}}))
        .await;
    settle().await;
    assert_eq!(
        crate::plane::condition(&plane.status("web").await, "Progressing").unwrap(),
        "Unknown DeploymentPaused Deployment is paused"
    );
    plane.set_image("web", "img:2").await;
    plane
        .patch::<Deployment>("web", json!({"spec": {"replicas": 5}}))
        .await;
    settle().await;
    assert_eq!(
        plane.sizes().await,
        [5],
        "scaled, and no set for the new template"
    );
    let status = plane.status("web").await;
    assert_eq!(
        (status.updated_replicas, status.available_replicas),
        (None, Some(5))
    );
    assert_eq!(
        status.observed_generation,
        plane.get::<Deployment>("web").await.metadata.generation
    );

    plane
        .patch::<Deployment>("web", json!({"spec": {"paused": false}}))
        .await;
    plane.rolled_out("web").await;
    assert_eq!(plane.sizes().await, [0, 5]);
    manager.stop().await;
    nodes.stop().await;
}
