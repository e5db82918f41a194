//! How an object is judged and deleted, request by request.

use std::time::Duration;

use evenkeel_apiserver::{Fault, Verb, When};
use evenkeel_meta::OwnerReference;
use evenkeel_meta::PropagationPolicy::{Background, Foreground, Orphan};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::cluster::{Cluster, SECRETS, nobody, owners};

fn slow(verb: Verb, seconds: u64) -> (When, Fault) {
    let when = When::verb(verb).user_agent("collector");
    (when, Fault::Delay(Duration::from_secs(seconds)))
}

#[tokio::test(start_paused = true)]
async fn gc_g1_so_many_workers_delete_and_as_many_release_beside_them() {
    let mut cluster = Cluster::new().await;
    cluster.start_as(|builder| builder.concurrency(2));
    let owner = cluster.map("owner", &[]).await;
    for n in 0..6 {
        cluster
            .map(&format!("part-{n}"), &[owner.owner(false)])
            .await;
    }
    let mut orphaning = Vec::new();
    for n in 0..4 {
        let owner = cluster.map(&format!("orphaning-{n}"), &[]).await;
        cluster
            .map(&format!("orphan-{n}"), &[owner.owner(false)])
            .await;
        orphaning.push(owner);
    }
    cluster.settle().await;
    for verb in [Verb::Delete, Verb::Patch] {
        let (when, fault) = slow(verb, 10);
        cluster.server.faults().inject(when, fault);
    }
    cluster.delete(&owner, Background).await;
    for owner in &orphaning {
        cluster.delete(owner, Orphan).await;
    }
    sleep(Duration::from_secs(5)).await;
    // Two workers wait for an answer each, in both places.
    assert_eq!(cluster.requests.count("DELETE"), 2);
    assert_eq!(cluster.requests.count("PATCH"), 2);
    sleep(Duration::from_secs(10)).await;
    assert_eq!(cluster.requests.count("DELETE"), 4);
}

#[tokio::test(start_paused = true)]
async fn gc_g28_an_owner_is_read_by_its_metadata_and_only_a_404_or_another_uid_says_absent() {
    let cluster = Cluster::collecting().await;
    let real = cluster.map("real", &[]).await;
    let other_uid = OwnerReference {
        uid: nobody().uid,
        ..real.owner(false)
    };
    let refused = When::verb(Verb::Get).user_agent("collector");
    let refused = cluster
        .server
        .faults()
        .inject(refused, Fault::internal_error());
    let lost = cluster.map("lost", &[nobody()]).await;
    let false_claimant = cluster.map("false-claimant", &[other_uid]).await;
    sleep(Duration::from_secs(20)).await;
    // An error says nothing; it is asked again.
    assert!(cluster.requests.count("GET") > 4);
    assert_eq!(cluster.requests.count("DELETE"), 0);
    refused.lift();
    cluster.gone(&lost).await;
    cluster.gone(&false_claimant).await;
    let gets = cluster.requests.all().into_iter();
    for get in gets.filter(|sent| sent.method == "GET") {
        assert!(get.accept.contains("as=PartialObjectMetadata"), "{get:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn gc_g30_an_object_that_has_lost_its_references_unseen_is_kept() {
    let cluster = Cluster::collecting().await;
    let owner = cluster.map("owner", &[]).await;
    let part = cluster.map("part", &[owner.owner(false)]).await;
    cluster.settle().await;
    let (when, fault) = slow(Verb::Delete, 5);
    cluster.server.faults().inject(when, fault);
    cluster.delete(&owner, Background).await;
    sleep(Duration::from_secs(2)).await;
    let free = json!({"metadata": {"ownerReferences": null}});
    cluster.merge(&part, free).await;
    sleep(Duration::from_secs(60)).await;
    assert!(cluster.is_there(&part).await);
    assert_eq!(cluster.requests.brief(), ["DELETE part", "GET part"]);
}

/// An object that somebody changes between any two requests.
#[tokio::test(start_paused = true)]
async fn gc_g37_a_hot_object_is_deleted_by_its_uid_at_last() {
    let cluster = Cluster::collecting().await;
    let owner = cluster.map("owner", &[]).await;
    let part = cluster.map("part", &[owner.owner(false)]).await;
    cluster.settle().await;
    let (when, fault) = slow(Verb::Delete, 2);
    cluster.server.faults().inject(when, fault);
    cluster.delete(&owner, Background).await;
    for n in 0..20 {
        sleep(Duration::from_millis(500)).await;
        if cluster.is_there(&part).await {
            cluster
                .merge(&part, json!({"data": {"n": n.to_string()}}))
                .await;
        }
    }
    assert!(!cluster.is_there(&part).await);
    assert_eq!(
        cluster.requests.brief(),
        [
            "DELETE part",
            "GET part",
            "DELETE part",
            "GET part",
            "DELETE part"
        ]
    );
    let sent = cluster.requests.all();
    let versions: Vec<&Value> = [0, 2, 4]
        .map(|at| &sent[at].body["preconditions"]["resourceVersion"])
        .to_vec();
    assert!(versions[0].is_string() && versions[1].is_string() && versions[0] != versions[1]);
    assert!(versions[2].is_null());
    for at in [0, 2, 4] {
        assert_eq!(sent[at].body["preconditions"]["uid"], json!(part.uid()));
    }
}

#[tokio::test(start_paused = true)]
async fn gc_g43_a_finalizer_goes_alone_and_a_conflict_is_tried_again() {
    let cluster = Cluster::collecting().await;
    let owner = cluster
        .map_with("owner", &[], &["example.com/a", "example.com/b"])
        .await;
    cluster.settle().await;
    let (when, fault) = slow(Verb::Patch, 2);
    cluster.server.faults().inject(when.times(1), fault);
    cluster.delete(&owner, Foreground).await;
    sleep(Duration::from_secs(1)).await;
    // Another one goes while the request is on its way.
    let rest = json!({"metadata": {"finalizers": ["example.com/b", "foregroundDeletion"]}});
    cluster.merge(&owner, rest).await;
    sleep(Duration::from_secs(10)).await;
    let object = cluster.get(&owner).await.unwrap();
    assert_eq!(object.metadata.finalizers, ["example.com/b"]);
    let sent = cluster.requests.all();
    let patches: Vec<_> = sent.iter().filter(|sent| sent.method == "PATCH").collect();
    assert_eq!(patches.len(), 2, "{sent:#?}");
    for patch in &patches {
        assert_eq!(patch.content_type, "application/merge-patch+json");
        assert!(patch.body["metadata"]["resourceVersion"].is_string());
    }
    assert_eq!(
        patches[1].body["metadata"]["finalizers"],
        json!(["example.com/b"])
    );
}

#[tokio::test(start_paused = true)]
async fn gc_g43_the_last_finalizer_is_null_and_an_object_that_is_gone_is_no_error() {
    let cluster = Cluster::collecting().await;
    let owner = cluster.map("owner", &[]).await;
    let gone = cluster.map("gone", &[]).await;
    cluster.settle().await;
    cluster.delete(&owner, Foreground).await;
    cluster.gone(&owner).await;
    let sent = cluster.requests.all();
    assert_eq!(sent.len(), 1, "{sent:#?}");
    let metadata = &sent[0].body["metadata"];
    assert_eq!(metadata["finalizers"], Value::Null);
    assert!(metadata.as_object().unwrap().contains_key("finalizers"));

    cluster.requests.clear();
    let (when, fault) = slow(Verb::Patch, 2);
    cluster.server.faults().inject(when, fault);
    cluster.delete(&gone, Foreground).await;
    sleep(Duration::from_secs(1)).await;
    cluster
        .merge(&gone, json!({"metadata": {"finalizers": null}}))
        .await;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(cluster.requests.brief(), ["PATCH gone"]);
    assert_eq!(cluster.inspector().queued(), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn gc_g45_kcm_b10_foreground_deletes_what_does_not_block_too_and_leaves_in_background() {
    let cluster = Cluster::collecting().await;
    let owner = cluster.map("owner", &[]).await;
    let free = cluster.map("free", &[owner.owner(false)]).await;
    let blocking = cluster
        .map_with("blocking", &[owner.owner(true)], &["example.com/slow"])
        .await;
    let middle = cluster.map("middle", &[owner.owner(false)]).await;
    cluster.map("leaf", &[middle.owner(false)]).await;
    cluster.settle().await;
    cluster.delete(&owner, Foreground).await;
    cluster.settle().await;
    // The owner waits for one of them, and all the others have gone.
    assert_eq!(cluster.maps().await, ["blocking", "owner"]);
    assert!(!cluster.is_there(&free).await);
    let policies: Vec<(String, String)> = cluster
        .requests
        .all()
        .iter()
        .filter(|sent| sent.method == "DELETE")
        .map(|sent| {
            let name = sent.path.rsplit('/').next().unwrap().to_owned();
            (
                name,
                sent.body["propagationPolicy"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    for (name, policy) in &policies {
        let expected = if name == "middle" {
            "Foreground"
        } else {
            "Background"
        };
        assert_eq!(policy, expected, "{name}");
    }
    assert_eq!(policies.len(), 4, "{policies:?}");
    let finish = json!({"metadata": {"finalizers": null}});
    cluster.merge(&blocking, finish).await;
    cluster.gone(&owner).await;
}

#[tokio::test(start_paused = true)]
async fn kcm_b12_b13_one_budget_for_all_kinds_and_nearly_all_of_it_are_deletions() {
    let (rate, burst, each) = (50.0, 10, 200);
    let mut cluster = Cluster::new().await;
    let client = cluster.recorded().with_rate_limit(rate, burst);
    cluster.start_with(client, |builder| builder);
    cluster.settle().await;
    let owner = cluster.map("owner", &[]).await;
    for n in 0..each {
        cluster
            .map(&format!("map-{n}"), &[owner.owner(false)])
            .await;
        let body = json!({"metadata": {"name": format!("s-{n}"), "ownerReferences": [owner.owner(false)]}});
        cluster.create(&SECRETS, Some("n"), body).await;
    }
    sleep(Duration::from_secs(20)).await;
    cluster.requests.clear();
    cluster.delete(&owner, Background).await;
    let start = Instant::now();
    cluster
        .until("empty", async || cluster.inspector().size().references == 0)
        .await;
    let least = (f64::from(2 * each) - f64::from(burst)) / rate;
    let took = start.elapsed().as_secs_f64();
    assert!(
        took >= least * 0.95,
        "{took} s: faster than the budget allows"
    );
    assert!(took <= least * 1.1, "{took} s for {} objects", 2 * each);
    assert_eq!(cluster.requests.all().len(), 2 * each as usize);
}

#[tokio::test(start_paused = true)]
async fn kcm_b14_t21_a_hundred_in_foreground_are_gone_in_time_at_20_requests_a_second() {
    let mut cluster = Cluster::new().await;
    let client = cluster.recorded().with_rate_limit(20.0, 30);
    cluster.start_with(client, |builder| builder);
    let owner = cluster.controller("rc", &[]).await;
    for n in 0..100 {
        let body = json!({
            "metadata": {"name": format!("pod-{n}"), "ownerReferences": [owner.owner(true)]},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        });
        cluster.create(&crate::cluster::PODS, Some("n"), body).await;
    }
    sleep(Duration::from_secs(20)).await;
    let start = Instant::now();
    cluster.delete(&owner, Foreground).await;
    cluster.gone(&owner).await;
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "{:?}",
        start.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn gc_t26_a_cron_job_takes_its_jobs_and_their_pods_along() {
    let resource = |kind, plural| {
        evenkeel_meta::ApiResource::new_static(
            "batch",
            "v1",
            kind,
            plural,
            evenkeel_meta::Scope::Namespaced,
        )
    };
    let cluster = Cluster::collecting().await;
    let template =
        json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}});
    let body = json!({
        "metadata": {"name": "cron"},
        "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template}}},
    });
    let cron = cluster
        .create(&resource("CronJob", "cronjobs"), Some("n"), body)
        .await;
    let mut made = Vec::new();
    for n in 0..2 {
        let body = json!({
            "metadata": {"name": format!("job-{n}"), "ownerReferences": [cron.owner(true)]},
            "spec": {"template": template},
        });
        let job = cluster
            .create(&resource("Job", "jobs"), Some("n"), body)
            .await;
        made.push(cluster.pod(&format!("pod-{n}"), &[&job]).await);
        made.push(job);
    }
    cluster.settle().await;
    cluster.delete(&cron, Background).await;
    for made in &made {
        cluster.gone(made).await;
    }
    // Jobs orphan by default; the collector says explicitly what it wants.
    assert_eq!(cluster.requests.count("DELETE"), 4);
}

#[tokio::test(start_paused = true)]
async fn gc_g31_an_owner_that_terminates_without_waiting_is_still_an_owner() {
    let cluster = Cluster::collecting().await;
    let owner = cluster.map_with("owner", &[], &["example.com/slow"]).await;
    let part = cluster.map("part", &[owner.owner(true)]).await;
    cluster.settle().await;
    cluster.delete(&owner, Background).await;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(owners(&cluster.get(&part).await.unwrap()), [owner.uid()]);
    assert_eq!(cluster.requests.brief(), Vec::<String>::new());
    cluster
        .merge(&owner, json!({"metadata": {"finalizers": null}}))
        .await;
    cluster.gone(&part).await;
}
