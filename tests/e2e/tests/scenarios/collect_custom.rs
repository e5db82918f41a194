//! The collector on custom kinds, which come and go.

use anyhow::ensure;
use evenkeel_client::ListOptions;
use evenkeel_e2e::Env;
use evenkeel_e2e::manifest::DEFINITIONS;
use evenkeel_meta::PropagationPolicy::{Background, Foreground, Orphan};
use evenkeel_meta::{ApiResource, Scope};
use serde_json::{Value, json};

use crate::family::{Families, Made, nobody};

const WIDGETS: ApiResource =
    ApiResource::new_static("example.com", "v1", "Widget", "widgets", Scope::Namespaced);
const PLANETS: ApiResource =
    ApiResource::new_static("example.com", "v1", "Planet", "planets", Scope::Cluster);

/// Defines a kind and waits until it is served. `rest` is added to the definition's spec.
async fn define(f: &Families<'_>, resource: &ApiResource, rest: Value) -> anyhow::Result<Made> {
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let scope = if resource.scope == Scope::Cluster {
        "Cluster"
    } else {
        "Namespaced"
    };
    let mut spec = json!({
        "group": resource.group, "scope": scope,
        "names": {"plural": resource.plural, "kind": resource.kind},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
    });
    for (key, value) in rest.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    let name = format!("{}.{}", resource.plural, resource.group);
    let made = f
        .make(&DEFINITIONS, &name, &[], json!({"spec": spec}))
        .await?;
    let api = f.0.client().dynamic(resource.clone(), None);
    f.eventually("it is served", async || {
        Ok(api.list(&ListOptions::default()).await.is_ok())
    })
    .await?;
    Ok(made)
}

pub(crate) async fn gc_t9_t10_t25_kinds_defined_while_it_runs(env: Env) -> anyhow::Result<()> {
    let f = Families::prepare(&env).await?;
    let _manager = env.start_manager("manager", &[])?;
    f.caught_up().await?;
    define(&f, &WIDGETS, json!({})).await?;
    let owner = f.make(&WIDGETS, "owner", &[], json!({})).await?;
    let part = f
        .make(&WIDGETS, "part", &[owner.owner(true)], json!({}))
        .await?;
    let orphaning = f.make(&WIDGETS, "orphaning", &[], json!({})).await?;
    let orphan = f
        .make(&WIDGETS, "orphan", &[orphaning.owner(true)], json!({}))
        .await?;
    f.delete(&owner, Some(Foreground)).await?;
    f.delete(&orphaning, Some(Orphan)).await?;
    f.gone(&part).await?;
    f.gone(&owner).await?;
    f.gone(&orphaning).await?;
    ensure!(f.owners(&orphan).await?.is_empty());

    let widget = f.make(&WIDGETS, "widget", &[], json!({})).await?;
    let map = f.map("map", &[widget.owner(true)]).await?;
    let other_map = f.map("other-map", &[]).await?;
    let other_widget = f
        .make(
            &WIDGETS,
            "other-widget",
            &[other_map.owner(true)],
            json!({}),
        )
        .await?;
    for (owner, part) in [(&widget, &map), (&other_map, &other_widget)] {
        f.delete(owner, Some(Foreground)).await?;
        f.gone(owner).await?;
        ensure!(!f.is_there(part).await?, "{} is left", part.name());
    }
    f.caught_up().await?;
    ensure!(f.is_there(&orphan).await?);
    Ok(())
}

pub(crate) async fn gc_t11_t24_definitions_that_go_take_their_dependents_along(
    env: Env,
) -> anyhow::Result<()> {
    let f = Families::prepare(&env).await?;
    define(&f, &PLANETS, json!({})).await?;
    let planet = f.make(&PLANETS, "planet", &[], json!({})).await?;
    let moon = f
        .make(&PLANETS, "moon", &[planet.owner(true)], json!({}))
        .await?;
    let map = f.map("map", &[planet.owner(true)]).await?;
    let manager = env.start_manager("manager", &[])?;
    f.caught_up().await?;
    ensure!(f.is_there(&moon).await? && f.is_there(&map).await?);
    f.delete(&planet, Some(Background)).await?;
    f.gone(&moon).await?;
    f.gone(&map).await?;

    for turn in 0..2 {
        let definition = define(&f, &WIDGETS, json!({})).await?;
        let owner = f.make(&WIDGETS, "owner", &[], json!({})).await?;
        let part = f.map(&format!("part-{turn}"), &[owner.owner(true)]).await?;
        // Of a kind that it has never seen the collector will not say that it is gone.
        let page = format!(
            "/debug/controllers/garbagecollector/graph?uid={}&format=json",
            owner.uid()
        );
        f.eventually("the collector has seen the owner", async || {
            let (_, _, graph) = manager.page(&page).await?;
            Ok(!graph.is_empty() && !graph.contains("\"virtual\":true"))
        })
        .await?;
        ensure!(f.is_there(&part).await?);
        f.delete(&definition, Some(Background)).await?;
        f.gone(&definition).await?;
        f.gone(&part).await?;
    }
    Ok(())
}

/// Incident 5: one kind whose objects cannot be read.
pub(crate) async fn gc_t13_incident_5_a_dead_conversion_webhook_holds_up_nothing_else(
    env: Env,
) -> anyhow::Result<()> {
    let f = Families::prepare(&env).await?;
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let version = |name: &str, storage: bool| json!({"name": name, "served": true, "storage": storage, "schema": schema});
    define(
        &f,
        &WIDGETS,
        json!({"versions": [version("v1", true), version("v2", false)]}),
    )
    .await?;
    f.make(&WIDGETS, "stored-in-v1", &[], json!({})).await?;
    // The preferred version is v2 from now on, and nobody converts to it.
    let broken = json!({"spec": {"conversion": {"strategy": "Webhook", "webhook": {
        "conversionReviewVersions": ["v1"],
        "clientConfig": {"url": "https://127.0.0.1:1/convert"}}}}});
    env.client()
        .dynamic(DEFINITIONS, None)
        .patch(
            "widgets.example.com",
            &evenkeel_client::Patch::merge(&broken),
            &Default::default(),
        )
        .await?;
    let lost = f.map("lost", &[nobody()]).await?;
    let _manager = env.start_manager("manager", &[])?;
    f.gone(&lost).await
}
