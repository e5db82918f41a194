use std::time::Duration;

use evenkeel_apiserver::{Fault, Verb, When};
use http::Method;
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use crate::plane::{MANAGER, Plane, owner, replica_set, settle, template};

fn pod(name: &str, app: &str) -> Value {
    let mut pod = template(app);
    pod["apiVersion"] = "v1".into();
    pod["kind"] = "Pod".into();
    pod["metadata"]["name"] = name.into();
    pod["metadata"]["namespace"] = "default".into();
    pod
}

/// The manager's stores show nothing more of this resource, until the answer is lifted and the
/// watches are cut once more.
async fn silence(plane: &Plane, resource: &str) -> evenkeel_apiserver::Injected {
    let when = When::verb(Verb::Watch).on(resource).user_agent(MANAGER);
    let silence = plane.server.faults().inject(when, Fault::SilentWatch);
    plane.server.faults().cut_watches();
    settle().await;
    silence
}

#[tokio::test(start_paused = true)]
async fn kcm_c1_orphans_that_match_are_adopted_after_a_live_look_at_the_set() {
    let plane = Plane::new();
    let nodes = plane.nodes(Duration::ZERO);
    let manager = plane.manager();
    plane.create::<Pod>(pod("bare", "web")).await;
    plane.create::<Pod>(pod("stranger", "other")).await;
    settle().await;
    plane.server.take_requests();
    let set: ReplicaSet = plane.create(replica_set("web", 3, json!({}))).await;
    settle().await;
    let bare: Pod = plane.get("bare").await;
    let owners = serde_json::to_value(bare.metadata.owner_references).unwrap();
    assert_eq!(
        owners,
        json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web",
        "uid": set.metadata.uid, "controller": true, "blockOwnerDeletion": true}])
    );
    assert_eq!(owner(&plane.get::<Pod>("stranger").await.metadata), None);
    assert_eq!(plane.active_pods().await.len(), 4, "two were made");

    let requests = plane.server.take_requests();
    let at = |method: Method, end: &str| {
        requests.iter().position(|request| {
            request.user_agent == MANAGER && request.method == method && request.path.ends_with(end)
        })
    };
    let looked = at(Method::GET, "/replicasets/web").expect("a live look");
    let adopted = at(Method::PATCH, "/pods/bare").expect("an adoption");
    assert!(looked < adopted);
    manager.stop().await;
    nodes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn kcm_c1_a_set_that_is_going_unseen_adopts_nothing() {
    let plane = Plane::new();
    let nodes = plane.nodes(Duration::ZERO);
    let manager = plane.manager();
    let mut web = replica_set("web", 1, json!({}));
    web["metadata"]["finalizers"] = json!(["example.com/hold"]);
    plane.create::<ReplicaSet>(web).await;
    settle().await;
    let silence = silence(&plane, "replicasets").await;
    plane
        .api::<ReplicaSet>()
        .delete("web", &Default::default())
        .await
        .unwrap();
    plane.create::<Pod>(pod("bare", "web")).await;
    settle().await;
    assert_eq!(owner(&plane.get::<Pod>("bare").await.metadata), None);
    silence.lift();
    manager.stop().await;
    nodes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn kcm_c1_a_relabelled_pod_is_released_and_replaced() {
    let plane = Plane::new();
    let nodes = plane.nodes(Duration::ZERO);
    let manager = plane.manager();
    plane
        .create::<ReplicaSet>(replica_set("web", 2, json!({})))
        .await;
    settle().await;
    let name = plane.active_pods().await[0].metadata.name.clone().unwrap();
    plane.server.take_requests();
    plane
        .patch::<Pod>(&name, json!({"metadata": {"labels": {"app": "apart"}}}))
        .await;
    settle().await;
    let released: Pod = plane.get(&name).await;
    assert_eq!(released.metadata.owner_references, None);
    assert!(released.metadata.deletion_timestamp.is_none());
    assert_eq!(plane.active_pods().await.len(), 3);
    let asked = plane.server.take_requests();
    let looks = asked.iter().filter(|request| {
        request.method == Method::GET && request.path.ends_with("/replicasets/web")
    });
    let looks = looks.filter(|request| request.user_agent == MANAGER);
    assert_eq!(looks.count(), 0, "a release needs no live look");
    manager.stop().await;
    nodes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn kcm_c1_a_pod_that_two_sets_select_has_one_owner() {
    let plane = Plane::new();
    let nodes = plane.nodes(Duration::ZERO);
    let selector =
        json!({"selector": {"matchLabels": {"app": "web"}}, "template": template("web")});
    let mut uids = Vec::new();
    for name in ["one", "two"] {
        let set: ReplicaSet = plane.create(replica_set(name, 1, selector.clone())).await;
        uids.push(set.metadata.uid.unwrap());
    }
    plane.create::<Pod>(pod("bare", "web")).await;
    let manager = plane.manager();
    settle().await;
    let pods = plane.active_pods().await;
    let mut owners: Vec<_> = pods
        .iter()
        .map(|pod| owner(&pod.metadata).unwrap())
        .collect();
    owners.sort_unstable();
    uids.sort();
    assert_eq!(
        owners, uids,
        "one each: the bare pod, and one that was made"
    );
    assert!(
        pods.iter()
            .all(|pod| pod.metadata.owner_references.as_ref().unwrap().len() == 1)
    );
    manager.stop().await;
    nodes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn kcm_b33_pods_that_were_orphaned_unseen_are_not_deleted() {
    let plane = Plane::new();
    let nodes = plane.nodes(Duration::ZERO);
    let manager = plane.manager();
    plane
        .create::<ReplicaSet>(replica_set("web", 3, json!({})))
        .await;
    settle().await;
    let silence = silence(&plane, "pods").await;
    let pods = plane.active_pods().await;
    for pod in &pods {
        let name = pod.metadata.name.as_ref().unwrap();
        let free = json!({"metadata": {"ownerReferences": null, "labels": {"app": "mine-now"}}});
        plane.patch::<Pod>(name, free).await;
    }
    plane
        .patch::<ReplicaSet>("web", json!({"spec": {"replicas": 0}}))
        .await;
    settle().await;
    silence.lift();
    plane.server.faults().cut_watches();
    settle().await;
    assert_eq!(plane.active_pods().await.len(), 3);
    let asked = plane.server.take_requests();
    let mut refused = asked
        .iter()
        .filter(|request| request.method == Method::DELETE && request.code == 409);
    assert!(
        refused.next().is_some(),
        "the deletions met what had changed"
    );
    let set: ReplicaSet = plane.get("web").await;
    assert_eq!(set.status.unwrap().conditions, None, "nothing has failed");
    manager.stop().await;
    nodes.stop().await;
}
