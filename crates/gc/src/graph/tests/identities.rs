//! One UID under several identities: conflicting references, wrong namespaces, other versions.

use evenkeel_meta::Scope;

use super::super::{Lookup, Verdict, Work};
use super::fixture::{Fixture, Object};
use crate::decide::Decision;

/// A server where the ConfigMap `n/owner` with UID `owner` is the only object.
fn only_the_owner(lookup: &Lookup) -> Verdict {
    let there = lookup.kind == "ConfigMap"
        && lookup.api_version == "v1"
        && lookup.name == "owner"
        && lookup.namespace.as_deref() == Some("n")
        && lookup.uid.as_str() == "owner";
    if there {
        Verdict::Alive
    } else {
        Verdict::Absent
    }
}

fn nothing(_: &Lookup) -> Verdict {
    Verdict::Absent
}

fn bad(name: &str) -> Object {
    Object::new(name).refers("v1", "Secret", "owner", "owner", false)
}

fn good(name: &str) -> Object {
    Object::new(name).owned_by("owner")
}

#[test]
fn gc_g14_t27_a_bad_child_seen_first_is_queued_when_the_parent_is_observed() {
    let mut f = Fixture::new();
    f.map(&bad("bad"));
    let [claim] = f.lookups()[..] else { panic!() };
    // The lookup is slow. Meanwhile the parent shows up; that must not vouch for the bad child.
    f.map(&Object::new("owner"));
    assert!(f.graph.lookup(claim).is_some());
    assert_eq!(f.answer(only_the_owner), 1);
    assert_eq!(f.deletion().target.name, "bad");
}

#[test]
fn gc_g14_t28_a_bad_child_seen_last_is_queued_when_it_is_linked() {
    let mut f = Fixture::new();
    f.map(&Object::new("owner")).map(&bad("bad"));
    assert_eq!(f.answer(only_the_owner), 1);
    assert_eq!(f.deletion().target.name, "bad");
}

#[test]
fn gc_g23_t29_two_claims_on_nobody_are_both_looked_up_and_both_children_go() {
    let mut f = Fixture::new();
    f.map(&bad("a")).map(&good("b")).map(&good("c").within("m"));
    assert_eq!(f.answer(nothing), 3);
    assert_eq!(f.names(), ["a", "b", "c"]);
    f.deleted("a").deleted("b").deleted("c");
    assert_eq!(
        (f.graph.size().observed, f.graph.size().virtual_nodes),
        (0, 0)
    );
}

#[test]
fn gc_t30_only_the_false_claimant_goes_in_any_order_of_events() {
    let objects = [
        Object::new("owner"),
        good("good"),
        bad("bad"),
        good("far").within("m"),
    ];
    for order in orders(objects.len()) {
        let mut f = Fixture::new();
        for &at in &order {
            f.map(&objects[at]);
            // Some lookups are answered in between, some are not.
            if order[0] % 2 == 0 {
                f.answer(only_the_owner);
            }
        }
        for object in &objects {
            f.map(object);
        }
        f.answer(only_the_owner);
        for object in &objects {
            f.map(object);
        }
        assert_eq!(f.names(), ["bad", "far"], "{order:?}");
    }
}

#[test]
fn gc_t31_kcm_b3_a_cluster_scoped_child_of_a_namespaced_owner_is_kept_and_left_alone() {
    let mut f = Fixture::new();
    f.node(&Object::new("child").cluster().blocks("owner"));
    assert_eq!(f.answer(|_| Verdict::Unresolvable), 1);
    f.node(&Object::new("child").cluster().blocks("owner").version(2));
    assert_eq!((f.lookups().len(), f.names().len()), (0, 0));
    // Nor does it block anybody, or vanish with the owner.
    f.map(&Object::new("owner").foreground());
    assert_eq!(f.names(), ["owner"]);
    f.deleted("owner");
    assert_eq!((f.lookups().len(), f.names().len()), (0, 0));
}

#[test]
fn gc_g47_an_unresolvable_reference_does_not_keep_others_from_being_let_go() {
    let mut f = Fixture::new();
    let child = Object::new("child").cluster().owned_by("owner");
    f.node(&child.refers("v1", "Node", "gone", "gone", true));
    f.answer(|lookup| match lookup.kind.as_str() {
        "Node" => Verdict::Absent,
        _ => Verdict::Unresolvable,
    });
    let _ = f.lookups();
    f.node(
        &Object::new("child")
            .cluster()
            .owned_by("owner")
            .refers("v1", "Node", "gone", "gone", true),
    );
    let (_, uids) = f.removal();
    assert_eq!(uids, ["gone"]);
}

#[test]
fn gc_t32_another_served_version_of_the_owner_keeps_its_dependents() {
    let mut f = Fixture::new();
    let child = || Object::new("child").refers("v1beta1", "ConfigMap", "owner", "owner", true);
    f.map(&Object::new("owner")).map(&child());
    assert_eq!(f.answer(|_| Verdict::Alive), 1);
    f.map(&child());
    assert_eq!(f.names(), Vec::<String>::new());
    // The owner's changes reach it, though its coordinates differ.
    f.map(&Object::new("owner").foreground().version(2));
    assert_eq!(f.answer(|_| Verdict::DeletingDependents), 1);
    f.map(&child());
    assert_eq!(f.deletion().target.name, "child");
    f.deleted("owner");
    assert_eq!(
        f.answer(nothing),
        1,
        "absent only once its own coordinates are"
    );
}

#[test]
fn gc_t33_an_unserved_version_is_never_taken_for_absent() {
    let mut f = Fixture::new();
    f.map(&Object::new("child").refers("nope.io/v1", "Nope", "owner", "owner", false));
    let [claim] = f.lookups()[..] else { panic!() };
    for _ in 0..10 {
        f.graph.verified(claim, Verdict::Unanswered);
        assert!(f.graph.lookup(claim).is_some(), "it is tried again");
        assert_eq!(f.names(), Vec::<String>::new());
    }
    // The kind gets served, and there is no such object.
    f.graph.verified(claim, Verdict::Absent);
    assert_eq!(f.deletion().target.name, "child");
}

#[test]
fn gc_t34_an_owner_made_anew_does_not_own_the_old_dependents() {
    let mut f = Fixture::new();
    f.map(&Object::new("owner").uid("old"));
    f.map(&Object::new("child").refers("v1", "ConfigMap", "owner", "old", false));
    f.deleted("old").map(&Object::new("owner").uid("new"));
    assert_eq!(f.deletion().target.name, "child");
}

#[test]
fn gc_t35_an_owner_that_is_there_after_all_saves_a_queued_dependent() {
    let mut f = Fixture::new();
    f.map(&good("child"));
    f.answer(nothing);
    let [Work::Collect(child)] = f.graph.take_work()[..] else {
        panic!()
    };
    f.map(&Object::new("owner"));
    assert_eq!(f.graph.decide(child), Decision::Settled);
}

#[test]
fn gc_t38_kcm_b9_an_owner_added_and_removed_in_a_watch_gap_leaves_nothing_behind() {
    let mut f = Fixture::new();
    f.map(&good("child"));
    assert_eq!(f.graph.size().virtual_nodes, 1);
    f.answer(nothing);
    assert_eq!(f.deletion().target.name, "child");
    f.deleted("child");
    assert_eq!(
        f.graph.size(),
        super::super::Size {
            node_bytes: f.graph.size().node_bytes,
            reference_bytes: f.graph.size().reference_bytes,
            ..Default::default()
        }
    );
}

#[test]
fn gc_g39_an_owner_that_no_informer_shows_is_looked_up_again() {
    let mut f = Fixture::new();
    f.map(&good("child"));
    let [claim] = f.lookups()[..] else { panic!() };
    f.graph.verified(claim, Verdict::Alive);
    assert!(f.graph.lookup(claim).is_some());
    f.map(&Object::new("owner"));
    assert!(f.graph.lookup(claim).is_none());
}

#[test]
fn kcm_b2_a_false_claim_disproved_says_nothing_about_the_true_one() {
    let mut f = Fixture::new();
    // After a restart the false claim may be seen and disproved before the owner is listed.
    f.map(&bad("bad")).map(&good("good"));
    f.answer(|lookup| match lookup.kind.as_str() {
        "Secret" => Verdict::Absent,
        _ => Verdict::Unanswered,
    });
    assert_eq!(f.names(), ["bad"]);
    f.map(&Object::new("owner")).map(&good("good"));
    assert_eq!(f.names(), ["bad"]);
}

#[test]
fn incident_6_gc_g24_a_reference_into_another_namespace_is_reported_once_and_absent_once_looked_up()
{
    for owner_first in [true, false] {
        let mut f = Fixture::new();
        let far = good("far").within("m");
        if owner_first {
            f.map(&Object::new("owner")).map(&far);
        } else {
            f.map(&far).map(&Object::new("owner"));
        }
        let work = f.graph.take_work();
        let Some(Work::Misplaced { claim, dependent }) = work
            .iter()
            .find(|work| matches!(work, Work::Misplaced { .. }))
        else {
            panic!("{work:?}");
        };
        let (target, lookup) = f.graph.misplaced(*dependent, *claim).unwrap();
        assert_eq!(target.name, "far");
        assert_eq!(lookup.namespace.as_deref(), Some("m"));
        // Alive elsewhere is no reason to delete: its own coordinates have to be disproved.
        f.map(&far);
        assert_eq!(f.names(), Vec::<String>::new());
        f.graph.verified(*claim, Verdict::Absent);
        assert_eq!(f.deletion().target.name, "far");
        f.map(&far.clone().version(2));
        assert_eq!(f.reports(), 0);
    }
}

#[test]
fn gc_g24_a_cluster_scoped_owner_serves_every_namespace_with_one_claim() {
    let mut f = Fixture::new();
    let child = |name: &str, namespace: &str| {
        Object::new(name)
            .within(namespace)
            .refers("v1", "Node", "owner", "owner", false)
    };
    f.map(&child("a", "n")).map(&child("b", "m"));
    assert_eq!(f.lookups().len(), 1);
    // Of a kind that discovery does not know, the scope is open, and so each namespace is asked.
    let unknown = |namespace: &str| {
        Object::new(namespace)
            .within(namespace)
            .refers("x.io/v1", "X", "x", "x", false)
    };
    f.map(&unknown("n")).map(&unknown("m"));
    assert_eq!(f.lookups().len(), 2);
    let kind = f.graph.kind("x.io/v1", "X", Some(Scope::Cluster));
    f.graph.observe(kind, &Object::new("x").cluster().0);
    f.map(&unknown("n")).map(&unknown("m")).map(&unknown("k"));
    assert_eq!((f.lookups().len(), f.names().len()), (0, 0));
}

#[test]
fn gc_g17_a_change_of_the_preferred_version_moves_the_node() {
    let mut f = Fixture::new();
    let v2 = f.graph.kind("v2", "ConfigMap", Some(Scope::Namespaced));
    f.map(&Object::new("owner")).map(&good("child"));
    f.graph.observe(v2, &Object::new("owner").version(2).0);
    // The reference still says v1, which is looked up now.
    assert_eq!(f.answer(|_| Verdict::Alive), 1);
    assert_eq!(f.names(), Vec::<String>::new());
    f.deleted("owner");
    assert_eq!(f.answer(nothing), 1);
    assert_eq!(f.deletion().target.name, "child");
}

#[test]
fn gc_t39_a_kind_that_is_no_longer_watched_deletes_nothing_by_itself() {
    let mut f = Fixture::new();
    let crs = f.graph.kind("x.io/v1", "X", Some(Scope::Namespaced));
    f.graph.observe(crs, &Object::new("x").0);
    f.map(&Object::new("child").refers("x.io/v1", "X", "x", "x", false));
    f.graph.drop_kind(crs);
    f.checked();
    let [claim] = f.lookups()[..] else { panic!() };
    assert_eq!(f.names(), Vec::<String>::new());
    f.graph.verified(claim, Verdict::Unanswered);
    assert_eq!(f.names(), Vec::<String>::new());
}

#[test]
fn a_relisted_absence_is_asked_about_and_not_believed() {
    let mut f = Fixture::new();
    f.map(&Object::new("owner")).map(&good("child"));
    f.graph.vanished("owner");
    assert_eq!(f.names(), Vec::<String>::new());
    f.map(&Object::new("owner").version(2))
        .map(&good("child").version(2));
    f.graph.vanished("owner");
    assert_eq!(f.answer(nothing), 1);
    assert_eq!(f.deletion().target.name, "child");
}

#[test]
fn gc_g41_an_orphaning_owner_releases_other_versions_and_not_false_claims() {
    let mut f = Fixture::new();
    let alias =
        |name: &str| Object::new(name).refers("v1beta1", "ConfigMap", "owner", "owner", false);
    f.map(&good("good")).map(&alias("alias")).map(&bad("bad"));
    let claims = f.lookups();
    f.map(&Object::new("owner").orphaning());
    assert!(f.names().is_empty(), "identities are open");
    // The false claim's kind is not to be had: that does not hold the owner up for ever.
    for &claim in &claims {
        f.graph.verified(claim, Verdict::Unanswered);
    }
    assert_eq!(f.names(), ["owner"]);
    for claim in claims {
        if let Some(lookup) = f.graph.lookup(claim) {
            f.graph.verified(
                claim,
                if lookup.kind == "Secret" {
                    Verdict::Absent
                } else {
                    Verdict::Alive
                },
            );
        }
    }
    let released: Vec<String> = f
        .decisions()
        .into_iter()
        .filter_map(|(_, decision)| match decision {
            Decision::Release(release) => Some(release.dependents),
            _ => None,
        })
        .flatten()
        .map(|patch| patch.target.name)
        .collect();
    assert_eq!(released, ["good", "alias"]);
}

fn orders(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let shorter = orders(n - 1);
    let insert = |order: &Vec<usize>| {
        (0..n)
            .map(|at| {
                let mut order = order.clone();
                order.insert(at, n - 1);
                order
            })
            .collect::<Vec<_>>()
    };
    shorter.iter().flat_map(insert).collect()
}
