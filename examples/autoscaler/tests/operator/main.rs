//! The life of autoscalers, on an API server in the process.

#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

mod cluster;

use autoscaler::{AFTER_FAILURE, Autoscaler, Reading};
use evenkeel::meta::Reason;
use evenkeel_apiserver::{Fault, Verb, When};
use k8s_openapi::api::apps::v1::Deployment;
use serde_json::json;

use cluster::{Cluster, Said, after};

fn said(status: &str, reason: &str) -> (String, String) {
    (status.to_owned(), reason.to_owned())
}

fn reading(value: f64) -> Reading {
    Reading::new(value).unwrap()
}

#[tokio::test(start_paused = true)]
async fn more_pods_come_at_once_and_fewer_after_the_window() {
    let cluster = Cluster::start(1, Said::Number(45.0), json!({})).await;
    assert_eq!(cluster.replicas().await, 5);
    let status = cluster.get::<Autoscaler>("web").await.status.unwrap();
    assert_eq!((status.replicas, status.asked), (Some(5), Some(5)));
    assert!(status.scaled_at.is_some());
    for type_ in ["Active", "Fresh"] {
        assert_eq!(cluster.condition("web", type_).await.0, "True");
    }

    // As many as asked for are no reason to write.
    assert_eq!(cluster.scalings(), 1);
    cluster.source.asked();
    after(3600).await;
    assert_eq!(cluster.scalings(), 0);
    assert_eq!(cluster.source.asked(), 3600 / 15);

    cluster.source.says(Said::Number(81.0));
    after(16).await;
    assert_eq!(cluster.replicas().await, 9);
    cluster.source.says(Said::Number(20.0));
    after(280).await;
    assert_eq!(cluster.replicas().await, 9);
    let status = cluster.get::<Autoscaler>("web").await.status.unwrap();
    assert_eq!((status.replicas, status.asked), (Some(9), Some(2)));
    after(40).await;
    assert_eq!(cluster.replicas().await, 2);
    assert_eq!(cluster.scalings(), 2);

    let told = cluster.events("Scaled").await;
    let expected = ["web from 1 to 5", "web from 5 to 9", "web from 9 to 2"];
    // Those of a first hour are gone by then.
    assert!(told.iter().eq(&expected[3 - told.len()..]), "{told:?}");
    assert!(!told.is_empty());

    // The bounds hold, whatever is asked for.
    cluster.source.says(Said::Number(1e9));
    after(16).await;
    assert_eq!(cluster.replicas().await, 12);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_number_that_is_sent_counts_at_once_and_as_long_as_it_is_fresh() {
    let cluster = Cluster::start(1, Said::Number(45.0), json!({})).await;
    cluster.source.asked();
    assert_eq!(cluster.push.tell("orders", reading(80.0)), 1);
    assert_eq!(cluster.push.tell("others", reading(80.0)), 0);
    after(1).await;
    assert_eq!(cluster.replicas().await, 8);
    // Nobody is asked while numbers come.
    for _ in 0..100 {
        cluster.push.tell("orders", reading(80.0));
        after(10).await;
    }
    assert_eq!(cluster.source.asked(), 0);
    after(16).await;
    assert_eq!(cluster.source.asked(), 1);
    assert_eq!(cluster.replicas().await, 8);
    after(400).await;
    assert_eq!(cluster.replicas().await, 5);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_source_that_is_down_is_told_and_left_alone_for_a_while() {
    let cluster = Cluster::start(20, Said::Down, json!({})).await;
    assert_eq!(
        cluster.condition("web", "Fresh").await,
        said("False", "SourceFailed")
    );
    assert_eq!(cluster.condition("web", "Active").await.0, "True");
    assert_eq!(
        cluster.replicas().await,
        12,
        "within the bounds all the same"
    );
    cluster.source.asked();
    after(10 * AFTER_FAILURE.as_secs()).await;
    let asked = cluster.source.asked();
    assert!((9..=11).contains(&asked), "{asked} times");
    assert_eq!(cluster.scalings(), 1);

    // What is sent will do meanwhile.
    cluster.push.tell("orders", reading(120.0));
    after(1).await;
    assert_eq!(
        cluster.condition("web", "Fresh").await,
        said("True", "Read")
    );

    cluster.source.says(Said::Nothing);
    after(60).await;
    let autoscaler = cluster.get::<Autoscaler>("web").await;
    let conditions = autoscaler.status.unwrap().conditions;
    let fresh = conditions.iter().find(|one| one.type_ == "Fresh").unwrap();
    assert_eq!(fresh.message, "the source has not answered within 5 s");
    cluster.source.says(Said::Number(120.0));
    after(60).await;
    assert_eq!(
        cluster.condition("web", "Fresh").await,
        said("True", "Read")
    );
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn nobody_is_fought_who_wants_no_pods() {
    let cluster = Cluster::start(1, Said::Number(45.0), json!({})).await;
    cluster.scale(0).await;
    after(1).await;
    assert_eq!(
        cluster.condition("web", "Active").await,
        said("False", "ScaledToZero")
    );
    cluster.scalings();
    cluster.source.asked();
    cluster.push.tell("orders", reading(80.0));
    after(24 * 3600).await;
    assert_eq!((cluster.replicas().await, cluster.scalings()), (0, 0));
    assert_eq!(cluster.source.asked(), 0);
    cluster.scale(1).await;
    after(1).await;
    assert_eq!(cluster.replicas().await, 5);
    assert_eq!(cluster.condition("web", "Active").await.0, "True");

    // Nor one who is faster: the operator does not know it yet.
    let silent = When::verb(Verb::Watch).on("deployments.apps");
    cluster.server.faults().inject(silent, Fault::SilentWatch);
    cluster.server.faults().cut_watches();
    after(2).await;
    cluster.scale(0).await;
    cluster.scalings();
    cluster.push.tell("orders", reading(80.0));
    after(5).await;
    assert!(cluster.scalings() > 0, "it has tried");
    assert_eq!(cluster.replicas().await, 0);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn who_scales_by_hand_is_heard_for_the_window() {
    let cluster = Cluster::start(1, Said::Number(45.0), json!({})).await;
    after(600).await;
    cluster.scale(9).await;
    after(280).await;
    assert_eq!(cluster.replicas().await, 9);
    after(40).await;
    assert_eq!(cluster.replicas().await, 5);
    cluster.scale(3).await;
    after(1).await;
    assert_eq!(cluster.replicas().await, 5);
    cluster.scale(30).await;
    after(1).await;
    assert_eq!(cluster.replicas().await, 12);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_write_that_fails_delays_it_and_no_more() {
    let cluster = Cluster::start(1, Said::Number(81.0), json!({})).await;
    cluster.source.says(Said::Number(20.0));
    after(200).await;
    // A conflict each time, until after the window.
    let scale = When::verb(Verb::Update)
        .on("deployments.apps")
        .subresource("scale");
    let lost = Fault::refuse(409, Reason::Conflict, "lost a race");
    let lost = cluster.server.faults().inject(scale, lost);
    after(130).await;
    assert_eq!(cluster.replicas().await, 9);
    assert!(cluster.scalings() > 2);
    lost.lift();
    after(60).await;
    assert_eq!(cluster.replicas().await, 2, "not for another window");
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn of_two_for_one_deployment_the_older_scales_it() {
    let cluster = Cluster::start(1, Said::Number(45.0), json!({})).await;
    let other = json!({"perPod": 5});
    cluster.autoscaler("a-younger-one", other).await;
    after(60).await;
    assert_eq!(cluster.replicas().await, 5);
    let told = cluster.condition("a-younger-one", "Active").await;
    assert_eq!(told, said("False", "TargetTaken"));
    cluster.delete::<Autoscaler>("web").await;
    after(1).await;
    assert_eq!(cluster.replicas().await, 9);
    assert_eq!(cluster.condition("a-younger-one", "Active").await.0, "True");

    cluster.delete::<Deployment>("web").await;
    after(1).await;
    let told = cluster.condition("a-younger-one", "Active").await;
    assert_eq!(told, said("False", "NoTarget"));
    cluster.deployment("web", 1).await;
    after(1).await;
    assert_eq!(cluster.replicas().await, 9);
    cluster.stop().await;
}
