use evenkeel_pace::Rng;

use super::*;

fn standby(table: &mut Table) -> Player {
    let mut a = Player::new("A", 0.0);
    a.settle(0.0, table);
    a.tell(0.0, Input::WatchOpened);
    a.sent.clear();
    a
}

fn current(table: &Table) -> Input {
    Input::Seen(table.lease.clone().unwrap())
}

#[test]
fn a_standby_with_a_watch_does_not_poll() {
    let mut table = Table::held_by("rival", 15);
    let mut a = standby(&mut table);
    for second in 1..100 {
        let now = f64::from(second);
        if second % 2 == 0 {
            table.put("rival", 15, 0);
            a.tell(now, current(&table));
        }
        a.settle(now, &mut table);
    }
    assert!(a.sent.is_empty(), "{:?}", a.sent);
    // The holder dies: one lease and at most one retry period later it is replaced.
    a.run(98.0 + 14.9, &mut table);
    assert!(!a.leads());
    a.run(98.0 + 17.0, &mut table);
    assert!(a.leads());
    assert_eq!(a.sent, ["get", "update", "update"]);
    assert!(
        !a.said.contains(&Action::RestartWatch),
        "it had told all there was"
    );
}

/// Standbys that watch all learn of the same end; each waits a little longer, half a retry period
/// at most.
#[test]
fn l9_the_first_attempt_after_a_dead_holder_is_spread_over_half_a_period() {
    let mut latest = 0.0_f64;
    for seed in 0..64 {
        let mut table = Table::held_by("rival", 15);
        let mut a = Player::new("A", 0.0);
        a.machine.rng = Rng::seeded(seed);
        a.settle(0.0, &mut table);
        a.tell(0.0, Input::WatchOpened);
        table.put("rival", 15, 0);
        a.tell(1.0, current(&table));
        a.run(17.0, &mut table);
        assert!(a.leads(), "within half a period of 2 s after 16 s");
        let elected = a.fence().unwrap() - 15.0 + a.machine.me.margin.as_secs_f64();
        assert!(elected >= 16.0, "{elected}");
        latest = latest.max(elected);
    }
    assert!(latest > 16.5, "{latest}");
}

#[test]
fn a_released_lease_is_taken_at_once() {
    let mut table = Table::held_by("rival", 15);
    let mut a = standby(&mut table);
    table.put("", 1, 0);
    a.tell(1.5, current(&table));
    a.settle(1.5, &mut table);
    assert!(a.leads());
    assert_eq!(a.sent, ["get", "update", "update"]);
}

#[test]
fn a_broken_watch_falls_back_to_the_timer() {
    let mut table = Table::held_by("rival", 15);
    let mut a = standby(&mut table);
    a.tell(1.0, Input::WatchClosed);
    table.put("", 1, 0);
    let wait = a.machine.wake_at().unwrap() - at(1.0).moment;
    assert!(
        wait >= 2 * SECOND && wait < Duration::from_secs_f64(4.4),
        "{wait:?}"
    );
    a.run(5.5, &mut table);
    assert!(a.leads());
}

#[test]
fn a_watch_that_says_nothing_is_replaced_when_a_reading_knows_more() {
    let mut table = Table::held_by("rival", 15);
    let mut a = standby(&mut table);
    table.put("rival", 15, 0);
    a.run(16.0, &mut table);
    assert!(!a.leads());
    assert_eq!(a.sent, ["get"]);
    assert!(a.said.contains(&Action::RestartWatch));
    // The timer is back until the new watch is open.
    a.run(21.0, &mut table);
    assert!(a.sent.len() > 1);
}

#[test]
fn late_and_repeated_watch_events_change_nothing() {
    let mut table = Table::held_by("rival", 15);
    let old = table.lease.clone().unwrap();
    let mut a = standby(&mut table);
    table.put("rival", 15, 0);
    a.tell(1.0, current(&table));
    let wake = a.machine.wake_at();
    a.tell(5.0, current(&table));
    a.tell(6.0, Input::Seen(old.clone()));
    assert_eq!(a.machine.wake_at(), wake);
    a.run(30.0, &mut table);
    assert!(a.leads());
    a.tell(30.0, Input::Seen(old));
    assert!(a.leads(), "a stale view of the rival ended the term");
}

#[test]
fn an_event_that_overtakes_the_reading_is_not_undone_by_it() {
    let mut table = Table::held_by("rival", 15);
    let mut a = standby(&mut table);
    a.tell(1.0, Input::WatchClosed);
    a.tell(5.5, Input::Tick);
    let get = a.take().unwrap();
    let reading = table.apply(&get.operation);
    table.put("", 1, 0);
    a.tell(5.6, Input::WatchOpened);
    a.tell(5.6, current(&table));
    a.tell(
        5.7,
        Input::Answered {
            request: get.id,
            result: reading,
        },
    );
    a.settle(5.7, &mut table);
    assert!(a.leads());
}

#[test]
fn l10_a_leader_sees_its_successor_by_the_watch() {
    let mut table = Table::default();
    let mut a = standby(&mut table);
    assert!(a.leads());
    table.put("rival", 15, 1);
    a.tell(0.5, current(&table));
    a.take();
    assert_eq!(
        a.lost(),
        Some(&LossCause::Superseded {
            by: Some("rival".into())
        })
    );
}

#[test]
fn a_deletion_seen_by_the_holder_is_repaired_at_once_and_by_a_standby_waited_for() {
    let mut table = Table::default();
    let mut a = standby(&mut table);
    let mut b = Player::new("B", 0.0);
    b.settle(0.0, &mut table);
    let last = table.delete();
    b.tell(0.5, Input::SeenDeleted(last.clone()));
    b.settle(0.5, &mut table);
    assert_eq!(table.holder(), "");
    a.tell(0.5, Input::SeenDeleted(last));
    a.settle(0.5, &mut table);
    assert_eq!(table.holder(), "A");
    assert!(a.leads() && !b.leads());
    assert_eq!(a.sent, ["get", "create"], "nothing is there to update");
}

#[test]
fn a_leader_looks_at_once_when_its_lease_is_blanked_and_not_when_it_is_touched() {
    let mut table = Table::default();
    let mut a = standby(&mut table);
    assert!(a.leads());
    let wake = a.machine.wake_at();
    table.touch();
    a.tell(0.5, current(&table));
    assert_eq!((a.take(), a.machine.wake_at()), (None, wake));
    table.put("", 1, 0);
    a.tell(0.6, current(&table));
    a.settle(0.6, &mut table);
    assert_eq!(a.sent, ["get", "update"]);
    assert!(a.leads() && table.holder() == "A");
}

#[test]
fn a_holder_that_is_not_heard_of_is_dead_at_the_end_of_its_time() {
    let mut table = Table::held_by("rival", 15);
    let a = standby(&mut table);
    assert!(a.machine.is_held_by_other(at(14.999).moment));
    assert!(!a.machine.is_held_by_other(at(15.0).moment));
}

#[test]
fn a_deletion_of_an_earlier_object_is_no_news() {
    let mut table = Table::held_by("rival", 15);
    let gone = table.delete();
    let mut a = standby(&mut table);
    assert!(a.leads());
    a.tell(0.5, Input::SeenDeleted(gone));
    assert_eq!(a.take(), None);
}

#[test]
fn a_reading_that_knows_more_than_the_news_is_taken() {
    let mut table = Table::held_by("rival", 15);
    let mut a = standby(&mut table);
    a.tell(1.0, Input::WatchClosed);
    a.tell(5.5, Input::Tick);
    let get = a.take().unwrap();
    table.put("rival", 15, 0);
    a.tell(5.6, Input::WatchOpened);
    a.tell(5.6, current(&table));
    table.put("", 1, 0);
    let reading = table.apply(&get.operation);
    a.tell(
        5.7,
        Input::Answered {
            request: get.id,
            result: reading,
        },
    );
    a.settle(5.7, &mut table);
    assert!(a.leads());
}

/// A cluster that was restored from a backup goes on with earlier versions.
#[test]
fn a_reading_that_went_back_is_taken_if_nothing_newer_was_heard_of_meanwhile() {
    let mut table = Table::held_by("rival", 15);
    let mut backup = Table::held_by("", 1);
    for _ in 0..3 {
        table.put("rival", 15, 0);
    }
    let mut a = Player::new("A", 0.0);
    a.settle(0.0, &mut table);
    assert_eq!(a.leader(), Some("rival"));
    a.run(5.0, &mut backup);
    assert!(a.leads());
}
