use super::*;
use crate::Resignation;

#[tokio::test(start_paused = true)]
async fn the_lead_is_given_up_when_the_work_ends_on_its_own() {
    let world = World::new();
    let never = CancellationToken::new();
    let ended = world.elector("A").run(&never, |_| async {}).await;
    assert_eq!(ended, Ended::Released);
    assert_eq!(world.holder().await, "");
}

#[tokio::test(start_paused = true)]
async fn run_or_die_returns_what_the_work_did_or_that_the_lead_was_lost() {
    let world = World::new();
    let elector = world.elector("A");
    let never = std::future::pending;
    let done = elector.run_or_die(never(), async |_| 7).await;
    assert_eq!(done, Ok(Some(7)));

    let until_told = async |term: Term| term.stop().cancelled().await;
    let done = elector.run_or_die(sleep(9 * SECOND), until_told).await;
    assert_eq!(done, Ok(Some(())));
    assert_eq!(world.holder().await, "");

    let _leader = world.lead("B").await;
    let done = elector.run_or_die(sleep(9 * SECOND), until_told).await;
    assert_eq!(done, Ok(None), "it never led");

    let world = World::new();
    let elector = world.elector("A");
    let overthrown = async |term: Term| {
        world.usurp("rival").await;
        term.stop().cancelled().await;
    };
    let lost = elector.run_or_die(never(), overthrown).await;
    let by = Some("rival".into());
    let cause = LossCause::Superseded { by };
    assert_eq!(lost, Err(crate::LostLead { cause }));
}

/// A hung API server: the work is stopped within 12 s of the last good renewal, 3 s before
/// any rival may begin.
#[tokio::test(start_paused = true)]
async fn b19_l12_l15_a_hung_server_stops_the_work_before_the_lease_is_over() {
    let world = World::new();
    let (cancel, work) = (CancellationToken::new(), Work::default());
    let running = run(&world.elector("A"), &cancel, &work);
    until(|| work.is_running()).await;
    sleep(20 * SECOND).await;
    world.hang();
    let took = until(|| !work.is_running()).await;
    assert!(took > 9 * SECOND && took <= 12 * SECOND, "{took:?}");
    let ended = running.await.unwrap();
    let Ended::Lost { cause } = ended else {
        panic!("{ended:?}");
    };
    assert!(matches!(cause, LossCause::NotRenewed { .. }), "{cause}");
}

#[tokio::test(start_paused = true)]
async fn l10_the_work_is_stopped_as_soon_as_another_holder_is_seen() {
    let world = World::new();
    let (cancel, work) = (CancellationToken::new(), Work::default());
    let running = run(&world.elector("A"), &cancel, &work);
    until(|| work.is_running()).await;
    sleep(21 * SECOND).await;
    world.usurp("rival").await;
    let took = until(|| !work.is_running()).await;
    assert!(took < Duration::from_millis(100), "{took:?}");
    let cause = LossCause::Superseded {
        by: Some("rival".into()),
    };
    assert_eq!(running.await.unwrap(), Ended::Lost { cause });
    assert_eq!(world.holder().await, "rival", "client-go L14");
}

#[tokio::test(start_paused = true)]
async fn l15_work_that_is_told_to_stop_keeps_its_lease_until_it_has() {
    let world = World::new();
    let patient = world.builder("A").join_timeout(120 * SECOND);
    let elector = patient.build().unwrap();
    let cancel = CancellationToken::new();
    let slow = async |term: Term| {
        cancel.cancel();
        term.stop().cancelled().await;
        // Twice the lease: without renewals a rival would lead by now.
        for _ in 0..30 {
            sleep(SECOND).await;
            assert!(term.fence().check().is_ok());
        }
    };
    assert_eq!(elector.run(&cancel, slow).await, Ended::Released);
    assert_eq!(world.holder().await, "");
}

#[tokio::test(start_paused = true)]
async fn l15_work_that_does_not_stop_is_dropped_and_the_lease_left_to_expire() {
    let world = World::new();
    let impatient = world.builder("A").join_timeout(5 * SECOND);
    let elector = impatient.build().unwrap();
    let cancel = CancellationToken::new();
    let stuck = async |_| {
        cancel.cancel();
        std::future::pending::<()>().await;
    };
    let start = Instant::now();
    assert_eq!(elector.run(&cancel, stuck).await, Ended::LeftToExpire);
    assert!(start.elapsed() < 6 * SECOND);
    assert_eq!(world.holder().await, "A");
    world.network.clear();
    sleep(60 * SECOND).await;
    let verbs = world.network.verbs();
    assert!(verbs.is_empty(), "nothing renews it any more");
}

#[tokio::test(start_paused = true)]
async fn the_lead_may_be_lost_while_the_work_is_ending() {
    let world = World::new();
    let patient = world.builder("A").join_timeout(120 * SECOND);
    let elector = patient.build().unwrap();
    let cancel = CancellationToken::new();
    let slow = async |term: Term| {
        cancel.cancel();
        world.usurp("rival").await;
        sleep(10 * SECOND).await;
        assert!(term.fence().check().is_err());
    };
    let ended = elector.run(&cancel, slow).await;
    assert!(matches!(ended, Ended::Lost { .. }), "{ended:?}");
    assert_eq!(world.holder().await, "rival");
}

/// Renewals failed, a rival leads, and only now the old leader gets to its release.
#[tokio::test(start_paused = true)]
async fn l14_b21_a_late_release_leaves_the_rivals_lease_alone() {
    let world = World::new();
    let leader = world.lead("A").await;
    world.hang();
    leader.lost().await;
    world.server.faults().clear();
    let rival = world.lead("B").await;
    assert_eq!(leader.release().await, Resignation::NotHeld);
    assert_eq!(world.holder().await, "B");
    sleep(30 * SECOND).await;
    assert!(rival.fence().check().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_release_that_is_never_answered_ends_after_the_renew_deadline() {
    let world = World::new();
    let leader = world.lead("A").await;
    world.hang();
    let start = Instant::now();
    assert!(matches!(leader.release().await, Resignation::Failed(_)));
    assert!(start.elapsed() <= 10 * SECOND + Duration::from_millis(5));
}

#[tokio::test(start_paused = true)]
async fn dropping_the_lead_seals_the_fence_and_ends_the_renewals() {
    let world = World::new();
    let leader = world.lead("A").await;
    let term = leader.term().clone();
    drop(leader);
    assert!(term.fence().check().is_err());
    assert!(term.stop().is_cancelled());
    sleep(SECOND).await;
    world.network.clear();
    sleep(30 * SECOND).await;
    assert!(world.network.verbs().is_empty());
    assert_eq!(world.holder().await, "A");
}

#[tokio::test(start_paused = true)]
async fn l13_a_standby_that_is_cancelled_sends_nothing_more() {
    let world = World::new();
    let _leader = world.lead("A").await;
    let cancel = CancellationToken::new();
    let standby = run(&world.elector("B"), &cancel, &Work::default());
    sleep(5 * SECOND + Duration::from_millis(500)).await;
    world.network.clear();
    cancel.cancel();
    standby.await.unwrap();
    assert!(world.network.verbs().is_empty());
}
