use std::time::Duration;

use evenkeel_apiserver::{Fault, Verb, When};
use evenkeel_client::{WatchEvent, WatchOptions};
use evenkeel_meta::{DeleteOptions, PropagationPolicy, Reason};
use futures_util::StreamExt;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus};
use serde_json::json;

use crate::plane::{Plane, condition, deployment, progressing, seconds, settle};

/// Every status that the Deployment `web` goes through until it is deleted.
fn statuses(plane: &Plane) -> tokio::task::JoinHandle<Vec<DeploymentStatus>> {
    let api = plane.api::<Deployment>();
    tokio::spawn(async move {
        let mut statuses = Vec::new();
        let options = WatchOptions::initial_events(evenkeel_meta::ResourceVersion::unset());
        let mut events = api.watch(&options).await.unwrap();
        while let Some(Ok(event)) = events.next().await {
            match event {
                WatchEvent::Added(web) | WatchEvent::Modified(web) => {
                    statuses.push(web.status.unwrap_or_default());
                }
                WatchEvent::Deleted(_) => return statuses,
                _ => {}
            }
        }
        statuses
    })
}

#[tokio::test(start_paused = true)]
async fn kcm_d12_the_conditions_of_a_rollout() {
    let plane = Plane::new();
    let nodes = plane.nodes(Duration::from_secs(1));
    let manager = plane.manager();
    let statuses = statuses(&plane);
    plane
        .create::<Deployment>(deployment("web", 3, json!({})))
        .await;
    plane.rolled_out("web").await;
    settle().await;
    let set = plane.sets().await[0].metadata.name.clone().unwrap();
    let done = plane.status("web").await;
    plane
        .api::<Deployment>()
        .delete("web", &Default::default())
        .await
        .unwrap();
    let statuses = statuses.await.unwrap();

    let mut told: Vec<String> = statuses
        .iter()
        .filter_map(|status| condition(status, "Progressing"))
        .collect();
    told.dedup();
    assert_eq!(
        told,
        [
            format!("True NewReplicaSetCreated Created new replica set \"{set}\""),
            format!("True ReplicaSetUpdated ReplicaSet \"{set}\" is progressing."),
            format!(
                "True NewReplicaSetAvailable ReplicaSet \"{set}\" has successfully progressed."
            ),
        ]
    );
    let mut told: Vec<String> = statuses
        .iter()
        .filter_map(|status| condition(status, "Available"))
        .collect();
    told.dedup();
    assert_eq!(
        told,
        [
            "False MinimumReplicasUnavailable Deployment does not have minimum availability.",
            "True MinimumReplicasAvailable Deployment has minimum availability.",
        ]
    );
    let counts = serde_json::to_value(DeploymentStatus {
        conditions: None,
        ..done.clone()
    })
    .unwrap();
    assert_eq!(
        counts,
        json!({"observedGeneration": 1, "replicas": 3, "updatedReplicas": 3,
        "readyReplicas": 3, "availableReplicas": 3, "terminatingReplicas": 0})
    );
    let of = |status: &DeploymentStatus| {
        let conditions = status.conditions.clone().unwrap();
        conditions
            .into_iter()
            .find(|c| c.type_.as_deref() == Some("Progressing"))
            .unwrap()
    };
    let first = of(statuses
        .iter()
        .find(|status| status.conditions.is_some())
        .unwrap());
    assert_eq!(
        of(&done).last_transition_time,
        first.last_transition_time,
        "it has been True all the time"
    );
    assert!(of(&done).last_update_time > first.last_update_time);
    manager.stop().await;
    nodes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn kcm_d13_a_rollout_without_progress_is_reported_and_goes_on() {
    let plane = Plane::new();
    let manager = plane.manager();
    plane
        .create::<Deployment>(deployment("web", 2, json!({"progressDeadlineSeconds": 5})))
        .await;
    seconds(5).await;
    assert_eq!(progressing(&plane.status("web").await), "ReplicaSetUpdated");
    seconds(3).await;
    let set = plane.sets().await[0].metadata.name.clone().unwrap();
    let told =
        format!("False ProgressDeadlineExceeded ReplicaSet \"{set}\" has timed out progressing.");
    assert_eq!(
        condition(&plane.status("web").await, "Progressing"),
        Some(told)
    );
    assert_eq!(plane.sizes().await, [2], "reported, nothing undone");
    let nodes = plane.nodes(Duration::ZERO);
    plane.rolled_out("web").await;
    settle().await;
    assert_eq!(
        progressing(&plane.status("web").await),
        "NewReplicaSetAvailable"
    );
    manager.stop().await;
    nodes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn kcm_d13_the_time_paused_does_not_count() {
    let plane = Plane::new();
    let manager = plane.manager();
    plane
        .create::<Deployment>(deployment("web", 1, json!({"progressDeadlineSeconds": 10})))
        .await;
    seconds(5).await;
    plane
        .patch::<Deployment>("web", json!({"spec": {"paused": true}}))
        .await;
    seconds(60).await;
    assert_eq!(
        condition(&plane.status("web").await, "Progressing").unwrap(),
        "Unknown DeploymentPaused Deployment is paused"
    );
    plane
        .patch::<Deployment>("web", json!({"spec": {"paused": false}}))
        .await;
    seconds(8).await;
    assert_eq!(
        condition(&plane.status("web").await, "Progressing").unwrap(),
        "Unknown DeploymentResumed Deployment is resumed"
    );
    seconds(5).await;
    assert_eq!(
        progressing(&plane.status("web").await),
        "ProgressDeadlineExceeded"
    );
    manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn kcm_d12_a_set_that_is_refused_is_reported() {
    let plane = Plane::new();
    let nodes = plane.nodes(Duration::ZERO);
    let manager = plane.manager();
    let refused = When::verb(Verb::Create).on("replicasets");
    let refused = plane.server.faults().inject(
        refused,
        Fault::refuse(403, Reason::Forbidden, "exceeded quota: no sets"),
    );
    plane
        .create::<Deployment>(deployment("web", 1, json!({})))
        .await;
    settle().await;
    let status = plane.status("web").await;
    let told = condition(&status, "Progressing").unwrap();
    assert!(
        told.starts_with("False ReplicaSetCreateError Failed to create new replica set \"web-")
            && told.ends_with("\": exceeded quota: no sets"),
        "{told}"
    );
    let text = told.strip_prefix("False ").unwrap();
    assert!(plane.events().await.contains(&format!("Warning {text}")));
    refused.lift();
    plane.rolled_out("web").await;
    settle().await;
    assert_eq!(
        progressing(&plane.status("web").await),
        "NewReplicaSetAvailable"
    );
    manager.stop().await;
    nodes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn kcm_d1_a_deployment_on_its_way_out_is_only_counted() {
    let plane = Plane::new();
    let nodes = plane.nodes(Duration::ZERO);
    let manager = plane.manager();
    plane
        .create::<Deployment>(deployment("web", 2, json!({})))
        .await;
    plane.rolled_out("web").await;
    plane
        .patch::<Deployment>(
            "web",
            json!({"metadata": {"finalizers": ["example.com/hold"]}}),
        )
        .await;
    let foreground = DeleteOptions::with_policy(PropagationPolicy::Foreground);
    plane
        .api::<Deployment>()
        .delete("web", &foreground)
        .await
        .unwrap();
    plane.set_image("web", "img:2").await;
    seconds(30).await;
    let web: Deployment = plane.get("web").await;
    let status = web.status.unwrap();
    assert_eq!(status.observed_generation, web.metadata.generation);
    assert_eq!((status.replicas, status.available_replicas), (None, None));
    assert!(plane.sets().await.is_empty(), "no set for the new template");
    manager.stop().await;
    nodes.stop().await;
}
