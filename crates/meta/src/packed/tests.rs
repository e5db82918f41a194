use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::Metadata;

fn pod(name: &str) -> Value {
    json!({
        "name": name, "generateName": "web-", "namespace": "shop",
        "uid": "0b5f6c1e-9a51-4c8e-8d6b-7d8f0f1c2b3a", "resourceVersion": "184467440737",
        "generation": 3, "creationTimestamp": "2026-01-02T03:04:05Z",
        "deletionTimestamp": "2026-01-02T03:04:35.25Z", "deletionGracePeriodSeconds": 30,
        "labels": {"app": "web", "tier": "front", "é": "ü", "empty": ""},
        "annotations": {"note": "x".repeat(300)},
        "finalizers": ["a.example/one", "b.example/two"],
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-7d", "uid": "u1",
             "controller": true, "blockOwnerDeletion": true},
            {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u2", "controller": false},
        ],
        "managedFields": [{"manager": "kubelet", "fieldsV1": {"f:metadata": {}}}],
    })
}

/// Both forms, decoded from the same text.
fn both(value: &Value) -> (PackedMeta, Meta) {
    let text = value.to_string();
    let packed = serde_json::from_str(&text).expect("packed");
    (packed, serde_json::from_str(&text).expect("unpacked"))
}

#[test]
fn packed_metadata_reads_as_the_unpacked_does() {
    for value in [pod("web-1"), json!({"name": "n"}), json!({})] {
        let (packed, meta) = both(&value);
        assert_eq!(packed.to_meta(), meta);
        assert_eq!(packed, PackedMeta::from(&meta));
        assert_eq!(
            (packed.name(), packed.namespace()),
            (meta.name(), meta.namespace())
        );
        assert_eq!(
            (packed.uid(), packed.generation()),
            (meta.uid(), meta.generation())
        );
        assert_eq!(packed.resource_version(), meta.resource_version());
        assert_eq!(packed.creation_timestamp(), meta.creation_timestamp());
        assert_eq!(packed.deletion_timestamp(), meta.deletion_timestamp());
        assert!(packed.labels().eq(meta.labels()));
        assert!(packed.annotations().eq(meta.annotations()));
        assert!(packed.finalizers().eq(meta.finalizers()));
        assert!(packed.owners().eq(meta.owners()));
        assert_eq!(packed.key(), meta.key());
        for key in ["app", "é", "empty", "none"] {
            assert_eq!(packed.label(key), meta.label(key), "{key}");
        }
        assert_eq!(packed.annotation("note"), meta.annotation("note"));
        assert_eq!(packed.controller(), meta.controller());
        assert_eq!(packed.generate_name(), meta.generate_name.as_deref());
        assert_eq!(
            packed.deletion_grace_period_seconds(),
            meta.deletion_grace_period_seconds
        );
    }
}

#[test]
fn odd_versions_and_times_survive() {
    for version in ["", "007", "etcd-9", "18446744073709551615"] {
        let (packed, meta) = both(&json!({"name": "a", "resourceVersion": version}));
        assert_eq!(
            packed.resource_version(),
            meta.resource_version,
            "{version}"
        );
    }
    for time in [
        "1969-12-31T23:59:59Z",
        "2026-01-02T03:04:05.000000001Z",
        "9999-12-30T00:00:00Z",
    ] {
        let (packed, meta) = both(&json!({"creationTimestamp": time}));
        assert_eq!(packed.to_meta(), meta, "{time}");
    }
    let (packed, _) = both(&json!({"generation": i64::MIN}));
    assert_eq!(packed.generation(), Some(i64::MIN));
}

#[test]
fn null_and_absent_read_as_empty() {
    let (packed, meta) = both(&json!({
        "name": null, "labels": null, "finalizers": null, "ownerReferences": null,
        "creationTimestamp": null,
    }));
    assert_eq!(meta, Meta::default());
    assert_eq!(packed, PackedMeta::default());
    assert_eq!(serde_json::to_string(&packed).unwrap(), "{}");
}

#[test]
fn labels_are_in_key_order_and_the_last_of_equals_counts() {
    let text = r#"{"labels":{"b":"1","a":"2","b":"3","\u0063":"4"}}"#;
    let packed: PackedMeta = serde_json::from_str(text).unwrap();
    let labels: Vec<_> = packed.labels().collect();
    assert_eq!(labels, [("a", "2"), ("b", "3"), ("c", "4")]);
}

#[test]
fn what_does_not_fit_is_an_error_and_no_panic() {
    for text in [
        r#"{"name":3}"#,
        r#"{"labels":{"a":1}}"#,
        r#"{"labels":[]}"#,
        r#"{"creationTimestamp":"yesterday"}"#,
        r#"{"ownerReferences":[7]}"#,
    ] {
        assert!(serde_json::from_str::<PackedMeta>(text).is_err(), "{text}");
        assert!(serde_json::from_str::<Meta>(text).is_err(), "{text}");
    }
}

#[test]
fn decoding_needs_no_text_to_borrow_from() {
    let value = json!({"metadata": pod("web-1")});
    let from_value: Metadata = serde_json::from_value(value.clone()).unwrap();
    let from_text: Metadata = serde_json::from_str(&value.to_string()).unwrap();
    let from_reader: Metadata = serde_json::from_reader(value.to_string().as_bytes()).unwrap();
    assert_eq!(from_value, from_text);
    assert_eq!(from_reader, from_text);
}

#[test]
fn an_interner_shares_what_is_equal_and_nothing_else() {
    let mut interner = Interner::default();
    let intern = |interner: &mut Interner, value: &Value| {
        let (mut packed, meta) = both(value);
        interner.intern(&mut packed);
        assert_eq!(packed.to_meta(), meta);
        packed
    };
    let first = intern(&mut interner, &pod("web-1"));
    let second = intern(&mut interner, &pod("web-2"));
    assert!(Arc::ptr_eq(&first.shared, &second.shared));
    let mut other = pod("web-3");
    other["labels"]["app"] = json!("shop");
    let third = intern(&mut interner, &other);
    assert!(!Arc::ptr_eq(&first.shared, &third.shared));
    assert!(!Arc::ptr_eq(&first.shared.labels, &third.shared.labels));
    assert!(Arc::ptr_eq(
        &first.shared.annotations,
        &third.shared.annotations
    ));
    assert!(Arc::ptr_eq(&first.shared.rest, &third.shared.rest));
}

#[test]
fn an_interner_forgets_what_nobody_uses() {
    let mut interner = Interner::default();
    let mut alive = Vec::new();
    for n in 0..20_000 {
        let (mut packed, _) = both(&json!({"name": "a", "labels": {"n": n.to_string()}}));
        interner.intern(&mut packed);
        if n % 1000 == 0 {
            alive.push(packed);
        }
    }
    let (whole, parts) = interner.len();
    assert!(whole < 5000 && parts < 5000, "{whole} {parts} of 20 alive");
    assert_eq!(alive.len(), 20);
}

#[test]
fn packed_metadata_is_small() {
    assert_eq!(std::mem::size_of::<PackedMeta>(), 48);
    let (packed, _) = both(&json!({
        "name": "web-1", "uid": "0b5f6c1e-9a51-4c8e-8d6b-7d8f0f1c2b3a",
        "resourceVersion": "987654321", "creationTimestamp": "2026-01-02T03:04:05Z",
    }));
    assert!(packed.own.len() <= 48, "{}", packed.own.len());
}
