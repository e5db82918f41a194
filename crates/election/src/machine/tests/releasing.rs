use super::*;

fn leader(table: &mut Table) -> Player {
    let mut a = Player::new("A", 0.0);
    a.settle(0.0, table);
    a.sent.clear();
    a
}

fn resign(player: &mut Player, now: f64, table: &mut Table) {
    player.tell(now, Input::Resign);
    player.settle(now, table);
}

#[test]
fn ts75_l13_release_reads_then_blanks() {
    let mut table = Table::held_by("", 1);
    let mut a = leader(&mut table);
    resign(&mut a, 1.0, &mut table);
    assert_eq!(a.sent, ["get", "update"]);
    assert_eq!(a.finished(), Some(Resignation::Released));
    let record = &table.lease.as_ref().unwrap().record;
    assert_eq!(record.holder, "");
    assert_eq!((record.duration_seconds, record.transitions), (Some(1), 1));
    assert_eq!(record.acquired, record.renewed);
    assert_eq!(a.machine.wake_at(), None);
}

#[test]
fn ts75_b21_a_conflict_is_read_and_tried_again() {
    let mut table = Table::default();
    let mut a = leader(&mut table);
    a.tell(1.0, Input::Resign);
    let get = a.take().unwrap();
    a.tell(
        1.0,
        Input::Answered {
            request: get.id,
            result: table.apply(&get.operation),
        },
    );
    // A renewal that was sent before arrives only now.
    table.touch();
    a.settle(1.0, &mut table);
    assert_eq!(a.sent, ["update", "get", "update"]);
    assert_eq!(
        (a.finished(), table.holder()),
        (Some(Resignation::Released), "")
    );
}

#[test]
fn ts76_a_release_does_not_wait_for_a_blocked_renewal() {
    let mut table = Table::default();
    let mut a = leader(&mut table);
    a.tell(2.0, Input::Tick);
    let blocked = a.take().unwrap();
    resign(&mut a, 3.0, &mut table);
    assert_eq!(a.finished(), Some(Resignation::Released));
    // It arrives after all: compare-and-swap turns it away.
    assert_eq!(table.apply(&blocked.operation), Err(Failure::Conflict));
    assert_eq!(table.holder(), "");
}

/// Renewals failed, a rival took the Lease, and the release comes late.
#[test]
fn l14_b21_a_late_release_does_not_blank_the_rivals_lease() {
    let mut table = Table::default();
    let mut a = leader(&mut table);
    table.failures = vec![Failure::Unanswered; 100];
    a.run(20.0, &mut table);
    assert!(a.lost().is_some());
    table.failures.clear();
    table.put("rival", 15, 1);
    a.sent.clear();
    resign(&mut a, 28.0, &mut table);
    assert_eq!(a.sent, ["get"]);
    assert_eq!(a.finished(), Some(Resignation::NotHeld));
    assert_eq!(table.holder(), "rival");
}

#[test]
fn l13_a_lease_that_is_still_mine_after_the_deadline_is_released() {
    let mut table = Table::default();
    let mut a = leader(&mut table);
    table.failures = vec![Failure::Unanswered; 100];
    a.run(20.0, &mut table);
    table.failures.clear();
    resign(&mut a, 20.0, &mut table);
    assert_eq!(
        (a.finished(), table.holder()),
        (Some(Resignation::Released), "")
    );
}

#[test]
fn l13_release_gives_up_on_other_errors_and_after_the_renew_deadline() {
    let mut table = Table::default();
    let mut a = leader(&mut table);
    table.failures = vec![Failure::Rejected];
    resign(&mut a, 1.0, &mut table);
    assert_eq!(a.finished(), Some(Resignation::Failed(Failure::Rejected)));

    let mut table = Table::default();
    let mut a = leader(&mut table);
    a.tell(1.0, Input::Resign);
    assert!(a.take().is_some());
    assert_eq!(a.machine.wake_at(), Some(at(11.0).moment));
    a.tell(11.0, Input::Tick);
    a.take();
    assert_eq!(a.finished(), Some(Resignation::Failed(Failure::Unanswered)));
}

#[test]
fn l13_b22_a_standby_that_is_cancelled_sends_nothing() {
    let mut table = Table::held_by("rival", 15);
    let mut a = Player::new("A", 0.0);
    a.settle(0.0, &mut table);
    a.sent.clear();
    resign(&mut a, 1.0, &mut table);
    assert!(a.sent.is_empty());
    assert_eq!(a.finished(), Some(Resignation::NotHeld));
}

#[test]
fn a_standby_that_is_cancelled_while_it_takes_the_lease_gives_it_back() {
    // Cancelled while the creation is on its way.
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
    a.tell(0.1, Input::Resign);
    a.settle(0.1, &mut table);
    assert_eq!(
        (a.finished(), table.holder()),
        (Some(Resignation::Released), "")
    );
    assert!(
        !a.said
            .iter()
            .any(|action| matches!(action, Action::Elected { .. }))
    );

    // Cancelled later, after a creation without an answer.
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
    table.apply(&create.operation).unwrap();
    a.tell(5.0, Input::Tick);
    resign(&mut a, 6.0, &mut table);
    assert_eq!(
        (a.finished(), table.holder()),
        (Some(Resignation::Released), "")
    );
}

/// Only a write whose answer is unknown may have made it the holder.
#[test]
fn a_standby_whose_requests_failed_for_certain_has_nothing_to_give_back() {
    // No answer to a reading.
    let mut table = Table::default();
    let mut a = Player::new("A", 0.0);
    a.tell(0.0, Input::Tick);
    a.take().unwrap();
    a.tell(5.0, Input::Tick);
    a.take();
    a.sent.clear();
    resign(&mut a, 5.0, &mut table);
    assert!(a.sent.is_empty(), "{:?}", a.sent);
    assert_eq!(a.finished(), Some(Resignation::NotHeld));

    // A write that was refused.
    let mut table = Table::default();
    let mut a = Player::new("A", 0.0);
    a.tell(0.0, Input::Tick);
    let get = a.take().unwrap();
    let result = table.apply(&get.operation);
    a.tell(
        0.0,
        Input::Answered {
            request: get.id,
            result,
        },
    );
    let create = a.take().unwrap();
    a.tell(
        0.1,
        Input::Answered {
            request: create.id,
            result: Err(Failure::Conflict),
        },
    );
    a.sent.clear();
    resign(&mut a, 0.2, &mut table);
    assert!(a.sent.is_empty(), "{:?}", a.sent);
    assert_eq!(a.finished(), Some(Resignation::NotHeld));
}
