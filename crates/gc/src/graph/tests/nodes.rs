//! What a node is, and what the first sight of it or of a reference to it asks for.

use super::super::{Verdict, Work};
use super::fixture::{Fixture, Object};
use crate::decide::Decision;
use crate::graph::{Exported, ExportedNode};

fn node(graph: &Exported, uid: &str) -> ExportedNode {
    let found = graph.nodes.iter().find(|node| node.uid == uid);
    found
        .unwrap_or_else(|| panic!("no {uid} in {graph:?}"))
        .clone()
}

#[test]
fn gc_g11_a_node_has_identity_owners_dependents_and_flags() {
    let mut f = Fixture::new();
    f.map(&Object::new("owner").uid("1"));
    f.map(
        &Object::new("part")
            .uid("2")
            .refers("v1", "ConfigMap", "owner", "1", true),
    );
    let graph = f.graph.export(&[]);
    let owner = node(&graph, "1");
    assert_eq!(
        (&*owner.group, &*owner.version, &*owner.kind),
        ("", "v1", "ConfigMap")
    );
    assert_eq!((&*owner.namespace, &*owner.name), ("n", "owner"));
    assert!(!owner.is_virtual && !owner.missing);
    let [edge] = &graph.edges[..] else { panic!() };
    assert_eq!((&*edge.dependent, &*edge.owner), ("2", "1"));
    assert!(edge.blocks && !edge.controller);
}

#[test]
fn gc_g12_waiting_is_a_deletion_with_its_finalizer() {
    let mut f = Fixture::new();
    f.map(&Object::new("child").owned_by("owner"));
    for (owner, deleted, waiting) in [
        (Object::new("owner"), false, false),
        // A finalizer alone is only a wish.
        (
            Object::new("owner").finalizer("foregroundDeletion"),
            false,
            false,
        ),
        (
            Object::new("owner").terminating().finalizer("other"),
            true,
            false,
        ),
        (Object::new("owner").foreground(), true, true),
        (Object::new("owner").terminating(), true, false),
    ] {
        f.map(&owner);
        let shown = node(&f.graph.export(&[]), "owner");
        assert_eq!(
            (shown.being_deleted, shown.deleting_dependents),
            (deleted, waiting),
            "{:?}",
            owner.0
        );
    }
}

#[test]
fn gc_g13_an_owner_that_nobody_has_seen_is_virtual_and_is_looked_up() {
    let mut f = Fixture::new();
    f.map(
        &Object::new("child")
            .within("m")
            .refers("apps/v1", "Deployment", "web", "9", false),
    );
    let shown = node(&f.graph.export(&[]), "9");
    assert!(shown.is_virtual);
    // Guessed from the reference; the namespace is the dependent's.
    assert_eq!(
        (
            &*shown.group,
            &*shown.version,
            &*shown.kind,
            &*shown.namespace,
            &*shown.name
        ),
        ("apps", "v1", "Deployment", "m", "web")
    );
    let [claim] = f.lookups()[..] else { panic!() };
    let lookup = f.graph.lookup(claim).unwrap();
    assert_eq!(
        (lookup.uid.as_str(), lookup.namespace.as_deref()),
        ("9", Some("m"))
    );
}

#[test]
fn gc_g15_coordinates_match_in_all_of_uid_name_kind_and_version() {
    for (version, kind, name, uid, matches) in [
        ("v1", "ConfigMap", "owner", "owner", true),
        ("v2", "ConfigMap", "owner", "owner", false),
        ("v1", "Secret", "owner", "owner", false),
        ("v1", "ConfigMap", "other", "owner", false),
        ("v1", "ConfigMap", "owner", "other", false),
    ] {
        let mut f = Fixture::new();
        f.map(&Object::new("owner"));
        f.map(&Object::new("child").refers(version, kind, name, uid, false));
        // What matches an observed owner needs no request; what does not is asked about.
        let lookups = f.lookups().len();
        assert_eq!(
            lookups,
            usize::from(!matches),
            "{version} {kind} {name} {uid}"
        );
        f.deleted("owner");
        assert_eq!(
            !f.names().is_empty(),
            matches,
            "{version} {kind} {name} {uid}"
        );
    }
    // The namespace is compared by itself.
    let mut f = Fixture::new();
    f.map(&Object::new("owner"));
    f.map(&Object::new("far").within("m").owned_by("owner"));
    assert_eq!((f.lookups().len(), f.reports()), (1, 1));
}

#[test]
fn gc_g25_one_turn_in_the_queue_however_many_references_are_bad() {
    let mut f = Fixture::new();
    f.map(&Object::new("a")).map(&Object::new("b"));
    let bad = |name: &str| {
        Object::new(name)
            .refers("v1", "Secret", "a", "a", false)
            .refers("v1", "Secret", "b", "b", false)
            .refers("v1", "ConfigMap", "z", "a", false)
    };
    f.map(&bad("first"));
    assert_eq!(f.answer(|_| Verdict::Absent), 3);
    assert_eq!(f.names(), ["first"]);
    // What they say is known to be false now.
    f.map(&bad("second"));
    let work = f.graph.take_work();
    assert!(matches!(work[..], [Work::Collect(_)]), "{work:?}");
}

#[test]
fn gc_g26_a_lookup_is_forgotten_when_its_owner_is_observed_or_nobody_names_it() {
    let mut f = Fixture::new();
    f.map(&Object::new("a").owned_by("x"))
        .map(&Object::new("b").owned_by("y"));
    let claims = f.lookups();
    assert_eq!(claims.len(), 2);
    f.map(&Object::new("x"));
    f.map(&Object::new("b").unowned().version(2));
    for claim in claims {
        assert_eq!(f.graph.lookup(claim), None);
        // A late answer changes nothing.
        f.graph.verified(claim, Verdict::Absent);
    }
    assert_eq!(f.names(), Vec::<String>::new());
}

#[test]
fn gc_g31_a_reference_dangles_waits_or_is_solid() {
    let mut f = Fixture::new();
    f.map(&Object::new("solid"))
        .map(&Object::new("terminating").terminating().finalizer("f"));
    f.map(&Object::new("waiting").foreground());
    f.map(
        &Object::new("child")
            .blocks("solid")
            .blocks("terminating")
            .blocks("waiting")
            .blocks("dangling")
            .blocks("failing"),
    );
    let answer = |lookup: &super::super::Lookup| match lookup.name.as_str() {
        "waiting" => Verdict::DeletingDependents,
        "dangling" => Verdict::Absent,
        _ => Verdict::Unanswered,
    };
    assert_eq!(f.answer(answer), 3);
    // Held by the solid ones, it is rid of those that are known not to hold it.
    let (_, uids) = f.removal();
    assert_eq!(uids, ["waiting", "dangling"]);
    // Without any that holds it, one without an answer still keeps it.
    let mut f = Fixture::new();
    f.map(&Object::new("child").blocks("dangling").blocks("failing"));
    f.answer(answer);
    assert_eq!(f.names(), Vec::<String>::new());
}

#[test]
fn gc_g18_an_owner_that_is_no_longer_blocked_is_looked_at_again() {
    let blocked = |change: &dyn Fn(Object) -> Object| {
        let mut f = Fixture::new();
        f.map(&Object::new("owner").foreground());
        let child = || Object::new("child").terminating().finalizer("f");
        f.map(&child().blocks("owner"));
        f.answer(|_| Verdict::DeletingDependents);
        assert_eq!(f.names(), Vec::<String>::new());
        f.map(&change(child()).version(2));
        match &f.decisions()[..] {
            [] => true,
            [(name, Decision::RemoveFinalizer(_))] => {
                assert_eq!(name, "owner");
                false
            }
            other => panic!("{other:?}"),
        }
    };
    assert!(blocked(&|child| child.blocks("owner").finalizer("g")));
    assert!(!blocked(&|child| child));
    assert!(!blocked(&|child| child.owned_by("owner")));
}

/// A server that was restored from a backup has older versions, and they are the truth.
#[test]
fn an_older_state_counts_unless_a_write_was_answered_with_a_newer_one() {
    let mut f = Fixture::new();
    f.map(&Object::new("child").version(5).owned_by("one"));
    f.map(&Object::new("child").version(3).owned_by("two"));
    f.answer(|_| Verdict::Absent);
    let owners = f.deletion().owners;
    assert_eq!(owners[0].name, "two");
    f.graph.written(f.maps, &Object::new("child").version(7).0);
    f.map(&Object::new("child").version(6).owned_by("two"));
    assert_eq!(
        f.names(),
        Vec::<String>::new(),
        "it was detached in version 7"
    );
    f.map(&Object::new("child").version(8).owned_by("two"));
    f.answer(|_| Verdict::Absent);
    assert_eq!(f.names(), ["child"]);
}

#[test]
fn the_answer_to_a_write_shows_nothing_that_informers_have_not_shown() {
    let mut f = Fixture::new();
    f.map(&Object::new("child").owned_by("owner"));
    f.graph.written(f.maps, &Object::new("owner").version(9).0);
    assert!(!f.checked().graph.contains("owner"));
    // Nor of another kind: the name has been used anew since.
    f.graph.written(f.nodes, &Object::new("child").version(9).0);
    f.answer(|_| Verdict::Absent);
    assert_eq!(f.deletion().target.kind, "ConfigMap");
}

#[test]
fn only_the_objects_of_a_kind_that_is_not_watched_any_more_are_forgotten() {
    let mut f = Fixture::new();
    f.map(&Object::new("map").owned_by("node"))
        .node(&Object::new("node").cluster());
    f.graph.drop_kind(f.nodes);
    assert!(f.checked().graph.contains("map") && !f.graph.contains("node"));
    f.graph.drop_kind(f.maps);
    assert_eq!(f.checked().graph.size().observed, 0);
    assert_eq!(f.graph.size().virtual_nodes, 0);
}

/// What a lookup once said is no longer known when the object has been there since.
#[test]
fn gc_g39_an_owner_that_came_and_vanished_is_looked_up_again() {
    let mut f = Fixture::new();
    f.map(&Object::new("child").owned_by("owner"));
    f.answer(|_| Verdict::Absent);
    f.map(&Object::new("owner"));
    f.graph.vanished("owner");
    assert_eq!(f.checked().names(), Vec::<String>::new());
    assert_eq!(f.answer(|_| Verdict::Absent), 1);
    assert_eq!(f.names(), ["child"]);
}

#[test]
fn an_answer_that_is_older_than_what_is_known_is_no_news() {
    let mut f = Fixture::new();
    f.map(&Object::new("child").owned_by("owner"));
    let [claim] = f.lookups()[..] else { panic!() };
    f.map(&Object::new("owner")).deleted("owner");
    f.graph.verified(claim, Verdict::Alive);
    assert_eq!(f.checked().names(), ["child"], "its deletion was observed");

    let mut f = Fixture::new();
    f.map(&Object::new("child").owned_by("owner"));
    let [claim] = f.lookups()[..] else { panic!() };
    f.graph.verified(claim, Verdict::Absent);
    f.graph.verified(claim, Verdict::Unanswered);
    assert_eq!(f.checked().names(), ["child"], "no answer is none");
}

#[test]
fn gc_g32_what_had_no_answer_is_asked_again_when_other_kinds_are_served() {
    let mut f = Fixture::new();
    f.map(&Object::new("child").owned_by("owner"));
    assert_eq!(f.answer(|_| Verdict::Unanswered), 1);
    assert_eq!(f.answer(|_| Verdict::Absent), 0);
    f.graph.kinds_changed();
    assert_eq!(f.answer(|_| Verdict::Absent), 1);
    assert_eq!(f.names(), ["child"]);
    f.graph.kinds_changed();
    assert_eq!(f.answer(|_| Verdict::Absent), 0, "that was an answer");
}

#[test]
fn a_node_takes_150_bytes_at_most_however_many_there_are() {
    let mut f = Fixture::new();
    let mut most = 0.0_f64;
    for n in 0..100_000 {
        let uid = format!("00000000-0000-4000-8000-{n:012}");
        let object = Object::new(&format!("web-7b4696b95-{n:06}")).uid(&uid);
        f.graph.observe(f.maps, &object.0);
        // Tables that have just grown are at their largest.
        if n > 5_000 && n % 500 == 0 {
            let size = f.graph.size();
            most = most.max(size.node_bytes as f64 / size.observed as f64);
        }
    }
    assert!(most <= 150.0, "{most} bytes");
}

#[test]
fn gc_g24_a_misplaced_reference_is_told_of_once_whatever_becomes_of_the_others() {
    let mut f = Fixture::new();
    f.map(&Object::new("a")).map(&Object::new("b"));
    let told_of = |f: &mut Fixture| -> Vec<String> {
        let work = f.graph.take_work();
        let misplaced = work.iter().filter_map(|work| match work {
            Work::Misplaced { dependent, claim } => f.graph.misplaced(*dependent, *claim),
            _ => None,
        });
        misplaced.map(|(_, lookup)| lookup.name).collect()
    };
    let far = Object::new("far").within("m").owned_by("a");
    f.map(&far);
    assert_eq!(told_of(&mut f), ["a"]);
    let both = far.owned_by("b");
    f.map(&both.clone().version(2));
    assert_eq!(told_of(&mut f), ["b"]);
    f.map(&both.refers("v1", "Node", "none", "none", false).version(3));
    assert!(told_of(&mut f).is_empty());
}
