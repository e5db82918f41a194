use super::*;
use crate::NotElected;

#[tokio::test(start_paused = true)]
async fn ts70_l3_the_lease_is_created_renewed_and_given_back() {
    let world = World::new();
    let elector = world.builder("A").label("app", "demo").build().unwrap();
    let (cancel, work) = (CancellationToken::new(), Work::default());
    let running = run(&elector, &cancel, &work);
    until(|| work.is_running()).await;
    let lease = world.leases().get("demo").await.unwrap();
    let spec = &lease.data["spec"];
    assert_eq!(spec["holderIdentity"], "A");
    assert_eq!(
        (&spec["leaseDurationSeconds"], &spec["leaseTransitions"]),
        (&json!(15), &json!(0))
    );
    let renewed = spec["renewTime"].as_str().unwrap();
    let digits = renewed.rsplit_once('.').unwrap().1;
    assert_eq!(digits.len(), "123456Z".len(), "{renewed}");
    assert_eq!(lease.metadata.labels["app"], "demo");

    sleep(60 * SECOND).await;
    assert!(work.is_running());
    assert_ne!(world.spec().await["renewTime"], json!(renewed));
    cancel.cancel();
    assert_eq!(running.await.unwrap(), Ended::Released);
    assert_eq!(world.holder().await, "");
    assert_eq!(work.times_started(), 1);
}

/// Incident controller-runtime#2719: a follower that shuts down starts leader-only tasks.
#[tokio::test(start_paused = true)]
async fn incident_4_b22_a_standby_that_is_stopped_never_starts_the_work() {
    let world = World::new();
    let leader = world.lead("A").await;
    let (cancel, work) = (CancellationToken::new(), Work::default());
    let standby = run(&world.elector("B"), &cancel, &work);
    sleep(60 * SECOND).await;
    let stopped = Instant::now();
    cancel.cancel();
    assert_eq!(standby.await.unwrap(), Ended::NeverLed);
    assert!(stopped.elapsed() < SECOND);
    assert_eq!(work.times_started(), 0);
    leader.release().await;
}

#[tokio::test(start_paused = true)]
async fn a_released_lease_changes_hands_in_milliseconds() {
    let world = World::new();
    let leader = world.lead("A").await;
    let (cancel, work) = (CancellationToken::new(), Work::default());
    let standby = run(&world.elector("B"), &cancel, &work);
    sleep(33 * SECOND).await;
    leader.release().await;
    let took = until(|| work.is_running()).await;
    assert!(took < Duration::from_millis(100), "{took:?}");
    assert_eq!(world.spec().await["leaseTransitions"], 1);
    cancel.cancel();
    standby.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_standby_watches_one_lease_and_does_not_poll() {
    let world = World::new();
    let leader = world.lead("A").await;
    let cancel = CancellationToken::new();
    let _standby = run(&world.elector("B"), &cancel, &Work::default());
    sleep(10 * SECOND).await;
    world.network.clear();
    sleep(100 * SECOND).await;
    let verbs = world.network.verbs();
    assert!(
        verbs.iter().all(|verb| verb == http::Method::PUT),
        "{verbs:?}"
    );
    let count = verbs.len();
    assert!((49..=51).contains(&count), "only the leader's: {count}");
    drop(leader);
    let watches = world.network.watches();
    let one = "fieldSelector=metadata.name%3Ddemo";
    assert!(watches.iter().all(|query| query.contains(one)));
}

#[tokio::test(start_paused = true)]
async fn without_a_watch_the_timer_finds_a_released_lease() {
    let world = World::new();
    let faults = world.server.faults();
    faults.inject(When::verb(Verb::Watch), Fault::forbidden());
    let leader = world.lead("A").await;
    let (cancel, work) = (CancellationToken::new(), Work::default());
    let _standby = run(&world.elector("B"), &cancel, &work);
    sleep(33 * SECOND).await;
    assert!(!work.is_running());
    leader.release().await;
    let took = until(|| work.is_running()).await;
    assert!(took < Duration::from_secs_f64(4.4), "{took:?}");
    let watches = world.network.watches().len();
    assert!(watches < 6, "a refused watch is asked for in a loop");
}

#[tokio::test(start_paused = true)]
async fn a_silent_watch_costs_one_lease_at_most() {
    let world = World::new();
    let leader = world.lead("A").await;
    let silent = When::verb(Verb::Watch).times(1);
    world.server.faults().inject(silent, Fault::SilentWatch);
    let (cancel, work) = (CancellationToken::new(), Work::default());
    let _standby = run(&world.elector("B"), &cancel, &work);
    sleep(60 * SECOND).await;
    // By now the silence was noticed and the watch opened again.
    leader.release().await;
    let took = until(|| work.is_running()).await;
    assert!(took < Duration::from_millis(100), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn watches_that_are_cut_are_opened_again() {
    let world = World::new();
    let leader = world.lead("A").await;
    let (cancel, work) = (CancellationToken::new(), Work::default());
    let _standby = run(&world.elector("B"), &cancel, &work);
    for _ in 0..5 {
        sleep(7 * SECOND).await;
        world.server.faults().cut_watches();
        world.server.compact();
    }
    sleep(5 * SECOND).await;
    leader.release().await;
    let took = until(|| work.is_running()).await;
    assert!(took < Duration::from_millis(100), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn l5_l9_a_dead_leader_is_replaced_after_its_lease_and_at_most_one_retry_period() {
    let world = World::new();
    let leader = world.lead("A").await;
    let (cancel, work) = (CancellationToken::new(), Work::default());
    let _standby = run(&world.elector("B"), &cancel, &work);
    sleep(31 * SECOND).await;
    // As with kill -9: it just ends.
    drop(leader);
    let took = until(|| work.is_running()).await;
    assert!(took > 12 * SECOND && took < 17 * SECOND, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn l17_one_elector_campaigns_once_at_a_time_and_again_after() {
    let world = World::new();
    let elector = world.elector("A");
    let never = CancellationToken::new();
    let first = elector.campaign(&never).await.unwrap();
    let refused = elector.campaign(&never).await.unwrap_err();
    assert_eq!(refused, NotElected::Busy);
    first.release().await;
    let second = elector.clone().campaign(&never).await.unwrap();
    assert_eq!(second.term().transitions(), 1);
    assert!(second.fence().check().is_ok());
    drop(second);
    let third = elector.campaign(&never).await;
    assert!(third.is_ok(), "a lead that was dropped is over at once");
}

#[tokio::test(start_paused = true)]
async fn a_campaign_waits_for_a_server_that_is_not_there() {
    let world = World::new();
    let down = Fault::internal_error();
    let fault = world.server.faults().inject(When::any().on("leases"), down);
    let (cancel, work) = (CancellationToken::new(), Work::default());
    let _running = run(&world.elector("A"), &cancel, &work);
    sleep(120 * SECOND).await;
    assert!(!work.is_running());
    fault.lift();
    assert!(until(|| work.is_running()).await < 5 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn l18_the_election_has_its_own_user_agent() {
    let world = World::new();
    drop(world.lead("A").await);
    let agents = world.network.agents();
    assert!(!agents.is_empty());
    let own = |agent: &String| agent.ends_with("/leader-election");
    assert!(agents.iter().all(own), "{agents:?}");
}
