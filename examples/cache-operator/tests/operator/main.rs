//! The life of caches, on an API server in the process with everything that a cluster has.

#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

mod cluster;

use cache_operator::{Cache, FINALIZER};
use evenkeel::meta::{MetaView, Object};
use http::Method;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::{Value, json};

use cluster::{Cluster, settle};

fn condition<'a>(cache: &'a Cache, type_: &str) -> &'a Condition {
    let conditions = &cache.status.as_ref().unwrap().conditions;
    conditions.iter().find(|one| one.type_ == type_).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_cache_gets_ready_and_says_so() {
    let cluster = Cluster::start().await;
    cluster
        .create("web", json!({"replicas": 2, "megabytes": 32}))
        .await;
    settle().await;

    let cache = cluster.get::<Cache>("web").await;
    let status = cache.status.as_ref().unwrap();
    assert_eq!(status.ready_replicas, 2);
    assert_eq!(status.address.as_deref(), Some("web.default.svc:6379"));
    assert_eq!(status.observed_generation, Some(1));
    for type_ in ["Accepted", "Ready"] {
        let found = condition(&cache, type_);
        assert_eq!(
            (&*found.status, found.observed_generation),
            ("True", Some(1))
        );
    }
    let map = cluster.get::<ConfigMap>("web").await;
    let deployment = cluster.get::<Deployment>("web").await;
    let service = cluster.get::<Service>("web").await;
    for meta in [&map.metadata, &deployment.metadata, &service.metadata] {
        let owner = meta.controller().unwrap();
        assert_eq!(
            (owner.kind, Some(owner.uid)),
            ("Cache", cache.metadata.uid())
        );
    }
    assert!(map.data.unwrap()["cache.conf"].contains("maxmemory 32mb\n"));
    let line = ("default_web".to_owned(), "web.default.svc:6379".to_owned());
    assert_eq!(cluster.lines().await, [line]);

    // At rest nothing is written.
    cluster.server.take_requests();
    cluster
        .change::<Cache>("web", json!({"metadata": {"labels": {"team": "a"}}}))
        .await;
    settle().await;
    let mut requests = cluster.server.take_requests();
    requests.retain(|request| request.method != Method::GET);
    assert_eq!(requests.len(), 1, "a run, and no difference: {requests:?}");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn another_configuration_rolls_the_pods_and_another_size_does_not() {
    let cluster = Cluster::start().await;
    cluster.create("web", json!({"replicas": 3})).await;
    settle().await;
    let pods = async || {
        let pods = cluster.client.namespaced::<Pod>("default");
        let pods = pods.list(&Default::default()).await.unwrap();
        let uids = pods
            .items
            .iter()
            .map(|pod| pod.metadata.uid().map(str::to_owned));
        uids.collect::<std::collections::BTreeSet<_>>()
    };
    let first = pods().await;
    assert_eq!(first.len(), 3);
    let ready_since = condition(&cluster.get("web").await, "Ready")
        .last_transition_time
        .clone();

    cluster
        .change::<Cache>("web", json!({"spec": {"replicas": 4}}))
        .await;
    settle().await;
    assert!(
        pods().await.is_superset(&first),
        "pods that are as they should be stay"
    );

    let change = json!({"spec": {"eviction": "Never", "settings": {"hz": "5"}}});
    cluster.change::<Cache>("web", change).await;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let cache = cluster.get::<Cache>("web").await;
    assert_eq!(condition(&cache, "Ready").reason, "RollingOut");
    assert_eq!(condition(&cache, "Ready").observed_generation, Some(3));
    settle().await;
    let last = pods().await;
    assert!(last.len() == 4 && last.is_disjoint(&first));
    let cache = cluster.get::<Cache>("web").await;
    assert_eq!(condition(&cache, "Ready").status, "True");
    assert!(condition(&cache, "Ready").last_transition_time > ready_since);
    let sets = cluster.client.namespaced::<ReplicaSet>("default");
    assert_eq!(sets.list(&Default::default()).await.unwrap().items.len(), 2);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn parts_are_mended_and_what_others_have_added_stays() {
    let cluster = Cluster::start().await;
    cluster.create("web", json!({})).await;
    settle().await;
    // Nothing else happens to the cache then.
    let line = json!({"data": {"default_web": "elsewhere:1"}});
    cluster.change::<ConfigMap>("directory", line).await;
    settle().await;
    assert_eq!(cluster.lines().await[0].1, "web.default.svc:6379");
    cluster.delete::<ConfigMap>("directory").await;
    settle().await;
    assert_eq!(cluster.lines().await.len(), 1);

    cluster.delete::<Service>("web").await;
    cluster
        .change::<ConfigMap>("web", json!({"data": {"cache.conf": "port 1"}}))
        .await;
    let meddled = json!({
        "metadata": {"annotations": {"mesh": "in"}},
        "spec": {"replicas": 9, "template": {"metadata": {"annotations": {"mesh": "in"}}}},
    });
    cluster.change::<Deployment>("web", meddled).await;
    settle().await;

    assert!(cluster.find::<Service>("web").await.is_some());
    let map = cluster.get::<ConfigMap>("web").await;
    assert!(map.data.unwrap()["cache.conf"].contains("port 6379\n"));
    let deployment = cluster.get::<Deployment>("web").await;
    let spec = &deployment.spec;
    assert_eq!(spec.replicas, Some(1));
    assert_eq!(deployment.metadata.annotation("mesh"), Some("in"));
    assert_eq!(
        spec.template.metadata.as_ref().unwrap().annotation("mesh"),
        Some("in")
    );
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_the_user_got_wrong_is_told_and_what_runs_goes_on() {
    let cluster = Cluster::start().await;
    cluster.create("web", json!({})).await;
    settle().await;
    cluster
        .change::<Cache>("web", json!({"spec": {"settings": {"port": "1"}}}))
        .await;
    settle().await;
    let cache = cluster.get::<Cache>("web").await;
    let accepted = condition(&cache, "Accepted");
    assert_eq!(
        (&*accepted.status, &*accepted.reason),
        ("False", "ReservedSetting")
    );
    assert_eq!(accepted.observed_generation, Some(2));
    assert_eq!(cache.status.as_ref().unwrap().observed_generation, Some(2));
    assert_eq!(condition(&cache, "Ready").status, "True");
    assert!(cluster.find::<Deployment>("web").await.is_some());

    cluster
        .change::<Cache>("web", json!({"spec": {"settings": Value::Null}}))
        .await;
    settle().await;
    let cache = cluster.get::<Cache>("web").await;
    assert_eq!(condition(&cache, "Accepted").status, "True");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_cache_goes_with_its_parts_and_its_line() {
    let cluster = Cluster::start().await;
    cluster.create("web", json!({})).await;
    cluster.create("api", json!({})).await;
    settle().await;
    assert_eq!(cluster.lines().await.len(), 2);
    assert!(
        cluster
            .get::<Cache>("web")
            .await
            .metadata()
            .has_finalizer(FINALIZER)
    );

    cluster.delete::<Cache>("web").await;
    settle().await;
    assert!(cluster.find::<Cache>("web").await.is_none());
    assert!(cluster.find::<Deployment>("web").await.is_none());
    assert!(cluster.find::<Service>("web").await.is_none());
    assert!(cluster.find::<ConfigMap>("web").await.is_none());
    let lines = cluster.lines().await;
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0].0, "default_api");
    assert!(cluster.find::<Deployment>("api").await.is_some());

    // And one that is deleted while its directory is gone is not held up by that.
    cluster.delete::<ConfigMap>("directory").await;
    cluster.delete::<Cache>("api").await;
    settle().await;
    assert!(cluster.find::<Cache>("api").await.is_none());
    cluster.stop().await;
}
