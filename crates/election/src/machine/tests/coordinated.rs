//! The control plane assigns the lead.

use super::*;

fn coordinated(name: &str) -> Player {
    let me = Candidate {
        coordinated: true,
        ..candidate(name)
    };
    Player::of(me, 0.0)
}

fn current(table: &Table) -> Input {
    Input::Seen(table.lease.clone().unwrap())
}

#[test]
fn l21_ts79_a_coordinated_candidate_never_creates_or_takes_a_lease() {
    let mut table = Table::default();
    let mut a = coordinated("A");
    a.run(60.0, &mut table);
    assert!(table.lease.is_none(), "created");
    table.assign("rival", "");
    a.run(120.0, &mut table);
    assert_eq!(table.holder(), "rival", "taken though it has run out");
    table.assign("", "");
    a.run(180.0, &mut table);
    assert_eq!(table.holder(), "", "taken though nobody was assigned");
    assert!(!a.leads() && a.sent.iter().all(|name| *name == "get"));
    // It goes on looking, at the usual pace.
    assert!((40..=91).contains(&a.sent.len()), "{}", a.sent.len());
}

#[test]
fn l21_ts79_it_leads_when_it_is_assigned_and_keeps_the_strategy() {
    let mut table = Table::default();
    let mut a = coordinated("A");
    a.settle(0.0, &mut table);
    a.tell(0.5, Input::WatchOpened);
    table.assign("A", "");
    a.tell(1.0, current(&table));
    a.settle(1.0, &mut table);
    assert!(a.leads(), "the watch tells at once");
    assert_eq!(table.transitions(), 0);
    a.sent.clear();
    a.run(5.5, &mut table);
    assert_eq!(a.sent, ["get", "update", "get", "update"], "no fast path");
    assert!(!a.said.contains(&Action::SlowPath));
    let rest = &table.lease.as_ref().unwrap().record.rest;
    assert_eq!(rest["strategy"], "OldestEmulationVersion");
}

#[test]
fn l21_a_preferred_holder_ends_the_term_at_once_and_the_lease_is_given_back() {
    for watching in [true, false] {
        let mut table = Table::default();
        let mut a = coordinated("A");
        table.assign("A", "");
        a.run(3.0, &mut table);
        assert!(a.leads());
        table.assign("A", "B");
        if watching {
            a.tell(3.5, current(&table));
            a.take();
        } else {
            a.run(5.5, &mut table);
        }
        let preferred = "B".into();
        assert_eq!(a.lost(), Some(&LossCause::EndOfTerm { preferred }));
        a.tell(6.0, Input::Resign);
        a.settle(6.0, &mut table);
        assert_eq!(a.finished(), Some(Resignation::Released));
        assert_eq!(table.holder(), "");
    }
}

#[test]
fn l21_it_does_not_begin_while_another_is_preferred() {
    let mut table = Table::default();
    table.assign("A", "B");
    let mut a = coordinated("A");
    a.run(10.0, &mut table);
    assert!(!a.leads());
    a.run(30.0, &mut table);
    table.assign("A", "");
    a.run(35.0, &mut table);
    assert!(a.leads());
}

#[test]
fn l21_a_blanked_or_deleted_lease_is_not_taken_back() {
    for delete in [true, false] {
        let mut table = Table::default();
        table.assign("A", "");
        let mut a = coordinated("A");
        a.run(1.0, &mut table);
        if delete {
            table.delete();
        } else {
            table.assign("", "");
        }
        a.run(30.0, &mut table);
        assert!(a.lost().is_some());
        assert!(delete || table.holder().is_empty());
        assert_eq!(table.lease.is_none(), delete);
    }
}

#[test]
fn l21_an_assignment_that_has_run_out_is_none() {
    let mut table = Table::default();
    table.assign("A", "");
    table.failures = vec![Failure::Unanswered];
    let mut a = coordinated("A");
    a.settle(0.0, &mut table);
    a.tell(0.0, current(&table));
    table.failures = vec![Failure::Unanswered; 8];
    a.settle(0.0, &mut table);
    table.failures.clear();
    a.tell(15.0, Input::Tick);
    a.settle(15.0, &mut table);
    assert!(!a.leads());
    assert!(!a.sent.contains(&"update") || table.transitions() == 0);
}
