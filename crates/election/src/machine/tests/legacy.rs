use super::*;
use crate::LeaseRecord;

/// The lock of an old release, held by `holder`.
fn record(holder: &str, renewal: i32) -> LeaseRecord {
    LeaseRecord {
        holder: holder.to_owned(),
        duration_seconds: Some(10),
        transitions: renewal,
        ..LeaseRecord::default()
    }
}

fn beside(legacy: LeaseRecord) -> Table {
    let mut table = Table::default();
    table.legacy = Some(legacy);
    table
}

fn said_held_elsewhere(player: &Player) -> usize {
    let said = player.said.iter();
    said.filter(|action| matches!(action, Action::HeldElsewhere(holder) if &**holder == "old"))
        .count()
}

#[test]
fn l22_a_lease_is_not_taken_while_the_old_lock_is_held_and_that_is_said_once() {
    let mut table = beside(record("old", 0));
    let mut a = Player::new("A", 0.0);
    a.settle(0.0, &mut table);
    a.run(8.0, &mut table);
    // The old holder is alive: its time begins anew.
    table.legacy = Some(record("old", 1));
    a.run(12.0, &mut table);
    assert!(!a.leads());
    assert_eq!(said_held_elsewhere(&a), 2, "once a state of the old lock");
    assert!(a.sent.iter().all(|name| *name == "get"), "{:?}", a.sent);
    let until = a.machine.held_elsewhere_until().unwrap();
    assert!(until > at(18.0).moment && until <= at(22.0).moment);
    assert!(!a.machine.is_held_elsewhere(until), "it has run out");
    a.run(27.0, &mut table);
    assert!(a.leads());
}

#[test]
fn l22_an_old_lock_that_nobody_holds_keeps_nobody_waiting() {
    for holder in ["", "A"] {
        let mut table = beside(record(holder, 0));
        let mut a = Player::new("A", 0.0);
        a.settle(0.0, &mut table);
        assert!(a.leads());
        let said = |action: &Action| matches!(action, Action::HeldElsewhere(_));
        assert!(!a.said.iter().any(said), "{holder}: {:?}", a.said);
    }
}

#[test]
fn l22_a_leader_whose_lease_is_deleted_beside_an_old_lock_creates_it_again() {
    let mut table = beside(record("", 0));
    let mut a = Player::new("A", 0.0);
    a.settle(0.0, &mut table);
    a.sent.clear();
    let deleted = table.delete();
    a.tell(0.5, Input::SeenDeleted(deleted));
    a.settle(0.5, &mut table);
    assert_eq!(a.sent, ["get", "create"]);
    assert!(a.leads() && table.holder() == "A");
}
