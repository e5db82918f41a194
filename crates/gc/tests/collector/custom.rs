//! Custom resources as owners and dependents.

use std::time::Duration;

use evenkeel_apiserver::{Fault, Verb, When};
use evenkeel_meta::PropagationPolicy::{Background, Foreground, Orphan};
use evenkeel_meta::{ApiResource, OwnerReference, Scope};
use serde_json::json;
use tokio::time::sleep;

use crate::cluster::{Cluster, Made, nobody, owners};

const CRDS: ApiResource = ApiResource::new_static(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    Scope::Cluster,
);
const WIDGETS: ApiResource =
    ApiResource::new_static("example.com", "v1", "Widget", "widgets", Scope::Namespaced);
const PLANETS: ApiResource =
    ApiResource::new_static("example.com", "v1", "Planet", "planets", Scope::Cluster);

/// Defines a kind and waits until it is served.
async fn define(cluster: &Cluster, resource: &ApiResource) -> Made {
    define_in(cluster, resource, &["v1"]).await
}

/// The same in several versions, the last of which is stored.
async fn define_in(cluster: &Cluster, resource: &ApiResource, versions: &[&str]) -> Made {
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let versions: Vec<_> = versions
        .iter()
        .map(|name| {
            let stored = Some(name) == versions.last();
            json!({"name": name, "served": true, "storage": stored, "schema": schema})
        })
        .collect();
    let scope = match resource.scope {
        Scope::Cluster => "Cluster",
        Scope::Namespaced => "Namespaced",
    };
    let kind = &*resource.kind;
    let body = json!({
        "metadata": {"name": resource.to_string()},
        "spec": {
            "group": resource.group,
            "scope": scope,
            "names": {"plural": resource.plural, "singular": kind.to_lowercase(), "kind": kind},
             "versions": versions,
        },
    });
    let definition = cluster.create(&CRDS, None, body).await;
    let api = cluster.api(resource, None);
    cluster
        .until("served", async || {
            api.list(&Default::default()).await.is_ok()
        })
        .await;
    definition
}

async fn custom(
    cluster: &Cluster,
    resource: &ApiResource,
    name: &str,
    owners: &[OwnerReference],
) -> Made {
    let namespace = (resource.scope == Scope::Namespaced).then_some("n");
    let metadata = json!({"name": name, "ownerReferences": owners});
    cluster
        .create(resource, namespace, json!({"metadata": metadata}))
        .await
}

#[tokio::test(start_paused = true)]
async fn gc_t9_a_kind_defined_a_moment_ago_is_collected_at_the_next_turn() {
    let cluster = Cluster::collecting().await;
    define(&cluster, &WIDGETS).await;
    let owner = custom(&cluster, &WIDGETS, "owner", &[]).await;
    let part = custom(&cluster, &WIDGETS, "part", &[owner.owner(true)]).await;
    cluster.delete(&owner, Foreground).await;
    cluster.gone(&part).await;
    cluster.gone(&owner).await;
}

#[tokio::test(start_paused = true)]
async fn gc_t10_custom_and_built_in_kinds_own_each_other() {
    let mut cluster = Cluster::new().await;
    define(&cluster, &WIDGETS).await;
    cluster.start().await;
    let widget = custom(&cluster, &WIDGETS, "owner", &[]).await;
    let map = cluster.map("part", &[widget.owner(true)]).await;
    let other_map = cluster.map("owner", &[]).await;
    let other_widget = custom(&cluster, &WIDGETS, "part", &[other_map.owner(true)]).await;
    cluster.settle().await;
    for (owner, part) in [(&widget, &map), (&other_map, &other_widget)] {
        cluster.delete(owner, Foreground).await;
        cluster.gone(part).await;
        cluster.gone(owner).await;
    }
}

#[tokio::test(start_paused = true)]
async fn gc_t11_a_definition_deleted_and_made_anew_collects_each_time() {
    let cluster = Cluster::collecting().await;
    for _ in 0..3 {
        let definition = define(&cluster, &WIDGETS).await;
        let owner = custom(&cluster, &WIDGETS, "owner", &[]).await;
        let part = cluster.map("part", &[owner.owner(true)]).await;
        sleep(Duration::from_secs(65)).await;
        assert!(cluster.is_there(&part).await);
        cluster.delete(&definition, Background).await;
        cluster
            .until("gone: part", async || !cluster.is_there(&part).await)
            .await;
    }
}

#[tokio::test(start_paused = true)]
async fn gc_t13_a_definition_whose_objects_cannot_be_listed_blocks_no_other_kind() {
    let mut cluster = Cluster::new().await;
    define(&cluster, &WIDGETS).await;
    for verb in [Verb::List, Verb::Watch] {
        let broken = When::verb(verb).user_agent("collector").on("widgets");
        cluster
            .server
            .faults()
            .inject(broken, Fault::internal_error());
    }
    let owner = cluster.map("owner", &[]).await;
    let part = cluster.map("part", &[owner.owner(false)]).await;
    cluster.start_without_waiting();
    sleep(Duration::from_secs(40)).await;
    cluster.delete(&owner, Background).await;
    cluster.gone(&part).await;
    assert_eq!(cluster.inspector().unsynced().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn gc_t24_a_cluster_scoped_custom_owner_takes_its_dependent_along() {
    let mut cluster = Cluster::new().await;
    define(&cluster, &PLANETS).await;
    cluster.start().await;
    let owner = custom(&cluster, &PLANETS, "owner", &[]).await;
    let moon = custom(&cluster, &PLANETS, "moon", &[owner.owner(true)]).await;
    let map = cluster.map("map", &[owner.owner(true)]).await;
    cluster.settle().await;
    cluster.delete(&owner, Background).await;
    cluster.gone(&moon).await;
    cluster.gone(&map).await;
}

#[tokio::test(start_paused = true)]
async fn gc_t25_the_dependents_of_a_custom_owner_can_be_orphaned() {
    let mut cluster = Cluster::new().await;
    define(&cluster, &WIDGETS).await;
    cluster.start().await;
    let owner = custom(&cluster, &WIDGETS, "owner", &[]).await;
    let mut parts = Vec::new();
    for n in 0..5 {
        parts.push(
            custom(
                &cluster,
                &WIDGETS,
                &format!("part-{n}"),
                &[owner.owner(true)],
            )
            .await,
        );
    }
    cluster.settle().await;
    cluster.delete(&owner, Orphan).await;
    cluster.gone(&owner).await;
    sleep(Duration::from_secs(30)).await;
    for part in &parts {
        assert_eq!(
            owners(&cluster.get(part).await.unwrap()),
            Vec::<String>::new()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn gc_g42_that_a_kind_knows_no_strategic_merge_is_found_out_once() {
    let mut cluster = Cluster::new().await;
    define(&cluster, &WIDGETS).await;
    cluster.start().await;
    let stays = cluster.map("stays", &[]).await;
    let goes = cluster.map("goes", &[]).await;
    let mut parts = Vec::new();
    for n in 0..5 {
        let both = [stays.owner(true), goes.owner(true)];
        parts.push(custom(&cluster, &WIDGETS, &format!("part-{n}"), &both).await);
        cluster.settle().await;
    }
    for turn in 0..2 {
        cluster.requests.clear();
        if turn == 0 {
            cluster.delete(&goes, Background).await;
        } else {
            cluster.delete(&stays, Orphan).await;
        }
        cluster.settle().await;
        let kinds: Vec<String> = cluster
            .requests
            .all()
            .into_iter()
            .map(|sent| sent.content_type)
            .collect();
        let strategic = kinds
            .iter()
            .filter(|kind| kind.contains("strategic"))
            .count();
        // The first ones are sent at the same time.
        assert!(strategic <= if turn == 0 { 5 } else { 0 }, "{kinds:?}");
    }
    for part in &parts {
        assert_eq!(
            owners(&cluster.get(part).await.unwrap()),
            Vec::<String>::new()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn gc_g48_t32_an_owner_is_looked_up_by_what_is_written() {
    let mut cluster = Cluster::new().await;
    let widgets_2 = ApiResource {
        version: "v2".into(),
        ..WIDGETS
    };
    define_in(&cluster, &WIDGETS, &["v1", "v2"]).await;
    let owner = custom(&cluster, &widgets_2, "owner", &[]).await;
    // Served, and not what the server prefers.
    let v1 = OwnerReference {
        api_version: "example.com/v1".into(),
        ..owner.owner(false)
    };
    let unserved = OwnerReference {
        api_version: "example.com/v7".into(),
        ..owner.owner(false)
    };
    let no_such_kind = OwnerReference {
        kind: "Gadget".into(),
        ..owner.owner(false)
    };
    let no_such_name = OwnerReference {
        api_version: "v1".into(),
        kind: "Secret".into(),
        ..owner.owner(false)
    };
    let by_v1 = cluster.map("by-v1", &[v1]).await;
    let by_unserved = cluster.map("by-unserved", &[unserved]).await;
    let by_kind = cluster.map("by-kind", &[no_such_kind]).await;
    let by_name = cluster.map("by-name", &[no_such_name]).await;
    cluster.start().await;
    cluster.gone(&by_name).await;
    sleep(Duration::from_secs(60)).await;
    for kept in [&by_v1, &by_unserved, &by_kind] {
        assert!(cluster.is_there(kept).await, "{}", kept.name());
    }
    assert_eq!(cluster.requests.count("DELETE"), 1);
    let paths: Vec<_> = cluster
        .requests
        .all()
        .into_iter()
        .map(|sent| sent.path)
        .collect();
    for path in [
        "/apis/example.com/v1/namespaces/n/widgets/owner",
        "/api/v1/namespaces/n/secrets/owner",
    ] {
        assert_eq!(
            paths.iter().filter(|asked| *asked == path).count(),
            1,
            "{paths:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn gc_g40_a_kind_that_is_defined_later_is_looked_up_then() {
    let cluster = Cluster::collecting().await;
    let early = OwnerReference {
        api_version: "example.com/v1".into(),
        kind: "Widget".into(),
        ..nobody()
    };
    let part = cluster.map("part", &[early]).await;
    sleep(Duration::from_secs(60)).await;
    assert!(cluster.is_there(&part).await);
    assert_eq!(cluster.requests.brief(), Vec::<String>::new());
    define(&cluster, &WIDGETS).await;
    cluster.gone(&part).await;
    assert_eq!(cluster.requests.brief(), ["GET nobody", "DELETE part"]);
}
