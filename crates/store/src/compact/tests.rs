use evenkeel_meta::{DynamicObject, MetaView};
use serde_json::{Value, json};

use super::*;

fn pod(n: usize) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": format!("web-{n}"), "namespace": "shop", "uid": format!("uid-{n}"),
            "resourceVersion": n.to_string(), "labels": {"app": "web"},
            "managedFields": [{"manager": "kubelet", "fieldsV1": {"f:spec": {}}}],
            "unheardOf": {"managedFields": 1},
        },
        "spec": {
            "containers": [{"name": "app", "image": "registry.example/shop/web:1.2.3",
                "env": [{"name": "A \"quoted\" name", "value": "größer\u{1}"}],
                "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}}}],
            "nodeName": format!("node-{}", n % 7), "managedFields": "not those",
        },
        "status": {"phase": "Running", "podIP": format!("10.0.{}.{}", n / 250, n % 250)},
    })
}

fn read(n: usize) -> Compact<DynamicObject> {
    serde_json::from_str(&pod(n).to_string()).expect("a compact object")
}

/// What must be left of it.
fn pruned(n: usize) -> Value {
    let mut pod = pod(n);
    pod["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("managedFields");
    pod
}

#[test]
fn everything_but_the_managed_fields_survives() {
    let mut compressor = Compressor::default();
    for n in 0..5000 {
        let mut object = read(n);
        assert_eq!(object.metadata().name(), format!("web-{n}"));
        compressor.shrink(&mut object);
        let json: Value = serde_json::from_slice(&object.json().unwrap()).unwrap();
        assert_eq!(json, pruned(n), "object {n}");
        if n % 500 == 0 {
            let decoded = object.decode().unwrap();
            assert_eq!(decoded.metadata.name, format!("web-{n}"));
            assert_eq!(decoded.data["status"], pruned(n)["status"]);
        }
    }
}

#[test]
fn the_first_objects_teach_how_to_keep_the_others() {
    let mut compressor = Compressor::default();
    let mut sizes = Vec::new();
    for n in 0..1000 {
        let mut object = read(n);
        let before = object.stored_len();
        compressor.shrink(&mut object);
        sizes.push(object.stored_len() * 100 / before);
    }
    // In per cent of the pruned JSON.
    assert!(
        sizes[0] > 50 && sizes[999] < 25,
        "{} then {}",
        sizes[0],
        sizes[999]
    );
}

#[test]
fn unfamiliar_objects_are_kept_as_they_are() {
    let mut compressor = Compressor::default();
    for text in ["{}", r#"{"metadata":{"name":"a"}}"#] {
        let mut object: Compact<DynamicObject> = serde_json::from_str(text).unwrap();
        compressor.shrink(&mut object);
        assert_eq!(object.json().unwrap(), text.as_bytes());
        assert!(object.stored_len() <= text.len());
    }
    for text in [
        "3",
        "[]",
        r#"{"metadata":7}"#,
        r#"{"metadata":{"labels":[1]}}"#,
    ] {
        assert!(
            serde_json::from_str::<Compact<DynamicObject>>(text).is_err(),
            "{text}"
        );
    }
}

#[test]
fn what_does_not_decode_is_the_readers_to_find_out() {
    let object: Compact<DynamicObject> =
        serde_json::from_str(r#"{"metadata":{"name":"a"},"kind":7}"#).unwrap();
    assert!(matches!(object.decode(), Err(CompactError::Decode(_))));
}
