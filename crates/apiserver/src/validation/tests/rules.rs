use serde_json::{Value, json};

use super::{deployment, pod, schema, with};
use crate::defaults;
use crate::validation::{FieldValidation, causes, check_fields};

/// Decodes, defaults and checks, as a write does: `field: message` of each fault.
fn faults(object: &Value, old: Option<&Value>) -> Vec<String> {
    let schema = schema(
        object["apiVersion"].as_str().unwrap(),
        object["kind"].as_str().unwrap(),
    );
    let prepared = |object: &Value| {
        let mut object = object.clone();
        check_fields(schema, &mut object, &[], FieldValidation::Ignore).unwrap();
        defaults::apply(schema.kind(), &mut object);
        object
    };
    let causes = causes(schema, &prepared(object), old.map(prepared).as_ref());
    causes
        .into_iter()
        .map(|cause| format!("{}: {}", cause.field, cause.message))
        .collect()
}

#[track_caller]
fn refused(object: &Value, expected: &[&str]) {
    assert_eq!(faults(object, None), expected);
}

#[test]
fn sound_objects_break_no_rule() {
    refused(&deployment(), &[]);
    refused(&pod(), &[]);
}

#[test]
fn kcm_d1_an_empty_or_missing_selector_is_refused() {
    refused(
        &with(deployment(), "/spec/selector", json!({})),
        &["spec.selector: Invalid value: {}: empty selector is invalid for deployment"],
    );
    refused(
        &with(deployment(), "/spec/selector", Value::Null),
        &[
            "spec.selector: Required value",
            "spec.template.metadata.labels: Invalid value: {\"app\":\"guestbook\"}: `selector` does not match template `labels`",
        ],
    );
    refused(
        &with(
            deployment(),
            "/spec/selector",
            json!({ "matchLabels": { "app": "other" } }),
        ),
        &[
            "spec.template.metadata.labels: Invalid value: {\"app\":\"guestbook\"}: `selector` does not match template `labels`",
        ],
    );
}

#[test]
fn kcm_d1_a_selector_cannot_change() {
    let mut new = with(
        deployment(),
        "/spec/selector",
        json!({ "matchLabels": { "app": "guestbook", "tier": "x" } }),
    );
    new["spec"]["template"]["metadata"]["labels"]["tier"] = json!("x");
    assert_eq!(
        faults(&new, Some(&deployment())),
        [
            "spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"guestbook\",\"tier\":\"x\"}}: field is immutable"
        ]
    );
}

#[test]
fn kcm_d6_surge_and_unavailable_may_not_both_be_zero() {
    let strategy = |surge: Value, unavailable: Value| {
        let rolling = json!({ "maxSurge": surge, "maxUnavailable": unavailable });
        with(
            deployment(),
            "/spec/strategy",
            json!({ "rollingUpdate": rolling }),
        )
    };
    let field = "spec.strategy.rollingUpdate.maxUnavailable";
    refused(
        &strategy(json!(0), json!(0)),
        &[&format!(
            "{field}: Invalid value: 0: may not be 0 when `maxSurge` is 0"
        )],
    );
    refused(
        &strategy(json!("0%"), json!("0%")),
        &[&format!(
            "{field}: Invalid value: \"0%\": may not be 0 when `maxSurge` is 0"
        )],
    );
    refused(&strategy(json!(0), json!(1)), &[]);
    refused(
        &strategy(json!("200%"), json!("101%")),
        &[&format!(
            "{field}: Invalid value: \"101%\": must not be greater than 100%"
        )],
    );
}

#[test]
fn deployments_have_sound_numbers_strategies_and_templates() {
    let cases: [(&str, Value, &[&str]); 7] = [
        (
            "/spec/replicas",
            json!(-1),
            &["spec.replicas: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            "/spec/progressDeadlineSeconds",
            json!(0),
            &[
                "spec.progressDeadlineSeconds: Invalid value: 0: must be greater than minReadySeconds",
            ],
        ),
        (
            "/spec/strategy",
            json!({ "type": "Foo" }),
            &[
                "spec.strategy: Unsupported value: {\"Type\":\"Foo\",\"RollingUpdate\":null}: supported values: \"Recreate\", \"RollingUpdate\"",
            ],
        ),
        (
            "/spec/strategy",
            json!({ "type": "Recreate", "rollingUpdate": {} }),
            &[
                "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
            ],
        ),
        (
            "/spec/template/spec/restartPolicy",
            json!("OnFailure"),
            &[
                "spec.template.spec.restartPolicy: Unsupported value: \"OnFailure\": supported values: \"Always\"",
            ],
        ),
        (
            "/spec/template/spec/containers",
            json!([]),
            &["spec.template.spec.containers: Required value"],
        ),
        (
            "/spec/template/spec/containers",
            json!([{}]),
            &[
                "spec.template.spec.containers[0].name: Required value",
                "spec.template.spec.containers[0].image: Required value",
            ],
        ),
    ];
    for (path, value, expected) in cases {
        refused(&with(deployment(), path, value), expected);
    }
}

#[test]
fn names_labels_and_annotations_have_their_forms() {
    let first = |object: &Value| faults(object, None).swap_remove(0);
    let named = |name: &str| with(pod(), "/metadata/name", json!(name));
    assert!(first(&named("Bad_Name")).starts_with(
        "metadata.name: Invalid value: \"Bad_Name\": a lowercase RFC 1123 subdomain must consist of"
    ));
    assert!(first(&named(&"a".repeat(254))).ends_with("must be no more than 253 characters"));
    let labelled = |key: &str, value: &str| with(pod(), "/metadata/labels", json!({ key: value }));
    assert!(
        first(&labelled("a b", "x"))
            .starts_with("metadata.labels: Invalid value: \"a b\": name part must")
    );
    assert!(first(&labelled("a", "b c")).contains("a valid label must be an empty string or"));
    assert!(first(&labelled("a", &"v".repeat(64))).ends_with("must be no more than 63 bytes"));
    refused(&labelled("example.com/name", ""), &[]);
    let annotated = with(
        pod(),
        "/metadata/annotations",
        json!({ "q": "z".repeat(300_000) }),
    );
    refused(
        &annotated,
        &["metadata.annotations: Too long: may not be more than 262144 bytes"],
    );
}

#[test]
fn a_namespaces_name_has_no_dots() {
    let namespace =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "a.b" } });
    refused(
        &namespace,
        &["metadata.name: Invalid value: \"a.b\": must not contain dots"],
    );
}

#[test]
fn pods_are_checked_in_depth() {
    let container =
        |field: &str, value: Value| with(pod(), &format!("/spec/containers/0/{field}"), value);
    refused(
        &container(
            "volumeMounts",
            json!([{ "name": "nope", "mountPath": "/x" }]),
        ),
        &["spec.containers[0].volumeMounts[0].name: Not found: \"nope\""],
    );
    refused(
        &container("livenessProbe", json!({})),
        &["spec.containers[0].livenessProbe: Required value: must specify a handler type"],
    );
    refused(
        &container(
            "resources",
            json!({ "requests": { "cpu": "2" }, "limits": { "cpu": "1" } }),
        ),
        &[
            "spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1",
        ],
    );
    refused(
        &container("imagePullPolicy", json!("Foo")),
        &[
            "spec.containers[0].imagePullPolicy: Unsupported value: \"Foo\": supported values: \"Always\", \"IfNotPresent\", \"Never\"",
        ],
    );
    refused(
        &with(pod(), "/spec/restartPolicy", json!("Foo")),
        &[
            "spec.restartPolicy: Unsupported value: \"Foo\": supported values: \"Always\", \"OnFailure\", \"Never\"",
        ],
    );
    refused(
        &with(
            pod(),
            "/spec/volumes",
            json!([{ "name": "v", "emptyDir": {}, "secret": { "secretName": "s" } }]),
        ),
        &["spec.volumes[0].secret: Forbidden: may not specify more than 1 volume type"],
    );
}

#[test]
fn nearly_all_of_a_pods_spec_is_frozen() {
    let change = |path: &str, value: Value| faults(&with(pod(), path, value), Some(&pod()));
    assert!(change("/spec/containers/0/image", json!("other")).is_empty());
    assert!(change("/spec/activeDeadlineSeconds", json!(5)).is_empty());
    assert!(
        change(
            "/spec/tolerations",
            json!([{ "key": "a", "operator": "Exists" }])
        )
        .is_empty()
    );
    assert!(change("/metadata/labels", json!({ "a": "b" })).is_empty());
    for (path, value) in [
        ("/spec/nodeName", json!("n")),
        ("/spec/restartPolicy", json!("Never")),
        ("/spec/terminationGracePeriodSeconds", json!(1)),
        ("/spec/containers/0/command", json!(["x"])),
    ] {
        let faults = change(path, value);
        assert_eq!(faults.len(), 1, "{path}: {faults:?}");
        assert!(
            faults[0].starts_with("spec: Forbidden: pod updates may not change fields other than")
        );
    }
    let mut two = pod();
    two["spec"]["containers"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "name": "d", "image": "i" }));
    assert_eq!(
        faults(&two, Some(&pod())),
        ["spec.containers: Forbidden: pod updates may not add or remove containers"]
    );
}

#[test]
fn a_pods_deadline_only_shortens_and_its_tolerations_only_grow() {
    let old = with(
        with(pod(), "/spec/activeDeadlineSeconds", json!(10)),
        "/spec/tolerations",
        json!([{ "key": "a", "operator": "Exists" }]),
    );
    let change = |path: &str, value: Value| faults(&with(old.clone(), path, value), Some(&old));
    assert!(change("/spec/activeDeadlineSeconds", json!(5)).is_empty());
    assert_eq!(
        change("/spec/activeDeadlineSeconds", json!(20)),
        [
            "spec.activeDeadlineSeconds: Invalid value: 20: must be less than or equal to previous value"
        ]
    );
    assert_eq!(
        change("/spec/activeDeadlineSeconds", Value::Null),
        [
            "spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value"
        ]
    );
    assert_eq!(change("/spec/tolerations", json!([])).len(), 1);
}

#[test]
fn services_have_ports_that_can_be_told_apart() {
    let service = |spec: Value| json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "s" }, "spec": spec });
    refused(&service(json!({})), &["spec.ports: Required value"]);
    refused(&service(json!({ "clusterIP": "None" })), &[]);
    refused(
        &service(json!({ "ports": [{ "port": 80 }, { "port": 81 }] })),
        &[
            "spec.ports[0].name: Required value",
            "spec.ports[1].name: Required value",
        ],
    );
    refused(
        &service(json!({ "ports": [{ "port": 80, "nodePort": 30001 }] })),
        &["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
    );
    let old = service(json!({ "clusterIP": "10.0.0.1", "ports": [{ "port": 80 }] }));
    let moved = service(json!({ "clusterIP": "10.0.0.2", "ports": [{ "port": 80 }] }));
    assert_eq!(
        faults(&moved, Some(&old)),
        ["spec.clusterIPs[0]: Invalid value: [\"10.0.0.2\"]: may not change once set"]
    );
}

#[test]
fn secrets_and_config_maps_stay_what_they_are() {
    let secret = |extra: Value| {
        let mut secret =
            json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s" } });
        secret
            .as_object_mut()
            .unwrap()
            .extend(extra.as_object().unwrap().clone());
        secret
    };
    assert_eq!(
        faults(&secret(json!({ "type": "x" })), Some(&secret(json!({})))),
        ["type: Invalid value: \"x\": field is immutable"]
    );
    let frozen = secret(json!({ "immutable": true }));
    assert_eq!(
        faults(&secret(json!({ "data": { "a": "eA==" } })), Some(&frozen)),
        [
            "immutable: Forbidden: field is immutable when `immutable` is set",
            "data: Forbidden: field is immutable when `immutable` is set",
        ]
    );
    refused(
        &secret(json!({ "type": "kubernetes.io/tls" })),
        &[
            "data[tls.crt]: Required value",
            "data[tls.key]: Required value",
        ],
    );
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "m" },
        "data": { "a": "x" }, "binaryData": { "a": "eA==" },
    });
    refused(
        &map,
        &["data[a]: Invalid value: \"a\": duplicate of key present in binaryData"],
    );
}

#[test]
fn a_lease_lasts() {
    let lease = |seconds: i64| {
        json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "l" },
            "spec": { "leaseDurationSeconds": seconds },
        })
    };
    refused(&lease(15), &[]);
    refused(
        &lease(0),
        &["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"],
    );
}

#[test]
fn a_stateful_sets_mounts_may_name_its_claims() {
    let mut set = deployment();
    set["kind"] = json!("StatefulSet");
    set["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] =
        json!([{ "name": "data", "mountPath": "/d" }]);
    set["spec"]["volumeClaimTemplates"] = json!([{ "metadata": { "name": "data" }, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } },
    } }]);
    refused(&set, &[]);
    let renamed = with(set.clone(), "/spec/serviceName", json!("other"));
    assert_eq!(
        faults(&renamed, Some(&set)),
        ["spec.serviceName: Invalid value: \"other\": field is immutable"]
    );
}

#[test]
fn a_jobs_pods_do_not_restart_always_and_its_template_stays() {
    let job = |labels: Value| {
        json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": "j" },
            "spec": {
                "selector": { "matchLabels": { "u": "1" } },
                "template": {
                    "metadata": { "labels": labels },
                    "spec": { "restartPolicy": "Never", "containers": [{ "name": "c", "image": "i" }] },
                },
            },
        })
    };
    let old = job(json!({ "u": "1" }));
    refused(&old, &[]);
    refused(
        &with(
            old.clone(),
            "/spec/template/spec/restartPolicy",
            Value::Null,
        ),
        &[
            "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\"",
        ],
    );
    let changed = faults(&job(json!({ "u": "1", "x": "y" })), Some(&old));
    assert_eq!(changed.len(), 1);
    assert!(
        changed[0].starts_with("spec.template: Invalid value: ")
            && changed[0].ends_with("field is immutable")
    );
}
