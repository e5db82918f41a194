use proptest::prelude::*;
use serde_json::json;

use super::super::codec::{decode, encode};
use super::super::element::Element;
use super::super::set::FieldSet;

#[test]
fn fields_v1_reads_and_writes_the_real_servers_notation() {
    let text = json!({
        "f:metadata": { "f:labels": { ".": {}, "f:app": {} }, "f:finalizers": { ".": {}, "v:\"a/b\"": {} } },
        "f:spec": { "f:containers": { "k:{\"name\":\"c\"}": {
            ".": {},
            "f:ports": { "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": { ".": {}, "f:containerPort": {} } },
        } } },
        "f:list": { "i:0": {} },
    });
    assert_eq!(encode(&decode(&text).unwrap()), text);
}

#[test]
fn what_is_no_path_element_is_refused() {
    for key in ["", "x", "q:a", "k:notjson", "v:", "i:x"] {
        assert!(decode(&json!({ key: {} })).is_err(), "{key:?}");
    }
}

#[test]
fn a_set_takes_away_fields_or_whole_branches() {
    let set = FieldSet::of(&[&["a"], &["a", "b"], &["a", "c"], &["d", "e"]]);
    assert_eq!(
        set.clone().difference(&FieldSet::of(&[&["a"]])),
        FieldSet::of(&[&["a", "b"], &["a", "c"], &["d", "e"]])
    );
    assert_eq!(
        set.clone().recursive_difference(&FieldSet::of(&[&["a"]])),
        FieldSet::of(&[&["d", "e"]])
    );
    assert_eq!(
        set.intersection(&FieldSet::of(&[&["a", "b"], &["d"]])),
        FieldSet::of(&[&["a", "b"]])
    );
}

#[test]
fn elements_are_ordered_by_kind_and_number() {
    let key = |port: i64| Element::Key(vec![("port".into(), json!(port))].into());
    let ordered = [
        Element::Field("z".into()),
        key(80),
        key(443),
        Element::Value(json!("a")),
        Element::Index(0),
    ];
    assert!(ordered.is_sorted());
    assert_eq!(key(80).to_string(), "[port=80]");
    assert_eq!(Element::Value(json!("a")).to_string(), "[=\"a\"]");
}

fn set() -> impl Strategy<Value = FieldSet> {
    let path = prop::collection::vec("[abc]", 1..4);
    prop::collection::vec(path, 0..8).prop_map(|paths| {
        let mut set = FieldSet::default();
        for path in &paths {
            set.insert_fields(&path.iter().map(String::as_str).collect::<Vec<_>>());
        }
        set
    })
}

proptest! {
    #[test]
    fn encoding_and_decoding_gives_the_set_back(set in set()) {
        prop_assert_eq!(decode(&encode(&set)).unwrap(), set);
    }

    #[test]
    fn sets_obey_their_algebra(one in set(), two in set()) {
        let both = one.intersection(&two);
        let union = one.clone().union(two.clone());
        prop_assert_eq!(&one.clone().difference(&two).union(both.clone()), &one);
        prop_assert_eq!(&union.clone().difference(&two), &one.clone().difference(&two));
        prop_assert_eq!(one.meets(&two), !both.is_empty());
        prop_assert_eq!(&two.clone().union(one.clone()), &union);
        prop_assert!(one.recursive_difference(&union).is_empty());
    }
}
