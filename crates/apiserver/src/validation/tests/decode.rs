use serde_json::{Value, json};

use super::{deployment, pod, schema, with};
use crate::schema::Schema;
use crate::validation::{FieldValidation, check_fields, duplicate_fields};

fn decoded(schema: &Schema, mut object: Value) -> Value {
    check_fields(schema, &mut object, &[], FieldValidation::Ignore).unwrap();
    object
}

fn complaint(object: Value, mode: FieldValidation) -> String {
    let mut object = object;
    let schema = schema(
        object["apiVersion"].as_str().unwrap(),
        object["kind"].as_str().unwrap(),
    );
    let status = check_fields(schema, &mut object, &[], mode).unwrap_err();
    assert_eq!(status.code, 400);
    status.message
}

#[test]
fn unknown_fields_are_refused_warned_of_or_ignored_and_never_kept() {
    let mut object = with(deployment(), "/spec/foo", json!(1));
    object = with(object, "/spec/template/spec/containers/0/bar", json!(1));
    assert_eq!(
        complaint(object.clone(), FieldValidation::Strict),
        "Deployment in version \"v1\" cannot be handled as a Deployment: strict decoding error: \
         unknown field \"spec.foo\", unknown field \"spec.template.spec.containers[0].bar\""
    );
    let schema = schema("apps/v1", "Deployment");
    let mut warned = object.clone();
    let warnings = check_fields(schema, &mut warned, &[], FieldValidation::Warn).unwrap();
    assert_eq!(
        warnings,
        [
            "unknown field \"spec.foo\"",
            "unknown field \"spec.template.spec.containers[0].bar\""
        ]
    );
    assert_eq!(warned, decoded(schema, object));
    assert!(warned["spec"].get("foo").is_none());
}

#[test]
fn a_wrong_type_names_the_go_field() {
    let cases = [
        (
            "/spec/replicas",
            json!("x"),
            "string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            "/spec/replicas",
            json!(1.5),
            "number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            "/spec/replicas",
            json!(99_999_999_999_i64),
            "number 99999999999 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            "/spec/template/spec/restartPolicy",
            json!(5),
            "number into Go struct field PodSpec.spec.template.spec.restartPolicy of type v1.RestartPolicy",
        ),
        (
            "/spec/template/spec/containers",
            json!({}),
            "object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container",
        ),
        (
            "/spec/template/spec/containers/0",
            json!("x"),
            "string into Go struct field PodSpec.spec.template.spec.containers of type v1.Container",
        ),
        (
            "/metadata/labels",
            json!({ "a": 1 }),
            "number into Go struct field ObjectMeta.metadata.labels of type string",
        ),
        (
            "/metadata",
            json!("x"),
            "string into Go struct field Deployment.metadata of type v1.ObjectMeta",
        ),
        (
            "/metadata/creationTimestamp",
            json!(5),
            "number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
        ),
    ];
    for (path, value, expected) in cases {
        let message = complaint(with(deployment(), path, value), FieldValidation::Ignore);
        let start = "Deployment in version \"v1\" cannot be handled as a Deployment: json: cannot unmarshal ";
        assert_eq!(message.strip_prefix(start), Some(expected), "{message}");
    }
}

#[test]
fn a_wrong_text_is_refused_without_its_place() {
    let resources = |cpu: Value| {
        with(
            pod(),
            "/spec/containers/0/resources",
            json!({ "requests": { "cpu": cpu } }),
        )
    };
    for cpu in [json!(true), json!("abc"), json!("1x")] {
        let message = complaint(resources(cpu), FieldValidation::Ignore);
        assert!(
            message.contains("quantities must match the regular expression"),
            "{message}"
        );
    }
    let message = complaint(
        with(pod(), "/metadata/creationTimestamp", json!("xx")),
        FieldValidation::Ignore,
    );
    assert!(message.ends_with(
        "parsing time \"xx\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"xx\" as \"2006\""
    ));
    let secret =
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": {}, "data": { "a": "x$" } });
    assert!(
        complaint(secret, FieldValidation::Ignore).ends_with("illegal base64 data at input byte 1")
    );
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {},
        "spec": { "renewTime": "2020-01-01T00:00:00Z" },
    });
    assert!(
        complaint(lease, FieldValidation::Ignore).ends_with("cannot parse \"Z\" as \".000000\"")
    );
}

#[test]
fn values_come_out_as_a_go_server_encodes_them() {
    let object = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "x",
            "labels": {},
            "annotations": null,
            "creationTimestamp": "2020-01-01T02:00:00+02:00",
        },
        "spec": {
            "replicas": 0,
            "minReadySeconds": 0,
            "paused": false,
            "template": { "spec": { "containers": [
                { "name": "c", "args": [], "resources": { "requests": { "cpu": 1, "memory": "1024Mi" } } },
            ] } },
        },
    });
    let expected = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": "x", "creationTimestamp": "2020-01-01T00:00:00Z" },
        "spec": {
            "replicas": 0,
            "selector": null,
            "strategy": {},
            "template": { "metadata": {}, "spec": { "containers": [
                { "name": "c", "resources": { "requests": { "cpu": "1", "memory": "1Gi" } } },
            ] } },
        },
        "status": {},
    });
    assert_eq!(decoded(schema("apps/v1", "Deployment"), object), expected);
}

#[test]
fn the_schemas_own_defaults_are_filled_in() {
    let service = json!({ "metadata": {}, "spec": { "ports": [{ "port": 80 }] } });
    let service = decoded(schema("v1", "Service"), service);
    assert_eq!(
        service.pointer("/spec/ports/0/protocol"),
        Some(&json!("TCP"))
    );
}

#[test]
fn decoding_twice_changes_nothing() {
    let schema = schema("apps/v1", "Deployment");
    let once = decoded(schema, deployment());
    assert_eq!(decoded(schema, once.clone()), once);
}

#[test]
fn an_empty_list_of_managers_is_not_none() {
    let object = decoded(
        schema("v1", "ConfigMap"),
        json!({ "metadata": { "managedFields": [] } }),
    );
    assert_eq!(object.pointer("/metadata/managedFields"), Some(&json!([])));
}

#[test]
fn repeated_keys_are_found_in_the_text() {
    let find = |text: &str| duplicate_fields(text.as_bytes(), &serde_json::from_str(text).unwrap());
    assert!(find(r#"{"a":{"b":1},"c":["x:y",{"b":"\":"}]}"#).is_empty());
    assert_eq!(find(r#"{"a":1,"a":2}"#), ["a"]);
    assert_eq!(
        find(r#"{"m":{"name":"x","name":"y"},"l":[{"z":1},{"z":1,"z":2,"z":3}]}"#),
        ["m.name", "l[1].z"]
    );
    let schema = schema("v1", "ConfigMap");
    let status = check_fields(
        schema,
        &mut json!({}),
        &["metadata.name".into()],
        FieldValidation::Strict,
    )
    .unwrap_err();
    assert!(
        status
            .message
            .ends_with("strict decoding error: duplicate field \"metadata.name\"")
    );
}

#[test]
fn a_custom_kind_is_pruned_defaulted_and_checked() {
    let version = json!({ "schema": { "openAPIV3Schema": {
        "type": "object",
        "required": ["spec"],
        "properties": { "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": { "type": "integer", "minimum": 1 },
                "mode": { "type": "string", "enum": ["A", "B"], "default": "A" },
                "note": { "type": "string", "nullable": true },
                "nested": { "type": "object", "default": {}, "properties": {
                    "x": { "type": "integer", "default": 5 },
                } },
                "free": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
            },
        } },
    } } });
    let kind = evenkeel_meta::GroupVersionKind::from_api_version("ex.io/v1", "Widget");
    let schema = Schema::custom(kind, &version);
    let mut object = json!({
        "apiVersion": "ex.io/v1", "kind": "Widget",
        "metadata": { "name": "w", "odd": 1 },
        "spec": { "size": 1, "odd": 1, "mode": null, "note": null, "free": { "a": [{ "b": null }] } },
    });
    let warnings = check_fields(&schema, &mut object, &[], FieldValidation::Warn).unwrap();
    assert_eq!(
        warnings,
        [
            "unknown field \"metadata.odd\"",
            "unknown field \"spec.odd\""
        ]
    );
    let spec = json!({
        "size": 1, "mode": "A", "note": null, "nested": { "x": 5 }, "free": { "a": [{ "b": null }] },
    });
    assert_eq!(object["spec"], spec);

    let causes = |spec: Value| {
        let object = json!({ "metadata": { "name": "w" }, "spec": spec });
        let causes = crate::validation::causes(&schema, &object, None);
        causes
            .into_iter()
            .map(|cause| format!("{}: {}", cause.field, cause.message))
            .collect::<Vec<_>>()
    };
    assert!(causes(json!({ "size": 1 })).is_empty());
    assert_eq!(causes(json!({})), ["spec.size: Required value"]);
    assert_eq!(
        causes(json!({ "size": "x" })),
        [
            "spec.size: Invalid value: \"string\": spec.size in body must be of type integer: \"string\""
        ]
    );
    assert_eq!(
        causes(json!({ "size": 0 })),
        ["spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1"]
    );
    assert_eq!(
        causes(json!({ "size": 1, "mode": "C" })),
        ["spec.mode: Unsupported value: \"C\": supported values: \"A\", \"B\""]
    );
}
