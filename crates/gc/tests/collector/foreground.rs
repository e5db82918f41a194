use std::time::Duration;

use evenkeel_apiserver::{Fault, Verb, When};
use evenkeel_meta::PropagationPolicy::{Background, Foreground, Orphan};
use serde_json::json;
use tokio::time::sleep;

use crate::cluster::{Cluster, Made, SECRETS, owners};

const SLOW: &str = "example.com/slow";

#[tokio::test(start_paused = true)]
async fn gc_t5_a_solid_owner_lets_a_waiting_one_go() {
    let cluster = Cluster::collecting().await;
    let a = cluster.map("a", &[]).await;
    let b = cluster.map("b", &[]).await;
    let part = cluster.map("part", &[a.owner(true), b.owner(false)]).await;
    cluster.settle().await;
    cluster.delete(&a, Foreground).await;
    cluster.gone(&a).await;
    assert_eq!(owners(&cluster.get(&part).await.unwrap()), [b.uid()]);
}

#[tokio::test(start_paused = true)]
async fn gc_t6_a_reference_that_does_not_block_does_not_hold_the_owner() {
    let cluster = Cluster::collecting().await;
    let owner = cluster.map("owner", &[]).await;
    let part = cluster
        .map_with("part", &[owner.owner(false)], &[SLOW])
        .await;
    cluster.settle().await;
    cluster.delete(&owner, Foreground).await;
    cluster.gone(&owner).await;
    cluster.settle().await;
    let part = cluster.get(&part).await.unwrap();
    assert!(part.metadata.deletion_timestamp.is_some());
}

#[tokio::test(start_paused = true)]
async fn gc_t7_a_reference_that_blocks_holds_the_owner() {
    let cluster = Cluster::collecting().await;
    let owner = cluster.map("owner", &[]).await;
    let part = cluster
        .map_with("part", &[owner.owner(true)], &[SLOW])
        .await;
    cluster.settle().await;
    cluster.delete(&owner, Foreground).await;
    for _ in 0..30 {
        cluster.settle().await;
        assert!(cluster.is_there(&owner).await && cluster.is_there(&part).await);
    }
    cluster
        .merge(&part, json!({"metadata": {"finalizers": null}}))
        .await;
    cluster.gone(&part).await;
    cluster.gone(&owner).await;
}

#[tokio::test(start_paused = true)]
async fn gc_t8_a_second_foreground_deletion_is_carried_out_too() {
    let cluster = Cluster::collecting().await;
    let object = cluster.map_with("object", &[], &[SLOW]).await;
    cluster.settle().await;
    for _ in 0..2 {
        cluster.delete(&object, Foreground).await;
        cluster.settle().await;
        let finalizers = cluster.get(&object).await.unwrap().metadata.finalizers;
        assert_eq!(finalizers, [SLOW]);
    }
    cluster
        .merge(&object, json!({"metadata": {"finalizers": null}}))
        .await;
    cluster.gone(&object).await;
}

#[tokio::test(start_paused = true)]
async fn gc_t21_the_owner_goes_last_and_costs_one_lookup() {
    let cluster = Cluster::collecting().await;
    let owner = cluster.map("owner", &[]).await;
    for n in 0..50 {
        cluster
            .map(&format!("part-{n:02}"), &[owner.owner(true)])
            .await;
    }
    cluster.settle().await;
    cluster.delete(&owner, Foreground).await;
    cluster
        .until("empty", async || {
            let maps = cluster.maps().await;
            assert!(
                maps.is_empty() || maps.contains(&"owner".into()),
                "{maps:?}"
            );
            maps.is_empty()
        })
        .await;
    assert_eq!(cluster.requests.count("DELETE"), 50);
    assert_eq!(cluster.requests.count("GET"), 1, "the owner, once for all");
    let last = cluster.requests.all().pop().unwrap();
    assert_eq!(
        (last.method.as_str(), last.content_type.as_str()),
        ("PATCH", "application/merge-patch+json")
    );
    assert_eq!(last.body["metadata"]["finalizers"], json!(null));
    assert_eq!(cluster.requests.count("PATCH"), 1);
}

#[tokio::test(start_paused = true)]
async fn gc_g35_foreground_goes_down_the_tree() {
    let cluster = Cluster::collecting().await;
    let top = cluster.map("top", &[]).await;
    let middle = cluster.map("middle", &[top.owner(true)]).await;
    let leaf = cluster
        .map_with("leaf", &[middle.owner(true)], &[SLOW])
        .await;
    cluster.settle().await;
    cluster.delete(&top, Foreground).await;
    cluster.settle().await;
    let waiting = cluster.get(&middle).await.unwrap();
    assert_eq!(waiting.metadata.finalizers, ["foregroundDeletion"]);
    let policies: Vec<_> = cluster
        .requests
        .all()
        .into_iter()
        .filter(|sent| sent.method == "DELETE")
        .collect();
    assert_eq!(policies[0].body["propagationPolicy"], "Foreground");
    assert_eq!(policies[1].body["propagationPolicy"], "Background");
    cluster
        .merge(&leaf, json!({"metadata": {"finalizers": null}}))
        .await;
    cluster.gone(&top).await;
    assert_eq!(cluster.maps().await, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn gc_t22_what_has_another_owner_stays_untouched() {
    let cluster = Cluster::collecting().await;
    let first = cluster.map("first", &[]).await;
    let second = cluster.map("second", &[]).await;
    let mut shared = Vec::new();
    for n in 0..20 {
        let both = [first.owner(true), second.owner(false)];
        let owners = if n % 2 == 0 { &both[..] } else { &both[..1] };
        let made = cluster.map(&format!("part-{n}"), owners).await;
        if n % 2 == 0 {
            shared.push(made);
        }
    }
    cluster.settle().await;
    cluster.delete(&first, Foreground).await;
    cluster.gone(&first).await;
    cluster.settle().await;
    assert_eq!(cluster.maps().await.len(), 11);
    for made in &shared {
        let object = cluster.get(made).await.unwrap();
        assert_eq!(object.metadata.deletion_timestamp, None);
        assert_eq!(owners(&object), [second.uid()]);
    }
}

#[tokio::test(start_paused = true)]
async fn gc_t23_a_circle_of_dependents_is_deleted() {
    let cluster = Cluster::collecting().await;
    let one = cluster.map("one", &[]).await;
    let two = cluster.map("two", &[one.owner(true)]).await;
    let three = cluster.map("three", &[two.owner(true)]).await;
    cluster
        .merge(
            &one,
            json!({"metadata": {"ownerReferences": [three.owner(true)]}}),
        )
        .await;
    cluster.settle().await;
    cluster.delete(&one, Foreground).await;
    for made in [&one, &two, &three] {
        cluster.gone(made).await;
    }
}

#[tokio::test(start_paused = true)]
async fn kcm_b7_foreground_and_background_in_turn_end_in_background() {
    let cluster = Cluster::collecting().await;
    let owner = cluster.map("owner", &[]).await;
    let part = cluster
        .map_with("part", &[owner.owner(true)], &[SLOW])
        .await;
    cluster.settle().await;
    cluster.delete(&owner, Foreground).await;
    cluster.settle().await;
    cluster.delete(&owner, Background).await;
    assert!(!cluster.is_there(&owner).await);
    assert!(
        cluster
            .get(&part)
            .await
            .unwrap()
            .metadata
            .deletion_timestamp
            .is_some()
    );
}

#[tokio::test(start_paused = true)]
async fn gc_g35_what_an_owner_wants_kept_by_now_is_not_deleted_for_having_waited_once() {
    let (cluster, owner) = with_an_unwatched_owner_that_waits().await;
    // Nothing tells the collector of this.
    cluster.delete(&owner, Orphan).await;
    let lookups = cluster.requests.count("GET");
    let late = cluster.map("late", &[owner.owner(true)]).await;
    for _ in 0..30 {
        cluster.settle().await;
        assert!(cluster.is_there(&late).await);
    }
    assert!(cluster.requests.count("GET") > lookups);
}

#[tokio::test(start_paused = true)]
async fn gc_g35_a_reference_to_an_owner_that_keeps_its_dependents_by_now_stays() {
    let (cluster, owner) = with_an_unwatched_owner_that_waits().await;
    let other = cluster.map("other", &[]).await;
    cluster.delete(&owner, Orphan).await;
    let both = [owner.owner(true), other.owner(false)];
    let lookups = cluster.requests.count("GET");
    let late = cluster.map("late", &both).await;
    for _ in 0..30 {
        cluster.settle().await;
        let late = cluster.get(&late).await.unwrap();
        assert_eq!(owners(&late), [owner.uid(), other.uid()]);
    }
    assert!(cluster.requests.count("GET") > lookups);
}

#[tokio::test(start_paused = true)]
async fn gc_g35_an_owner_that_still_waits_loses_its_late_dependents() {
    let (cluster, owner) = with_an_unwatched_owner_that_waits().await;
    let late = cluster.map("late", &[owner.owner(true)]).await;
    let other = cluster.map("other", &[]).await;
    let both = [owner.owner(true), other.owner(false)];
    let shared = cluster.map("shared", &both).await;
    cluster.gone(&late).await;
    cluster.settle().await;
    let shared = cluster.get(&shared).await.unwrap();
    assert_eq!(owners(&shared), [other.uid()]);
}

/// An owner of a kind that never syncs, deleted in the foreground and held by a slow dependent, so
/// that the collector has found it waiting. That was a while ago, and its next look at the owner is
/// a while ahead.
async fn with_an_unwatched_owner_that_waits() -> (Cluster, Made) {
    let mut cluster = Cluster::new().await;
    for verb in [Verb::List, Verb::Watch] {
        let secrets = When::verb(verb).user_agent("collector").on("secrets");
        cluster
            .server
            .faults()
            .inject(secrets, Fault::internal_error());
    }
    cluster.start().await;
    let body = json!({"metadata": {"name": "owner"}});
    let owner = cluster.create(&SECRETS, Some("n"), body).await;
    cluster.delete(&owner, Foreground).await;
    let slow = cluster
        .map_with("slow", &[owner.owner(true)], &[SLOW])
        .await;
    cluster
        .until("deleted", async || {
            let slow = cluster.get(&slow).await.unwrap();
            slow.metadata.deletion_timestamp.is_some()
        })
        .await;
    let lookups = || cluster.requests.count("GET");
    cluster
        .until("left alone for a while", async || {
            let before = lookups();
            sleep(Duration::from_secs(15)).await;
            lookups() == before
        })
        .await;
    (cluster, owner)
}
