use evenkeel_meta::PropagationPolicy::{Background, Foreground, Orphan};
use serde_json::json;

use crate::cluster::{CONTROLLERS, Cluster, nobody, owners};

#[tokio::test(start_paused = true)]
async fn gc_t1_only_what_has_no_other_owner_goes() {
    let cluster = Cluster::collecting().await;
    let a = cluster.controller("a", &[]).await;
    let b = cluster.controller("b", &[]).await;
    let owned = cluster.pod("owned", &[&a]).await;
    let shared = cluster.pod("shared", &[&a, &b]).await;
    let free = cluster.pod("free", &[]).await;
    cluster.delete(&a, Background).await;
    cluster.gone(&owned).await;
    cluster.settle().await;
    assert_eq!(owners(&cluster.get(&shared).await.unwrap()), [b.uid()]);
    assert!(cluster.is_there(&free).await);
    assert!(!cluster.inspector().contains(&a.uid()));
}

#[tokio::test(start_paused = true)]
async fn gc_t2_the_dependent_of_an_owner_that_never_was_goes_after_the_start() {
    let mut cluster = Cluster::new().await;
    let orphan = cluster.map("orphan", &[nobody()]).await;
    cluster.start().await;
    cluster.gone(&orphan).await;
    assert_eq!(cluster.requests.brief(), ["GET nobody", "DELETE orphan"]);
}

#[tokio::test(start_paused = true)]
async fn gc_t3_many_owners_each_by_its_own_policy() {
    let cluster = Cluster::collecting().await;
    let mut made = Vec::new();
    for n in 0..10 {
        for (group, finalizers) in [
            ("a", &[][..]),
            ("b", &["orphan"]),
            ("c", &["orphan"]),
            ("d", &[]),
        ] {
            let name = format!("{group}{n}");
            let owner = cluster.controller(&name, finalizers).await;
            for m in 0..3 {
                made.push((group, cluster.pod(&format!("{name}-{m}"), &[&owner]).await));
            }
            made.push(("owner", owner));
        }
    }
    for (_, owner) in made.iter().filter(|(group, _)| *group == "owner") {
        let api = cluster.api(&CONTROLLERS, Some("n"));
        let options = match &owner.name()[..1] {
            "c" => evenkeel_meta::DeleteOptions::with_policy(Background),
            "d" => evenkeel_meta::DeleteOptions::with_policy(Orphan),
            _ => evenkeel_meta::DeleteOptions::default(),
        };
        api.delete(owner.name(), &options).await.unwrap();
    }
    for (group, object) in &made {
        if matches!(*group, "owner" | "c") {
            cluster.gone(object).await;
        }
    }
    cluster.settle().await;
    for (group, object) in &made {
        if matches!(*group, "a" | "b" | "d") {
            let object = cluster.get(object).await.unwrap();
            assert_eq!(owners(&object), Vec::<String>::new());
        }
    }
    assert_eq!(cluster.inspector().size().virtual_nodes, 0);
}

#[tokio::test(start_paused = true)]
async fn gc_t15_one_request_for_each_collected_object() {
    let cluster = Cluster::collecting().await;
    let top = cluster.map("top", &[]).await;
    let middle = cluster.map("middle", &[top.owner(true)]).await;
    for n in 0..20 {
        cluster
            .map(&format!("leaf-{n}"), &[middle.owner(true)])
            .await;
    }
    cluster.settle().await;
    cluster.delete(&top, Background).await;
    cluster
        .until("empty", async || cluster.maps().await.is_empty())
        .await;
    cluster.settle().await;
    let all = cluster.requests.all();
    assert_eq!(all.len(), 21, "{all:#?}");
    let sent = &all[0];
    assert_eq!(
        (sent.method.as_str(), sent.path.as_str()),
        ("DELETE", "/api/v1/namespaces/n/configmaps/middle")
    );
    assert_eq!(
        sent.body,
        json!({
            "propagationPolicy": "Background",
            "preconditions": {"uid": middle.uid(), "resourceVersion": middle.meta.resource_version},
        })
    );
}

#[tokio::test(start_paused = true)]
async fn kcm_b11_a_missing_owner_is_asked_for_once() {
    let mut cluster = Cluster::new().await;
    for n in 0..200 {
        cluster.map(&format!("part-{n}"), &[nobody()]).await;
    }
    cluster.start().await;
    cluster
        .until("empty", async || cluster.maps().await.is_empty())
        .await;
    assert_eq!(
        (
            cluster.requests.count("GET"),
            cluster.requests.count("DELETE")
        ),
        (1, 200)
    );
}

#[tokio::test(start_paused = true)]
async fn gc_t34_an_owner_made_anew_does_not_own_the_old_dependents() {
    let cluster = Cluster::collecting().await;
    let old = cluster.map("owner", &[]).await;
    let part = cluster.map("part", &[old.owner(false)]).await;
    cluster.delete(&old, Background).await;
    let new = cluster.map("owner", &[]).await;
    cluster.gone(&part).await;
    assert!(cluster.is_there(&new).await);
}

#[tokio::test(start_paused = true)]
async fn gc_g36_a_dependent_with_its_own_finalizer_chooses_its_policy() {
    let cluster = Cluster::collecting().await;
    let owner = cluster.map("owner", &[]).await;
    let keeper = cluster
        .map_with("keeper", &[owner.owner(false)], &["orphan"])
        .await;
    let kept = cluster.map("kept", &[keeper.owner(false)]).await;
    cluster.settle().await;
    cluster.delete(&owner, Foreground).await;
    cluster.gone(&keeper).await;
    cluster.settle().await;
    assert_eq!(
        owners(&cluster.get(&kept).await.unwrap()),
        Vec::<String>::new()
    );
}

#[tokio::test(start_paused = true)]
async fn incident_15_what_lingers_is_deleted_once() {
    let cluster = Cluster::collecting().await;
    let owner = cluster.map("owner", &[]).await;
    let part = cluster
        .map_with("part", &[owner.owner(false)], &["example.com/slow"])
        .await;
    cluster.settle().await;
    cluster.delete(&owner, Background).await;
    for n in 0..30 {
        cluster.settle().await;
        cluster
            .merge(&part, json!({"data": {"n": n.to_string()}}))
            .await;
    }
    assert_eq!(cluster.requests.brief(), ["DELETE part"]);
    cluster
        .merge(&part, json!({"metadata": {"finalizers": null}}))
        .await;
    cluster.gone(&part).await;
}
