//! Starting, leading and stopping, over the embedded server in process and in virtual time.

#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

mod plane;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use evenkeel::client::{Client, WriteOptions};
use evenkeel::election::Clock;
use evenkeel::meta::{ApiResource, DynamicObject, Scope};
use evenkeel::{Election, Manager, ManagerError, Probe};
use evenkeel_apiserver::{Fault, Server, Verb, When};
use plane::LEASES;
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

fn manager(client: &Client, identity: &str) -> Manager {
    let mut election = Election::new("kube-system", "test");
    election.identity = Some(identity.to_owned());
    election.clock = Some(Clock::tokio());
    Manager::builder(client.clone())
        .election(election)
        .grace_period(Duration::from_secs(10))
        .build()
        .unwrap()
}

async fn holder(client: &Client) -> Option<String> {
    let lease = client
        .dynamic(LEASES, Some("kube-system"))
        .get_opt("test")
        .await
        .unwrap()?;
    Some(lease.data["spec"]["holderIdentity"].as_str()?.to_owned())
}

/// Counts the terms that it led, and takes its time to stop.
fn lead(manager: &mut Manager, takes: Duration) -> Arc<AtomicUsize> {
    let terms = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&terms);
    manager.run_leading("work", move |term| {
        counted.fetch_add(1, Ordering::Relaxed);
        async move {
            term.stop.cancelled().await;
            tokio::time::sleep(takes).await;
            Ok(())
        }
    });
    terms
}

#[tokio::test(start_paused = true)]
async fn incident_4_a_candidate_that_never_leads_starts_no_leading_work() {
    let client = Client::from_service(Server::new());
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "test", "namespace": "kube-system"},
        "spec": {"holderIdentity": "somebody", "leaseDurationSeconds": 86400,
            "renewTime": "2026-01-01T00:00:00.000000Z"},
    });
    let lease: DynamicObject = serde_json::from_value(lease).unwrap();
    let leases = client.dynamic(LEASES, Some("kube-system"));
    leases
        .create(&lease, &WriteOptions::default())
        .await
        .unwrap();

    let mut standby = manager(&client, "standby");
    let terms = lead(&mut standby, Duration::ZERO);
    let stop = CancellationToken::new();
    let running = tokio::spawn(standby.run(stop.clone()));
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let stopped = Instant::now();
    stop.cancel();
    running.await.unwrap().unwrap();
    assert!(stopped.elapsed() < Duration::from_secs(1));
    assert_eq!(terms.load(Ordering::Relaxed), 0);
    assert_eq!(
        holder(&client).await.as_deref(),
        Some("somebody"),
        "and the lease was not touched"
    );
}

#[tokio::test(start_paused = true)]
async fn client_go_l15_the_lease_is_given_back_only_after_the_work_was_joined() {
    let client = Client::from_service(Server::new());
    let mut leader = manager(&client, "leader");
    let terms = lead(&mut leader, Duration::from_secs(3));
    let stop = CancellationToken::new();
    let running = tokio::spawn(leader.run(stop.clone()));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(terms.load(Ordering::Relaxed), 1);
    stop.cancel();
    tokio::time::sleep(Duration::from_millis(2900)).await;
    assert_eq!(
        holder(&client).await.as_deref(),
        Some("leader"),
        "work is still going on"
    );
    running.await.unwrap().unwrap();
    assert_eq!(holder(&client).await.as_deref(), Some(""));
}

#[tokio::test(start_paused = true)]
async fn a_lost_lease_ends_the_term_and_the_manager_campaigns_again() {
    let server = Server::new();
    let client = Client::from_service(server.clone());
    let mut leader = manager(&client, "leader");
    let terms = lead(&mut leader, Duration::ZERO);
    let fenced = leader.client().clone();
    let stop = CancellationToken::new();
    let running = tokio::spawn(leader.run(stop.clone()));
    tokio::time::sleep(Duration::from_secs(1)).await;
    let outage = server.faults().inject(
        When::any().on("leases.coordination.k8s.io"),
        Fault::internal_error(),
    );
    tokio::time::sleep(Duration::from_secs(30)).await;

    // Not leading any more: a write does not even start.
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late", "namespace": "default"}});
    let map: DynamicObject = serde_json::from_value(map).unwrap();
    let maps = ApiResource::new_static("", "v1", "ConfigMap", "configmaps", Scope::Namespaced);
    let late = fenced
        .dynamic(maps.clone(), Some("default"))
        .create(&map, &WriteOptions::default())
        .await;
    assert!(late.is_err(), "{late:?}");
    assert!(
        client
            .dynamic(maps, Some("default"))
            .get_opt("late")
            .await
            .unwrap()
            .is_none()
    );

    outage.lift();
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert_eq!(terms.load(Ordering::Relaxed), 2);
    assert_eq!(holder(&client).await.as_deref(), Some("leader"));
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_part_that_fails_is_named_and_stops_the_others() {
    let client = Client::from_service(Server::new());
    let mut manager = manager(&client, "leader");
    let terms = lead(&mut manager, Duration::ZERO);
    manager.run_always("flaky", |_| async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        Err(std::io::Error::other("the disk is full").into())
    });
    let error = manager.run(CancellationToken::new()).await.unwrap_err();
    assert_eq!(error.to_string(), "flaky: the disk is full");
    assert!(matches!(error, ManagerError::Failed { .. }));
    assert_eq!(terms.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_part_that_panics_is_named() {
    let client = Client::from_service(Server::new());
    let mut manager = Manager::builder(client).build().unwrap();
    manager.run_leading("wild", |_| async { panic!("on purpose") });
    let error = manager.run(CancellationToken::new()).await.unwrap_err();
    assert_eq!(error.to_string(), "wild panicked");
}

/// A collection that may not be listed is named by the readiness check (incident 16).
#[tokio::test(start_paused = true)]
async fn incident_16_readiness_names_the_source_that_is_not_synced() {
    use evenkeel::meta::{Metadata, ObjectKey, Resource};
    use evenkeel::store::InformerOptions;
    use evenkeel::{Context, Controller, Outcome, ReconcileError, Reconciler};
    use k8s_openapi::api::core::v1::Secret;

    struct Nothing;
    impl Reconciler for Nothing {
        async fn reconcile(
            &self,
            _: &Context<ObjectKey>,
            _: &ObjectKey,
        ) -> Result<Outcome, ReconcileError> {
            Ok(Outcome::Done)
        }
    }
    let server = Server::new();
    let denied = [Verb::List, Verb::Watch].map(|verb| {
        server
            .faults()
            .inject(When::verb(verb).on("secrets"), Fault::forbidden())
    });
    let mut manager = Manager::builder(Client::from_service(server))
        .build()
        .unwrap();
    let secrets = manager
        .informers()
        .metadata(Secret::api_resource(), InformerOptions::default());
    let controller = Controller::builder("secrets")
        .for_::<Metadata>(&secrets)
        .reconciler(Nothing);
    manager.add(controller).unwrap();
    manager.probes().add(Probe::Live, "ping", || Ok(()));
    let probes = manager.probes().clone();
    let stop = CancellationToken::new();
    let running = tokio::spawn(manager.run(stop.clone()));
    tokio::time::sleep(Duration::from_secs(5)).await;
    let ready = probes.answer("/readyz", "").unwrap();
    assert!(!ready.passed);
    assert!(
        ready.body.contains("secrets") && ready.body.contains("orbidden"),
        "{}",
        ready.body
    );
    assert!(probes.answer("/livez", "").unwrap().passed);
    // Granted: it recovers by itself.
    denied.iter().for_each(evenkeel_apiserver::Injected::lift);
    tokio::time::sleep(Duration::from_secs(70)).await;
    assert!(probes.answer("/readyz", "").unwrap().passed);
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_grace_period_without_end_is_one() {
    let client = Client::from_service(Server::new());
    let mut manager = Manager::builder(client)
        .grace_period(Duration::MAX)
        .build()
        .unwrap();
    lead(&mut manager, Duration::from_secs(100_000));
    let stop = CancellationToken::new();
    let running = tokio::spawn(manager.run(stop.clone()));
    tokio::time::sleep(Duration::from_secs(1)).await;
    stop.cancel();
    running.await.unwrap().unwrap();
}
