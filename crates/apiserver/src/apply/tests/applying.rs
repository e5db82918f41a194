use evenkeel_meta::{GroupVersionKind, Reason, Status};
use serde_json::{Value, json};

use super::super::{Writer, apply};
use super::{config_maps, created, deployments, fields, front_end, later, managers, map, writer};
use crate::schema::Schema;

fn applied(live: Option<&Value>, config: &Value, manager: &str) -> Result<Value, Status> {
    let schema = if config["kind"] == "Deployment" {
        deployments()
    } else {
        config_maps()
    };
    apply(schema, live, config, &later(manager), false)
}

fn forced(live: &Value, config: &Value, manager: &str) -> Value {
    let schema = if config["kind"] == "Deployment" {
        deployments()
    } else {
        config_maps()
    };
    apply(schema, Some(live), config, &later(manager), true).unwrap()
}

/// Applied for the first time, by this manager, and stored.
fn stored(config: &Value, manager: &str) -> Value {
    let schema = if config["kind"] == "Deployment" {
        deployments()
    } else {
        config_maps()
    };
    let mut object = apply(schema, None, config, &writer(manager), false).unwrap();
    object["metadata"]["uid"] = json!("u");
    object
}

#[test]
fn an_applier_owns_what_it_applies_and_not_the_defaults() {
    let object = stored(&front_end(), "a");
    let expected = json!({
        "f:metadata": { "f:labels": { "f:app": {} } },
        "f:spec": {
            "f:replicas": {},
            "f:selector": {},
            "f:template": {
                "f:metadata": { "f:labels": { "f:app": {} } },
                "f:spec": { "f:containers": { "k:{\"name\":\"php-redis\"}": {
                    ".": {},
                    "f:env": { "k:{\"name\":\"GET_HOSTS_FROM\"}": { ".": {}, "f:name": {}, "f:value": {} } },
                    "f:image": {},
                    "f:name": {},
                    "f:ports": { "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": { ".": {}, "f:containerPort": {} } },
                } } },
            },
        },
    });
    assert_eq!(fields(&object, "a"), expected);
    assert_eq!(managers(&object), ["Apply a"]);
    assert_eq!(
        object.pointer("/spec/strategy/type"),
        Some(&json!("RollingUpdate"))
    );
}

#[test]
fn to_apply_the_same_again_changes_nothing() {
    let object = stored(&front_end(), "a");
    assert_eq!(applied(Some(&object), &front_end(), "a").unwrap(), object);
}

#[test]
fn a_conflict_names_the_field_and_its_owner() {
    let object = stored(&front_end(), "a");
    let mut other = front_end();
    other["spec"]["replicas"] = json!(3);
    let status = applied(Some(&object), &other, "b").unwrap_err();
    assert_eq!((status.code, &status.reason), (409, &Reason::Conflict));
    assert_eq!(
        status.message,
        "Apply failed with 1 conflict: conflict with \"a\": .spec.replicas"
    );
    let cause = &status.details.unwrap().causes[0];
    assert_eq!(cause.reason, "FieldManagerConflict");
    assert_eq!(cause.message, "conflict with \"a\"");
    assert_eq!(cause.field, ".spec.replicas");

    other["spec"]["template"]["spec"]["containers"][0]["image"] = json!("other");
    assert_eq!(
        applied(Some(&object), &other, "b").unwrap_err().message,
        "Apply failed with 2 conflicts: conflicts with \"a\":\n- .spec.replicas\n\
         - .spec.template.spec.containers[name=\"php-redis\"].image"
    );
}

#[test]
fn a_conflict_with_an_updater_names_its_version() {
    let object = created(deployments(), front_end(), "kubectl-client-side-apply");
    let mut other = front_end();
    other["spec"]["replicas"] = json!(3);
    assert_eq!(
        applied(Some(&object), &other, "b").unwrap_err().message,
        "Apply failed with 1 conflict: conflict with \"kubectl-client-side-apply\" using apps/v1: .spec.replicas"
    );
}

#[test]
fn force_takes_the_field_over() {
    let object = stored(&front_end(), "a");
    let mut other = front_end();
    other["spec"]["replicas"] = json!(3);
    let object = forced(&object, &other, "b");
    assert_eq!(object["spec"]["replicas"], 3);
    assert!(fields(&object, "a")["f:spec"].get("f:replicas").is_none());
    assert_eq!(fields(&object, "b")["f:spec"]["f:replicas"], json!({}));
    // What both want is both's.
    assert_eq!(fields(&object, "a")["f:spec"]["f:selector"], json!({}));
    assert_eq!(fields(&object, "b")["f:spec"]["f:selector"], json!({}));
}

#[test]
fn what_is_no_longer_applied_is_removed_unless_another_owns_it() {
    let object = stored(&map(json!({ "a": "1", "b": "2", "c": "3" })), "x");
    let object = applied(Some(&object), &map(json!({ "b": "2" })), "y").unwrap();
    let object = applied(Some(&object), &map(json!({ "a": "1" })), "x").unwrap();
    assert_eq!(object["data"], json!({ "a": "1", "b": "2" }));
    assert_eq!(fields(&object, "x"), json!({ "f:data": { "f:a": {} } }));
    // Neither does an updater lose what it took over.
    let object = stored(&map(json!({ "a": "1" })), "x");
    let mut changed = object.clone();
    changed["data"]["a"] = json!("2");
    super::super::track_update(config_maps(), Some(&object), &mut changed, &later("u"));
    let object = applied(Some(&changed), &map(json!({})), "x").unwrap();
    assert_eq!(object["data"], json!({ "a": "2" }));
}

#[test]
fn items_of_lists_come_and_go_one_by_one() {
    let object = stored(&front_end(), "a");
    let side = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "frontend" },
        "spec": { "template": { "spec": { "containers": [{ "name": "side", "image": "s" }] } } },
    });
    let object = applied(Some(&object), &side, "b").unwrap();
    let names = |object: &Value| -> Vec<String> {
        let containers = object
            .pointer("/spec/template/spec/containers")
            .unwrap()
            .as_array()
            .unwrap();
        containers
            .iter()
            .map(|container| container["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&object), ["php-redis", "side"]);
    let mut nothing = side;
    nothing.as_object_mut().unwrap().remove("spec");
    let object = applied(Some(&object), &nothing, "b").unwrap();
    assert_eq!(names(&object), ["php-redis"]);
    assert_eq!(managers(&object), ["Apply a"]);
}

#[test]
fn an_applied_list_has_the_order_of_the_configuration() {
    let env = |names: &[&str]| {
        let mut config = front_end();
        let list: Vec<_> = names
            .iter()
            .map(|name| json!({ "name": name, "value": "v" }))
            .collect();
        config["spec"]["template"]["spec"]["containers"][0]["env"] = json!(list);
        config
    };
    let order = |object: &Value| -> String {
        let list = object
            .pointer("/spec/template/spec/containers/0/env")
            .unwrap()
            .as_array()
            .unwrap();
        list.iter()
            .map(|item| item["name"].as_str().unwrap())
            .collect()
    };
    let object = stored(&env(&["A", "B", "C"]), "a");
    assert_eq!(
        order(&applied(Some(&object), &env(&["C", "A", "B"]), "a").unwrap()),
        "CAB"
    );
    assert_eq!(
        order(&applied(Some(&object), &env(&["D", "C", "B"]), "a").unwrap()),
        "DCB"
    );
    assert_eq!(
        order(&applied(Some(&object), &env(&["B", "D"]), "b").unwrap()),
        "ABCD"
    );
}

#[test]
fn an_object_that_nobody_tracked_belongs_to_before_the_first_apply() {
    let mut object = created(config_maps(), map(json!({ "a": "1", "b": "2" })), "x");
    object["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("managedFields");
    let object = applied(Some(&object), &map(json!({ "a": "1" })), "y").unwrap();
    assert_eq!(managers(&object), ["Apply y", "Update before-first-apply"]);
    assert_eq!(
        fields(&object, "before-first-apply"),
        json!({ "f:data": { ".": {}, "f:a": {}, "f:b": {} } })
    );
}

#[test]
fn kubectl_takes_over_from_its_own_client_side_apply() {
    let mut object = map(json!({ "a": "1", "b": "2" }));
    let annotation = "kubectl.kubernetes.io/last-applied-configuration";
    object["metadata"]["annotations"] =
        json!({ annotation: format!("{}\n", map(json!({ "a": "1", "b": "2" }))) });
    let object = created(config_maps(), object, "kubectl-client-side-apply");
    let wanted = map(json!({ "a": "9", "b": "2" }));
    assert_eq!(
        applied(Some(&object), &wanted, "other").unwrap_err().code,
        409
    );
    let taken = applied(Some(&object), &wanted, "kubectl").unwrap();
    assert_eq!(taken["data"]["a"], "9");
    assert_eq!(
        taken["metadata"]["annotations"][annotation],
        format!("{wanted}\n")
    );
    // But not what someone else changed in between.
    let mut changed = object.clone();
    changed["data"]["a"] = json!("7");
    super::super::track_update(config_maps(), Some(&object), &mut changed, &later("editor"));
    assert_eq!(
        applied(Some(&changed), &wanted, "kubectl")
            .unwrap_err()
            .message,
        "Apply failed with 1 conflict: conflict with \"editor\" using v1: .data.a"
    );
}

#[test]
fn a_configuration_that_does_not_fit_is_refused() {
    let object = stored(&front_end(), "a");
    let cases: [(&str, Value, &str); 5] = [
        (
            "/spec/foo",
            json!(1),
            ".spec.foo: field not declared in schema",
        ),
        (
            "/spec/replicas",
            json!("x"),
            ".spec.replicas: expected numeric (int or float), got string",
        ),
        (
            "/spec/template/spec/containers",
            json!([{ "name": "c" }, { "name": "c" }]),
            ".spec.template.spec.containers: duplicate entries for key [name=\"c\"]",
        ),
        (
            "/spec/template/spec/containers",
            json!("x"),
            ".spec.template.spec.containers: expected list, got &{x}",
        ),
        (
            "/metadata/labels",
            json!([]),
            ".metadata.labels: expected map, got &{[]}",
        ),
    ];
    for (path, value, why) in cases {
        let mut config = front_end();
        let (parent, last) = path.rsplit_once('/').unwrap();
        config.pointer_mut(parent).unwrap()[last] = value;
        let status = applied(Some(&object), &config, "a").unwrap_err();
        assert_eq!(status.code, 500);
        let start = "failed to create typed patch object (/frontend; apps/v1, Kind=Deployment): ";
        assert_eq!(status.message.strip_prefix(start), Some(why));
    }
    let mut config = front_end();
    config["metadata"]["managedFields"] = json!([]);
    assert_eq!(
        applied(Some(&object), &config, "a").unwrap_err().message,
        "metadata.managedFields must be nil"
    );
    let other = apply(
        deployments(),
        Some(&object),
        &map(json!({})),
        &later("a"),
        false,
    )
    .unwrap_err();
    assert_eq!(
        (other.code, other.message.as_str()),
        (400, "invalid object type: /v1, Kind=ConfigMap")
    );
}

#[test]
fn a_subresource_is_applied_to_without_the_rest() {
    let object = stored(&front_end(), "a");
    let config = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "frontend" },
        "spec": { "replicas": 9 },
        "status": { "conditions": [{ "type": "Z", "status": "True" }] },
    });
    let status = Writer {
        subresource: "status",
        ..later("s")
    };
    let object = apply(deployments(), Some(&object), &config, &status, false).unwrap();
    let expected = json!({ "f:status": { "f:conditions": {
        "k:{\"type\":\"Z\"}": { ".": {}, "f:status": {}, "f:type": {} },
    } } });
    assert_eq!(fields(&object, "s"), expected);
}

#[test]
fn custom_kinds_are_applied_by_their_schema() {
    let version = json!({ "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": {
        "type": "object",
        "properties": {
            "ports": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["port", "proto"],
                "items": { "type": "object", "properties": {
                    "port": { "type": "integer" },
                    "proto": { "type": "string", "default": "TCP" },
                } },
            },
            "free": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
        },
    } } } } });
    let schema = Schema::custom(
        GroupVersionKind::from_api_version("ex.io/v1", "Widget"),
        &version,
    );
    let widget = |spec: Value| {
        json!({
            "apiVersion": "ex.io/v1", "kind": "Widget", "metadata": { "name": "w" }, "spec": spec,
        })
    };
    let first = widget(json!({ "ports": [{ "port": 1 }], "free": { "a": { "b": 1, "c": [1] } } }));
    let mut object = apply(&schema, None, &first, &writer("x"), false).unwrap();
    object["metadata"]["uid"] = json!("u");
    assert_eq!(
        object["spec"]["ports"],
        json!([{ "port": 1, "proto": "TCP" }])
    );
    let expected = json!({ "f:spec": {
        // The inside of free-form fields is owned key by key.
        "f:free": { "f:a": { ".": {}, "f:b": {}, "f:c": {} } },
        "f:ports": { "k:{\"port\":1,\"proto\":\"TCP\"}": { ".": {}, "f:port": {} } },
    } });
    assert_eq!(fields(&object, "x"), expected);
    let second = widget(json!({ "ports": [{ "port": 2 }] }));
    let object = apply(&schema, Some(&object), &second, &later("y"), false).unwrap();
    assert_eq!(object["spec"]["ports"].as_array().unwrap().len(), 2);
    let object = apply(
        &schema,
        Some(&object),
        &widget(json!({})),
        &later("x"),
        false,
    )
    .unwrap();
    assert_eq!(
        object["spec"]["ports"],
        json!([{ "port": 2, "proto": "TCP" }])
    );
}
