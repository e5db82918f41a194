use evenkeel_meta::GroupVersionKind;
use serde_json::{Value, json};

use crate::schema::Schemas;
use crate::validation::{FieldValidation, check_fields};

/// Decoded and defaulted.
fn filled(api_version: &str, kind: &str, mut object: Value) -> Value {
    let kind = GroupVersionKind::from_api_version(api_version, kind);
    let schema = Schemas::builtin().kind(&kind).unwrap();
    check_fields(schema, &mut object, &[], FieldValidation::Strict).unwrap();
    super::apply(&kind, &mut object);
    object
}

#[test]
fn kcm_d6_a_deployment_rolls_by_a_quarter() {
    let object = json!({
        "metadata": { "name": "frontend" },
        "spec": {
            "selector": { "matchLabels": { "app": "guestbook" } },
            "template": {
                "metadata": { "labels": { "app": "guestbook" } },
                "spec": { "containers": [{ "name": "c", "image": "nginx", "ports": [{ "containerPort": 80 }] }] },
            },
        },
    });
    let expected = json!({
        "metadata": { "name": "frontend" },
        "spec": {
            "replicas": 1,
            "selector": { "matchLabels": { "app": "guestbook" } },
            "template": {
                "metadata": { "labels": { "app": "guestbook" } },
                "spec": {
                    "containers": [{
                        "name": "c",
                        "image": "nginx",
                        "ports": [{ "containerPort": 80, "protocol": "TCP" }],
                        "resources": {},
                        "terminationMessagePath": "/dev/termination-log",
                        "terminationMessagePolicy": "File",
                        "imagePullPolicy": "Always",
                    }],
                    "restartPolicy": "Always",
                    "terminationGracePeriodSeconds": 30,
                    "dnsPolicy": "ClusterFirst",
                    "securityContext": {},
                    "schedulerName": "default-scheduler",
                },
            },
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": { "maxUnavailable": "25%", "maxSurge": "25%" },
            },
            "revisionHistoryLimit": 10,
            "progressDeadlineSeconds": 600,
        },
        "status": {},
    });
    assert_eq!(filled("apps/v1", "Deployment", object), expected);
}

#[test]
fn what_is_set_stays() {
    let spec = json!({
        "replicas": 0,
        "strategy": { "type": "Recreate" },
        "revisionHistoryLimit": 0,
        "template": { "spec": { "terminationGracePeriodSeconds": 0 } },
    });
    let object = filled(
        "apps/v1",
        "Deployment",
        json!({ "metadata": {}, "spec": spec }),
    );
    assert_eq!(object.pointer("/spec/replicas"), Some(&json!(0)));
    assert_eq!(
        object.pointer("/spec/strategy"),
        Some(&json!({ "type": "Recreate" }))
    );
    assert_eq!(
        object.pointer("/spec/revisionHistoryLimit"),
        Some(&json!(0))
    );
    assert_eq!(
        object.pointer("/spec/template/spec/terminationGracePeriodSeconds"),
        Some(&json!(0))
    );
}

#[test]
fn an_image_is_pulled_again_unless_it_is_pinned() {
    let policy = |image: &str| {
        let spec = json!({ "containers": [{ "name": "c", "image": image }] });
        let pod = filled("v1", "Pod", json!({ "metadata": {}, "spec": spec }));
        pod.pointer("/spec/containers/0/imagePullPolicy")
            .cloned()
            .unwrap()
    };
    for image in ["nginx", "nginx:latest", "reg.io:5000/nginx"] {
        assert_eq!(policy(image), "Always", "{image}");
    }
    for image in [
        "nginx:1",
        "reg.io:5000/nginx:1",
        "nginx@sha256:00",
        "nginx:1@sha256:00",
        "",
    ] {
        assert_eq!(policy(image), "IfNotPresent", "{image}");
    }
}

#[test]
fn a_pod_is_filled_in_to_the_depth() {
    let spec = json!({
        "hostNetwork": true,
        "serviceAccountName": "robot",
        "containers": [{
            "name": "c",
            "image": "i:1",
            "ports": [{ "containerPort": 80 }],
            "resources": { "limits": { "cpu": "1" } },
            "env": [{ "name": "A", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } }],
            "readinessProbe": { "httpGet": { "port": 80 } },
        }],
        "volumes": [
            { "name": "a" },
            { "name": "b", "configMap": { "name": "m" } },
            { "name": "c", "projected": { "sources": [{ "serviceAccountToken": { "path": "t" } }] } },
        ],
    });
    let pod = filled("v1", "Pod", json!({ "metadata": {}, "spec": spec }));
    let at = |path: &str| pod.pointer(path).cloned().unwrap_or_default();
    assert_eq!(at("/spec/enableServiceLinks"), true);
    assert_eq!(at("/spec/serviceAccount"), "robot");
    assert_eq!(at("/spec/containers/0/ports/0/hostPort"), 80);
    assert_eq!(
        at("/spec/containers/0/resources/requests"),
        json!({ "cpu": "1" })
    );
    assert_eq!(
        at("/spec/containers/0/env/0/valueFrom/fieldRef/apiVersion"),
        "v1"
    );
    let probe = json!({
        "httpGet": { "path": "/", "port": 80, "scheme": "HTTP" },
        "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3,
    });
    assert_eq!(at("/spec/containers/0/readinessProbe"), probe);
    assert_eq!(at("/spec/volumes/0/emptyDir"), json!({}));
    assert_eq!(at("/spec/volumes/1/configMap/defaultMode"), 420);
    assert_eq!(
        at("/spec/volumes/2/projected/sources/0/serviceAccountToken/expirationSeconds"),
        3600
    );
}

#[test]
fn other_kinds_have_their_defaults() {
    let spec =
        json!({ "selector": {}, "ports": [{ "port": 80 }, { "port": 81, "targetPort": "web" }] });
    let service = filled("v1", "Service", json!({ "metadata": {}, "spec": spec }));
    let expected = json!({
        "selector": null,
        "sessionAffinity": "None",
        "type": "ClusterIP",
        "internalTrafficPolicy": "Cluster",
        "ports": [
            { "port": 80, "protocol": "TCP", "targetPort": 80 },
            { "port": 81, "protocol": "TCP", "targetPort": "web" },
        ],
    });
    let mut expected = expected;
    expected.as_object_mut().unwrap().remove("selector");
    assert_eq!(service["spec"], expected);

    let namespace = filled("v1", "Namespace", json!({ "metadata": { "name": "n" } }));
    assert_eq!(
        namespace.pointer("/metadata/labels/kubernetes.io~1metadata.name"),
        Some(&json!("n"))
    );
    assert_eq!(namespace.pointer("/status/phase"), Some(&json!("Active")));

    let secret = filled(
        "v1",
        "Secret",
        json!({ "metadata": {}, "data": { "a": "eA==" }, "stringData": { "b": "x" } }),
    );
    assert_eq!(secret["data"], json!({ "a": "eA==", "b": "eA==" }));
    assert_eq!(secret["type"], "Opaque");
    assert!(secret.get("stringData").is_none());

    let job = filled(
        "batch/v1",
        "Job",
        json!({ "metadata": {}, "spec": { "template": {} } }),
    );
    let limits =
        ["completions", "parallelism", "backoffLimit"].map(|field| job["spec"][field].clone());
    assert_eq!(limits, [json!(1), json!(1), json!(6)]);
}
