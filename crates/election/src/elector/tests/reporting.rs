use evenkeel_meta::Reason;
use evenkeel_observe::{MemorySink, Metrics};
use evenkeel_pace::Moment;
use parking_lot::Mutex;

use super::*;
use crate::status::Status;
use crate::{BuildError, InvalidTiming, Timing};

#[tokio::test(start_paused = true)]
async fn m4_the_status_follows_the_term_and_slow_paths_are_counted() {
    let world = World::new();
    let sink = MemorySink::new();
    let builder = world.builder("A").metrics(Metrics::new(sink.clone()));
    let elector = builder.build().unwrap();
    let never = CancellationToken::new();
    let status = || sink.value("leader_election_master_status", &["demo"]);
    assert_eq!(status(), Some(0.0), "set at construction");
    let leader = elector.campaign(&never).await.unwrap();
    assert_eq!(status(), Some(1.0));
    let once = When::verb(Verb::Update).on("leases").times(1);
    let conflict = Fault::refuse(409, Reason::Conflict, "somebody was quicker");
    world.server.faults().inject(once, conflict);
    sleep(5 * SECOND).await;
    let slow = sink.value("leader_election_slowpath_total", &["demo"]);
    assert_eq!(slow, Some(1.0));
    leader.release().await;
    assert_eq!(status(), Some(0.0), "client-go L10: whichever way it ends");
    drop(elector.campaign(&never).await.unwrap());
    sleep(SECOND).await;
    assert_eq!(status(), Some(0.0));
}

#[tokio::test(start_paused = true)]
async fn m4_the_age_of_the_renewal_the_transitions_and_the_reasons_of_losses_are_shown() {
    let world = World::new();
    let sink = MemorySink::new();
    let builder = world.builder("A").metrics(Metrics::new(sink.clone()));
    let elector = builder.build().unwrap();
    let age = || sink.value("evenkeel_leader_election_seconds_since_renewal", &["demo"]);
    let losses = |reason| sink.value("evenkeel_leader_election_losses_total", &["demo", reason]);
    assert_eq!((age(), elector.since_renewal()), (Some(0.0), None));
    let never = CancellationToken::new();
    let leader = elector.campaign(&never).await.unwrap();
    world.hang();
    sleep(7 * SECOND).await;
    assert!(
        age().is_some_and(|age| age > 6.9 && age < 7.1),
        "{:?}",
        age()
    );
    leader.lost().await;
    assert_eq!(losses("not_renewed"), Some(1.0));
    assert_eq!((losses("superseded"), age()), (None, Some(0.0)));
    let cause = elector.last_loss();
    assert!(
        matches!(cause, Some(LossCause::NotRenewed { .. })),
        "{cause:?}"
    );
    world.server.faults().clear();
    leader.release().await;

    let leader = elector.campaign(&never).await.unwrap();
    world.usurp("rival").await;
    leader.lost().await;
    assert_eq!(losses("superseded"), Some(1.0));
    let transitions = sink.value("evenkeel_leader_election_transitions", &["demo"]);
    assert_eq!(transitions, Some(7.0), "as the Lease itself counts");
    let given_up = elector.last_loss();
    leader.release().await;
    assert_eq!(elector.last_loss(), given_up, "to give up is not to lose");
}

/// Whoever is asked what came of it must decide whether to campaign again.
#[tokio::test(start_paused = true)]
async fn l11_a_lost_lead_is_not_campaigned_for_again_by_itself() {
    let world = World::new();
    let (cancel, work) = (CancellationToken::new(), Work::default());
    let elector = world.elector("A");
    let running = run(&elector, &cancel, &work);
    until(|| work.is_running()).await;
    world.usurp("rival").await;
    assert!(matches!(running.await.unwrap(), Ended::Lost { .. }));
    world.network.clear();
    sleep(120 * SECOND).await;
    assert!(world.network.verbs().is_empty(), "it sends nothing more");
    assert_eq!(work.times_started(), 1);
    let again = run(&elector, &cancel, &work);
    until(|| work.is_running()).await;
    assert_eq!(work.times_started(), 2);
    cancel.cancel();
    assert_eq!(again.await.unwrap(), Ended::Released);
}

#[tokio::test(start_paused = true)]
async fn l9_l10_ts76_becoming_and_stopping_are_announced_in_order() {
    let world = World::new();
    let messages = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&messages);
    let builder = world.builder("A").announce(move |news| {
        heard.lock().push((news.namespace, news.name, news.message));
    });
    let never = CancellationToken::new();
    builder.build().unwrap().run(&never, |_| async {}).await;
    let news = |message: &str| (NAMESPACE.to_owned(), "demo".to_owned(), message.to_owned());
    assert_eq!(
        *messages.lock(),
        [news("A became leader"), news("A stopped leading")]
    );
}

#[tokio::test(start_paused = true)]
async fn l16_who_leads_is_seen_by_all_candidates() {
    let world = World::new();
    let (a, b) = (world.elector("A"), world.elector("B"));
    let mut seen = b.watch_leader();
    assert_eq!(seen.current(), None);
    let leader = a.campaign(&CancellationToken::new()).await.unwrap();
    assert_eq!(a.leader().as_deref(), Some("A"));
    assert!(a.is_leading() && !b.is_leading());
    let cancel = CancellationToken::new();
    let standby = run(&b, &cancel, &Work::default());
    assert_eq!(seen.changed().await.as_deref(), Some("A"));
    leader.release().await;
    until(|| b.is_leading()).await;
    assert_eq!(b.leader().as_deref(), Some("B"));
    cancel.cancel();
    standby.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn ts77_l20_health_fails_only_for_a_leader_that_does_not_renew() {
    let world = World::new();
    let elector = world.elector("A");
    assert_eq!(elector.check_health(2 * SECOND), Ok(()), "not leading");
    assert_eq!(elector.check_health(Duration::MAX), Ok(()));
    let leader = elector.campaign(&CancellationToken::new()).await.unwrap();
    sleep(60 * SECOND).await;
    assert_eq!(elector.check_health(2 * SECOND), Ok(()));
    leader.release().await;
    sleep(60 * SECOND).await;
    assert_eq!(elector.check_health(2 * SECOND), Ok(()));

    // An election that is stuck: only the clock tells.
    let at = |seconds| Moment::from(Duration::from_secs(seconds));
    let status = Status::new();
    status.set_leading(at(2));
    let check = |now| status.check("demo", 15 * SECOND + 2 * SECOND, at(now));
    assert_eq!(check(19), Ok(()));
    let stale = check(20).unwrap_err();
    assert!(
        stale
            .to_string()
            .starts_with("failed election to renew leadership on lease demo")
    );
    status.set_not_leading();
    status.set_renewed(at(2));
    assert_eq!(check(20), Ok(()), "a renewal that comes after the end");
}

#[tokio::test]
async fn ts77_l2_a_candidate_that_cannot_take_part_is_refused() {
    let world = World::new();
    let builder = || Elector::builder(world.client.clone()).lease("ns", "demo");
    let nameless = builder().identity("").build().unwrap_err();
    assert_eq!(nameless, BuildError::NoIdentity);
    let unnamed = Elector::builder(world.client.clone()).build();
    assert_eq!(unnamed.unwrap_err(), BuildError::NoLease);
    let (label, too_long) = ("a".repeat(63), "a".repeat(64));
    for namespace in ["n.s", "ns-", "-", "Ns", too_long.as_str()] {
        let elector = Elector::builder(world.client.clone()).lease(namespace, "demo");
        let refused = elector.build().unwrap_err();
        assert_eq!(refused, BuildError::BadNamespace(namespace.to_owned()));
    }
    let (longest, too_long) = (format!("{}.b", "a".repeat(251)), "a".repeat(254));
    for name in ["a/b", "..", "-a", "a.-b", "a.", "A", too_long.as_str()] {
        let elector = Elector::builder(world.client.clone()).lease("ns", name);
        let refused = elector.build().unwrap_err();
        assert_eq!(refused, BuildError::BadName(name.to_owned()));
    }
    for (namespace, name) in [(&*label, "a"), ("n-s", "a-b.example.com"), ("0", &*longest)] {
        let elector = Elector::builder(world.client.clone()).lease(namespace, name);
        assert!(elector.build().is_ok(), "{namespace}/{name}");
    }
    let timing = Timing {
        renew_deadline: 15 * SECOND,
        ..Timing::default()
    };
    assert!(matches!(
        builder().timing(timing).build().unwrap_err(),
        BuildError::Timing(InvalidTiming::LeaseTooShort { .. })
    ));
    assert!(matches!(
        builder().margin(5 * SECOND).build().unwrap_err(),
        BuildError::Timing(InvalidTiming::MarginTooLong { .. })
    ));
    let (a, b) = (builder().build().unwrap(), builder().build().unwrap());
    assert_ne!(a.identity(), b.identity(), "client-go L17");
}
