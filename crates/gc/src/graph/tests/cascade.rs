//! Background, foreground and orphan, one rule at a time.

use evenkeel_meta::PropagationPolicy;
use serde_json::json;

use super::super::{Verdict, Work};
use super::fixture::{Fixture, Object};
use crate::decide::{AfterConflict, Decision};

fn owner() -> Object {
    Object::new("owner")
}

fn part() -> Object {
    Object::new("part").owned_by("owner")
}

#[test]
fn gc_g20_an_observed_deletion_needs_no_lookup() {
    let mut f = Fixture::new();
    f.map(&owner()).map(&part().version(7));
    assert_eq!(f.graph.take_work(), []);
    f.deleted("owner");
    let deletion = f.deletion();
    assert_eq!(deletion.policy, PropagationPolicy::Background);
    let options = serde_json::to_value(deletion.options()).unwrap();
    assert_eq!(
        options,
        json!({"propagationPolicy": "Background", "preconditions": {"uid": "part", "resourceVersion": "7"}})
    );
}

#[test]
fn gc_g20_the_owner_is_known_absent_for_dependents_that_show_up_later() {
    let mut f = Fixture::new();
    f.map(&owner()).map(&part()).deleted("owner");
    f.map(&Object::new("late").owned_by("owner"));
    assert_eq!(f.lookups(), []);
    assert_eq!(f.names(), ["late", "part"]);
}

#[test]
fn gc_g21_a_deletion_of_an_unknown_uid_is_ignored() {
    let mut f = Fixture::new();
    f.deleted("nobody").map(&part());
    assert_eq!(f.lookups().len(), 1);
    // A virtual owner is not an observed one: only a lookup can disprove it.
    f.deleted("owner");
    assert_eq!(f.names(), Vec::<String>::new());
}

#[test]
fn kcm_b11_an_owner_is_looked_up_once_for_all_its_dependents() {
    let mut f = Fixture::new();
    for n in 0..3000 {
        f.graph.observe(
            f.maps,
            &Object::new(&format!("part-{n}")).owned_by("owner").0,
        );
    }
    assert_eq!(f.answer(|_| Verdict::Absent), 1);
    assert_eq!(f.names().len(), 3000);
}

#[test]
fn gc_g16_an_owner_observed_before_its_lookup_is_not_looked_up() {
    let mut f = Fixture::new();
    f.map(&part());
    let [claim] = f.lookups()[..] else { panic!() };
    f.map(&owner());
    assert_eq!(f.graph.lookup(claim), None);
    assert_eq!(f.names(), Vec::<String>::new());
}

#[test]
fn gc_g34_dangling_references_go_and_the_object_stays_with_a_solid_owner() {
    let mut f = Fixture::new();
    let part = Object::new("part")
        .owned_by("a")
        .owned_by("b")
        .owned_by("c");
    f.map(&Object::new("a"))
        .map(&Object::new("b"))
        .map(&Object::new("c"));
    f.map(&part).deleted("a").deleted("c");
    let (patch, uids) = f.removal();
    assert_eq!(uids, ["a", "c"]);
    assert_eq!(
        patch.strategic().unwrap(),
        json!({"metadata": {"uid": "part", "resourceVersion": "1", "ownerReferences": [
            {"$patch": "delete", "uid": "a"}, {"$patch": "delete", "uid": "c"}]}})
    );
    assert_eq!(
        patch.merge(),
        json!({"metadata": {"resourceVersion": "1", "ownerReferences": [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "b", "uid": "b"}]}})
    );
}

#[test]
fn gc_g34_a_waiting_owner_is_let_go_by_what_another_owner_holds() {
    let mut f = Fixture::new();
    f.map(&Object::new("a").foreground()).map(&Object::new("b"));
    f.map(&Object::new("part").blocks("a").owned_by("b"));
    f.answer(|_| Verdict::DeletingDependents);
    f.graph
        .observe(f.maps, &Object::new("part").blocks("a").owned_by("b").0);
    let (_, uids) = f.removal();
    assert_eq!(uids, ["a"]);
}

/// An owner that waited may have been told to keep its dependents since.
#[test]
fn gc_g34_a_decision_names_the_waiting_owners_it_rests_on_and_may_doubt_them() {
    let waiting = |verdict: Verdict, others: &[&str]| {
        let mut f = Fixture::new();
        f.map(&Object::new("b"));
        let mut part = Object::new("part").blocks("a");
        for owner in others {
            part = part.owned_by(owner);
        }
        f.map(&part);
        f.answer(|_| Verdict::DeletingDependents);
        let decision = f.decision();
        let [claim] = *decision.waiting_owners() else {
            panic!("{decision:?}")
        };
        f.graph.doubt(claim);
        assert_eq!(f.names(), Vec::<String>::new(), "until it is known");
        assert_eq!(f.answer(|_| verdict), 1);
        f.names()
    };
    for others in [&[][..], &["b"]] {
        assert_eq!(waiting(Verdict::DeletingDependents, others), ["part"]);
        assert_eq!(waiting(Verdict::Alive, others), Vec::<String>::new());
    }
    // What was released goes whatever the other owners do.
    let mut f = Fixture::new();
    f.map(&Object::new("b").orphaning());
    f.map(&Object::new("part").blocks("a").owned_by("b"));
    f.answer(|_| Verdict::DeletingDependents);
    for (name, decision) in f.decisions() {
        let rests_on = decision.waiting_owners().len();
        assert_eq!(rests_on, usize::from(name == "part"), "{decision:?}");
    }
}

#[test]
fn gc_g42_a_merge_patch_without_references_sends_null() {
    let mut f = Fixture::new();
    f.map(&owner().orphaning()).map(&part().version(4));
    let Decision::Release(release) = f.decision() else {
        panic!()
    };
    assert_eq!(
        release.dependents[0].strategic().unwrap(),
        json!({"metadata": {"uid": "part", "ownerReferences": [{"$patch": "delete", "uid": "owner"}]}})
    );
    assert_eq!(
        release.dependents[0].merge(),
        json!({"metadata": {"resourceVersion": "4", "ownerReferences": null}})
    );
}

#[test]
fn gc_g42_one_uid_named_twice_is_never_patched_by_uid() {
    let mut f = Fixture::new();
    let part = Object::new("part")
        .refers("v1", "ConfigMap", "owner", "owner", false)
        .refers("v1", "Secret", "owner", "owner", false);
    f.map(&owner()).map(&part);
    assert_eq!(f.answer(|_| Verdict::Absent), 1);
    let (patch, _) = f.removal();
    assert_eq!(patch.strategic(), None);
    assert_eq!(
        patch.merge()["metadata"]["ownerReferences"][0]["kind"],
        "ConfigMap"
    );
}

#[test]
fn gc_g46_an_object_goes_only_with_its_last_owner() {
    let mut f = Fixture::new();
    f.map(&Object::new("a")).map(&Object::new("b"));
    let part = Object::new("part").owned_by("a").owned_by("b");
    f.map(&part).deleted("a");
    let _ = f.removal();
    f.deleted("b");
    assert_eq!(f.deletion().target.name, "part");
}

#[test]
fn gc_g35_in_foreground_only_what_has_dependents_is_deleted_in_foreground() {
    let mut f = Fixture::new();
    f.map(&owner().foreground());
    f.map(&part()).map(&Object::new("leaf").owned_by("owner"));
    f.map(&Object::new("piece").owned_by("part"));
    assert_eq!(f.answer(|_| Verdict::DeletingDependents), 1);
    let policies: Vec<_> = f
        .decisions()
        .into_iter()
        .filter_map(|(name, decision)| match decision {
            Decision::Delete(deletion) => Some((name, deletion.policy)),
            _ => None,
        })
        .collect();
    assert_eq!(
        policies,
        [
            ("leaf".into(), PropagationPolicy::Background),
            ("part".into(), PropagationPolicy::Foreground)
        ]
    );
}

#[test]
fn gc_g36_finalizers_choose_the_policy() {
    for (finalizer, policy) in [
        ("orphan", PropagationPolicy::Orphan),
        ("foregroundDeletion", PropagationPolicy::Foreground),
        ("example.com/f", PropagationPolicy::Background),
    ] {
        let mut f = Fixture::new();
        f.map(&owner())
            .map(&part().finalizer(finalizer))
            .deleted("owner");
        assert_eq!(f.deletion().policy, policy);
    }
}

#[test]
fn gc_t36_changed_owners_stop_the_deletion() {
    let mut f = Fixture::new();
    f.map(&owner()).map(&part()).deleted("owner");
    let deletion = f.deletion();
    let live = part().unowned().owned_by("other").version(2);
    assert_eq!(deletion.after_conflict(&live.0, 1), AfterConflict::Stop);
    assert_eq!(
        deletion.after_conflict(&part().version(2).terminating().0, 1),
        AfterConflict::Stop
    );
    assert_eq!(
        deletion.after_conflict(&part().uid("another").0, 1),
        AfterConflict::Gone
    );
}

#[test]
fn gc_t37_an_unrelated_change_only_costs_a_second_try() {
    let mut f = Fixture::new();
    f.map(&owner()).map(&part()).deleted("owner");
    let deletion = f.deletion();
    let preconditions = |conflicts| {
        let live = part().version(9).finalizer("orphan");
        match deletion.after_conflict(&live.0, conflicts) {
            AfterConflict::Retry(options) => {
                assert_eq!(options.propagation_policy, Some(PropagationPolicy::Orphan));
                serde_json::to_value(options.preconditions).unwrap()
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        preconditions(1),
        json!({"uid": "part", "resourceVersion": "9"})
    );
    // Hot objects are not starved (G37).
    assert_eq!(preconditions(2), json!({"uid": "part"}));
}

#[test]
fn gc_g27_a_terminating_object_is_left_alone() {
    let mut f = Fixture::new();
    f.map(&owner())
        .map(&part().terminating().finalizer("example.com/f"));
    f.deleted("owner");
    assert_eq!(f.names(), Vec::<String>::new());
}

#[test]
fn incident_15_a_lingering_object_is_deleted_once() {
    let mut f = Fixture::new();
    f.map(&owner()).map(&part()).deleted("owner");
    let deletion = f.deletion();
    f.graph
        .accepted(deletion.target.node, &deletion.target.resource_version);
    // The same state listed again, and then terminating for as long as its finalizer takes.
    f.map(&part());
    assert_eq!(f.names(), Vec::<String>::new());
    for version in 2..30 {
        f.map(&part().version(version).terminating().finalizer("slow"));
        assert_eq!(f.names(), Vec::<String>::new());
    }
}

#[test]
fn an_answer_that_comes_after_its_event_stops_nothing() {
    let mut f = Fixture::new();
    f.map(&owner()).map(&part()).deleted("owner");
    let deletion = f.deletion();
    // The DELETE was in foreground, and the informer is faster than its answer.
    f.map(&part().foreground().version(2));
    f.graph
        .accepted(deletion.target.node, &deletion.target.resource_version);
    assert_eq!(f.names(), ["part"]);
}

#[test]
fn gc_g38_an_object_found_gone_releases_what_waited_for_it() {
    let mut f = Fixture::new();
    f.map(&owner().foreground());
    f.map(&Object::new("part").blocks("owner"));
    f.answer(|_| Verdict::DeletingDependents);
    f.map(&Object::new("part").blocks("owner"));
    let deletion = f.deletion();
    f.graph
        .absent(deletion.target.node, deletion.target.kind_id);
    let Decision::RemoveFinalizer(removal) = f.decision() else {
        panic!()
    };
    assert_eq!(
        (removal.target.name.as_str(), removal.alone),
        ("owner", true)
    );
    assert!(!f.checked().graph.contains("part"));
}

#[test]
fn gc_t7_g18_g29_only_blocking_dependents_hold_a_foreground_owner() {
    let mut f = Fixture::new();
    f.map(&owner());
    f.map(
        &Object::new("free")
            .owned_by("owner")
            .terminating()
            .finalizer("f"),
    );
    f.map(
        &Object::new("block")
            .blocks("owner")
            .terminating()
            .finalizer("f"),
    );
    f.map(&owner().version(2).foreground());
    assert_eq!(f.names(), Vec::<String>::new());
    // G18: unblocking is as good as going.
    let unblocked = Object::new("block")
        .owned_by("owner")
        .terminating()
        .finalizer("f");
    f.map(&unblocked.version(3));
    assert_eq!(f.names(), ["owner"]);
}

#[test]
fn kcm_b8_foreground_is_seen_by_state_not_by_its_first_event() {
    let mut f = Fixture::new();
    f.map(&Object::new("part").blocks("owner"));
    // Observed for the first time long after the deletion began, with other changes since.
    f.map(&owner().foreground().version(40));
    assert_eq!(f.answer(|_| Verdict::DeletingDependents), 1);
    assert_eq!(f.deletion().target.name, "part");
}

#[test]
fn kcm_b7_a_second_foreground_deletion_is_carried_out_again() {
    let mut f = Fixture::new();
    f.map(&owner().foreground().finalizer("x").version(2));
    let Decision::RemoveFinalizer(removal) = f.decision() else {
        panic!()
    };
    assert!(!removal.alone);
    f.map(&owner().terminating().finalizer("x").version(3));
    assert_eq!(f.names(), Vec::<String>::new());
    f.map(
        &owner()
            .terminating()
            .finalizer("x")
            .finalizer("foregroundDeletion")
            .version(4),
    );
    assert_eq!(f.names(), ["owner"]);
}

#[test]
fn gc_g19_orphan_goes_before_foreground() {
    let mut f = Fixture::new();
    f.map(&owner().orphaning().finalizer("foregroundDeletion"));
    let Decision::Release(release) = f.decision() else {
        panic!()
    };
    assert_eq!(
        (release.finish.finalizer, release.finish.alone),
        ("orphan", false)
    );
}

#[test]
fn gc_g41_a_dependent_that_shows_up_after_the_release_is_released_too() {
    let mut f = Fixture::new();
    f.map(&part()).map(&owner().orphaning());
    let Decision::Release(release) = f.decision() else {
        panic!()
    };
    assert_eq!(release.dependents.len(), 1);
    f.graph.written(f.maps, &part().unowned().version(5).0);
    f.graph.released(release.finish.target.node);
    // An informer that lags shows the old state again, and one that nobody knew.
    f.map(&part().version(3)).deleted("owner");
    f.map(&Object::new("late").owned_by("owner"));
    let (patch, uids) = f.removal();
    assert_eq!(
        (patch.target.name.as_str(), &uids[..]),
        ("late", &["owner".to_owned()][..])
    );
}

#[test]
fn gc_g41_what_only_seems_to_be_a_released_owners_is_collected() {
    for (kind, name) in [("Secret", "owner"), ("ConfigMap", "other")] {
        let mut f = Fixture::new();
        f.map(&part()).map(&owner().orphaning());
        let Decision::Release(release) = f.decision() else {
            panic!()
        };
        f.graph.written(f.maps, &part().unowned().version(5).0);
        f.graph.released(release.finish.target.node);
        f.deleted("owner");
        f.map(&Object::new("liar").refers("v1", kind, name, "owner", false));
        f.answer(|_| Verdict::Absent);
        assert_eq!(f.deletion().target.name, "liar", "{kind} {name}");
    }
}

#[test]
fn gc_g41_owners_that_orphan_have_a_line_of_their_own() {
    let mut f = Fixture::new();
    f.map(&part()).map(&owner());
    let _ = f.graph.take_work();
    f.map(&owner().orphaning());
    let work = f.graph.take_work();
    assert!(matches!(work[..], [Work::Orphan(_)]), "{work:?}");
}

#[test]
fn gc_g39_an_owner_that_is_known_to_be_absent_is_not_looked_up_again() {
    let mut f = Fixture::new();
    f.map(&part());
    let claims = f.lookups();
    let [claim] = claims[..] else {
        panic!("{claims:?}")
    };
    assert!(f.graph.lookup(claim).is_some());
    f.graph.verified(claim, Verdict::Absent);
    assert!(f.graph.lookup(claim).is_none());
}

#[test]
fn gc_g22_a_waiting_owner_that_turned_to_orphaning_is_not_emptied() {
    let mut f = Fixture::new();
    f.map(&owner().foreground())
        .map(&Object::new("part").blocks("owner"));
    // The graph says foreground; the server, asked before the first deletion, says otherwise.
    f.answer(|_| Verdict::Alive);
    f.map(&Object::new("part").blocks("owner").version(2));
    assert_eq!(f.names(), Vec::<String>::new());
}

#[test]
fn incident_11_a_stale_state_never_deletes_what_was_made_anew() {
    let mut f = Fixture::new();
    // A replica that lags shows the deletion of the old owner and the old part again.
    f.map(&owner().uid("old"))
        .map(
            &part()
                .uid("old-part")
                .unowned()
                .refers("v1", "ConfigMap", "owner", "old", false),
        );
    f.deleted("old");
    let deletion = f.deletion();
    let options = serde_json::to_value(deletion.options()).unwrap();
    assert_eq!(options["preconditions"]["uid"], "old-part");
    // The name belongs to the new object: the 409 is taken for what it is.
    assert_eq!(
        deletion.after_conflict(&part().uid("new-part").0, 1),
        AfterConflict::Gone
    );
}
