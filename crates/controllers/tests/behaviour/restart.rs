use std::time::Duration;

use evenkeel_apiserver::{Fault, Verb, When};
use evenkeel_client::{Patch, PatchOptions};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::coordination::v1::Lease;
use serde_json::json;

use crate::census::Census;
use crate::plane::{Plane, deployment, replica_set, seconds, settle};

#[tokio::test(start_paused = true)]
async fn a_manager_that_is_killed_in_a_rollout_leaves_no_surplus_to_the_next() {
    // Milliseconds between the killings: in the middle of batches, and between the steps.
    for pause in [1, 7, 50, 400] {
        let plane = Plane::new();
        let nodes = plane.nodes(Duration::from_millis(200));
        let mut manager = plane.manager();
        plane
            .create::<Deployment>(deployment("web", 20, json!({})))
            .await;
        plane.rolled_out("web").await;
        let census = Census::start(&plane).await;
        plane.set_image("web", "img:2").await;
        for _ in 0..8 {
            tokio::time::sleep(Duration::from_millis(pause)).await;
            manager.kill();
            manager = plane.manager();
        }
        plane.rolled_out("web").await;
        settle().await;
        assert!(
            census.most_active() <= 25,
            "{pause} ms: {}",
            census.most_active()
        );
        assert!(
            census.fewest_ready() >= 15,
            "{pause} ms: {}",
            census.fewest_ready()
        );
        assert_eq!(
            (plane.active_pods().await.len(), plane.sizes().await),
            (20, vec![0, 20])
        );
        manager.stop().await;
        nodes.stop().await;
    }
}

/// The lease goes from hand to hand in milliseconds, which a watch may take longer than.
#[tokio::test(start_paused = true)]
async fn kcm_k12_a_new_leader_whose_pods_lag_behind_makes_none_twice() {
    let plane = Plane::new();
    let nodes = plane.nodes(Duration::ZERO);
    let first = plane.candidate("first");
    plane
        .create::<ReplicaSet>(replica_set("web", 3, json!({})))
        .await;
    settle().await;
    let second = plane.candidate("second");
    settle().await;
    let census = Census::start(&plane).await;
    let lag = When::verb(Verb::Watch).on("pods").user_agent("second");
    let lag = plane.server.faults().inject(lag, Fault::SilentWatch);
    plane.server.faults().cut_watches();
    settle().await;
    plane
        .patch::<ReplicaSet>("web", json!({"spec": {"replicas": 8}}))
        .await;
    seconds(1).await;
    assert_eq!(plane.active_pods().await.len(), 8, "made by the first");
    first.stop().await;
    seconds(5).await;
    lag.lift();
    plane.server.faults().cut_watches();
    settle().await;
    assert_eq!(census.most_active(), 8);
    // The second does lead, and works.
    plane
        .patch::<ReplicaSet>("web", json!({"spec": {"replicas": 9}}))
        .await;
    settle().await;
    assert_eq!(plane.active_pods().await.len(), 9);
    second.stop().await;
    nodes.stop().await;
}

/// What a fence gives up is another leader's to do: the set has lost nothing.
#[tokio::test(start_paused = true)]
async fn a_pass_that_a_lost_lease_ends_has_nothing_to_complain_of() {
    let plane = Plane::new();
    let leader = plane.candidate("leader");
    settle().await;
    let hung = When::verb(Verb::Create).on("pods");
    let hung = plane.server.faults().inject(hung, Fault::Hang);
    plane
        .create::<ReplicaSet>(replica_set("web", 3, json!({})))
        .await;
    seconds(1).await;
    assert!(plane.active_pods().await.is_empty());
    let leases = plane.client.namespaced::<Lease>("kube-system");
    let usurped = json!({"spec": {"holderIdentity": "rival", "leaseDurationSeconds": 10}});
    let usurped = Patch::merge(&usurped);
    let options = PatchOptions::default();
    let written = leases.patch("controllers", &usurped, &options).await;
    written.unwrap();
    seconds(5).await;
    assert_eq!(plane.events().await, Vec::<String>::new());
    // It comes to lead again, and works.
    hung.lift();
    seconds(20).await;
    assert_eq!(plane.active_pods().await.len(), 3);
    leader.stop().await;
}
