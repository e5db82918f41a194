#![expect(
    clippy::needless_pass_by_value,
    reason = "literals read best as arguments"
)]

use evenkeel_meta::GroupVersionKind;
use serde_json::{Value, json};

use super::*;
use crate::schema::{Schema, Schemas};
use crate::validation::Fault;

fn deployment() -> &'static Schema {
    Schemas::builtin()
        .kind(&GroupVersionKind::from_api_version("apps/v1", "Deployment"))
        .unwrap()
}

/// A Deployment around this pod spec.
fn around(pod: Value) -> Value {
    json!({ "spec": { "template": { "spec": pod } } })
}

fn pod(deployment: &Value) -> &Value {
    deployment.pointer("/spec/template/spec").unwrap()
}

#[track_caller]
fn strategic_pod(current: Value, patch: Value, expected: Value) {
    let patched = strategic(deployment(), &around(current), &around(patch)).unwrap();
    assert_eq!(*pod(&patched), expected);
}

#[test]
fn json_operations_do_what_rfc_6902_says() {
    let document = json!({ "a": { "b": [1, 2, 3], "c/d": 1, "e~f": 2 } });
    let cases = [
        (
            json!([{ "op": "add", "path": "/a/b/1", "value": 9 }]),
            json!({ "b": [1, 9, 2, 3], "c/d": 1, "e~f": 2 }),
        ),
        (
            json!([{ "op": "add", "path": "/a/b/-", "value": 9 }]),
            json!({ "b": [1, 2, 3, 9], "c/d": 1, "e~f": 2 }),
        ),
        (
            json!([{ "op": "remove", "path": "/a/c~1d" }]),
            json!({ "b": [1, 2, 3], "e~f": 2 }),
        ),
        (
            json!([{ "op": "replace", "path": "/a/e~0f", "value": null }]),
            json!({ "b": [1, 2, 3], "c/d": 1, "e~f": null }),
        ),
        (
            json!([{ "op": "move", "from": "/a/b/0", "path": "/a/b/2" }]),
            json!({ "b": [2, 3, 1], "c/d": 1, "e~f": 2 }),
        ),
        (
            json!([{ "op": "copy", "from": "/a/b", "path": "/a/x" }]),
            json!({ "b": [1, 2, 3], "c/d": 1, "e~f": 2, "x": [1, 2, 3] }),
        ),
        (
            json!([{ "op": "test", "path": "/a/b", "value": [1, 2, 3] }]),
            document["a"].clone(),
        ),
    ];
    for (patch, expected) in cases {
        assert_eq!(json(&document, &patch).unwrap()["a"], expected, "{patch}");
    }
}

#[test]
fn json_takes_the_liberties_of_the_real_server() {
    let document = json!({ "data": { "a": "1" } });
    for (patch, expected) in [
        (
            json!([{ "op": "replace", "path": "/data/z", "value": "2" }]),
            json!({ "a": "1", "z": "2" }),
        ),
        (
            json!([{ "op": "copy", "from": "/data/z", "path": "/data/k" }]),
            json!({ "a": "1", "k": null }),
        ),
        (
            json!([{ "op": "test", "path": "/data/z", "value": null }]),
            json!({ "a": "1" }),
        ),
        (
            json!([{ "op": "add", "path": "/data/a" }]),
            json!({ "a": null }),
        ),
    ] {
        assert_eq!(
            json(&document, &patch).unwrap()["data"],
            expected,
            "{patch}"
        );
    }
}

#[test]
fn a_json_operation_that_does_not_apply_is_422_and_says_nothing() {
    let document = json!({ "data": { "a": "1" }, "list": [1] });
    for operation in [
        json!({ "op": "test", "path": "/data/a", "value": "9" }),
        json!({ "op": "test", "path": "/data/z", "value": "x" }),
        json!({ "op": "remove", "path": "/data/z" }),
        json!({ "op": "remove", "path": "/list/1" }),
        json!({ "op": "add", "path": "/list/2", "value": 1 }),
        json!({ "op": "add", "path": "/list/01", "value": 1 }),
        json!({ "op": "add", "path": "/nope/z", "value": 1 }),
        json!({ "op": "add", "path": "data", "value": 1 }),
        json!({ "op": "bogus", "path": "/data/a" }),
        json!({ "op": "move", "from": "/data/z", "path": "/data/k" }),
    ] {
        let status = json(&document, &json!([operation])).unwrap_err();
        assert_eq!(status.code, 422, "{operation}");
        assert_eq!(
            status.message,
            "the server rejected our request due to an error in our request"
        );
    }
    let status = json(&document, &json!({ "op": "add" })).unwrap_err();
    assert_eq!(status.code, 400);
    assert_eq!(
        status.message,
        "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"
    );
    let many = Value::Array(vec![
        json!({ "op": "test", "path": "/data/a", "value": "1" });
        10_001
    ]);
    assert_eq!(json(&document, &many).unwrap_err().code, 413);
}

#[test]
fn the_copies_of_a_json_patch_cannot_grow_without_end() {
    let document = json!({ "data": { "a": "x".repeat(1000) } });
    let into_itself = |times: usize| {
        let copies = (0..times)
            .map(|at| json!({ "op": "copy", "from": "/data", "path": format!("/data/k{at}") }));
        json(&document, &copies.collect())
    };
    // Each doubles the document: the twelfth would pass the three megabytes of a request.
    let grown = into_itself(11).unwrap().to_string().len();
    assert!((2_000_000..3_145_728).contains(&grown), "{grown}");
    assert_eq!(into_itself(12).unwrap_err().code, 422);
    assert_eq!(into_itself(40).unwrap_err().code, 422);
}

#[test]
fn merge_follows_the_examples_of_rfc_7386() {
    for (document, patch, expected) in [
        (
            json!({ "a": "b" }),
            json!({ "a": "c" }),
            json!({ "a": "c" }),
        ),
        (
            json!({ "a": "b" }),
            json!({ "b": "c" }),
            json!({ "a": "b", "b": "c" }),
        ),
        (
            json!({ "a": "b", "b": "c" }),
            json!({ "a": null }),
            json!({ "b": "c" }),
        ),
        (
            json!({ "a": ["b"] }),
            json!({ "a": "c" }),
            json!({ "a": "c" }),
        ),
        (
            json!({ "a": { "b": "c" } }),
            json!({ "a": { "b": "d", "c": null } }),
            json!({ "a": { "b": "d" } }),
        ),
        (
            json!({ "a": [1, 2] }),
            json!({ "a": [{ "b": null }] }),
            json!({ "a": [{ "b": null }] }),
        ),
        (
            json!({ "e": null }),
            json!({ "a": 1 }),
            json!({ "e": null, "a": 1 }),
        ),
        (
            json!({}),
            json!({ "a": { "bb": { "ccc": null } } }),
            json!({ "a": { "bb": {} } }),
        ),
        (
            json!({ "a": [1] }),
            json!({ "a": { "b": 1 } }),
            json!({ "a": { "b": 1 } }),
        ),
    ] {
        assert_eq!(merge(&document, &patch).unwrap(), expected, "{patch}");
    }
    assert_eq!(
        merge(&json!({}), &json!([])).unwrap_err().message,
        "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"
    );
}

#[test]
fn strategic_merges_containers_by_name_new_ones_first() {
    strategic_pod(
        json!({ "containers": [{ "name": "a", "image": "a:1", "env": [{ "name": "X", "value": "1" }] }, { "name": "b" }] }),
        json!({ "containers": [{ "name": "a", "image": "a:2", "env": [{ "name": "Y", "value": "2" }] }, { "name": "c" }] }),
        json!({ "containers": [
            { "name": "a", "image": "a:2", "env": [{ "name": "Y", "value": "2" }, { "name": "X", "value": "1" }] },
            { "name": "c" },
            { "name": "b" },
        ] }),
    );
}

#[test]
fn strategic_deletes_and_replaces_items_by_directive() {
    strategic_pod(
        json!({ "containers": [{ "name": "a" }, { "name": "b" }] }),
        json!({ "containers": [{ "name": "a", "$patch": "delete" }] }),
        json!({ "containers": [{ "name": "b" }] }),
    );
    strategic_pod(
        json!({ "volumes": [{ "name": "a" }, { "name": "b" }] }),
        json!({ "volumes": [{ "$patch": "replace" }, { "name": "c" }] }),
        json!({ "volumes": [{ "name": "c" }] }),
    );
    strategic_pod(
        json!({ "nodeSelector": { "a": "1" } }),
        json!({ "nodeSelector": { "$patch": "replace", "b": "2" } }),
        json!({ "nodeSelector": { "b": "2" } }),
    );
    strategic_pod(
        json!({ "affinity": { "nodeAffinity": {} } }),
        json!({ "affinity": { "$patch": "delete" } }),
        json!({ "affinity": {} }),
    );
}

#[test]
fn strategic_replaces_lists_without_a_merge_strategy() {
    strategic_pod(
        json!({ "tolerations": [{ "key": "a" }] }),
        json!({ "tolerations": [{ "key": "b" }] }),
        json!({ "tolerations": [{ "key": "b" }] }),
    );
}

#[test]
fn strategic_retains_only_the_keys_it_lists() {
    strategic_pod(
        json!({ "volumes": [{ "name": "v", "configMap": { "name": "m" } }] }),
        json!({ "volumes": [{ "name": "v", "$retainKeys": ["name", "emptyDir"], "emptyDir": {} }] }),
        json!({ "volumes": [{ "name": "v", "emptyDir": {} }] }),
    );
    let unlisted =
        json!({ "spec": { "strategy": { "$retainKeys": ["type"], "type": "Recreate", "x": 1 } } });
    let current = json!({ "spec": { "strategy": { "type": "RollingUpdate" } } });
    let status = strategic(deployment(), &current, &unlisted).unwrap_err();
    assert_eq!(
        (status.code, status.message.as_str()),
        (400, "invalid patch format of retainKeys")
    );
}

#[test]
fn strategic_orders_items_as_it_is_told() {
    strategic_pod(
        json!({ "containers": [{ "name": "a" }, { "name": "b" }, { "name": "c" }] }),
        json!({ "$setElementOrder/containers": [{ "name": "c" }, { "name": "a" }], "containers": [{ "name": "a", "image": "i" }] }),
        json!({ "containers": [{ "name": "b" }, { "name": "c" }, { "name": "a", "image": "i" }] }),
    );
    let patch = around(
        json!({ "$setElementOrder/containers": [{ "name": "a" }], "containers": [{ "name": "q" }] }),
    );
    let status = strategic(
        deployment(),
        &around(json!({ "containers": [{ "name": "a" }] })),
        &patch,
    )
    .unwrap_err();
    assert_eq!(status.code, 500);
    assert_eq!(
        status.message,
        "The order in patch list:\n[map[name:q]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n"
    );
}

#[test]
fn strategic_adds_to_and_deletes_from_lists_of_scalars() {
    let finalizers = |list: Value| json!({ "metadata": { "finalizers": list } });
    let patched = |current: Value, patch: Value| {
        strategic(
            deployment(),
            &finalizers(current),
            &json!({ "metadata": patch }),
        )
        .unwrap()
    };
    let added = patched(
        json!(["a/a", "b/b"]),
        json!({ "finalizers": ["c/c", "a/a"] }),
    );
    assert_eq!(
        added["metadata"]["finalizers"],
        json!(["c/c", "a/a", "b/b"])
    );
    let deleted = patched(
        json!(["a/a", "b/b"]),
        json!({ "$deleteFromPrimitiveList/finalizers": ["a/a"] }),
    );
    assert_eq!(deleted["metadata"]["finalizers"], json!(["b/b"]));
}

#[test]
fn gc_g42_an_owner_is_removed_by_its_uid() {
    let object = json!({ "metadata": { "ownerReferences": [{ "uid": "u1" }, { "uid": "u2" }] } });
    let patch = |uid: &str| json!({ "metadata": { "ownerReferences": [{ "$patch": "delete", "uid": uid }] } });
    let left = strategic(deployment(), &object, &patch("u1")).unwrap();
    assert_eq!(
        left,
        json!({ "metadata": { "ownerReferences": [{ "uid": "u2" }] } })
    );
}

#[test]
fn gc_g57_to_remove_an_owner_that_is_not_there_changes_nothing() {
    let object = json!({ "metadata": { "ownerReferences": [{ "uid": "u1" }] } });
    let patch =
        json!({ "metadata": { "ownerReferences": [{ "$patch": "delete", "uid": "other" }] } });
    assert_eq!(strategic(deployment(), &object, &patch).unwrap(), object);
}

#[test]
fn gc_g57_a_custom_kind_has_no_strategic_patch() {
    let kind = GroupVersionKind::from_api_version("ex.io/v1", "Widget");
    let schema = Schema::custom(kind, &json!({}));
    let status = strategic(&schema, &json!({}), &json!({})).unwrap_err();
    assert_eq!(status.code, 415);
    assert!(status.message.ends_with(
        "accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    ));
}

#[test]
fn strategic_refuses_what_it_cannot_follow() {
    let current = around(json!({ "containers": [{ "name": "a" }] }));
    let message = |patch: Value| {
        strategic(deployment(), &current, &patch)
            .unwrap_err()
            .message
    };
    assert_eq!(
        message(around(json!({ "containers": [{ "image": "x" }] }))),
        "map: map[image:x] does not contain declared merge key: name"
    );
    assert!(
        message(around(json!({ "containers": [1, { "name": "b" }] })))
            .starts_with("list element types are not identical")
    );
    assert_eq!(
        message(json!([])),
        "json: cannot unmarshal array into Go value of type map[string]interface {}"
    );
    assert!(
        message(json!({ "spec": { "$patch": "bogus" } })).starts_with("unknown patch type: bogus")
    );
}

#[test]
fn a_patched_document_that_cannot_be_read_is_quoted() {
    let fault = Fault::Strict(vec!["unknown field \"foo\"".into()]);
    let status = invalid(
        &fault,
        &quoted_patch(&json!({ "foo": 1, "a": [{ "b": "c" }] })),
    );
    assert_eq!(status.code, 422);
    assert_eq!(
        status.message,
        " \"\" is invalid: patch: Invalid value: \"map[a:[map[b:c]] foo:1]\": strict decoding error: unknown field \"foo\""
    );
}

mod properties {
    use proptest::prelude::*;
    use serde_json::Map;

    use super::*;

    /// Objects of objects, lists and scalars without nulls, which a merge patch cannot set.
    fn document() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            (0..3i64).prop_map(Value::from),
            "[ab]{0,2}".prop_map(Value::from),
        ];
        let tree = leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[abc]", inner, 0..4).prop_map(object),
            ]
        });
        prop::collection::btree_map("[abc]", tree, 0..4).prop_map(object)
    }

    fn object(entries: std::collections::BTreeMap<String, Value>) -> Value {
        Value::Object(entries.into_iter().collect())
    }

    /// The merge patch that turns `from` into `to`.
    fn difference(from: &Value, to: &Value) -> Value {
        let (Value::Object(old), Value::Object(new)) = (from, to) else {
            return to.clone();
        };
        let mut patch = Map::new();
        for key in old.keys().filter(|key| !new.contains_key(*key)) {
            patch.insert(key.clone(), Value::Null);
        }
        for (key, value) in new {
            match old.get(key) {
                Some(before) if before == value => {}
                // An object in the place of something else is set member by member.
                Some(before) => drop(patch.insert(key.clone(), difference(before, value))),
                None => drop(patch.insert(key.clone(), value.clone())),
            }
        }
        Value::Object(patch)
    }

    proptest! {
        #[test]
        fn a_merge_patch_leads_from_any_document_to_any_other(from in document(), to in document()) {
            prop_assert_eq!(merge(&from, &difference(&from, &to)).unwrap(), to);
        }

        #[test]
        fn a_strategic_patch_of_a_map_is_a_merge_patch(from in document(), to in document()) {
            let data = |value: &Value| json!({ "metadata": { "annotations": value } });
            let patch = json!({ "metadata": { "annotations": difference(&from, &to) } });
            let patched = strategic(deployment(), &data(&from), &patch).unwrap();
            prop_assert_eq!(patched, data(&to));
        }
    }
}
