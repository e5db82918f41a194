use evenkeel_meta::GroupVersionKind;
use serde_json::json;

use super::*;

fn kind(api_version: &str, kind: &str) -> &'static Schema {
    Schemas::builtin()
        .kind(&GroupVersionKind::from_api_version(api_version, kind))
        .unwrap()
}

/// The type at a path of field names and, for lists, `*`.
fn at<'a>(schema: &'a Schema, path: &str) -> Node<'a> {
    path.split('.').fold(schema.root(), |node, step| {
        if step == "*" {
            node.item()
        } else {
            node.key(step).unwrap()
        }
    })
}

fn topology(schema: &Schema, path: &str) -> Vec<String> {
    match at(schema, path).ty() {
        Type::List(List {
            topology: Topology::Keyed(keys),
            ..
        }) => keys.iter().map(ToString::to_string).collect(),
        Type::List(List {
            topology: Topology::Set,
            ..
        }) => vec!["set".into()],
        _ => Vec::new(),
    }
}

#[test]
fn every_type_that_is_named_is_declared() {
    let data = data::load().unwrap();
    for (name, id) in &data.names {
        let ty = Node::new(&data.types, *id).ty();
        assert!(matches!(ty, Type::Struct(_)), "{name} is only referred to");
    }
    assert!(data.kinds.len() > 50, "{} kinds", data.kinds.len());
}

#[test]
fn lists_are_told_apart_by_the_fields_that_the_real_server_uses() {
    let deployment = kind("apps/v1", "Deployment");
    let pod = "spec.template.spec.";
    assert_eq!(topology(deployment, &format!("{pod}containers")), ["name"]);
    assert_eq!(
        topology(deployment, &format!("{pod}containers.*.ports")),
        ["containerPort", "protocol"]
    );
    assert_eq!(topology(deployment, "metadata.finalizers"), ["set"]);
    assert_eq!(topology(deployment, "metadata.ownerReferences"), ["uid"]);
    assert!(topology(deployment, &format!("{pod}tolerations")).is_empty());
    assert_eq!(
        topology(kind("v1", "Service"), "spec.ports"),
        ["port", "protocol"]
    );
}

#[test]
fn patch_strategies_are_the_real_servers() {
    let deployment = kind("apps/v1", "Deployment");
    let strategy = at(deployment, "spec").field("strategy").unwrap();
    assert!(strategy.patch.retain_keys);
    let pod = at(deployment, "spec.template.spec");
    let volumes = &pod.field("volumes").unwrap().patch;
    assert!(volumes.merge && volumes.retain_keys);
    assert_eq!(volumes.merge_key.as_deref(), Some("name"));
    assert!(!pod.field("tolerations").unwrap().patch.merge);
}

#[test]
fn atomic_objects_are_known_and_granular_uses_of_them() {
    let is_atomic = |node: Node<'_>| matches!(node.ty(), Type::Struct(object) if object.atomic);
    assert!(is_atomic(at(
        kind("apps/v1", "Deployment"),
        "spec.selector"
    )));
    assert!(is_atomic(at(kind("v1", "Event"), "involvedObject")));
    assert!(!is_atomic(at(
        kind("v1", "PersistentVolume"),
        "spec.claimRef"
    )));
}

#[test]
fn an_empty_object_encodes_as_a_go_server_encodes_it() {
    let expected = json!({
        "metadata": {},
        "spec": {
            "selector": null,
            "strategy": {},
            "template": { "metadata": {}, "spec": { "containers": null } },
        },
        "status": {},
    });
    assert_eq!(*kind("apps/v1", "Deployment").zero(), expected);
}

#[test]
fn quantities_take_their_canonical_form() {
    let cases = [
        ("0", "0"),
        ("0.0", "0"),
        ("1", "1"),
        ("0.5", "500m"),
        ("1500m", "1500m"),
        ("1000m", "1"),
        ("1000", "1k"),
        ("100k", "100k"),
        (".5", "500m"),
        ("1.", "1"),
        ("+3", "3"),
        ("-1500m", "-1500m"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("1000Ki", "1000Ki"),
        ("0.5Ki", "512"),
        ("1536", "1536"),
        ("1e3", "1e3"),
        ("1E", "1E"),
        ("12e6", "12e6"),
        ("1u", "1u"),
        ("0.0000000001", "1n"),
        ("5Ei", "5Ei"),
    ];
    for (text, canonical) in cases {
        let quantity: Quantity = text.parse().unwrap();
        assert_eq!(quantity.to_string(), canonical, "of {text}");
    }
    assert!("1Gi".parse::<Quantity>().unwrap() > "1G".parse().unwrap());
    assert!("1000m".parse::<Quantity>().unwrap() == "1".parse().unwrap());
    assert!("-1".parse::<Quantity>().unwrap().is_negative());
}

#[test]
fn what_is_no_quantity_is_refused() {
    for text in [
        "", "abc", "1x", "1 Gi", "1.2.3", "Gi", "-", "1mm", "1e", "1GiB",
    ] {
        assert!(text.parse::<Quantity>().is_err(), "{text:?}");
    }
}

#[test]
fn a_custom_kind_has_the_metadata_of_every_kind() {
    let version = json!({
        "schema": { "openAPIV3Schema": { "type": "object", "properties": {
            "spec": { "type": "object", "properties": {
                "ports": {
                    "type": "array",
                    "items": { "type": "object", "properties": { "port": { "type": "integer" } } },
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["port"],
                },
                "free": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
            } },
        } } },
        "subresources": { "status": {} },
    });
    let widget = Schema::custom(
        GroupVersionKind::from_api_version("ex.io/v1", "Widget"),
        &version,
    );
    assert_eq!(widget.origin(), Origin::Custom);
    assert!(widget.has_status_subresource());
    assert_eq!(topology(&widget, "metadata.finalizers"), ["set"]);
    assert_eq!(topology(&widget, "spec.ports"), ["port"]);
    assert!(matches!(
        at(&widget, "spec.free.any.thing").ty(),
        Type::Free
    ));
    assert!(at(&widget, "spec").key("unknown").is_none());
}

#[test]
fn a_custom_kind_without_schema_keeps_anything() {
    let kind = GroupVersionKind::from_api_version("ex.io/v1", "Widget");
    let widget = Schema::custom(kind, &json!({}));
    assert!(matches!(at(&widget, "spec.what.ever").ty(), Type::Free));
}
