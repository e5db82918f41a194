use std::time::Duration;

use evenkeel_apiserver::{Fault, Injected, Verb, When};
use evenkeel_meta::PropagationPolicy::{Background, Foreground, Orphan};
use serde_json::json;
use tokio::time::sleep;

use crate::cluster::{Cluster, SECRETS, nobody, owners};
use crate::requests::Discovery;

fn collector(verb: Verb) -> When {
    When::verb(verb).user_agent("collector")
}

#[tokio::test(start_paused = true)]
async fn incident_5_gc_g6_g8_kcm_b5_a_kind_that_cannot_sync_blocks_only_what_hangs_on_it() {
    let mut cluster = Cluster::new().await;
    let broken = collector(Verb::List).on("secrets");
    let list = cluster
        .server
        .faults()
        .inject(broken, Fault::internal_error());
    let watch = collector(Verb::Watch).on("secrets");
    let watch = cluster
        .server
        .faults()
        .inject(watch, Fault::internal_error());
    let secret = cluster
        .create(&SECRETS, Some("n"), json!({"metadata": {"name": "s"}}))
        .await;
    let on_secret = cluster.map("on-secret", &[secret.owner(false)]).await;
    let lost = cluster.map("lost", &[nobody()]).await;
    let lost_secret = json!({"metadata": {"name": "lost", "ownerReferences": [nobody()]}});
    let lost_secret = cluster.create(&SECRETS, Some("n"), lost_secret).await;
    cluster.start_without_waiting();
    // T13: not before the 30 s that everything has to sync, and not later either.
    sleep(Duration::from_secs(35)).await;
    assert!(!cluster.is_there(&lost).await);
    let unsynced = cluster.inspector().unsynced();
    assert_eq!(unsynced.len(), 1);
    assert_eq!(&*unsynced[0].resource, "secrets");
    assert!(cluster.is_there(&on_secret).await && cluster.is_there(&lost_secret).await);
    // What names an owner of that kind is still judged right, one lookup at a time.
    cluster.delete(&secret, Background).await;
    cluster.gone(&on_secret).await;
    list.lift();
    watch.lift();
    cluster.gone(&lost_secret).await;
}

#[tokio::test(start_paused = true)]
async fn incident_11_an_informer_that_lags_deletes_nothing_new() {
    let cluster = Cluster::collecting().await;
    let body = || json!({"metadata": {"name": "owner"}});
    let old_owner = cluster.create(&SECRETS, Some("n"), body()).await;
    let old_volume = cluster.map("volume", &[old_owner.owner(false)]).await;
    cluster.settle().await;
    let silent = collector(Verb::Watch).on("configmaps");
    let silent = cluster.server.faults().inject(silent, Fault::SilentWatch);
    cluster.server.faults().cut_watches();
    cluster.settle().await;
    // The volume and its owner are made anew; of the volume the collector sees the old one only.
    cluster.delete(&old_volume, Background).await;
    let new_owner = cluster.create(&SECRETS, Some("m"), body()).await;
    let new_volume = cluster.map("volume", &[]).await;
    cluster.delete(&old_owner, Background).await;
    sleep(Duration::from_secs(20)).await;
    assert_eq!(cluster.requests.brief(), ["DELETE volume", "GET volume"]);
    silent.lift();
    cluster.server.faults().cut_watches();
    sleep(Duration::from_secs(60)).await;
    assert!(cluster.is_there(&new_owner).await && cluster.is_there(&new_volume).await);
    assert_eq!(cluster.requests.count("DELETE"), 1);
}

#[tokio::test(start_paused = true)]
async fn gc_t37_an_object_that_changed_is_deleted_at_the_second_try() {
    let cluster = Cluster::collecting().await;
    let owner = cluster.map("owner", &[]).await;
    let part = cluster.map("part", &[owner.owner(false)]).await;
    cluster.settle().await;
    // The collector's watch falls silent, so that it does not see the change.
    cluster.server.faults().inject(
        collector(Verb::Delete),
        Fault::Delay(Duration::from_secs(5)),
    );
    cluster.delete(&owner, Background).await;
    sleep(Duration::from_secs(2)).await;
    cluster.merge(&part, json!({"data": {"a": "b"}})).await;
    cluster.gone(&part).await;
    assert_eq!(
        cluster.requests.brief(),
        ["DELETE part", "GET part", "DELETE part"]
    );
    let last = cluster.requests.all().pop().unwrap();
    assert!(last.body["preconditions"]["resourceVersion"].is_string());
}

#[tokio::test(start_paused = true)]
async fn gc_t36_an_object_that_found_an_owner_is_not_deleted() {
    let cluster = Cluster::collecting().await;
    let owner = cluster.map("owner", &[]).await;
    let other = cluster.map("other", &[]).await;
    let part = cluster.map("part", &[owner.owner(false)]).await;
    cluster.settle().await;
    cluster.server.faults().inject(
        collector(Verb::Delete),
        Fault::Delay(Duration::from_secs(5)),
    );
    cluster.delete(&owner, Background).await;
    sleep(Duration::from_secs(2)).await;
    let both = json!({"metadata": {"ownerReferences": [owner.owner(false), other.owner(false)]}});
    cluster.merge(&part, both).await;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(owners(&cluster.get(&part).await.unwrap()), [other.uid()]);
}

#[tokio::test(start_paused = true)]
async fn kcm_b16_an_object_deleted_by_somebody_else_releases_its_owner() {
    let cluster = Cluster::collecting().await;
    let owner = cluster.map("owner", &[]).await;
    let part = cluster.map("part", &[owner.owner(true)]).await;
    cluster.settle().await;
    cluster.server.faults().inject(
        collector(Verb::Delete),
        Fault::Delay(Duration::from_secs(5)),
    );
    cluster.delete(&owner, Foreground).await;
    sleep(Duration::from_secs(2)).await;
    cluster.delete(&part, Background).await;
    cluster.gone(&owner).await;
}

#[tokio::test(start_paused = true)]
async fn answers_that_are_lost_after_they_took_effect_do_no_harm() {
    let cluster = Cluster::collecting().await;
    for (name, policy) in [("b", Background), ("f", Foreground), ("o", Orphan)] {
        let owner = cluster.map(name, &[]).await;
        for n in 0..5 {
            cluster
                .map(&format!("{name}-{n}"), &[owner.owner(true)])
                .await;
        }
        cluster.settle().await;
        for verb in [Verb::Delete, Verb::Patch] {
            cluster
                .server
                .faults()
                .inject(collector(verb).times(3), Fault::LoseAnswer);
        }
        cluster.delete(&owner, policy).await;
        cluster.gone(&owner).await;
        sleep(Duration::from_secs(30)).await;
        cluster.server.faults().clear();
    }
    assert_eq!(cluster.maps().await, ["o-0", "o-1", "o-2", "o-3", "o-4"]);
}

#[tokio::test(start_paused = true)]
async fn gc_t38_what_happens_while_watches_are_cut_and_history_is_lost_is_caught_up() {
    let cluster = Cluster::collecting().await;
    let owner = cluster.map("owner", &[]).await;
    let part = cluster.map("part", &[owner.owner(true)]).await;
    cluster.settle().await;
    let deaf = [Verb::Watch, Verb::List].map(|verb| {
        cluster
            .server
            .faults()
            .inject(collector(verb), Fault::internal_error())
    });
    cluster.server.faults().cut_watches();
    cluster.delete(&owner, Background).await;
    let passing = cluster.map("passing", &[]).await;
    let late = cluster.map("late", &[passing.owner(true)]).await;
    cluster.delete(&passing, Background).await;
    cluster.server.compact();
    sleep(Duration::from_secs(10)).await;
    assert!(cluster.is_there(&part).await && cluster.is_there(&late).await);
    deaf.iter().for_each(Injected::lift);
    cluster.gone(&part).await;
    cluster.gone(&late).await;
    cluster.settle().await;
    assert_eq!(cluster.inspector().size().virtual_nodes, 0);
}

#[tokio::test(start_paused = true)]
async fn gc_t39_a_discovery_that_tells_nothing_or_a_part_forgets_nothing() {
    for told in [Discovery::Nothing, Discovery::CoreIsStale] {
        let cluster = Cluster::collecting().await;
        let owner = cluster.map("owner", &[]).await;
        let part = cluster.map("part", &[owner.owner(true)]).await;
        *cluster.told.lock() = told;
        sleep(Duration::from_secs(100)).await;
        assert!(cluster.inspector().contains(&owner.uid()));
        cluster.delete(&owner, Background).await;
        cluster.gone(&part).await;
    }
}

#[tokio::test(start_paused = true)]
async fn gc_g7_what_is_no_longer_served_is_forgotten_and_found_again() {
    let cluster = Cluster::collecting().await;
    let owner = cluster.map("owner", &[]).await;
    let part = cluster.map("part", &[owner.owner(true)]).await;
    *cluster.told.lock() = Discovery::NoCore;
    sleep(Duration::from_secs(65)).await;
    assert!(!cluster.inspector().contains(&owner.uid()));
    cluster.delete(&owner, Background).await;
    sleep(Duration::from_secs(65)).await;
    assert!(cluster.is_there(&part).await);
    *cluster.told.lock() = Discovery::Truth;
    cluster.gone(&part).await;
}

#[tokio::test(start_paused = true)]
async fn kcm_b6_a_server_that_serves_nothing_for_a_while_is_no_reason_to_forget() {
    let cluster = Cluster::collecting().await;
    let owner = cluster.map("owner", &[]).await;
    let part = cluster.map("part", &[owner.owner(true)]).await;
    let down = cluster.server.faults().inject(
        When::any().user_agent("collector"),
        Fault::refuse(503, evenkeel_meta::Reason::ServiceUnavailable, "down"),
    );
    sleep(Duration::from_secs(90)).await;
    assert!(cluster.inspector().contains(&owner.uid()));
    down.lift();
    cluster.delete(&owner, Background).await;
    cluster.gone(&part).await;
}
