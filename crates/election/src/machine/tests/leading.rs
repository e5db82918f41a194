use super::table::FENCE;
use super::*;

fn leader(table: &mut Table) -> Player {
    let mut a = Player::new("A", 0.0);
    a.settle(0.0, table);
    assert!(a.leads());
    a
}

#[test]
fn ts74_l8_the_fast_path_writes_without_reading() {
    let mut table = Table::default();
    let mut a = leader(&mut table);
    a.run(2.0, &mut table);
    assert_eq!(a.sent, ["get", "create", "update", "update"]);
}

#[test]
fn ts74_l8_a_conflict_on_the_fast_path_reads_and_writes_in_the_same_attempt() {
    let mut table = Table::default();
    let mut a = leader(&mut table);
    table.touch();
    a.run(2.0, &mut table);
    assert_eq!(a.sent[3..], ["update", "get", "update"]);
    assert!(a.said.contains(&Action::SlowPath));
    assert!(a.leads());
}

#[test]
fn ts73_a_renewal_keeps_the_transitions_and_the_time_of_acquisition() {
    let mut table = Table::held_by("", 1);
    let mut a = leader(&mut table);
    let first = table.lease.clone().unwrap().record;
    a.run(20.0, &mut table);
    let last = table.lease.clone().unwrap().record;
    assert_eq!(
        (last.transitions, last.acquired),
        (first.transitions, first.acquired)
    );
    assert_ne!(last.renewed, first.renewed);
}

#[test]
fn l6_a_renewal_differs_from_the_one_before_even_if_the_wall_clock_stands_still() {
    let mut table = Table::default();
    let mut a = leader(&mut table);
    // The first renewal follows in the same instant as the creation.
    let record = table.lease.clone().unwrap().record;
    assert_eq!(a.sent.len(), 3);
    assert_ne!(record.renewed, record.acquired);
    a.run(4.0, &mut table);
    assert!(a.leads());
}

#[test]
fn l10_failures_are_retried_each_period_until_the_deadline() {
    let mut table = Table::default();
    let mut a = leader(&mut table);
    a.run(8.0, &mut table);
    let good = a.sent.len();
    table.failures = vec![Failure::Rejected; 100];
    a.run(19.9, &mut table);
    assert!(a.leads());
    // Fast path and read at 10, 12, 14, 16 and 18 s.
    assert_eq!(a.sent.len() - good, 10);
    a.run(30.0, &mut table);
    let since = Duration::from_secs(12);
    assert_eq!(a.lost(), Some(&LossCause::NotRenewed { since }));
}

#[test]
fn b19_l12_a_hung_renewal_ends_the_term_within_12_s_of_the_last_good_one() {
    let mut table = Table::default();
    let mut a = leader(&mut table);
    a.run(8.0, &mut table);
    // From here on, no answer at all.
    let mut hung = 0;
    while a.leads() {
        let wake = a.machine.wake_at().unwrap();
        assert!(wake <= at(20.0).moment);
        a.tell(wake.since_origin().as_secs_f64(), Input::Tick);
        hung += usize::from(a.take().is_some());
    }
    assert!(
        hung >= 2,
        "one hung request must not eat the deadline (client-go L18)"
    );
    assert_eq!(a.fence(), Some(20.0));
}

#[test]
fn l10_a_valid_foreign_holder_ends_leadership_at_once() {
    let mut table = Table::default();
    let mut a = leader(&mut table);
    table.put("rival", 15, 1);
    a.run(2.0, &mut table);
    assert_eq!(
        a.sent[3..],
        ["update", "get"],
        "seen with the first reading"
    );
    assert_eq!(
        a.lost(),
        Some(&LossCause::Superseded {
            by: Some("rival".into())
        })
    );
    assert_eq!(a.leader(), Some("rival"));
}

/// Incident kubernetes#23731: the leader loses the Lease after a conflict and is never told.
#[test]
fn incident_3_a_conflict_then_another_holder_ends_the_term() {
    let mut table = Table::default();
    let mut a = leader(&mut table);
    table.failures = vec![Failure::Conflict, Failure::Unanswered];
    a.run(2.0, &mut table);
    assert!(a.leads());
    table.put("rival", 15, 1);
    a.run(4.0, &mut table);
    assert!(a.lost().is_some());
    assert!(
        a.fence().unwrap() < 15.0,
        "the fence closes before the rival's wait is over"
    );
}

#[test]
fn a_blanked_lease_is_taken_back_only_if_nobody_held_it_in_between() {
    let mut table = Table::default();
    let mut a = leader(&mut table);
    table.put("", 1, 0);
    a.run(2.0, &mut table);
    assert!(a.leads());
    assert_eq!(table.transitions(), 1);
    a.run(4.0, &mut table);
    assert!(a.leads());

    // Taken by a rival, who did its work and released, all since the last renewal.
    table.put("", 1, 2);
    a.run(6.0, &mut table);
    assert_eq!(a.lost(), Some(&LossCause::Superseded { by: None }));
    assert_eq!(table.holder(), "");
}

#[test]
fn a_deleted_lease_is_created_again_by_its_holder() {
    let mut table = Table::default();
    let mut a = leader(&mut table);
    table.delete();
    a.run(2.0, &mut table);
    assert!(a.leads());
    assert_eq!((table.holder(), table.transitions()), ("A", 0));
}

#[test]
fn the_fence_counts_from_the_send_not_from_the_answer() {
    let mut table = Table::default();
    let mut a = leader(&mut table);
    a.tell(2.0, Input::Tick);
    let renewal = a.take().unwrap();
    let result = table.apply(&renewal.operation);
    a.tell(
        6.0,
        Input::Answered {
            request: renewal.id,
            result,
        },
    );
    assert_eq!(a.take(), None);
    assert_eq!(a.fence(), Some(2.0 + FENCE.as_secs_f64()));
}

#[test]
fn a_stop_of_the_process_ends_the_term_before_anything_else_is_handled() {
    let mut table = Table::default();
    let mut a = leader(&mut table);
    a.tell(2.0, Input::Tick);
    let renewal = a.take().unwrap();
    let result = table.apply(&renewal.operation);
    // The answer was there long ago, but the process slept for a minute.
    a.tell(
        60.0,
        Input::Answered {
            request: renewal.id,
            result,
        },
    );
    a.take();
    assert!(matches!(a.lost(), Some(LossCause::NotRenewed { .. })));
}

/// A lease that is much longer than the renew deadline does not make a leader lead longer
/// without renewals.
#[test]
fn l10_the_renew_deadline_ends_the_term_even_if_the_lease_is_long() {
    let mut table = Table::default();
    let mut a = Player::new("A", 0.0);
    a.machine.me.timing.lease = 60 * SECOND;
    a.settle(0.0, &mut table);
    a.run(8.0, &mut table);
    table.failures = vec![Failure::Unanswered; 100];
    a.run(19.9, &mut table);
    assert!(a.leads());
    a.run(21.0, &mut table);
    assert!(a.lost().is_some());
    assert_eq!(a.fence(), Some(8.0 + 57.0));
}

/// An attempt that begins before its time, because the Lease was deleted, has the deadline from
/// its own beginning.
#[test]
fn l10_the_renew_deadline_counts_from_an_early_attempt() {
    let mut table = Table::default();
    let mut a = Player::new("A", 0.0);
    a.machine.me.timing.lease = 60 * SECOND;
    a.settle(0.0, &mut table);
    a.run(8.0, &mut table);
    let deleted = table.delete();
    table.failures = vec![Failure::Unanswered; 100];
    a.tell(8.5, Input::SeenDeleted(deleted));
    a.settle(8.5, &mut table);
    a.run(18.4, &mut table);
    assert!(a.leads());
    a.run(18.6, &mut table);
    assert!(a.lost().is_some());
}

#[test]
fn l8_a_lease_that_is_known_to_be_deleted_is_not_updated() {
    let mut table = Table::default();
    let mut a = leader(&mut table);
    let wake = a.machine.wake_at().unwrap().since_origin().as_secs_f64();
    a.tell(wake, Input::Tick);
    let renewal = a.take().unwrap();
    let deleted = table.delete();
    a.tell(wake, Input::SeenDeleted(deleted));
    for request in [Some(renewal), None] {
        let request = request.or_else(|| a.take()).unwrap().id;
        let result = Err(Failure::Unanswered);
        a.tell(wake, Input::Answered { request, result });
    }
    a.sent.clear();
    a.run(wake + 2.5, &mut table);
    assert_eq!(a.sent, ["get", "create"]);
    assert!(a.leads() && table.holder() == "A");
}
