use super::*;

#[test]
fn ts70_no_lease_is_created_and_an_empty_one_taken() {
    let mut table = Table::default();
    let mut a = Player::new("A", 0.0);
    a.settle(0.0, &mut table);
    assert_eq!((table.holder(), table.transitions()), ("A", 0));
    assert_eq!((a.leader(), a.machine.transitions()), (Some("A"), 0));

    let mut table = Table::held_by("", 1);
    let mut b = Player::new("B", 0.0);
    b.settle(0.0, &mut table);
    assert_eq!((table.holder(), table.transitions()), ("B", 1));
    assert_eq!(b.machine.transitions(), 1);
    assert_eq!(b.sent[..2], ["get", "update"], "client-go L9");
}

#[test]
fn ts71_kube_rs_1_a_foreign_lease_is_refused_until_its_duration_has_passed_unchanged() {
    let mut table = Table::held_by("rival", 3);
    let mut a = Player::new("A", 0.0);
    a.run(2.9, &mut table);
    assert!(!a.leads());
    assert_eq!(a.leader(), Some("rival"));
    a.run(8.0, &mut table);
    assert_eq!((table.holder(), table.transitions()), ("A", 1));
}

#[test]
fn ts72_an_empty_holder_is_taken_though_the_record_is_fresh() {
    let mut table = Table::held_by("rival", 60);
    let mut a = Player::new("A", 0.0);
    a.settle(0.0, &mut table);
    assert!(!a.leads());
    table.put("", 60, 0);
    a.run(5.0, &mut table);
    assert!(a.leads());
}

#[test]
fn l4_times_in_the_record_are_never_compared_with_the_local_clock() {
    // The record says it was renewed in 1970: dead for decades, by the wall clock.
    let mut table = Table::held_by("rival", 15);
    let mut a = Player::new("A", 0.0);
    a.run(14.9, &mut table);
    assert!(
        !a.leads(),
        "client-go L5: a fresh process waits a full lease"
    );
    a.run(20.0, &mut table);
    assert!(a.leads());
}

#[test]
fn l6_two_renewals_within_one_second_are_two_and_a_touched_label_is_none() {
    let mut table = Table::held_by("rival", 15);
    let mut a = Player::new("A", 0.0);
    a.settle(0.0, &mut table);
    // Changes of a few microseconds only, in the record.
    let mut now = 0.0;
    while now < 40.0 {
        now += 2.0;
        table.put("rival", 15, 0);
        a.run(now, &mut table);
        assert!(!a.leads(), "taken from a living holder at {now}");
    }
    // Now it is dead, but somebody keeps touching the object.
    while now < 70.0 {
        now += 2.0;
        table.touch();
        a.run(now, &mut table);
    }
    assert!(a.leads());
}

#[test]
fn l7_any_failure_fails_the_attempt_and_l9_the_next_is_a_jittered_period_later() {
    for failure in [Failure::Rejected, Failure::Unanswered, Failure::Conflict] {
        let mut table = Table::held_by("", 1);
        table.failures = vec![failure];
        let mut a = Player::new("A", 0.0);
        a.settle(0.0, &mut table);
        assert_eq!(a.sent, ["get"]);
        let wait = a.machine.wake_at().unwrap() - at(0.0).moment;
        assert!(
            wait >= 2 * SECOND && wait < Duration::from_secs_f64(4.4),
            "{wait:?}"
        );
    }
}

#[test]
fn l7_a_lost_race_for_the_lease_leaves_it_with_the_winner() {
    let mut table = Table::held_by("", 1);
    let mut a = Player::new("A", 0.0);
    a.tell(0.0, Input::Tick);
    let get = a.take().unwrap();
    let read = table.apply(&get.operation);
    table.put("rival", 15, 1);
    a.tell(
        0.1,
        Input::Answered {
            request: get.id,
            result: read,
        },
    );
    a.settle(0.1, &mut table);
    assert_eq!(table.holder(), "rival");
    assert!(!a.leads());
}

#[test]
fn b20_the_holders_duration_counts_not_the_candidates() {
    let mut table = Table::held_by("rival", 60);
    let mut a = Player::new("A", 0.0);
    a.run(59.9, &mut table);
    assert!(!a.leads());
    a.run(65.0, &mut table);
    assert!(a.leads());
}

#[test]
fn l17_a_restart_with_the_same_identity_goes_on_at_once() {
    let mut table = Table::held_by("A", 15);
    let mut a = Player::new("A", 0.0);
    a.settle(0.0, &mut table);
    assert!(a.leads());
    assert_eq!(table.transitions(), 0);
}

#[test]
fn a_hung_request_is_given_up_and_a_late_answer_is_not_taken_for_the_next_one() {
    let mut table = Table::default();
    let mut a = Player::new("A", 0.0);
    a.tell(0.0, Input::Tick);
    let hung = a.take().unwrap();
    assert_eq!(a.machine.wake_at(), Some(at(5.0).moment));
    a.tell(5.0, Input::Tick);
    assert_eq!(a.machine.awaiting(), None);
    a.run(10.0, &mut table);
    assert!(a.leads());
    a.tell(
        10.0,
        Input::Answered {
            request: hung.id,
            result: Err(Failure::NotFound),
        },
    );
    assert!(a.leads() && a.take().is_none());
}

#[test]
fn an_answer_that_comes_after_its_own_term_elects_nobody() {
    let mut table = Table::default();
    let mut a = Player::new("A", 0.0);
    a.tell(0.0, Input::Tick);
    let get = a.take().unwrap();
    a.tell(
        0.0,
        Input::Answered {
            request: get.id,
            result: table.apply(&get.operation),
        },
    );
    let create = a.take().unwrap();
    let created = table.apply(&create.operation);
    // The process was stopped for 13 s, and the answer is handled before any timer.
    a.tell(
        13.0,
        Input::Answered {
            request: create.id,
            result: created,
        },
    );
    assert!(!a.leads());
    a.run(20.0, &mut table);
    assert!(a.leads(), "the next attempt finds the Lease to be its own");
    assert_eq!(table.transitions(), 0);
}

#[test]
fn a_deleted_lease_frees_nothing_for_those_who_saw_its_holder() {
    let mut table = Table::held_by("rival", 15);
    let mut a = Player::new("A", 0.0);
    a.settle(0.0, &mut table);
    table.delete();
    a.run(14.9, &mut table);
    assert!(!a.leads());
    assert!(!a.sent.contains(&"create"));
    a.run(20.0, &mut table);
    assert!(a.leads());
    assert_eq!(table.transitions(), 0);
}

#[test]
fn a_wake_up_before_its_time_asks_for_nothing() {
    let mut table = Table::held_by("rival", 60);
    let mut a = Player::new("A", 0.0);
    a.settle(0.0, &mut table);
    a.tell(0.1, Input::Tick);
    assert_eq!(a.take(), None, "while campaigning");

    let mut table = Table::default();
    let mut a = Player::new("A", 0.0);
    a.settle(0.0, &mut table);
    assert!(a.leads());
    a.tell(0.1, Input::Tick);
    assert_eq!(a.take(), None, "while leading");
}
