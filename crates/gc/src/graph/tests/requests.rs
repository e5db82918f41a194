//! What decisions become as requests, and what the graph says of itself.

use evenkeel_meta::{DeleteOptions, OwnerReference, Preconditions, PropagationPolicy};
use serde_json::json;

use super::fixture::{Fixture, Object};
use crate::decide::{AfterConflict, Decision, Deletion, Target};
use crate::graph::{FOREGROUND_FINALIZER, ORPHAN_FINALIZER, Verdict};
use crate::patch::{OwnersPatch, finalizers};

fn doomed(child: &Object) -> Deletion {
    let mut f = Fixture::new();
    f.map(child);
    f.answer(|_| Verdict::Absent);
    f.deletion()
}

fn child() -> Object {
    Object::new("child").owned_by("owner")
}

#[test]
fn a_target_is_named_by_kind_and_key() {
    assert_eq!(doomed(&child()).target.to_string(), "ConfigMap n/child");
}

#[test]
fn gc_g37_after_a_conflict_the_policy_follows_the_finalizers_that_are_there_now() {
    let policy = |deletion: &Deletion, live: &Object| match deletion.after_conflict(&live.0, 1) {
        AfterConflict::Retry(options) => {
            let policy = options.propagation_policy.unwrap();
            let expected = DeleteOptions::with_policy(policy);
            assert_eq!(options, expected.only_if(Preconditions::exactly(&live.0)));
            policy
        }
        other => panic!("{other:?}"),
    };
    let live = child().version(2);
    let foreground = live.clone().finalizer(FOREGROUND_FINALIZER);
    let orphan = live.clone().finalizer(ORPHAN_FINALIZER);
    let mut deletion = doomed(&child());
    assert!(!deletion.in_foreground);
    assert_eq!(policy(&deletion, &live), PropagationPolicy::Background);
    assert_eq!(
        policy(&deletion, &foreground),
        PropagationPolicy::Foreground
    );
    // Its owner waits for its dependents to go first, whatever its finalizers say (G35).
    deletion.in_foreground = true;
    assert_eq!(policy(&deletion, &live), PropagationPolicy::Foreground);
    assert_eq!(policy(&deletion, &orphan), PropagationPolicy::Orphan);
}

/// Whether the child is deleted in the foreground, and whether that is for its owner's sake.
fn while_the_owner_waits(child: Object) -> (PropagationPolicy, bool) {
    let mut f = Fixture::new();
    f.map(&Object::new("owner").foreground())
        .map(&child.blocks("owner"))
        .map(&Object::new("part").owned_by("child"));
    assert_eq!(f.answer(|_| Verdict::DeletingDependents), 1);
    for (name, decision) in f.decisions() {
        if let ("child", Decision::Delete(deletion)) = (&*name, decision) {
            return (deletion.policy, deletion.in_foreground);
        }
    }
    panic!("kept")
}

#[test]
fn gc_g35_while_its_owner_waits_an_object_with_dependents_goes_in_the_foreground() {
    let child = Object::new("child");
    let foreground = PropagationPolicy::Foreground;
    assert_eq!(while_the_owner_waits(child.clone()), (foreground, true));
    assert_eq!(
        while_the_owner_waits(child.clone().finalizer(FOREGROUND_FINALIZER)),
        (foreground, false),
        "so its own finalizer says"
    );
    assert_eq!(
        while_the_owner_waits(child.finalizer(ORPHAN_FINALIZER)),
        (PropagationPolicy::Orphan, false)
    );
    assert!(!doomed(&Object::new("child").owned_by("owner")).in_foreground);
}

#[test]
fn gc_g41_only_references_that_say_of_the_owner_what_it_is_are_taken_away() {
    let target = doomed(&child()).target;
    let owner = Target {
        kind: "ConfigMap".to_owned(),
        name: "owner".to_owned(),
        uid: "u1".into(),
        ..target.clone()
    };
    let reference = |kind: &str, name: &str, uid: &str| OwnerReference {
        api_version: "v1".to_owned(),
        kind: kind.to_owned(),
        name: name.to_owned(),
        uid: uid.into(),
        controller: None,
        block_owner_deletion: None,
    };
    let owners = vec![
        reference("Secret", "owner", "u1"),
        reference("ConfigMap", "other", "u1"),
        reference("ConfigMap", "owner", "u2"),
    ];
    assert_eq!(
        OwnersPatch::release(target.clone(), owners.clone(), &owner),
        None
    );
    let owners = [owners, vec![reference("ConfigMap", "owner", "u1")]].concat();
    let patch = OwnersPatch::release(target, owners.clone(), &owner).unwrap();
    assert_eq!(patch.selected, [3]);
    assert_eq!(
        patch.merge()["metadata"]["ownerReferences"],
        json!(owners[..3])
    );
}

#[test]
fn gc_g43_finalizers_are_written_over_the_state_that_was_read() {
    let body = |remaining: &[String]| finalizers(&7.into(), remaining);
    assert_eq!(
        body(&["keep".to_owned()]),
        json!({"metadata": {"resourceVersion": "7", "finalizers": ["keep"]}})
    );
    assert_eq!(
        body(&[]),
        json!({"metadata": {"resourceVersion": "7", "finalizers": null}})
    );
}

#[test]
fn the_size_tells_owners_that_are_remembered_from_those_that_are_awaited() {
    let mut f = Fixture::new();
    for name in ["one", "two"] {
        f.map(&Object::new(name).terminating().finalizer(ORPHAN_FINALIZER));
    }
    for (_, decision) in f.decisions() {
        let node = match decision {
            Decision::Release(release) => release.finish.target.node,
            Decision::RemoveFinalizer(removal) => removal.target.node,
            other => panic!("{other:?}"),
        };
        f.graph.released(node);
    }
    f.deleted("one").deleted("two");
    f.map(&Object::new("stray").owned_by("ghost"));
    let size = f.graph.size();
    assert_eq!(
        (size.observed, size.remembered, size.virtual_nodes),
        (1, 2, 1)
    );
}

#[test]
fn the_size_counts_every_node_and_every_byte() {
    let mut f = Fixture::new();
    f.map(&Object::new("owner"))
        .map(&child())
        .map(&Object::new("stray").owned_by("ghost"));
    let size = f.graph.size();
    assert_eq!(
        [
            size.observed,
            size.virtual_nodes,
            size.remembered,
            size.references,
            size.claims
        ],
        [3, 1, 0, 2, 2]
    );
    let graph = &f.graph;
    let names = ["owner", "child", "stray", ""].concat().len();
    assert_eq!(
        size.node_bytes,
        graph.nodes.allocated() + graph.by_uid.allocation_size() + names
    );
    assert_eq!(
        size.reference_bytes,
        graph.edges.allocated() + graph.claims.allocated() + graph.by_claim.allocation_size()
    );
    assert!(graph.contains("owner") && !graph.contains("ghost"));
    assert!(graph.node_of("ghost").is_some() && graph.node_of("nobody").is_none());
}
