//! What is watched, and how.

use std::time::Duration;

use evenkeel_apiserver::{Fault, Verb, When};
use evenkeel_gc::GarbageCollector;
use evenkeel_meta::PropagationPolicy::Background;
use evenkeel_meta::{DynamicObject, GroupResource};
use evenkeel_observe::{MemorySink, Metrics};
use evenkeel_store::{InformerOptions, Informers};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::cluster::{Cluster, MAPS, SECRETS, nobody};
use crate::requests::Discovery;

fn resource(plural: &str, verbs: &[&str]) -> Value {
    let kind = plural.trim_end_matches('s');
    json!({
        "resource": plural, "singularResource": kind, "scope": "Namespaced", "verbs": verbs,
        "responseKind": {"group": "", "version": "", "kind": kind},
    })
}

fn group(name: &str, versions: &[(&str, Vec<Value>)]) -> Value {
    let versions = versions.iter().map(
        |(version, resources)| json!({"version": version, "freshness": "Current", "resources": resources}),
    );
    json!({"metadata": {"name": name}, "versions": versions.collect::<Vec<_>>()})
}

const ALL: [&str; 4] = ["delete", "get", "list", "watch"];

#[tokio::test(start_paused = true)]
async fn gc_g3_what_can_be_deleted_listed_and_watched_is_in_its_preferred_version() {
    let mut cluster = Cluster::new().await;
    *cluster.told.lock() = Discovery::Groups(json!([
        group(
            "a.io",
            &[
                ("v2", vec![resource("boths", &ALL)]),
                ("v1", vec![resource("boths", &ALL), resource("olds", &ALL)]),
            ]
        ),
        group(
            "b.io",
            &[(
                "v1",
                vec![
                    resource("nodeletes", &["list", "watch"]),
                    resource("nolists", &["delete", "watch"]),
                    resource("nowatches", &["delete", "list"]),
                    resource("excludeds", &ALL),
                    resource("kepts", &["delete", "list", "watch"]),
                ],
            )]
        ),
        group("events.k8s.io", &[("v1", vec![resource("events", &ALL)])]),
    ]));
    cluster.start_as(|builder| builder);
    cluster.settle().await;
    let mut asked = cluster.requests.collections();
    asked.retain(|path| !["/api", "/apis"].contains(&path.as_str()));
    let expected = [
        "/apis/a.io/v1/olds",
        "/apis/a.io/v2/boths",
        "/apis/b.io/v1/excludeds",
        "/apis/b.io/v1/kepts",
    ];
    assert_eq!(asked, expected);
    cluster.stop().await;

    cluster.requests.clear();
    cluster.start_as(|builder| {
        builder.ignored([GroupResource {
            group: "b.io".into(),
            resource: "excludeds".into(),
        }])
    });
    cluster.settle().await;
    let asked = cluster.requests.collections();
    assert!(!asked.contains(&"/apis/b.io/v1/excludeds".to_owned()));
    assert!(asked.contains(&"/apis/b.io/v1/kepts".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn gc_g3_events_have_no_owners_to_be_collected_for() {
    let cluster = Cluster::collecting().await;
    let owner = cluster.map("owner", &[]).await;
    let body = json!({
        "metadata": {"name": "event", "ownerReferences": [nobody()]},
        "involvedObject": {"kind": "ConfigMap", "name": "owner", "namespace": "n"},
    });
    let event = cluster
        .create(&crate::cluster::EVENTS, Some("n"), body)
        .await;
    let part = cluster.map("part", &[nobody()]).await;
    cluster.gone(&part).await;
    assert!(cluster.is_there(&event).await && cluster.is_there(&owner).await);
    assert!(!cluster.inspector().contains(&event.uid()));
}

#[tokio::test(start_paused = true)]
async fn gc_g4_what_others_mirror_is_not_listed_again_and_the_rest_by_its_metadata() {
    let mut cluster = Cluster::new().await;
    let informers = Informers::new(cluster.client.clone());
    let maps = informers.dynamic(MAPS, InformerOptions::default());
    // One that shows a part only cannot be shared.
    let some = InformerOptions::default().namespace("n");
    let some_secrets = informers.projected::<DynamicObject>(SECRETS, some);
    informers.start();
    let shared = informers.clone();
    cluster.start_as(|builder| builder.informers(shared));
    cluster.settle().await;

    let followed = cluster.requests.followed();
    assert!(
        followed
            .iter()
            .all(|sent| sent.path != "/api/v1/configmaps")
    );
    let secrets = followed.iter().find(|sent| sent.path == "/api/v1/secrets");
    let accept = &secrets.unwrap().accept;
    assert!(accept.contains("as=PartialObjectMetadata"), "{accept}");
    let owner = cluster.map("owner", &[]).await;
    let part = cluster.map("part", &[owner.owner(false)]).await;
    cluster.settle().await;
    assert!(cluster.inspector().contains(&part.uid()));
    cluster.delete(&owner, Background).await;
    cluster.gone(&part).await;
    // They outlive the collector.
    cluster.stop().await;
    let later = cluster.map("later", &[]).await;
    cluster.settle().await;
    assert!(maps.store().get(&later.meta_key()).is_some());
    drop(some_secrets);
    informers.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn gc_g8_an_informer_that_others_have_stopped_is_replaced_at_the_next_turn() {
    let mut cluster = Cluster::new().await;
    let informers = Informers::new(cluster.client.clone());
    let _maps = informers.dynamic(MAPS, InformerOptions::default());
    informers.start();
    let shared = informers.clone();
    cluster.start_as(|builder| builder.informers(shared));
    let owner = cluster.map("owner", &[]).await;
    let part = cluster.map("part", &[owner.owner(false)]).await;
    cluster.settle().await;
    informers.shutdown().await;
    cluster.delete(&owner, Background).await;
    cluster.settle().await;
    assert!(cluster.is_there(&part).await);
    cluster.gone(&part).await;
}

#[tokio::test(start_paused = true)]
async fn gc_g5_nothing_is_asked_before_it_runs() {
    let cluster = Cluster::new().await;
    let collector = GarbageCollector::builder(cluster.recorded()).build();
    cluster.settle().await;
    assert!(cluster.requests.followed().is_empty() && cluster.requests.all().is_empty());
    let stop = tokio_util::sync::CancellationToken::new();
    let running = tokio::spawn(collector.run(stop.clone()));
    cluster.settle().await;
    assert!(!cluster.requests.followed().is_empty());
    stop.cancel();
    running.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn gc_g10_metrics_have_the_names_that_dashboards_know() {
    let sink = MemorySink::new();
    let mut cluster = Cluster::new().await;
    let metrics = Metrics::new(sink.clone());
    let broken = When::verb(Verb::List).user_agent("collector").on("secrets");
    let list = cluster
        .server
        .faults()
        .inject(broken, Fault::internal_error());
    let broken = When::verb(Verb::Watch)
        .user_agent("collector")
        .on("secrets");
    let watch = cluster
        .server
        .faults()
        .inject(broken, Fault::internal_error());
    cluster.start_as(|builder| builder.metrics(metrics));
    let errors = || {
        sink.value(
            "garbagecollector_controller_resources_sync_error_total",
            &[],
        )
    };
    assert_eq!(errors().unwrap_or_default(), 0.0);
    sleep(Duration::from_secs(35)).await;
    assert_eq!(errors(), Some(1.0));
    for queue in [
        "garbage_collector_attempt_to_delete",
        "garbage_collector_attempt_to_orphan",
    ] {
        assert_eq!(
            sink.value("workqueue_depth", &[queue]),
            Some(0.0),
            "{queue}"
        );
    }
    list.lift();
    watch.lift();
    let part = cluster.map("part", &[nobody()]).await;
    cluster.gone(&part).await;
    let adds = sink.value(
        "workqueue_adds_total",
        &["garbage_collector_attempt_to_delete"],
    );
    assert!(adds >= Some(2.0), "{adds:?}");
}

#[tokio::test(start_paused = true)]
async fn kcm_b15_a_kind_that_has_synced_and_fails_again_is_told_of() {
    let mut cluster = Cluster::new().await;
    let break_secrets = |cluster: &Cluster| {
        [Verb::List, Verb::Watch].map(|verb| {
            let when = When::verb(verb).user_agent("collector").on("secrets");
            cluster
                .server
                .faults()
                .inject(when, Fault::internal_error())
        })
    };
    let failing = |cluster: &Cluster| -> Vec<String> {
        let states = cluster.inspector().failing();
        states
            .iter()
            .map(|state| state.resource.to_string())
            .collect()
    };
    let first = break_secrets(&cluster);
    cluster.start_without_waiting();
    cluster.settle().await;
    assert_eq!(failing(&cluster), ["secrets"]);
    first.iter().for_each(evenkeel_apiserver::Injected::lift);
    sleep(Duration::from_secs(60)).await;
    assert_eq!(failing(&cluster), Vec::<String>::new());
    let second = break_secrets(&cluster);
    cluster.server.faults().cut_watches();
    sleep(Duration::from_secs(5)).await;
    assert_eq!(failing(&cluster), ["secrets"]);
    assert!(cluster.inspector().unsynced().is_empty());
    second.iter().for_each(evenkeel_apiserver::Injected::lift);
    sleep(Duration::from_secs(60)).await;
    assert_eq!(failing(&cluster), Vec::<String>::new());
}
