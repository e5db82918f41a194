use evenkeel_meta::{GroupResource, GroupVersionKind, Scope};

use super::{DiscoveredResource, Discovery};
use crate::testing::{Answer, Scripted};

const V2: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

const CORE: &str = r#"{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"creationTimestamp":null},"versions":[
  {"version":"v1","freshness":"Current","resources":[
    {"resource":"bindings","responseKind":{"group":"","version":"v1","kind":"Binding"},"scope":"Namespaced","singularResource":"binding","verbs":["create"]},
    {"resource":"pods","responseKind":{"group":"","version":"v1","kind":"Pod"},"scope":"Namespaced","singularResource":"pod",
     "verbs":["create","delete","get","list","watch"],"shortNames":["po"],"categories":["all"],
     "subresources":[{"subresource":"status","responseKind":{"kind":"Pod"},"verbs":["get","patch","update"]},
                     {"subresource":"eviction","responseKind":{"kind":"Eviction"},"verbs":["create"]}]},
    {"resource":"nodes","responseKind":{"kind":"Node"},"scope":"Cluster","singularResource":"node","verbs":["get","list"],"shortNames":["no"]}]}]}]}"#;

const GROUPS: &str = r#"{"kind":"APIGroupDiscoveryList","items":[
 {"metadata":{"name":"apps"},"versions":[{"version":"v1","freshness":"Current","resources":[
    {"resource":"deployments","responseKind":{"group":"apps","version":"v1","kind":"Deployment"},"scope":"Namespaced","singularResource":"deployment",
     "verbs":["delete","get","list","watch"],"shortNames":["deploy"]}]}]},
 {"metadata":{"name":"x.io"},"versions":[
    {"version":"v2","freshness":"Current","resources":[{"resource":"widgets","responseKind":{"kind":"Widget"},"scope":"Namespaced","singularResource":"widget","verbs":["get"],"shortNames":["po"]}]},
    {"version":"v1","freshness":"Current","resources":[{"resource":"widgets","responseKind":{"kind":"Widget"},"scope":"Namespaced","singularResource":"widget","verbs":["get"]},
                                                       {"resource":"relics","responseKind":{"kind":"Relic"},"scope":"Cluster","singularResource":"relic","verbs":["get"]}]}]},
 {"metadata":{"name":"metrics.k8s.io"},"versions":[{"version":"v1beta1","freshness":"Stale"}]}]}"#;

fn aggregated() -> Scripted {
    Scripted::new(|_, seen| {
        let body = if seen.target == "/api" { CORE } else { GROUPS };
        Answer::ok(body).header("content-type", V2)
    })
}

/// A server that knows no aggregated discovery, with one extension that is down.
fn plain() -> Scripted {
    Scripted::new(|_, seen| match &*seen.target {
        "/api" => Answer::ok(r#"{"kind":"APIVersions","versions":["v1"]}"#),
        "/apis" => Answer::ok(
            r#"{"kind":"APIGroupList","groups":[
              {"name":"metrics.k8s.io","versions":[{"groupVersion":"metrics.k8s.io/v1beta1","version":"v1beta1"}]},
              {"name":"apps","versions":[{"version":"v1beta2"},{"version":"v1"}],"preferredVersion":{"version":"v1"}}]}"#,
        ),
        "/api/v1" => Answer::ok(
            r#"{"kind":"APIResourceList","groupVersion":"v1","resources":[
              {"name":"pods","singularName":"","namespaced":true,"kind":"Pod","verbs":["get","list"],"shortNames":["po"]},
              {"name":"pods/status","singularName":"","namespaced":true,"kind":"Pod","verbs":["patch"]},
              {"name":"nodes","singularName":"node","namespaced":false,"kind":"Node","verbs":["get"]}]}"#,
        ),
        "/apis/apps/v1" | "/apis/apps/v1beta2" => Answer::ok(
            r#"{"resources":[{"name":"deployments","singularName":"deployment","namespaced":true,"kind":"Deployment","verbs":["get"]}]}"#,
        ),
        _ => Answer::new(503),
    })
}

fn show(found: &DiscoveredResource) -> String {
    let own = &found.api_resource;
    format!(
        "{} {}{}",
        own.plural,
        own.api_version(),
        if found.preferred { " *" } else { "" }
    )
}

async fn discovered(server: &Scripted) -> Discovery {
    server.client().discover().await.unwrap()
}

#[tokio::test]
async fn d1_aggregated_discovery_takes_two_requests() {
    let server = aggregated();
    let discovery = discovered(&server).await;
    assert_eq!(server.targets(), ["/api", "/apis"]);
    let accept = server.seen()[0].header("accept").to_owned();
    assert_eq!(accept, format!("{V2},application/json"));
    let all: Vec<_> = discovery.resources.iter().map(show).collect();
    assert_eq!(
        all,
        [
            "bindings v1 *",
            "pods v1 *",
            "nodes v1 *",
            "deployments apps/v1 *",
            "widgets x.io/v2 *",
            "widgets x.io/v1",
            "relics x.io/v1",
        ]
    );
    let pods = discovery.find("pods").unwrap();
    assert!(pods.is_namespaced() && pods.can("watch") && pods.has_subresource("eviction"));
    assert_eq!(pods.categories, ["all"]);
    assert!(!pods.has_subresource("scale"));
    assert_eq!(
        discovery.find("no").unwrap().api_resource.scope,
        Scope::Cluster
    );
}

#[tokio::test]
async fn d2_ts99_a_stale_version_is_a_failure_and_costs_nothing_else() {
    let discovery = discovered(&aggregated()).await;
    let failures: Vec<_> = discovery.failures.iter().map(ToString::to_string).collect();
    assert_eq!(failures, ["metrics.k8s.io/v1beta1: stale"]);
}

#[tokio::test(start_paused = true)]
async fn d2_b29_plain_discovery_works_while_an_extension_is_down() {
    let discovery = discovered(&plain()).await;
    let all: Vec<_> = discovery.resources.iter().map(show).collect();
    assert_eq!(
        all,
        [
            "pods v1 *",
            "nodes v1 *",
            "deployments apps/v1 *",
            "deployments apps/v1beta2"
        ]
    );
    assert!(
        discovery.find("pod").unwrap().has_subresource("status"),
        "a singular is guessed"
    );
    assert_eq!(discovery.failures.len(), 1);
    let failure = &discovery.failures[0];
    assert_eq!(failure.group_version, "metrics.k8s.io/v1beta1");
    assert_eq!(failure.error.as_ref().unwrap().status().unwrap().code, 503);
    let kind = GroupVersionKind::from_api_version("apps/v1", "Deployment");
    assert_eq!(
        discovery.by_kind(&kind).unwrap().api_resource.plural,
        "deployments"
    );
}

#[tokio::test]
async fn d1_ts99_a_server_without_a_core_group_is_fine_and_one_without_groups_is_not() {
    let server = Scripted::new(|_, seen| match &*seen.target {
        "/api" => Answer::new(404),
        _ => Answer::ok(GROUPS).header("content-type", V2),
    });
    assert!(discovered(&server).await.find("deployments").is_some());
    let server = Scripted::new(|_, _| Answer::new(404));
    assert!(server.client().discover().await.unwrap_err().is_not_found());
}

#[tokio::test]
async fn d2_ts99_mixed_answers_are_joined() {
    let server = Scripted::new(|_, seen| match &*seen.target {
        "/api" => Answer::ok(r#"{"versions":["v1"]}"#),
        "/api/v1" => Answer::ok(
            r#"{"resources":[{"name":"pods","namespaced":true,"kind":"Pod","verbs":[]}]}"#,
        ),
        _ => Answer::ok(GROUPS).header("content-type", V2),
    });
    let discovery = discovered(&server).await;
    assert_eq!(discovery.resources[0].api_resource.plural, "pods");
    assert!(discovery.find("widgets").is_some());
}

#[tokio::test]
async fn d5_d6_what_a_person_means() {
    let discovery = discovered(&aggregated()).await;
    let find = |text: &str| discovery.find(text).map(show).unwrap_or_default();
    for text in [
        "deployments",
        "deployment",
        "Deployment",
        "deploy",
        "deployments.apps",
        "deploy.apps",
        "deployments.v1.apps",
    ] {
        assert_eq!(find(text), "deployments apps/v1 *", "{text}");
    }
    assert_eq!(find("pods.v1"), "pods v1 *");
    assert_eq!(find("po"), "pods v1 *", "the first group's short name");
    assert_eq!(find("po.x.io"), "widgets x.io/v2 *");
    assert_eq!(find("widgets"), "widgets x.io/v2 *");
    assert_eq!(find("widgets.v1.x.io"), "widgets x.io/v1");
    assert_eq!(
        find("relics"),
        "relics x.io/v1",
        "only an old version has it"
    );
    for nothing in ["", "gadgets", "pods.apps", "widgets.v3.x.io"] {
        assert_eq!(find(nothing), "", "{nothing}");
    }
    let widgets = GroupResource {
        group: "x.io".into(),
        resource: "widgets".into(),
    };
    assert_eq!(
        discovery.by_resource(&widgets).map(show).unwrap(),
        "widgets x.io/v2 *"
    );
    let deletable: Vec<_> = discovery
        .with_verbs(&["delete", "list", "watch"])
        .map(show)
        .collect();
    assert_eq!(deletable, ["pods v1 *", "deployments apps/v1 *"]);
}

mod caching;
mod mapping;
