//! Owners that wait for themselves.

use super::super::{FOREGROUND_FINALIZER, Verdict};
use super::fixture::{Fixture, Object};
use crate::decide::Decision;
use crate::patch::OwnersChange;

/// A ring of `n` objects, each blocking the next, all foreground-deleted in turn.
fn ring(n: usize) -> Fixture {
    let mut f = Fixture::new();
    let name = |i: usize| format!("o{}", i % n);
    for i in 0..n {
        f.map(&Object::new(&name(i)).blocks(&name(i + 1)));
    }
    for i in 0..n {
        assert_eq!(f.names(), Vec::<String>::new(), "no circle is closed yet");
        let object = Object::new(&name(i)).blocks(&name(i + 1)).version(2);
        f.map(&object.terminating().finalizer(FOREGROUND_FINALIZER));
    }
    f
}

#[test]
fn gc_t23_circles_of_any_length_are_found() {
    for n in [1, 2, 3, 7, 40] {
        let mut f = ring(n);
        let last = format!("o{}", n - 1);
        let decisions = f.decisions();
        // Who closes the circle cuts it; so may who waits for that one. Nobody else is asked.
        assert!(decisions.len() <= 2, "{decisions:?}");
        let closing = decisions.iter().find(|(name, _)| *name == last);
        let Some((_, Decision::Patch(patch))) = closing else {
            panic!("{decisions:?}")
        };
        assert_eq!(patch.change, OwnersChange::Unblock);
        let body = patch.strategic().unwrap();
        let reference = &body["metadata"]["ownerReferences"][0];
        assert_eq!(reference["blockOwnerDeletion"], false);
        assert_eq!(body["metadata"]["resourceVersion"], "2");
    }
}

#[test]
fn gc_t23_a_cut_circle_unwinds() {
    let mut f = ring(3);
    let _ = f.decisions();
    f.graph.written(
        f.maps,
        &Object::new("o2").owned_by("o0").version(3).foreground().0,
    );
    for gone in ["o0", "o1", "o2"] {
        let decision = f.decision();
        let Decision::RemoveFinalizer(removal) = decision else {
            panic!("{decision:?}")
        };
        assert_eq!(removal.target.name, gone);
        f.deleted(gone);
    }
    assert_eq!(f.graph.size().observed, 0);
}

#[test]
fn gc_g44_waiting_for_something_else_is_no_circle() {
    let mut f = Fixture::new();
    // a <- b <- a without blocking on one side; b also waits for c, which is not going.
    f.map(&Object::new("a").owned_by("b").foreground());
    f.map(&Object::new("b").blocks("a").foreground());
    f.map(&Object::new("c").blocks("b"));
    f.answer(|_| Verdict::Alive);
    assert_eq!(f.names(), Vec::<String>::new());
}

#[test]
fn gc_g44_only_references_on_the_circle_are_unblocked() {
    let mut f = Fixture::new();
    f.map(&Object::new("outside").foreground());
    f.map(&Object::new("a").blocks("b").blocks("outside").foreground());
    f.map(&Object::new("b").blocks("a").foreground());
    let decisions = f.decisions();
    let Some((_, Decision::Patch(patch))) = decisions.iter().find(|(name, _)| name == "a") else {
        panic!("{decisions:?}")
    };
    assert_eq!(
        patch
            .selected()
            .map(ToString::to_string)
            .collect::<Vec<_>>(),
        ["b"]
    );
}

#[test]
fn an_object_that_owns_itself_is_never_collected_and_can_be_deleted() {
    let mut f = Fixture::new();
    f.map(&Object::new("a").blocks("a"));
    assert_eq!(f.names(), Vec::<String>::new());
    f.map(&Object::new("a").blocks("a").foreground().version(2));
    let Decision::Patch(patch) = f.decision() else {
        panic!()
    };
    assert_eq!(patch.change, OwnersChange::Unblock);
    f.deleted("a");
    assert_eq!(f.graph.size().virtual_nodes, 0);
}
