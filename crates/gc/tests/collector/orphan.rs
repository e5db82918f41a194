use evenkeel_meta::DeleteOptions;
use evenkeel_meta::PropagationPolicy::{Background, Foreground, Orphan};
use serde_json::json;

use crate::cluster::{CONTROLLERS, Cluster, owners};

#[tokio::test(start_paused = true)]
async fn gc_t4_orphans_stay_without_owners() {
    let cluster = Cluster::collecting().await;
    let owner = cluster.map("owner", &[]).await;
    let mut parts = Vec::new();
    for n in 0..30 {
        parts.push(
            cluster
                .map(&format!("part-{n}"), &[owner.owner(true)])
                .await,
        );
    }
    cluster.settle().await;
    cluster.delete(&owner, Orphan).await;
    cluster.gone(&owner).await;
    for _ in 0..30 {
        cluster.settle().await;
    }
    for part in &parts {
        assert_eq!(
            owners(&cluster.get(part).await.unwrap()),
            Vec::<String>::new()
        );
    }
    let patches: Vec<_> = cluster
        .requests
        .all()
        .into_iter()
        .filter(|sent| sent.method == "PATCH")
        .collect();
    assert_eq!(patches.len(), 31);
    assert_eq!(
        patches[0].content_type,
        "application/strategic-merge-patch+json"
    );
    assert_eq!(
        patches[0].body["metadata"]["ownerReferences"],
        json!([{"$patch": "delete", "uid": owner.uid()}])
    );
    assert!(patches[0].body["metadata"]["uid"].is_string());
    assert_eq!(
        (
            cluster.requests.count("DELETE"),
            cluster.requests.count("GET")
        ),
        (0, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn gc_t16_orphans_keep_their_other_owners() {
    let cluster = Cluster::collecting().await;
    let a = cluster.map("a", &[]).await;
    let b = cluster.map("b", &[]).await;
    let part = cluster.map("part", &[a.owner(true), b.owner(true)]).await;
    cluster.settle().await;
    cluster.delete(&a, Orphan).await;
    cluster.gone(&a).await;
    assert_eq!(owners(&cluster.get(&part).await.unwrap()), [b.uid()]);
    cluster.delete(&b, Background).await;
    cluster.gone(&part).await;
}

#[tokio::test(start_paused = true)]
async fn gc_t17_a_replication_controller_orphans_its_pods_unless_told_otherwise() {
    for (options, kept) in [
        (DeleteOptions::default(), true),
        // T18: said in so many words.
        (DeleteOptions::with_policy(Orphan), true),
        (DeleteOptions::with_policy(Background), false),
    ] {
        let cluster = Cluster::collecting().await;
        let owner = cluster.controller("rc", &[]).await;
        let pod = cluster.pod("pod", &[&owner]).await;
        let api = cluster.api(&CONTROLLERS, Some("n"));
        api.delete("rc", &options).await.unwrap();
        cluster.gone(&owner).await;
        for _ in 0..30 {
            cluster.settle().await;
        }
        assert_eq!(cluster.is_there(&pod).await, kept, "{options:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn gc_g41_a_dependent_made_just_before_the_deletion_is_released() {
    let cluster = Cluster::collecting().await;
    for round in 0..20 {
        let owner = cluster.map(&format!("owner-{round}"), &[]).await;
        let secret = cluster
            .map(&format!("part-{round}"), &[owner.owner(false)])
            .await;
        // The collector has seen neither yet.
        cluster.delete(&owner, Orphan).await;
        cluster.gone(&owner).await;
        cluster.settle().await;
        assert_eq!(
            owners(&cluster.get(&secret).await.unwrap()),
            Vec::<String>::new()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn gc_g54_the_last_deletion_says_what_happens() {
    let cluster = Cluster::collecting().await;
    let owner = cluster.map_with("owner", &[], &["example.com/slow"]).await;
    let part = cluster
        .map_with("part", &[owner.owner(true)], &["example.com/slow"])
        .await;
    cluster.settle().await;
    // The second deletion comes before the collector does anything about the first.
    cluster.delete(&owner, Foreground).await;
    cluster.delete(&owner, Orphan).await;
    cluster.settle().await;
    let object = cluster.get(&part).await.unwrap();
    assert_eq!(owners(&object), Vec::<String>::new());
    assert_eq!(object.metadata.deletion_timestamp, None);
    cluster
        .merge(&owner, json!({"metadata": {"finalizers": null}}))
        .await;
    cluster.gone(&owner).await;
}
