//! Controllers whose client is for one namespace, or for dry runs.
#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

mod plane;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use evenkeel::client::{Client, WriteOptions};
use evenkeel::meta::{DeleteOptions, MetaView, Object, ObjectKey};
use evenkeel::store::{InformerOptions, InformerSet};
use evenkeel::{Context, Controller, Outcome, ReconcileResult, Term};
use evenkeel_apiserver::{Fault, Verb, When};
use futures_util::future::BoxFuture;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v1::{Scale, ScaleSpec};
use k8s_openapi::api::core::v1::ConfigMap;
use tokio_util::sync::CancellationToken;

use plane::act::Act;
use plane::{Plane, config_map, journal};

/// Runs `act` for the ConfigMap `a` with this client for five seconds, in which the stores show nothing
/// new, and answers how often it ran.
async fn runs(
    plane: &Plane,
    client: Client,
    act: impl for<'a> Fn(&'a Context, &'a ObjectKey) -> BoxFuture<'a, ReconcileResult>
    + Send
    + Sync
    + 'static,
) -> usize {
    plane.create(&config_map("a")).await;
    plane.maps.synced().await.unwrap();
    journal::settle().await;
    let faults = plane.server.faults();
    let silence = faults.inject(When::verb(Verb::Watch), Fault::SilentWatch);
    faults.cut_watches();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let maps: InformerSet<ConfigMap> =
        InformerSet::in_namespaces(["default"], |options| plane.informers().typed(options));
    let controller = Controller::builder("some").for_(&maps).reconciler(Act::new(
        move |context, key: &ObjectKey| {
            counted.fetch_add(1, Ordering::Relaxed);
            act(context, key)
        },
    ));
    let stop = CancellationToken::new();
    let term = Term::new(client, stop.clone()).grace(Duration::from_secs(1));
    let running = journal::run(controller, term);
    tokio::time::sleep(Duration::from_secs(5)).await;
    stop.cancel();
    running.await.unwrap();
    silence.lift();
    count.load(Ordering::Relaxed)
}

#[tokio::test(start_paused = true)]
async fn client_go_b31_an_object_that_the_client_puts_into_its_namespace_is_waited_for() {
    for namespace in [None, Some("default".to_owned())] {
        let plane = Plane::start();
        let client = plane.client.with_namespace("default");
        let runs = runs(&plane, client, move |context, _| {
            let mut map = config_map("");
            map.metadata.namespace = namespace.clone();
            map.metadata.name = None;
            map.metadata.generate_name = Some("made-".into());
            Box::pin(async move {
                let made: ConfigMap = context.create(&map).await?;
                assert_eq!(made.metadata().namespace(), Some("default"));
                Ok(Outcome::After(Duration::from_secs(1)))
            })
        });
        assert_eq!(runs.await, 1, "until the store shows it");
        plane.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_dry_run_would_have_written_is_not_waited_for() {
    for dry_client in [true, false] {
        let plane = Plane::start();
        let mut client = plane.client.clone();
        let mut options = DeleteOptions::default();
        if dry_client {
            client = client.with_dry_run();
        } else {
            options.dry_run = vec!["All".to_owned()];
        }
        let maps = plane.maps.store().clone();
        let runs = runs(&plane, client, move |context, key| {
            let (map, options) = (maps.get(key).unwrap(), options.clone());
            Box::pin(async move {
                context.delete(&*map, options).await?;
                assert!(
                    context
                        .client()
                        .namespaced::<ConfigMap>("default")
                        .get("a")
                        .await
                        .is_ok()
                );
                Ok(Outcome::After(Duration::from_secs(1)))
            })
        });
        let runs = runs.await;
        assert!(runs >= 4, "{runs}");
        plane.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn client_go_b31_a_written_subresource_is_waited_for_as_its_object_is() {
    let plane = Plane::start();
    let made = deployment("web");
    let api = plane.client.namespaced::<Deployment>("default");
    api.create(&made, &WriteOptions::default()).await.unwrap();
    let deployments = plane
        .informers()
        .typed::<Deployment>(InformerOptions::default());
    plane.informers().start();
    deployments.synced().await.unwrap();
    journal::settle().await;
    let silence = (plane.server.faults()).inject(When::verb(Verb::Watch), Fault::SilentWatch);
    plane.server.faults().cut_watches();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let (store, runs) = (deployments.store().clone(), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&runs);
    let controller = Controller::builder("some")
        .for_(&deployments)
        .reconciler(Act::new(move |context, key: &ObjectKey| {
            counted.fetch_add(1, Ordering::Relaxed);
            let web = store.get(key).unwrap();
            Box::pin(async move {
                let scale = Scale {
                    metadata: web.metadata.clone(),
                    spec: Some(ScaleSpec { replicas: Some(3) }),
                    status: None,
                };
                let scaled =
                    context.update_subresource::<Deployment, _>(&web.metadata, "scale", &scale);
                assert_eq!(scaled.await?.spec.unwrap().replicas, Some(3));
                Ok(Outcome::After(Duration::from_secs(1)))
            })
        }));
    let stop = CancellationToken::new();
    let term = Term::new(plane.client.clone(), stop.clone()).grace(Duration::from_secs(1));
    let running = journal::run(controller, term);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(runs.load(Ordering::Relaxed), 1, "until the store shows it");
    stop.cancel();
    running.await.unwrap();
    silence.lift();
    plane.stop().await;
}

fn deployment(name: &str) -> Deployment {
    let web = serde_json::json!({
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    });
    serde_json::from_value(web).unwrap()
}
