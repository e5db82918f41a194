//! Writes that are made only where they are needed, and what becomes of those that are refused.
#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

mod plane;

use std::sync::Arc;

use evenkeel::client::{Api, PatchOptions, WriteOptions};
use evenkeel::meta::{
    Condition, Conditions, DeleteOptions, MetaMut, MetaView, OwnershipError, Timestamp,
};
use evenkeel::{Context, Controller, Outcome, ReconcileError, Retry, WriteError, Written};
use futures_util::future::BoxFuture;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use serde_json::json;
use tokio::sync::mpsc;

use plane::act::Act;
use plane::journal::settle;
use plane::{Plane, config_map};

const FINALIZER: &str = "example.com/guard";

/// Runs `act` once, as a reconciler would be.
async fn once(
    plane: &Plane,
    act: impl for<'a> Fn(&'a Context<u32>) -> BoxFuture<'a, ()> + Send + Sync + 'static,
) {
    let (keys, received) = mpsc::channel(1);
    let (ended, mut runs) = mpsc::channel(1);
    let reconciler = Act::new(move |context, _| {
        let (act, ended) = (act(context), ended.clone());
        Box::pin(async move {
            act.await;
            ended.send(()).await.unwrap();
            Ok(Outcome::Done)
        })
    });
    let controller = Controller::builder("once")
        .receives(received)
        .reconciler(reconciler);
    let going = plane.begin(controller);
    keys.send(1).await.unwrap();
    let ran = tokio::time::timeout(std::time::Duration::from_secs(60), runs.recv());
    assert_eq!(
        ran.await,
        Ok(Some(())),
        "a panic is contained, so look above"
    );
    going.end().await;
}

/// The methods that were sent since the last look, reads and watches aside.
fn writes(plane: &Plane) -> Vec<String> {
    let requests = plane.server.take_requests().into_iter();
    let writes = requests.filter(|one| one.method != "GET");
    writes
        .map(|one| format!("{} {}", one.method, one.path))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn controller_runtime_t74_a_change_that_fails_comes_back_and_writes_nothing() {
    let plane = Plane::start();
    plane.create(&config_map("there")).await;
    settle().await;
    let maps = plane.client.namespaced::<ConfigMap>("default");
    let there = Arc::new(maps.get("there").await.unwrap());
    writes(&plane);
    let seen = Arc::clone(&there);
    once(&plane, move |context| {
        let there = Arc::clone(&seen);
        Box::pin(async move {
            for (observed, name) in [(None, "new"), (Some(&*there), "there")] {
                let draft = || config_map(name);
                let refused = context.create_or_patch(observed, draft, |map| {
                    map.immutable = Some(true);
                    map.metadata.set_controller(&config_map("no-uid"))
                });
                let error: WriteError<OwnershipError> = refused.await.unwrap_err();
                assert!(matches!(
                    &error,
                    WriteError::Change(OwnershipError::NoUid { owner, .. }) if owner.name() == "no-uid"
                ));
                assert!(error.as_client().is_none());
                let text = "ConfigMap default/no-uid cannot own anything: it has no UID";
                assert_eq!(ReconcileError::from(error).to_string(), text);

                // What a change says of the next run holds.
                let permanent = context.create_or_patch(observed, draft, |_| {
                    Err(ReconcileError::permanent("not as it is asked for"))
                });
                let error = ReconcileError::from(permanent.await.unwrap_err());
                assert_eq!(error.retry(), Retry::Never);

                // Another object is not this one's change.
                let renamed = context.create_or_patch(observed, draft, |map| {
                    map.metadata.name = Some("other".to_owned());
                });
                let text = renamed.await.unwrap_err().to_string();
                assert_eq!(
                    text,
                    format!("a change of default/{name} makes default/other of it, which is another object")
                );
            }
            // And where there is nothing to say, a closure says nothing.
            let draft = || config_map("new");
            let (made, written) = context.create_or_patch(None, draft, |_| ()).await.unwrap();
            assert_eq!(written, Written::Created);
            let again = context.create_or_patch(Some(&made), draft, |_| ()).await.unwrap();
            assert_eq!(again, (made, Written::Unchanged));
            let taken = context.create_or_patch(None, draft, |_| ()).await.unwrap_err();
            assert!(taken.as_client().unwrap().is_already_exists());
        })
    })
    .await;
    let create = "POST /api/v1/namespaces/default/configmaps";
    assert_eq!(writes(&plane), [create, create]);
    assert_eq!(maps.get("there").await.unwrap(), *there);
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn finalizers_come_with_the_object_as_it_is_from_there_on() {
    let plane = Plane::start();
    plane.create(&config_map("web")).await;
    let maps = plane.client.namespaced::<ConfigMap>("default");
    let read = Arc::new(maps.get("web").await.unwrap());
    writes(&plane);
    once(&plane, move |context| {
        let read = Arc::clone(&read);
        Box::pin(async move {
            let maps: Api<ConfigMap> = context.client().namespaced("default");
            let (with, written) = context.add_finalizer(&read, FINALIZER).await.unwrap();
            assert_eq!(written, Written::Patched);
            assert_eq!(*with, maps.get("web").await.unwrap());
            let (same, written) = context.add_finalizer(&with, FINALIZER).await.unwrap();
            assert_eq!(written, Written::Unchanged);
            assert!(Arc::ptr_eq(&same, &with), "nothing is copied");
            let (same, written) = context.remove_finalizer(&read, FINALIZER).await.unwrap();
            assert_eq!(written, Written::Unchanged, "as far as that state says");
            assert!(Arc::ptr_eq(&same, &read));

            maps.delete("web", &DeleteOptions::default()).await.unwrap();
            let going = Arc::new(maps.get("web").await.unwrap());
            let (same, written) = context
                .add_finalizer(&going, "example.com/late")
                .await
                .unwrap();
            assert_eq!(written, Written::Unchanged);
            assert!(Arc::ptr_eq(&same, &going));
            let (last, written) = context.remove_finalizer(&going, FINALIZER).await.unwrap();
            assert_eq!(written, Written::Patched);
            assert!(!last.metadata.has_finalizer(FINALIZER));
            let (gone, written) = context.remove_finalizer(&going, FINALIZER).await.unwrap();
            assert_eq!(written, Written::Unchanged);
            assert!(Arc::ptr_eq(&gone, &going));
        })
    })
    .await;
    let path = "/api/v1/namespaces/default/configmaps/web";
    let writes: Vec<String> = writes(&plane);
    let patch = format!("PATCH {path}");
    let delete = format!("DELETE {path}");
    assert_eq!(writes, [&*patch, &*delete, &*patch, &*patch]);
    plane.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_status_is_written_when_it_differs_and_nothing_else_with_it() {
    let plane = Plane::start();
    let budgets = plane.client.namespaced::<PodDisruptionBudget>("default");
    let mut budget = PodDisruptionBudget::default();
    budget.metadata.name = Some("web".to_owned());
    budgets
        .create(&budget, &WriteOptions::default())
        .await
        .unwrap();
    writes(&plane);
    once(&plane, |context| Box::pin(report(context))).await;
    let patch = "PATCH /apis/policy/v1/namespaces/default/poddisruptionbudgets/web";
    let status = format!("{patch}/status");
    assert_eq!(writes(&plane), [&*status, &*status, patch, &*status]);
    plane.stop().await;
}

async fn report(context: &Context<u32>) {
    let budgets: Api<PodDisruptionBudget> = context.client().namespaced("default");
    let before = budgets.get("web").await.unwrap();
    let found = |allowed: i32, now: i64| {
        move |budget: &mut PodDisruptionBudget| {
            let status = budget.status.get_or_insert_default();
            status.disruptions_allowed = Some(allowed);
            let condition = Condition::new("DisruptionAllowed", allowed > 0, "Counted");
            let conditions = status.conditions.get_or_insert_default();
            conditions.set_condition(condition, Timestamp::from_second(now));
            // Is not part of the status, so it is not sent, and does not make a difference.
            budget
                .metadata
                .labels
                .get_or_insert_default()
                .insert("a".into(), "b".into());
        }
    };
    let now = 1_800_000_000;
    let (one, written) = context.write_status(&before, found(1, now)).await.unwrap();
    assert_eq!(written, Written::Patched);
    assert_eq!(one, budgets.get("web").await.unwrap());
    assert_eq!(one.metadata.labels, None);
    let (_, written) = context.write_status(&one, found(1, now + 9)).await.unwrap();
    assert_eq!(written, Written::Unchanged);
    let (two, written) = context.write_status(&one, found(2, now + 9)).await.unwrap();
    assert_eq!(written, Written::Patched);
    let conditions = two.status.as_ref().unwrap().conditions.as_ref().unwrap();
    let since = conditions.condition("DisruptionAllowed").unwrap();
    assert_eq!(since.last_transition_time.0.as_second(), now);

    // A belief that is not true any more, and a change that fails.
    let label = evenkeel::client::Patch::merge(&json!({"metadata": {"labels": {"c": "d"}}}));
    let options = PatchOptions::default();
    budgets.patch("web", &label, &options).await.unwrap();
    let late = context.write_status(&two, found(3, now)).await.unwrap_err();
    assert!(late.as_client().unwrap().is_conflict());
    let owner = Namespace::default();
    let failed = context.write_status(&two, |budget| {
        found(3, now)(budget);
        budget.metadata.add_owner(&owner)
    });
    assert!(matches!(
        failed.await,
        Err(WriteError::Change(OwnershipError::NoUid { .. }))
    ));
}
