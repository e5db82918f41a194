use std::time::Duration;

use evenkeel_apiserver::{Fault, Injected, Verb, When};
use evenkeel_meta::PropagationPolicy::{Background, Foreground, Orphan};
use evenkeel_meta::{DeleteOptions, OwnerReference};
use serde_json::json;
use tokio::time::sleep;

use crate::cluster::{CONTROLLERS, Cluster, SECRETS, owners};

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
async fn gc_t17_t18_a_replication_controller_orphans_its_pods_unless_told_otherwise() {
    for (options, kept) in [
        (DeleteOptions::default(), true),
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

/// What the informers are too slow to show is found on the server, before the owner goes.
#[tokio::test(start_paused = true)]
async fn gc_g41_the_owner_goes_only_when_the_server_shows_no_dependent_any_more() {
    let mut cluster = Cluster::collecting().await;
    let silent = When::verb(Verb::Watch)
        .user_agent("collector")
        .on("configmaps");
    let silent = cluster.server.faults().inject(silent, Fault::SilentWatch);
    cluster.server.faults().cut_watches();
    cluster.settle().await;
    let body = json!({"metadata": {"name": "owner"}});
    let owner = cluster.create(&SECRETS, Some("n"), body).await;
    let falsely = OwnerReference {
        name: "z".into(),
        ..owner.owner(true)
    };
    let part = cluster.map("part", &[owner.owner(true)]).await;
    let other = cluster.map("other", &[falsely]).await;
    assert!(!cluster.inspector().contains(&part.uid()));
    cluster.delete(&owner, Orphan).await;
    cluster.gone(&owner).await;
    let released = cluster.get(&part).await.unwrap();
    assert_eq!(owners(&released), Vec::<String>::new());
    assert_eq!(owners(&cluster.get(&other).await.unwrap()), [owner.uid()]);
    // Whoever comes next knows nothing of the wish.
    silent.lift();
    cluster.restart().await;
    cluster.gone(&other).await;
    assert!(cluster.is_there(&part).await);
}

#[tokio::test(start_paused = true)]
async fn gc_g41_a_kind_that_cannot_be_listed_for_a_while_is_waited_for() {
    let cluster = Cluster::collecting().await;
    let owner = cluster
        .create(&SECRETS, Some("n"), json!({"metadata": {"name": "owner"}}))
        .await;
    cluster.settle().await;
    let deaf = [Verb::Watch, Verb::List].map(|verb| {
        let when = When::verb(verb).user_agent("collector").on("configmaps");
        cluster
            .server
            .faults()
            .inject(when, Fault::internal_error())
    });
    cluster.server.faults().cut_watches();
    cluster.settle().await;
    let part = cluster.map("part", &[owner.owner(false)]).await;
    cluster.delete(&owner, Orphan).await;
    sleep(Duration::from_secs(20)).await;
    assert!(cluster.is_there(&owner).await);
    deaf.iter().for_each(Injected::lift);
    cluster.gone(&owner).await;
    let released = cluster.get(&part).await.unwrap();
    assert_eq!(owners(&released), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn gc_g41_a_kind_that_can_never_be_listed_holds_up_no_other() {
    let mut cluster = Cluster::new().await;
    let break_it = |cluster: &Cluster, kind: &str| {
        for verb in [Verb::Watch, Verb::List] {
            let when = When::verb(verb).user_agent("collector").on(kind);
            cluster
                .server
                .faults()
                .inject(when, Fault::internal_error());
        }
    };
    break_it(&cluster, "pods");
    cluster.start_without_waiting();
    sleep(Duration::from_secs(35)).await;
    for broken_later in [false, true] {
        let name = format!("owner-{broken_later}");
        let owner = cluster.map(&name, &[]).await;
        let part = cluster
            .map(&format!("part-{broken_later}"), &[owner.owner(false)])
            .await;
        cluster.settle().await;
        if broken_later {
            break_it(&cluster, "secrets");
        }
        cluster.delete(&owner, Orphan).await;
        cluster.gone(&owner).await;
        assert!(cluster.is_there(&part).await);
    }
}

#[tokio::test(start_paused = true)]
async fn gc_g41_owners_that_go_together_are_looked_for_together() {
    let cluster = Cluster::collecting().await;
    let mut made = Vec::new();
    for n in 0..15 {
        let owner = cluster.map(&format!("owner-{n}"), &[]).await;
        let part = cluster
            .map(&format!("part-{n}"), &[owner.owner(false)])
            .await;
        made.push((owner, part));
    }
    cluster.settle().await;
    cluster.requests.clear();
    let slow = When::verb(Verb::List).user_agent("collector");
    let slow = cluster
        .server
        .faults()
        .inject(slow, Fault::Delay(Duration::from_secs(2)));
    for (owner, _) in &made {
        cluster.delete(owner, Orphan).await;
    }
    for (owner, part) in &made {
        cluster.gone(owner).await;
        assert!(cluster.is_there(part).await);
    }
    slow.lift();
    let lists = cluster.requests.followed();
    let maps = lists
        .iter()
        .filter(|sent| sent.path.ends_with("/n/configmaps"));
    // The first one's, and one for all who asked while that was under way.
    assert_eq!(maps.count(), 2);
}
