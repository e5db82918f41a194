use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use serde_json::{Value, json};

use crate::census::Census;
use crate::plane::{Plane, deployment, image, settle};

fn rolling(surge: &Value, unavailable: &Value) -> Value {
    let strategy = json!({"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}});
    json!({"strategy": strategy})
}

#[tokio::test(start_paused = true)]
async fn kcm_d7_d8_never_over_the_surge_nor_under_the_minimum() {
    // Surge and missing pods as written and as they resolve for ten replicas; the start delay.
    let cases = [
        (json!("25%"), json!("25%"), 3, 2, 0),
        (json!("25%"), json!("25%"), 3, 2, 4),
        (json!(1), json!(0), 1, 0, 2),
        (json!(0), json!(1), 0, 1, 1),
        (json!(4), json!(3), 4, 3, 7),
        (json!("100%"), json!(0), 10, 0, 1),
        (json!(0), json!("50%"), 0, 5, 1),
    ];
    for (surge, unavailable, over, under, delay) in cases {
        let plane = Plane::new();
        let nodes = plane.nodes(Duration::from_secs(delay));
        let manager = plane.manager();
        let web = deployment("web", 10, rolling(&surge, &unavailable));
        plane.create::<Deployment>(web).await;
        plane.rolled_out("web").await;

        let census = Census::start(&plane).await;
        plane.set_image("web", "img:2").await;
        plane.rolled_out("web").await;
        // And once more, with a third template in the middle of the second.
        plane.set_image("web", "img:3").await;
        tokio::time::sleep(Duration::from_millis(delay * 1500)).await;
        plane.set_image("web", "img:4").await;
        plane.rolled_out("web").await;

        let case = format!("surge {surge}, unavailable {unavailable}, delay {delay} s");
        assert!(
            census.most_active() <= 10 + over,
            "{case}: {}",
            census.most_active()
        );
        assert!(
            census.fewest_ready() >= 10 - under,
            "{case}: {}",
            census.fewest_ready()
        );
        let pods = plane.active_pods().await;
        assert!(
            pods.len() == 10 && pods.iter().all(|pod| image(pod) == "img:4"),
            "{case}"
        );
        manager.stop().await;
        nodes.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn kcm_d7_d8_a_rollout_that_does_not_get_ready_holds() {
    let plane = Plane::new();
    let nodes = plane.nodes(Duration::ZERO);
    let manager = plane.manager();
    plane
        .create::<Deployment>(deployment("web", 10, json!({})))
        .await;
    plane.rolled_out("web").await;
    settle().await;
    // The nodes finish what is deleted, and start nothing.
    nodes.stop().await;
    let nodes = plane.nodes(Duration::from_secs(100_000));
    plane.set_image("web", "img:2").await;
    settle().await;
    assert_eq!(plane.sizes().await, [8, 5]);
    let status = plane.status("web").await;
    assert_eq!(
        (status.replicas, status.updated_replicas),
        (Some(13), Some(5))
    );
    assert_eq!(
        (status.available_replicas, status.unavailable_replicas),
        (Some(8), Some(5))
    );
    // Back to what works: the set that never got ready goes at once.
    let census = Census::start(&plane).await;
    plane.set_image("web", "img:1").await;
    nodes.stop().await;
    let nodes = plane.nodes(Duration::ZERO);
    plane.rolled_out("web").await;
    assert_eq!(plane.sizes().await, [10, 0]);
    assert!(census.fewest_ready() >= 8 && census.most_active() <= 13);
    manager.stop().await;
    nodes.stop().await;
}
