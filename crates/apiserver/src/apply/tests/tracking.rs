use serde_json::{Value, json};

use super::super::{Writer, keep_times_if_unchanged, track_update};
use super::{
    config_maps, created, decoded, deployments, fields, front_end, later, managers, map, writer,
};

fn updated(live: &Value, change: impl FnOnce(&mut Value), writer: &Writer<'_>) -> Value {
    let schema = if live["kind"] == "Deployment" {
        deployments()
    } else {
        config_maps()
    };
    let mut new = live.clone();
    change(&mut new);
    track_update(schema, Some(live), &mut new, writer);
    new
}

#[test]
fn the_creator_owns_what_was_sent_and_what_was_defaulted() {
    let object = created(deployments(), front_end(), "kubectl-create");
    let expected = json!({
        "f:metadata": { "f:labels": { ".": {}, "f:app": {} } },
        "f:spec": {
            "f:progressDeadlineSeconds": {},
            "f:replicas": {},
            "f:revisionHistoryLimit": {},
            "f:selector": {},
            "f:strategy": { "f:rollingUpdate": { ".": {}, "f:maxSurge": {}, "f:maxUnavailable": {} }, "f:type": {} },
            "f:template": {
                "f:metadata": { "f:labels": { ".": {}, "f:app": {} } },
                "f:spec": {
                    "f:containers": { "k:{\"name\":\"php-redis\"}": {
                        ".": {},
                        "f:env": { ".": {}, "k:{\"name\":\"GET_HOSTS_FROM\"}": { ".": {}, "f:name": {}, "f:value": {} } },
                        "f:image": {},
                        "f:imagePullPolicy": {},
                        "f:name": {},
                        "f:ports": {
                            ".": {},
                            "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": { ".": {}, "f:containerPort": {}, "f:protocol": {} },
                        },
                        "f:resources": {},
                        "f:terminationMessagePath": {},
                        "f:terminationMessagePolicy": {},
                    } },
                    "f:dnsPolicy": {},
                    "f:restartPolicy": {},
                    "f:schedulerName": {},
                    "f:securityContext": {},
                    "f:terminationGracePeriodSeconds": {},
                },
            },
        },
    });
    assert_eq!(fields(&object, "kubectl-create"), expected);
    let entry = &object["metadata"]["managedFields"][0];
    assert_eq!(entry["operation"], "Update");
    assert_eq!(entry["apiVersion"], "apps/v1");
    assert_eq!(entry["fieldsType"], "FieldsV1");
    assert_eq!(entry["time"], "2026-01-01T00:00:00Z");
}

#[test]
fn who_changes_a_field_takes_it_over() {
    let live = created(deployments(), front_end(), "a");
    let new = updated(&live, |new| new["spec"]["replicas"] = json!(5), &later("b"));
    assert_eq!(fields(&new, "b"), json!({ "f:spec": { "f:replicas": {} } }));
    assert!(fields(&new, "a")["f:spec"].get("f:replicas").is_none());
    assert_eq!(fields(&new, "a")["f:spec"]["f:selector"], json!({}));
}

#[test]
fn who_writes_the_same_value_owns_nothing() {
    let live = created(config_maps(), map(json!({ "a": "1" })), "a");
    let new = updated(&live, |new| new["data"]["a"] = json!("1"), &later("b"));
    assert_eq!(managers(&new), ["Update a"]);
    assert_eq!(new, live);
}

#[test]
fn nobody_owns_what_is_gone() {
    let live = created(config_maps(), map(json!({ "a": "1", "b": "2" })), "a");
    let new = updated(
        &live,
        |new| drop(new["data"].as_object_mut().unwrap().remove("a")),
        &later("b"),
    );
    assert_eq!(
        fields(&new, "a"),
        json!({ "f:data": { ".": {}, "f:b": {} } })
    );
    assert_eq!(managers(&new), ["Update a"]);
    let new = updated(
        &live,
        |new| drop(new.as_object_mut().unwrap().remove("data")),
        &later("b"),
    );
    assert!(managers(&new).is_empty());
    assert!(new["metadata"].get("managedFields").is_none());
}

#[test]
fn a_subresource_has_managers_of_its_own_and_does_not_own_the_rest() {
    let live = created(deployments(), front_end(), "a");
    let status = Writer {
        subresource: "status",
        ..later("a")
    };
    let new = updated(
        &live,
        |new| {
            new["status"] =
                json!({ "replicas": 2, "conditions": [{ "type": "Available", "status": "True" }] });
            new["spec"]["replicas"] = json!(9);
        },
        &status,
    );
    assert_eq!(managers(&new), ["Update a", "Update a"]);
    let entry = &new["metadata"]["managedFields"][1];
    assert_eq!(entry["subresource"], "status");
    let expected = json!({ "f:status": {
        "f:conditions": { ".": {}, "k:{\"type\":\"Available\"}": { ".": {}, "f:status": {}, "f:type": {} } },
        "f:replicas": {},
    } });
    assert_eq!(entry["fieldsV1"], expected);
    // And a write to the object does not own its status.
    let new = updated(
        &live,
        |new| new["status"] = json!({ "replicas": 7 }),
        &later("b"),
    );
    assert_eq!(managers(&new), ["Update a"]);
}

#[test]
fn a_scale_has_no_time() {
    let live = created(deployments(), front_end(), "a");
    let scale = Writer {
        subresource: "scale",
        ..later("hpa")
    };
    let new = updated(&live, |new| new["spec"]["replicas"] = json!(5), &scale);
    let entries = new["metadata"]["managedFields"].as_array().unwrap();
    let entry = entries
        .iter()
        .find(|entry| entry["manager"] == "hpa")
        .unwrap();
    assert_eq!(entry["fieldsV1"], json!({ "f:spec": { "f:replicas": {} } }));
    assert!(entry.get("time").is_none());
}

#[test]
fn identity_is_nobodys() {
    let mut object = decoded(config_maps(), map(json!({})));
    object["metadata"]["generation"] = json!(3);
    object["metadata"]["resourceVersion"] = json!("7");
    track_update(config_maps(), None, &mut object, &writer("a"));
    assert!(managers(&object).is_empty());
}

#[test]
fn the_writer_may_reset_the_managers() {
    let live = created(config_maps(), map(json!({ "a": "1" })), "a");
    for empty in [json!([]), json!([{}])] {
        let new = updated(
            &live,
            |new| new["metadata"]["managedFields"] = empty,
            &later("b"),
        );
        assert!(managers(&new).is_empty());
        // From then on nothing is tracked until something is applied.
        let next = updated(&new, |new| new["data"]["a"] = json!("2"), &later("b"));
        assert!(managers(&next).is_empty());
    }
}

#[test]
fn managers_that_are_not_sent_or_not_readable_are_kept() {
    let live = created(config_maps(), map(json!({ "a": "1" })), "a");
    let forget = |new: &mut Value| {
        drop(
            new["metadata"]
                .as_object_mut()
                .unwrap()
                .remove("managedFields"),
        );
    };
    assert_eq!(updated(&live, forget, &later("b")), live);
    let scramble = |new: &mut Value| new["metadata"]["managedFields"] = json!([{ "manager": "x" }]);
    assert_eq!(updated(&live, scramble, &later("b")), live);
}

#[test]
fn a_write_that_changes_nothing_keeps_the_times() {
    let live = created(config_maps(), map(json!({ "a": "1" })), "a");
    let mut new = live.clone();
    new["metadata"]["managedFields"][0]["time"] = json!("2026-01-09T00:00:00Z");
    let mut unchanged = new.clone();
    keep_times_if_unchanged(&live, &mut unchanged);
    assert_eq!(unchanged, live);
    new["data"]["a"] = json!("2");
    let mut changed = new.clone();
    keep_times_if_unchanged(&live, &mut changed);
    assert_eq!(changed, new);
}

#[test]
fn the_oldest_of_too_many_updaters_are_kept_together() {
    let mut object = created(config_maps(), map(json!({ "a": "1" })), "m0");
    for number in 1..14 {
        let day = format!("2026-01-{:02}T00:00:00Z", number + 1);
        let name = format!("m{number}");
        let writer = Writer {
            manager: &name,
            subresource: "",
            now: day.parse().unwrap(),
        };
        object = updated(
            &object,
            |new| new["data"][format!("k{number}")] = json!("1"),
            &writer,
        );
    }
    let managers = managers(&object);
    assert_eq!(managers.len(), 10);
    assert_eq!(managers[0], "Update ancient-changes");
    let ancient = fields(&object, "ancient-changes");
    assert_eq!(ancient["f:data"]["f:a"], json!({}));
    assert_eq!(ancient["f:data"]["f:k4"], json!({}));
    assert_eq!(managers[1], "Update m5");
}

#[test]
fn items_that_cannot_be_told_apart_are_owned_as_one() {
    let mut doubled = front_end();
    doubled["spec"]["template"]["spec"]["containers"][0]["env"] =
        json!([{ "name": "A", "value": "1" }, { "name": "A", "value": "2" }]);
    let object = created(deployments(), doubled, "a");
    let containers = &fields(&object, "a")["f:spec"]["f:template"]["f:spec"]["f:containers"];
    let env = &containers["k:{\"name\":\"php-redis\"}"]["f:env"];
    assert_eq!(*env, json!({ ".": {}, "k:{\"name\":\"A\"}": {} }));
}
