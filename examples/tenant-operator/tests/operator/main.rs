//! The life of tenants, on an API server in the process.

#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

mod cluster;

use std::time::Duration;

use evenkeel::meta::{MetaView, Reason};
use evenkeel_apiserver::{Fault, Verb, When};
use k8s_openapi::api::core::v1::{ConfigMap, LimitRange, Namespace, ResourceQuota};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::rbac::v1::RoleBinding;
use serde_json::{Value, json};
use tenant_operator::parts::TENANT;
use tenant_operator::{FINALIZER, Phase, Tenant};

use cluster::{Cluster, settle};

fn acme() -> Value {
    json!({
        "namespaces": ["acme-dev", "acme-prod"],
        "members": [
            {"kind": "Group", "name": "acme", "role": "view"},
            {"kind": "User", "name": "ada", "role": "admin"},
        ],
        // Not as the server writes it.
        "quota": {"pods": "20", "limits.cpu": "0.5"},
        "containerDefaults": {"memory": "128Mi"},
    })
}

fn said(status: &str, reason: &str) -> (String, String) {
    (status.to_owned(), reason.to_owned())
}

fn namespace(name: &str) -> Namespace {
    let mut namespace = Namespace::default();
    namespace.metadata.name = Some(name.to_owned());
    namespace
}

/// Holds up the end of the namespace that it is in.
fn held() -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some("held".to_owned());
    map.metadata.finalizers = Some(vec!["example.com/hold".to_owned()]);
    map
}

async fn let_go(cluster: &Cluster, place: &str) {
    let none = json!({"metadata": {"finalizers": null}});
    cluster.change::<ConfigMap>(Some(place), "held", none).await;
    settle().await;
}

#[tokio::test(start_paused = true)]
async fn a_tenant_gets_what_it_is_to_have_and_says_so() {
    let cluster = Cluster::start().await;
    cluster.tenant("acme", acme()).await;
    settle().await;

    let tenant = cluster.get::<Tenant>(None, "acme").await;
    assert!(tenant.metadata.has_finalizer(FINALIZER));
    for type_ in ["Accepted", "Ready"] {
        assert_eq!(cluster.condition("acme", type_).await.0, "True");
    }
    for name in ["acme-dev", "acme-prod"] {
        let place = Some(name);
        let space = cluster.get::<Namespace>(None, name).await;
        let policy = cluster.get::<NetworkPolicy>(place, "tenant").await;
        let quota = cluster.get::<ResourceQuota>(place, "tenant").await;
        let limits = cluster.get::<LimitRange>(place, "tenant").await;
        let view = cluster.get::<RoleBinding>(place, "tenant-view").await;
        let admin = cluster.get::<RoleBinding>(place, "tenant-admin").await;
        for meta in [
            &space.metadata,
            &policy.metadata,
            &quota.metadata,
            &limits.metadata,
            &view.metadata,
            &admin.metadata,
        ] {
            let owner = meta.controller().unwrap();
            assert_eq!(
                (owner.kind, Some(owner.uid)),
                ("Tenant", tenant.metadata.uid())
            );
            assert_eq!(meta.label(TENANT), Some("acme"));
        }
        assert_eq!(view.subjects.unwrap()[0].name, "acme");
        assert_eq!(admin.role_ref.name, "admin");
        assert_eq!(quota.spec.unwrap().hard.unwrap()["limits.cpu"].0, "500m");
    }

    // At rest nothing is written, also when there is a run.
    cluster.writes();
    let label = json!({"metadata": {"labels": {"team": "a"}}});
    cluster.change::<Namespace>(None, "acme-dev", label).await;
    settle().await;
    let writes = cluster.writes();
    assert_eq!(
        writes.len(),
        2,
        "the label, and a look at the object that has changed: {writes:?}"
    );
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_drifts_is_taken_back_and_what_others_have_added_stays() {
    let cluster = Cluster::start().await;
    cluster.tenant("acme", acme()).await;
    settle().await;
    let place = Some("acme-dev");
    let level = "pod-security.kubernetes.io/enforce";
    let label = json!({"metadata": {"labels": {TENANT: "other", level: "baseline"}}});
    cluster.change::<Namespace>(None, "acme-dev", label).await;
    let more = json!({
        // With these gone it is no longer watched.
        "metadata": {"labels": null, "ownerReferences": null},
        "spec": {"hard": {"pods": "1000", "services": "3"}},
    });
    cluster.change::<ResourceQuota>(place, "tenant", more).await;
    cluster.delete::<NetworkPolicy>(place, "tenant").await;
    let mut binding = cluster.get::<RoleBinding>(place, "tenant-view").await;
    cluster.delete::<RoleBinding>(place, "tenant-view").await;
    binding.metadata.resource_version = None;
    binding.metadata.uid = None;
    binding.role_ref.name = "cluster-admin".to_owned();
    cluster.create(place, binding).await;
    settle().await;

    let space = cluster.get::<Namespace>(None, "acme-dev").await;
    assert_eq!(space.metadata.label(TENANT), Some("acme"));
    assert_eq!(space.metadata.label(level), Some("baseline"));
    let quota = cluster.get::<ResourceQuota>(place, "tenant").await;
    assert!(quota.metadata.controller().is_some());
    let hard = quota.spec.unwrap().hard.unwrap();
    assert_eq!((&*hard["pods"].0, &*hard["services"].0), ("20", "3"));
    assert!(cluster.has::<NetworkPolicy>(place, "tenant").await);
    let binding = cluster.get::<RoleBinding>(place, "tenant-view").await;
    assert_eq!(binding.role_ref.name, "view");
    let told = cluster.events("FieldsTakenBack").await;
    let who = |message: &String| message.contains("\"somebody\"");
    assert!(told.len() == 2 && told.iter().all(who), "{told:?}");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_taken_out_goes_and_nothing_else() {
    let cluster = Cluster::start().await;
    cluster.tenant("acme", acme()).await;
    settle().await;
    let mine = json!({"spec": {"hard": {"services": "3"}}});
    let mut quota: ResourceQuota = serde_json::from_value(mine).unwrap();
    quota.metadata.name = Some("mine".to_owned());
    cluster.create(Some("acme-dev"), quota).await;
    let less = json!({"spec": {
        "namespaces": ["acme-dev"],
        "members": [{"kind": "User", "name": "eve", "role": "view"}],
        "quota": {"limits.cpu": null},
        "containerDefaults": null,
        "isolated": false,
    }});
    cluster.change::<Tenant>(None, "acme", less).await;
    settle().await;

    let place = Some("acme-dev");
    assert!(!cluster.has::<Namespace>(None, "acme-prod").await);
    let left = [("acme-dev".to_owned(), Phase::Active)];
    assert_eq!(cluster.phases("acme").await, left);
    assert_eq!(cluster.condition("acme", "Ready").await.0, "True");
    let quota = cluster.get::<ResourceQuota>(place, "tenant").await;
    let hard = quota.spec.unwrap().hard.unwrap();
    assert_eq!(hard.keys().collect::<Vec<_>>(), ["pods"]);
    let binding = cluster.get::<RoleBinding>(place, "tenant-view").await;
    let subjects = binding.subjects.unwrap();
    assert_eq!((subjects.len(), &*subjects[0].name), (1, "eve"));
    assert!(!cluster.has::<RoleBinding>(place, "tenant-admin").await);
    assert!(!cluster.has::<LimitRange>(place, "tenant").await);
    assert!(!cluster.has::<NetworkPolicy>(place, "tenant").await);
    assert!(cluster.has::<ResourceQuota>(place, "mine").await);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_namespace_of_somebody_elses_is_left_alone_until_the_name_is_free() {
    let cluster = Cluster::start().await;
    cluster.create(None, namespace("shop")).await;
    let spec = || json!({"namespaces": ["shop", "more"], "quota": {"pods": "1"}});
    cluster.tenant("first", spec()).await;
    settle().await;
    cluster.tenant("second", spec()).await;
    settle().await;

    let shop = cluster.get::<Namespace>(None, "shop").await;
    assert_eq!(shop.metadata.owners().count(), 0);
    assert_eq!(shop.metadata.label(TENANT), None);
    assert!(!cluster.has::<ResourceQuota>(Some("shop"), "tenant").await);
    let phases = |shop: Phase, more: Phase| [("shop".to_owned(), shop), ("more".to_owned(), more)];
    let (first, second) = (
        phases(Phase::Taken, Phase::Active),
        phases(Phase::Taken, Phase::Taken),
    );
    assert_eq!(cluster.phases("first").await, first);
    assert_eq!(cluster.phases("second").await, second);
    for type_ in ["Accepted", "Ready"] {
        let told = cluster.condition("first", type_).await;
        assert_eq!(told, said("False", "NamespaceTaken"));
    }
    assert!(cluster.has::<ResourceQuota>(Some("more"), "tenant").await);

    cluster.delete::<Namespace>(None, "shop").await;
    settle().await;
    let owner = cluster.get::<Namespace>(None, "shop").await.metadata;
    let (winner, loser) = match owner.controller().unwrap().name {
        "first" => ("first", "second"),
        _ => ("second", "first"),
    };
    let phase = cluster.phases(winner).await[0].1;
    assert_eq!(phase, Phase::Active);
    assert_eq!(cluster.phases(loser).await[0].1, Phase::Taken);
    // It goes with neither of those whose it is not.
    cluster.delete::<Tenant>(None, loser).await;
    settle().await;
    assert!(!cluster.has::<Tenant>(None, loser).await);
    assert!(cluster.has::<Namespace>(None, "shop").await);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_the_store_does_not_show_yet_is_not_taken_over() {
    let cluster = Cluster::start().await;
    settle().await;
    // The operator's watch of namespaces hangs while somebody makes one.
    let silent = When::verb(Verb::Watch).on("namespaces");
    cluster.server.faults().inject(silent, Fault::SilentWatch);
    cluster.server.faults().cut_watches();
    tokio::time::sleep(Duration::from_secs(5)).await;
    cluster.create(None, namespace("shop")).await;
    cluster
        .tenant("acme", json!({"namespaces": ["shop"]}))
        .await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    let writes = cluster.writes();
    let tried = |write: &&String| *write == "POST /api/v1/namespaces";
    assert!(writes.iter().filter(tried).count() > 1, "{writes:?}");
    cluster.server.faults().clear();
    cluster.server.faults().cut_watches();
    settle().await;
    assert_eq!(cluster.phases("acme").await[0].1, Phase::Taken);
    let shop = cluster.get::<Namespace>(None, "shop").await;
    assert_eq!(shop.metadata.owners().count(), 0);
    assert_eq!(shop.metadata.label(TENANT), None);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_somebody_deletes_is_waited_for_and_made_anew() {
    let cluster = Cluster::start().await;
    cluster.tenant("acme", acme()).await;
    settle().await;
    cluster.create(Some("acme-dev"), held()).await;
    let uid = cluster
        .get::<Namespace>(None, "acme-dev")
        .await
        .metadata
        .uid;
    cluster.delete::<Namespace>(None, "acme-dev").await;
    settle().await;
    let told = cluster.condition("acme", "Ready").await;
    assert_eq!(told, said("False", "NamespaceTerminating"));
    assert_eq!(cluster.phases("acme").await[0].1, Phase::Terminating);
    assert!(
        !cluster
            .has::<ResourceQuota>(Some("acme-dev"), "tenant")
            .await
    );
    // The other one is looked after meanwhile.
    cluster
        .delete::<ResourceQuota>(Some("acme-prod"), "tenant")
        .await;
    settle().await;
    assert!(
        cluster
            .has::<ResourceQuota>(Some("acme-prod"), "tenant")
            .await
    );

    let_go(&cluster, "acme-dev").await;
    assert_eq!(cluster.condition("acme", "Ready").await.0, "True");
    let space = cluster.get::<Namespace>(None, "acme-dev").await;
    assert_ne!(space.metadata.uid, uid);
    assert!(
        cluster
            .has::<RoleBinding>(Some("acme-dev"), "tenant-view")
            .await
    );
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_tenant_goes_when_its_namespaces_are_gone() {
    let cluster = Cluster::start().await;
    cluster.tenant("acme", acme()).await;
    cluster
        .tenant("other", json!({"namespaces": ["other"]}))
        .await;
    settle().await;
    cluster.create(Some("acme-prod"), held()).await;
    cluster.delete::<Tenant>(None, "acme").await;
    settle().await;
    assert!(!cluster.has::<Namespace>(None, "acme-dev").await);
    let told = cluster.condition("acme", "Ready").await;
    assert_eq!(told, said("False", "Deleting"));
    let left = [("acme-prod".to_owned(), Phase::Terminating)];
    assert_eq!(cluster.phases("acme").await, left);

    let_go(&cluster, "acme-prod").await;
    assert!(!cluster.has::<Namespace>(None, "acme-prod").await);
    assert!(!cluster.has::<Tenant>(None, "acme").await);
    assert!(cluster.has::<Namespace>(None, "other").await);
    assert_eq!(cluster.condition("other", "Ready").await.0, "True");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_name_that_no_namespace_can_have_is_told_and_tried_no_more() {
    let cluster = Cluster::start().await;
    // The embedded server does not check patterns; the schema of a real one would refuse it.
    cluster
        .tenant("acme", json!({"namespaces": ["Not_A_Name"]}))
        .await;
    settle().await;
    let told = cluster.condition("acme", "Accepted").await;
    assert_eq!(told, said("False", "Refused"));
    cluster.writes();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(cluster.writes(), [""; 0]);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_the_server_refuses_is_told_and_lets_nobody_in() {
    let cluster = Cluster::start().await;
    // As a cluster does whose policy wants something else.
    let quotas = When::verb(Verb::Patch).on("resourcequotas");
    let no = Fault::refuse(422, Reason::Invalid, "not with me");
    let refusal = cluster.server.faults().inject(quotas, no);
    cluster.tenant("acme", acme()).await;
    settle().await;
    let told = cluster.condition("acme", "Accepted").await;
    assert_eq!(told, said("False", "Refused"));
    assert!(
        cluster
            .has::<NetworkPolicy>(Some("acme-dev"), "tenant")
            .await
    );
    assert!(
        !cluster
            .has::<RoleBinding>(Some("acme-dev"), "tenant-view")
            .await
    );
    cluster.writes();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(cluster.writes(), [""; 0], "no retry will mend it");

    refusal.lift();
    let right = json!({"spec": {"quota": {"pods": "1"}}});
    cluster.change::<Tenant>(None, "acme", right).await;
    settle().await;
    assert_eq!(cluster.condition("acme", "Accepted").await.0, "True");
    assert!(
        cluster
            .has::<RoleBinding>(Some("acme-dev"), "tenant-view")
            .await
    );
    cluster.stop().await;
}
