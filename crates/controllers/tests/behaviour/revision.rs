use std::time::Duration;

use evenkeel_apiserver::{Fault, Verb, When};
use evenkeel_meta::{DeleteOptions, PropagationPolicy};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{Namespace, Pod};
use serde_json::json;

use crate::plane::{
    MANAGER, Plane, annotation, condition, deployment, eventually, owner, replica_set, revision,
    settle, template,
};

#[tokio::test(start_paused = true)]
async fn kcm_d5_undo_numbers_the_reused_set_anew_and_keeps_its_history() {
    let plane = Plane::new();
    let nodes = plane.nodes(Duration::ZERO);
    let manager = plane.manager();
    let mut web = deployment("web", 2, json!({}));
    web["metadata"]["annotations"] =
        json!({"note": "x", "kubectl.kubernetes.io/last-applied-configuration": "{}"});
    plane.create::<Deployment>(web).await;
    plane.rolled_out("web").await;
    for (image, number) in [
        ("img:2", "2"),
        ("img:1", "3"),
        ("img:2", "4"),
        ("img:1", "5"),
    ] {
        plane.set_image("web", image).await;
        plane.rolled_out("web").await;
        settle().await;
        let web: Deployment = plane.get("web").await;
        assert_eq!(
            web.metadata.annotations.unwrap()["deployment.kubernetes.io/revision"],
            number
        );
    }
    let sets = plane.sets().await;
    let shown: Vec<_> = sets
        .iter()
        .map(|set| {
            (
                annotation(set, "revision"),
                annotation(set, "revision-history"),
            )
        })
        .collect();
    assert_eq!(shown, [(Some("4"), Some("2")), (Some("5"), Some("1,3"))]);
    for set in &sets {
        let annotations = set.metadata.annotations.as_ref().unwrap();
        assert_eq!(annotations["note"], "x");
        assert!(!annotations.keys().any(|key| key.contains("last-applied")));
    }
    // An annotation of the Deployment alone changes the present set, and no revision.
    plane
        .patch::<Deployment>("web", json!({"metadata": {"annotations": {"note": "y"}}}))
        .await;
    settle().await;
    let noted: Vec<_> = plane
        .sets()
        .await
        .iter()
        .map(|set| set.metadata.annotations.clone().unwrap()["note"].clone())
        .collect();
    assert_eq!(noted, ["x", "y"]);
    manager.stop().await;
    nodes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn kcm_d11_rollback_by_annotation() {
    let plane = Plane::new();
    let nodes = plane.nodes(Duration::ZERO);
    let manager = plane.manager();
    plane
        .create::<Deployment>(deployment("web", 2, json!({})))
        .await;
    plane.rolled_out("web").await;
    for image in ["img:2", "img:3"] {
        plane.set_image("web", image).await;
        plane.rolled_out("web").await;
    }
    settle().await;
    // The revision asked for; the image and the revision that it comes to.
    for (to, image, now) in [
        ("1", "img:1", "4"),
        ("0", "img:3", "5"),
        ("77", "img:3", "5"),
    ] {
        let ask = json!({"metadata": {"annotations": {"deprecated.deployment.rollback.to": to}}});
        plane.patch::<Deployment>("web", ask).await;
        settle().await;
        plane.rolled_out("web").await;
        settle().await;
        let web: Deployment = plane.get("web").await;
        let annotations = web.metadata.annotations.unwrap();
        assert!(
            !annotations.contains_key("deprecated.deployment.rollback.to"),
            "{to}"
        );
        assert_eq!(
            annotations["deployment.kubernetes.io/revision"], now,
            "{to}"
        );
        let template = web.spec.template;
        assert_eq!(
            template.spec.unwrap().containers[0].image.as_deref(),
            Some(image),
            "{to}"
        );
        assert!(
            !template
                .metadata
                .unwrap()
                .labels
                .unwrap()
                .contains_key("pod-template-hash")
        );
    }
    let events = plane.events().await;
    let has = |text: &str| events.iter().any(|event| event == text);
    assert!(
        has("Normal DeploymentRollback Rolled back deployment \"web\" to revision 1"),
        "{events:#?}"
    );
    assert!(has(
        "Warning DeploymentRollbackRevisionNotFound Unable to find the revision to rollback to."
    ));
    manager.stop().await;
    nodes.stop().await;
}

/// The name and hash that the controllers give to the set of a Deployment `web`.
async fn hash_of_web(plane: &Plane) -> String {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "probe"}});
    plane.create::<Namespace>(namespace).await;
    let mut probe = deployment("web", 0, json!({}));
    probe["metadata"]["namespace"] = "probe".into();
    plane.create::<Deployment>(probe).await;
    settle().await;
    let sets = plane.client.namespaced::<ReplicaSet>("probe");
    let set = sets
        .list(&Default::default())
        .await
        .unwrap()
        .items
        .remove(0);
    set.metadata.labels.unwrap()["pod-template-hash"].clone()
}

#[tokio::test(start_paused = true)]
async fn kcm_d4_b31_a_taken_name_leads_to_another_hash() {
    let plane = Plane::new();
    let nodes = plane.nodes(Duration::ZERO);
    let manager = plane.manager();
    let hash = hash_of_web(&plane).await;
    let mut other = replica_set("other", 0, json!({}));
    other["metadata"]["name"] = format!("web-{hash}").into();
    plane.create::<ReplicaSet>(other).await;

    plane
        .create::<Deployment>(deployment("web", 2, json!({})))
        .await;
    plane.rolled_out("web").await;
    assert_eq!(plane.status("web").await.collision_count, Some(1));
    let web: Deployment = plane.get("web").await;
    let sets = plane.sets().await;
    let mine: Vec<_> = sets
        .iter()
        .filter(|set| owner(&set.metadata) == web.metadata.uid.as_deref())
        .collect();
    assert!(mine.len() == 1 && mine[0].metadata.name != Some(format!("web-{hash}")));
    manager.stop().await;
    nodes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn kcm_d4_an_orphan_that_is_not_seen_yet_is_no_collision() {
    let plane = Plane::new();
    let nodes = plane.nodes(Duration::ZERO);
    let manager = plane.manager();
    let hash = hash_of_web(&plane).await;
    let silence = When::verb(Verb::Watch)
        .on("replicasets")
        .user_agent(MANAGER);
    let silence = plane.server.faults().inject(silence, Fault::SilentWatch);
    plane.server.faults().cut_watches();
    settle().await;
    let labels = json!({"app": "web", "pod-template-hash": hash});
    let mut template = template("web");
    template["metadata"]["labels"] = labels.clone();
    let mut orphan = replica_set(
        "web",
        1,
        json!({"template": template, "selector": {"matchLabels": labels}}),
    );
    orphan["metadata"] =
        json!({"name": format!("web-{hash}"), "namespace": "default", "labels": labels});
    plane.create::<ReplicaSet>(orphan).await;
    plane
        .create::<Deployment>(deployment("web", 2, json!({})))
        .await;
    settle().await;
    let refused = plane
        .server
        .take_requests()
        .into_iter()
        .any(|request| request.code == 409 && request.path.ends_with("/replicasets"));
    assert!(refused, "the name was found to be taken");
    silence.lift();
    plane.server.faults().cut_watches();
    plane.rolled_out("web").await;
    assert_eq!(plane.status("web").await.collision_count, None);
    assert_eq!(plane.sizes().await, [2]);
    manager.stop().await;
    nodes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn kcm_d2_an_orphaned_set_is_adopted_and_its_pods_stay() {
    let plane = Plane::new();
    let nodes = plane.nodes(Duration::ZERO);
    let manager = plane.manager();
    plane
        .create::<Deployment>(deployment("web", 2, json!({})))
        .await;
    plane.rolled_out("web").await;
    let uids = async || {
        let pods = plane.active_pods().await.into_iter();
        let mut uids: Vec<_> = pods.map(|pod| pod.metadata.uid.unwrap()).collect();
        uids.sort();
        uids
    };
    let before = uids().await;
    let orphan = DeleteOptions::with_policy(PropagationPolicy::Orphan);
    plane
        .api::<Deployment>()
        .delete("web", &orphan)
        .await
        .unwrap();
    eventually("the Deployment is gone", async || {
        plane.list::<Deployment>().await.is_empty()
    })
    .await;
    assert_eq!(owner(&plane.sets().await[0].metadata), None);

    plane
        .create::<Deployment>(deployment("web", 2, json!({})))
        .await;
    settle().await;
    plane.rolled_out("web").await;
    let web: Deployment = plane.get("web").await;
    let sets = plane.sets().await;
    assert_eq!(sets.len(), 1);
    assert_eq!(owner(&sets[0].metadata), web.metadata.uid.as_deref());
    assert_eq!(uids().await, before);
    let name = sets[0].metadata.name.as_ref().unwrap();
    let complete =
        format!("True NewReplicaSetAvailable ReplicaSet \"{name}\" has successfully progressed.");
    assert_eq!(
        condition(web.status.as_ref().unwrap(), "Progressing"),
        Some(complete)
    );
    manager.stop().await;
    nodes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn kcm_d15_old_sets_beyond_the_history_limit_go() {
    let plane = Plane::new();
    let nodes = plane.nodes(Duration::ZERO);
    let manager = plane.manager();
    plane
        .create::<Deployment>(deployment("web", 1, json!({"revisionHistoryLimit": 2})))
        .await;
    for number in 2..=6 {
        plane.rolled_out("web").await;
        plane.set_image("web", &format!("img:{number}")).await;
    }
    plane.rolled_out("web").await;
    settle().await;
    let revisions = async || {
        let mut revisions: Vec<_> = plane.sets().await.iter().map(revision).collect();
        revisions.sort_unstable();
        revisions
    };
    assert_eq!(revisions().await, [4, 5, 6]);
    // A paused Deployment is cleaned up as well.
    plane
        .patch::<Deployment>(
            "web",
            json!({"spec": {"paused": true, "revisionHistoryLimit": 0}}),
        )
        .await;
    settle().await;
    assert_eq!(revisions().await, [6]);
    assert_eq!(plane.list::<Pod>().await.len(), 1);
    manager.stop().await;
    nodes.stop().await;
}
