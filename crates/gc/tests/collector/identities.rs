use evenkeel_client::ListOptions;
use evenkeel_meta::OwnerReference;
use evenkeel_meta::PropagationPolicy::Background;
use serde_json::json;

use crate::cluster::{Cluster, EVENTS, ROLES, nobody, owners};

#[tokio::test(start_paused = true)]
async fn gc_t12_kcm_b1_b4_references_into_other_namespaces_and_to_wrong_identities_are_absent() {
    let mut cluster = Cluster::new().await;
    for turn in ["before", "after"] {
        let parent = cluster.map(&format!("parent-{turn}"), &[]).await;
        let child = cluster
            .map(&format!("child-{turn}"), &[parent.owner(false)])
            .await;
        let wrong_name = OwnerReference {
            name: "z".into(),
            ..parent.owner(false)
        };
        let wrong_kind = OwnerReference {
            kind: "Secret".into(),
            ..parent.owner(false)
        };
        let mut invalid = Vec::new();
        for n in 0..10 {
            for (kind, reference) in [
                ("ns", parent.owner(false)),
                ("name", wrong_name.clone()),
                ("kind", wrong_kind.clone()),
            ] {
                let name = format!("{turn}-{kind}-{n}");
                invalid.push(cluster.map_in("m", &name, &[reference], &[]).await);
            }
            let name = format!("{turn}-near-{n}");
            invalid.push(cluster.map(&name, std::slice::from_ref(&wrong_kind)).await);
        }
        if turn == "before" {
            cluster.start().await;
        }
        for made in &invalid {
            cluster.gone(made).await;
        }
        assert!(cluster.is_there(&parent).await);
        assert_eq!(owners(&cluster.get(&child).await.unwrap()), [parent.uid()]);
        // B2, B4: and the same after a restart.
        cluster.restart().await;
        assert_eq!(cluster.requests.brief(), Vec::<String>::new());
    }
}

#[tokio::test(start_paused = true)]
async fn incident_6_gc_g24_the_user_is_told_of_a_reference_into_another_namespace() {
    let cluster = Cluster::collecting().await;
    let owner = cluster.map("own", &[]).await;
    let far = cluster.map_in("m", "far", &[owner.owner(false)], &[]).await;
    cluster.gone(&far).await;
    cluster.settle().await;
    let events = cluster
        .api(&EVENTS, Some("m"))
        .list(&ListOptions::default())
        .await
        .unwrap();
    let event = &events.items[0].data;
    assert_eq!(event["reason"], "OwnerRefInvalidNamespace");
    assert_eq!(event["type"], "Warning");
    assert_eq!(event["source"]["component"], "garbage-collector-controller");
    assert_eq!(
        event["message"],
        format!(
            "ownerRef [v1/ConfigMap, namespace: m, name: own, uid: {}] does not exist in namespace \"m\"",
            owner.uid()
        )
    );
}

#[tokio::test(start_paused = true)]
async fn gc_t31_g24_kcm_b3_a_cluster_scoped_child_of_a_namespaced_owner_is_kept() {
    let cluster = Cluster::collecting().await;
    let owner = cluster.map("owner", &[]).await;
    let body = json!({"metadata": {"name": "child", "ownerReferences": [owner.owner(false)]}, "rules": []});
    let child = cluster.create(&ROLES, None, body).await;
    cluster.settle().await;
    cluster.delete(&owner, Background).await;
    for _ in 0..60 {
        cluster.settle().await;
    }
    assert_eq!(owners(&cluster.get(&child).await.unwrap()), [owner.uid()]);
    assert_eq!(cluster.requests.brief(), Vec::<String>::new());
    let events = cluster
        .api(&EVENTS, Some("default"))
        .list(&ListOptions::default())
        .await
        .unwrap();
    assert_eq!(events.items.len(), 1);
    assert_eq!(
        events.items[0].data["message"],
        format!(
            "ownerRef [v1/ConfigMap, namespace: , name: owner, uid: {}] does not exist in namespace \"\"",
            owner.uid()
        )
    );
}

#[tokio::test(start_paused = true)]
async fn gc_t14_a_cluster_scoped_owner_has_dependents_in_any_namespace() {
    let cluster = Cluster::collecting().await;
    let owner = cluster
        .create(
            &ROLES,
            None,
            json!({"metadata": {"name": "owner"}, "rules": []}),
        )
        .await;
    let near = cluster
        .map_in("n", "part", &[owner.owner(false)], &[])
        .await;
    let far = cluster
        .map_in("m", "part", &[owner.owner(false)], &[])
        .await;
    let missing = OwnerReference {
        api_version: "rbac.authorization.k8s.io/v1".into(),
        kind: "ClusterRole".into(),
        ..nobody()
    };
    let lost = cluster.map_in("m", "lost", &[missing], &[]).await;
    cluster.gone(&lost).await;
    cluster.settle().await;
    assert!(cluster.is_there(&near).await && cluster.is_there(&far).await);
    cluster.delete(&owner, Background).await;
    cluster.gone(&near).await;
    cluster.gone(&far).await;
}

#[tokio::test(start_paused = true)]
async fn gc_t33_an_unserved_version_is_asked_about_for_ever_and_never_absent() {
    let cluster = Cluster::collecting().await;
    let owner = OwnerReference {
        api_version: "nope.io/v1".into(),
        kind: "Nope".into(),
        ..nobody()
    };
    let child = cluster.map("child", &[owner]).await;
    for _ in 0..300 {
        cluster.settle().await;
    }
    assert!(cluster.is_there(&child).await);
    assert_eq!(cluster.requests.brief(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn gc_t30_kcm_b2_a_false_claim_says_nothing_about_the_true_one() {
    let mut cluster = Cluster::new().await;
    let owner = cluster.map("owner", &[]).await;
    let good = cluster.map("good", &[owner.owner(true)]).await;
    let wrong = OwnerReference {
        kind: "Secret".into(),
        ..owner.owner(true)
    };
    for _ in 0..20 {
        let bad = cluster
            .map_in("m", "bad", std::slice::from_ref(&wrong), &[])
            .await;
        cluster.start().await;
        cluster.gone(&bad).await;
        assert!(cluster.is_there(&good).await);
        cluster.stop().await;
    }
}
