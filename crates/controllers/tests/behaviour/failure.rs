use std::time::Duration;

use evenkeel_apiserver::{Fault, Verb, When};
use evenkeel_meta::{Reason, Status, StatusCause, StatusDetails};
use http::Method;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use serde_json::json;

use crate::census::Census;
use crate::plane::{MANAGER, Plane, condition, deployment, replica_set, seconds, settle};

#[tokio::test(start_paused = true)]
async fn kcm_c3_refused_pods_are_met_by_few_requests_and_reported_until_healed() {
    let plane = Plane::new();
    let nodes = plane.nodes(Duration::ZERO);
    let manager = plane.manager();
    settle().await;
    let quota = Fault::refuse(403, Reason::Forbidden, "exceeded quota: three pods");
    let refused = When::verb(Verb::Create).on("pods").after(3);
    let refused = plane.server.faults().inject(refused, quota);
    plane.server.take_requests();
    plane
        .create::<Deployment>(deployment("web", 10, json!({})))
        .await;
    settle().await;

    let asked = plane.server.take_requests();
    let first_pass = asked.iter().take_while(|request| {
        !(request.method == Method::PUT
            && request.path.contains("/replicasets/")
            && request.path.ends_with("/status"))
    });
    let made = first_pass
        .filter(|request| request.method == Method::POST && request.path.ends_with("/pods"));
    assert_eq!(made.count(), 7, "1, 2, then 4 that are refused");
    let made = asked
        .iter()
        .filter(|request| request.method == Method::POST && request.path.ends_with("/pods"));
    assert!(
        made.count() < 20,
        "the later passes try one each, ever less often"
    );
    assert_eq!(plane.active_pods().await.len(), 3);

    let set = &plane.sets().await[0];
    let failure = &set.status.as_ref().unwrap().conditions.as_ref().unwrap()[0];
    let of = |text: &Option<String>| text.clone().unwrap();
    assert_eq!(
        [
            of(&failure.type_),
            of(&failure.status),
            of(&failure.reason),
            of(&failure.message)
        ],
        [
            "ReplicaFailure",
            "True",
            "FailedCreate",
            "exceeded quota: three pods"
        ]
    );
    let status = plane.status("web").await;
    assert_eq!(
        condition(&status, "ReplicaFailure").unwrap(),
        "True FailedCreate exceeded quota: three pods"
    );
    let events = plane.events().await;
    assert!(
        events.contains(
            &"Warning FailedCreate Error creating: exceeded quota: three pods".to_owned()
        ),
        "{events:?}"
    );

    refused.lift();
    plane.rolled_out("web").await;
    settle().await;
    assert_eq!(
        condition(&plane.status("web").await, "ReplicaFailure"),
        None
    );
    assert_eq!(
        plane.sets().await[0].status.as_ref().unwrap().conditions,
        None
    );
    manager.stop().await;
    nodes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn kcm_c3_in_a_namespace_that_goes_there_is_nothing_to_report() {
    let plane = Plane::new();
    let manager = plane.manager();
    settle().await;
    let mut status = Status::failure(403, Reason::Forbidden, "n is being terminated");
    status.details = Some(StatusDetails {
        causes: vec![StatusCause {
            reason: "NamespaceTerminating".into(),
            ..StatusCause::default()
        }],
        ..StatusDetails::default()
    });
    let refused = When::verb(Verb::Create).on("pods");
    plane
        .server
        .faults()
        .inject(refused, Fault::Refuse(Box::new(status)));
    plane.server.take_requests();
    plane
        .create::<ReplicaSet>(replica_set("web", 10, json!({})))
        .await;
    seconds(60).await;
    assert_eq!(
        plane
            .get::<ReplicaSet>("web")
            .await
            .status
            .unwrap()
            .conditions,
        None
    );
    assert!(plane.events().await.is_empty());
    let asked = plane.server.take_requests();
    let made = asked
        .iter()
        .filter(|request| request.method == Method::POST && request.path.ends_with("/pods"));
    assert!(made.count() <= 20, "not tried over and over");
    manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_rollout_gets_through_cut_watches_compacted_history_and_errors() {
    let plane = Plane::new();
    let nodes = plane.nodes(Duration::from_millis(700));
    let manager = plane.manager();
    plane
        .create::<Deployment>(deployment("web", 10, json!({})))
        .await;
    plane.rolled_out("web").await;
    let census = Census::start(&plane).await;
    let faults = plane.server.faults();
    plane.set_image("web", "img:2").await;
    for round in 0..20_u64 {
        match round % 5 {
            0 => faults.cut_watches(),
            1 => {
                let any = When::any().user_agent(MANAGER).after(round).times(7);
                drop(faults.inject(any, Fault::internal_error()));
            }
            2 => {
                let writes = When::verb(Verb::Create).user_agent(MANAGER).times(3);
                drop(faults.inject(writes, Fault::LoseAnswer));
            }
            3 => {
                let any = When::any().user_agent(MANAGER).times(5);
                drop(faults.inject(any, Fault::too_many_requests(1)));
            }
            _ => {
                let watches = When::verb(Verb::Watch).user_agent(MANAGER).times(2);
                drop(faults.inject(watches, Fault::expired()));
                faults.cut_watches();
            }
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    faults.clear();
    faults.cut_watches();
    plane.rolled_out("web").await;
    settle().await;
    assert_eq!(plane.active_pods().await.len(), 10);
    assert_eq!(plane.sizes().await, [0, 10]);
    assert!(census.fewest_ready() >= 8, "{}", census.fewest_ready());
    manager.stop().await;
    nodes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn kcm_b30_a_pod_watch_that_falls_silent_brings_no_surplus() {
    let plane = Plane::new();
    let nodes = plane.nodes(Duration::ZERO);
    let manager = plane.manager();
    plane
        .create::<ReplicaSet>(replica_set("web", 3, json!({})))
        .await;
    settle().await;
    let census = Census::start(&plane).await;
    let silence = When::verb(Verb::Watch).on("pods").user_agent(MANAGER);
    let silence = plane.server.faults().inject(silence, Fault::SilentWatch);
    plane.server.faults().cut_watches();
    settle().await;
    plane
        .patch::<ReplicaSet>("web", json!({"spec": {"replicas": 6}}))
        .await;
    // Longer than own writes are waited for.
    seconds(40).await;
    assert_eq!(plane.active_pods().await.len(), 6);
    plane
        .patch::<ReplicaSet>("web", json!({"spec": {"replicas": 2}}))
        .await;
    seconds(40).await;
    silence.lift();
    plane.server.faults().cut_watches();
    seconds(40).await;
    assert_eq!(plane.active_pods().await.len(), 2);
    assert_eq!(census.most_active(), 6);
    manager.stop().await;
    nodes.stop().await;
}
