use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

use crate::census::Census;
use crate::plane::{Plane, annotation, deployment, seconds, template};

#[tokio::test(start_paused = true)]
async fn kcm_d10_no_new_pod_before_the_last_old_one_is_gone() {
    let plane = Plane::new();
    let nodes = plane.nodes(Duration::ZERO);
    let manager = plane.manager();
    let mut template = template("web");
    template["metadata"]["finalizers"] = json!(["example.com/hold"]);
    let spec = json!({"strategy": {"type": "Recreate"}, "template": template});
    plane.create::<Deployment>(deployment("web", 3, spec)).await;
    plane.rolled_out("web").await;
    let set = &plane.sets().await[0];
    assert_eq!(
        (
            annotation(set, "desired-replicas"),
            annotation(set, "max-replicas")
        ),
        (Some("3"), Some("3"))
    );

    let census = Census::start(&plane).await;
    plane.set_image("web", "img:2").await;
    seconds(60).await;
    assert_eq!(
        plane.sizes().await,
        [0],
        "the old pods are held: no new set yet"
    );
    let old: Vec<Pod> = plane.list().await;
    assert_eq!(old.len(), 3);
    for (at, pod) in old.iter().enumerate() {
        assert_eq!(plane.sets().await.len(), 1, "{at} of 3 are gone");
        let free = json!({"metadata": {"finalizers": null}});
        plane
            .patch::<Pod>(pod.metadata.name.as_ref().unwrap(), free)
            .await;
        seconds(5).await;
    }
    plane.rolled_out("web").await;
    assert_eq!(plane.sizes().await, [0, 3]);
    let both = census.counts().iter().any(|count| count.images.len() > 1);
    assert!(!both, "old and new pods never existed together");
    manager.stop().await;
    nodes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn kcm_d10_finished_pods_hold_nothing_up() {
    let plane = Plane::new();
    let nodes = plane.nodes(Duration::ZERO);
    let manager = plane.manager();
    let spec = json!({"strategy": {"type": "Recreate"}});
    plane.create::<Deployment>(deployment("web", 2, spec)).await;
    plane.rolled_out("web").await;
    let pod = plane.active_pods().await[0].metadata.name.clone().unwrap();
    let failed = evenkeel_client::Patch::merge(&json!({"status": {"phase": "Failed"}}));
    plane
        .api::<Pod>()
        .patch_status(&pod, &failed, &Default::default())
        .await
        .unwrap();
    plane.rolled_out("web").await;
    plane.set_image("web", "img:2").await;
    plane.rolled_out("web").await;
    plane.get::<Pod>(&pod).await;
    manager.stop().await;
    nodes.stop().await;
}

/// Seen to hang for ever in other implementations: with two sets that have pods there is
/// nothing to share out, and the sets go on looking scaled.
#[tokio::test(start_paused = true)]
async fn kcm_d10_a_rollout_that_is_switched_to_recreate_and_scaled_ends() {
    let plane = Plane::new();
    let nodes = plane.nodes(Duration::ZERO);
    let manager = plane.manager();
    plane
        .create::<Deployment>(deployment("web", 4, json!({})))
        .await;
    plane.rolled_out("web").await;
    nodes.stop().await;
    let nodes = plane.nodes(Duration::from_secs(30));
    plane.set_image("web", "img:2").await;
    seconds(5).await;
    assert_eq!(
        plane.sizes().await.iter().filter(|size| **size > 0).count(),
        2
    );
    let strategy = json!({"type": "Recreate", "rollingUpdate": null});
    plane
        .patch::<Deployment>(
            "web",
            json!({"spec": {"replicas": 6, "strategy": strategy}}),
        )
        .await;
    plane.rolled_out("web").await;
    assert_eq!(plane.sizes().await, [0, 6]);
    manager.stop().await;
    nodes.stop().await;
}
