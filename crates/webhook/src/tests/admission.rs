use evenkeel_meta::{DynamicObject, Reason, Status};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use serde::{Deserialize, Serialize};

use super::*;
use crate::{
    AdmissionRequest, Chain, Change, Defaulter, Denial, Mutating, Operation, RegisterError, Review,
    Validating, Validator, Verdict, defaulter, validator,
};

const MUTATE: &str = "/mutate--v1-configmap";
const VALIDATE: &str = "/validate--v1-configmap";

fn map(data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data})
}

/// Denies by key, and warns whatever it says.
struct Strict;

impl Validator<ConfigMap> for Strict {
    async fn create(&self, review: &mut Review<'_>, new: &ConfigMap) -> Result<(), Denial> {
        review.warn("created");
        review.annotate("seen", review.request().user.username.clone());
        tokio::task::yield_now().await;
        match new.data.iter().flatten().next() {
            Some((key, _)) if key == "plain" => Err("no".into()),
            Some((key, _)) if key == "field" => Err(review.invalid([("data[field]", "no such")])),
            Some((key, _)) if key == "panic" => panic!("oh no"),
            _ => Ok(()),
        }
    }

    async fn update(
        &self,
        _: &mut Review<'_>,
        old: &ConfigMap,
        new: &ConfigMap,
    ) -> Result<(), Denial> {
        if old.data == new.data {
            return Ok(());
        }
        Err(Status::failure(409, Reason::Conflict, "is fixed").into())
    }

    async fn delete(&self, _: &mut Review<'_>, old: &ConfigMap) -> Result<(), Denial> {
        Err(Denial::from(format!("{:?} stays", old.metadata.name)))
    }
}

#[tokio::test]
async fn controller_runtime_t67_t70_a_typed_validator_judges_each_operation() {
    let (webhooks, sink) = counted(Webhooks::builder().validating::<ConfigMap>(Strict));
    let ask = async |operation: &str, object: Value, old: Value| {
        let review = review(operation, "ConfigMap", object, old);
        let answer = post(&webhooks, VALIDATE, &review).await;
        assert_eq!(answer["kind"], "AdmissionReview");
        assert_eq!(answer["response"]["uid"], "u-1");
        answer["response"].clone()
    };
    let good = ask("CREATE", map(json!({"a": "b"})), Value::Null).await;
    assert_eq!(
        good,
        json!({"uid": "u-1", "allowed": true, "status": {"code": 200}, "warnings": ["created"],
            "auditAnnotations": {"seen": "jane"}})
    );
    let plain = ask("CREATE", map(json!({"plain": ""})), Value::Null).await;
    assert_eq!(plain["allowed"], false);
    assert_eq!(
        plain["status"],
        json!({"status": "Failure", "message": "no", "reason": "Forbidden", "code": 403})
    );
    assert_eq!(plain["warnings"], json!(["created"]));
    let field = ask("CREATE", map(json!({"field": ""})), Value::Null).await;
    assert_eq!(field["status"]["code"], 422);
    assert_eq!(
        field["status"]["details"]["causes"][0]["field"],
        "data[field]"
    );
    let update = ask("UPDATE", map(json!({"a": "1"})), map(json!({"a": "2"}))).await;
    assert_eq!(update["status"]["reason"], "Conflict");
    assert_eq!(update["status"]["code"], 409);
    let same = ask("UPDATE", map(json!({})), map(json!({}))).await;
    assert_eq!(same["allowed"], true);
    let delete = ask("DELETE", Value::Null, map(json!({}))).await;
    assert_eq!(delete["status"]["message"], r#"Some("a") stays"#);
    let connect = ask("CONNECT", json!({"kind": "PodExecOptions"}), Value::Null).await;
    assert_eq!(connect["allowed"], true);

    let count = |code: &str| sink.value("evenkeel_webhook_denials_total", &[VALIDATE, code]);
    assert_eq!(count("403"), Some(2.0));
    assert_eq!(count("409"), Some(1.0));
}

#[tokio::test]
async fn controller_runtime_t67_both_versions_of_the_review_are_answered_in_kind() {
    let webhooks = Webhooks::builder().validating::<ConfigMap>(Strict).build();
    let mut review = review("CREATE", "ConfigMap", map(json!({})), Value::Null);
    for version in ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"] {
        review["apiVersion"] = version.into();
        let answer = post(webhooks.as_ref().unwrap(), VALIDATE, &review).await;
        assert_eq!(answer["apiVersion"], version);
        assert_eq!(answer["response"]["allowed"], true);
    }
}

#[tokio::test]
async fn controller_runtime_t67_f10_a_panic_is_contained_counted_and_answered() {
    struct Sudden;
    impl Defaulter<ConfigMap> for Sudden {
        // Before there is a future.
        fn default(
            &self,
            _: &mut Review<'_>,
            _: &mut ConfigMap,
        ) -> impl Future<Output = Result<(), Denial>> + Send {
            panic!("{}", "at once");
            #[expect(unreachable_code, reason = "it has a type to be of")]
            async {
                Ok(())
            }
        }
    }
    let builder = Webhooks::builder()
        .validating::<ConfigMap>(Strict)
        .mutating::<ConfigMap>(Sudden);
    let (webhooks, sink) = counted(builder);
    let review = review(
        "CREATE",
        "ConfigMap",
        map(json!({"panic": ""})),
        Value::Null,
    );
    for (path, message) in [
        (VALIDATE, "panic: oh no [recovered]"),
        (MUTATE, "panic: at once [recovered]"),
    ] {
        let answer = post(&webhooks, path, &review).await;
        assert_eq!(
            answer["response"],
            json!({"uid": "u-1", "allowed": false,
                "status": {"status": "Failure", "message": message, "code": 500}})
        );
    }
    assert_eq!(
        sink.value("controller_runtime_webhook_panics_total", &[]),
        Some(2.0)
    );
    let in_flight = sink.value("controller_runtime_webhook_requests_in_flight", &[VALIDATE]);
    assert_eq!(in_flight, Some(0.0));
}

/// Knows two fields of a ConfigMap, and always writes one that nobody sent.
#[derive(Serialize, Deserialize)]
struct Narrow {
    #[serde(default)]
    data: std::collections::BTreeMap<String, String>,
    #[serde(default)]
    noise: Vec<String>,
}

#[tokio::test]
async fn controller_runtime_t70_a_defaulter_keeps_what_its_type_does_not_know() {
    let fill = defaulter(|_, map: &mut Narrow| {
        map.data.entry("mode".into()).or_insert("plain".into());
        map.data.remove("old");
        Ok(())
    });
    let webhooks = Webhooks::builder().admission("/m", Mutating::any_kind(fill));
    let webhooks = webhooks.build().unwrap();
    let mut object = map(json!({"a": "b", "old": "x"}));
    object["later"] = json!({"deep": [1]});
    let request = review("UPDATE", "ConfigMap", object.clone(), object.clone());
    let answer = post(&webhooks, "/m", &request).await;
    assert_eq!(answer["response"]["allowed"], true);
    assert_eq!(
        patch_of(&answer).unwrap(),
        json!([
            {"op": "remove", "path": "/data/old"},
            {"op": "add", "path": "/data/mode", "value": "plain"},
        ])
    );
    // Nothing to do: neither a patch nor the kind of one.
    object["data"] = json!({"mode": "fancy"});
    let request = review("CREATE", "ConfigMap", object, Value::Null);
    let answer = post(&webhooks, "/m", &request).await;
    assert_eq!(
        answer["response"],
        json!({"uid": "u-1", "allowed": true, "status": {"code": 200}})
    );
}

#[tokio::test]
async fn controller_runtime_t70_a_deletion_is_no_business_of_a_defaulter() {
    let refuse = defaulter(|_, _: &mut ConfigMap| Err("never".into()));
    let webhooks = Webhooks::builder()
        .mutating::<ConfigMap>(refuse)
        .build()
        .unwrap();
    let delete = review("DELETE", "ConfigMap", Value::Null, map(json!({})));
    assert_eq!(
        post(&webhooks, MUTATE, &delete).await["response"]["allowed"],
        true
    );
    let create = review("CREATE", "ConfigMap", map(json!({})), Value::Null);
    let answer = post(&webhooks, MUTATE, &create).await;
    assert_eq!(answer["response"]["status"]["reason"], "Forbidden");
}

#[tokio::test]
async fn controller_runtime_t69_the_first_denial_of_a_chain_is_its_answer() {
    fn noted(warning: &'static str, denies: bool) -> impl crate::Handler {
        move |_: &AdmissionRequest| {
            let verdict = match denies {
                true => Verdict::denied(warning),
                false => Verdict::allowed(),
            };
            verdict
                .with_warning(warning)
                .with_audit_annotation(warning, "")
        }
    }
    let all = Chain::new().then(noted("a", false)).then(noted("b", false));
    let some = Chain::new()
        .then(noted("a", false))
        .then(noted("b", true))
        .then(|_: &AdmissionRequest| panic!("nobody is asked after a denial"));
    let webhooks = Webhooks::builder()
        .admission("/all", all)
        .admission("/some", some);
    let webhooks = webhooks.build().unwrap();
    let request = review("CREATE", "ConfigMap", map(json!({})), Value::Null);
    let answer = post(&webhooks, "/all", &request).await;
    assert_eq!(answer["response"]["allowed"], true);
    assert_eq!(answer["response"]["warnings"], json!(["a", "b"]));
    assert_eq!(
        answer["response"]["auditAnnotations"],
        json!({"a": "", "b": ""})
    );
    let answer = post(&webhooks, "/some", &request).await;
    assert_eq!(answer["response"]["uid"], "u-1");
    assert_eq!(answer["response"]["status"]["message"], "b");
    assert_eq!(answer["response"]["warnings"], json!(["b"]));
}

#[tokio::test]
async fn controller_runtime_t69_each_of_a_chain_sees_what_those_before_it_made() {
    fn add(key: &'static str) -> impl Defaulter<DynamicObject> {
        defaulter(move |_, object: &mut DynamicObject| {
            let data = object
                .data
                .get_mut("data")
                .unwrap()
                .as_object_mut()
                .unwrap();
            let before: Vec<_> = data.keys().cloned().collect();
            data.insert(key.into(), before.join("+").into());
            Ok(())
        })
    }
    let sees = validator(|_, change: Change<'_, DynamicObject>| match change {
        Change::Created(new) if new.data["data"]["c"] == "a+b" => Ok(()),
        other => Err(format!("{other:?}").into()),
    });
    let chain = Chain::new()
        .then(Mutating::any_kind(add("b")))
        .then(Mutating::any_kind(add("c")))
        .then(Validating::any_kind(sees));
    let webhooks = Webhooks::builder().admission("/", chain).build().unwrap();
    let request = review("CREATE", "ConfigMap", map(json!({"a": ""})), Value::Null);
    let answer = post(&webhooks, "/", &request).await;
    assert_eq!(
        patch_of(&answer).unwrap(),
        json!([
            {"op": "add", "path": "/data/b", "value": "a"},
            {"op": "add", "path": "/data/c", "value": "a+b"},
        ])
    );
}

#[tokio::test]
async fn a_typed_webhook_refuses_what_it_is_not_for() {
    let webhooks = Webhooks::builder()
        .validating::<ConfigMap>(Strict)
        .build()
        .unwrap();
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}});
    let answer = post(
        &webhooks,
        VALIDATE,
        &review("CREATE", "Secret", secret, Value::Null),
    )
    .await;
    assert_eq!(
        answer["response"]["status"]["message"],
        "this webhook is for /v1, Kind=ConfigMap, and was asked about /v1, Kind=Secret"
    );
    for (object, old, operation, word) in [
        (
            map(json!({"a": 1})),
            Value::Null,
            "CREATE",
            "object cannot be decoded",
        ),
        (
            Value::Null,
            Value::Null,
            "CREATE",
            "the request has no object",
        ),
        (
            map(json!({})),
            Value::Null,
            "UPDATE",
            "the request has no oldObject",
        ),
        (
            Value::Null,
            Value::Null,
            "DELETE",
            "the request has no oldObject",
        ),
        (Value::Null, Value::Null, "FOO", "unknown operation \"FOO\""),
    ] {
        let answer = post(
            &webhooks,
            VALIDATE,
            &review(operation, "ConfigMap", object, old),
        )
        .await;
        let message = answer["response"]["status"]["message"].as_str().unwrap();
        assert!(message.contains(word), "{message}");
        assert_eq!(answer["response"]["status"]["code"], 400);
        assert_eq!(answer["response"]["uid"], "u-1");
    }
}

#[test]
fn controller_runtime_t71_what_is_registered_twice_is_an_error() {
    let allow = || validator(|_, _: Change<'_, ConfigMap>| Ok(()));
    let twice = Webhooks::builder().validating(allow()).validating(allow());
    let error = twice.build().unwrap_err();
    assert_eq!(error, RegisterError::DuplicatePath(VALIDATE.into()));
    let handler = |_: &AdmissionRequest| Verdict::allowed();
    let error = Webhooks::builder()
        .admission("/x y", handler)
        .build()
        .unwrap_err();
    assert_eq!(error, RegisterError::InvalidPath("/x y".into()));
    let different = Webhooks::builder()
        .validating(allow())
        .validating(validator(|_, _: Change<'_, Deployment>| Ok(())))
        .mutating(defaulter(|_, _: &mut ConfigMap| Ok(())))
        .admission("/", handler);
    assert_eq!(different.build().unwrap().paths().count(), 4);
}

#[test]
fn the_request_is_there_as_it_was_sent() {
    let handler = |request: &AdmissionRequest| {
        assert_eq!(request.operation, Operation::Connect);
        assert_eq!(request.request_kind.as_ref().unwrap().version, "v1beta1");
        assert_eq!(request.user.extra["x"], ["y"]);
        assert!(request.dry_run);
        assert_eq!(request.sub_resource, "exec");
        assert_eq!(request.resource.resource, "pods");
        assert_eq!(
            request.object_json().unwrap().get(),
            r#"{"command":  ["sh"]}"#
        );
        assert!(request.old_object_json().is_none());
        let options: Value = request.options().unwrap().unwrap();
        assert_eq!(options["fieldManager"], "m");
        Verdict::allowed()
    };
    let webhooks = Webhooks::builder().admission("/", handler).build().unwrap();
    let body = r#"{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "1", "operation": "CONNECT", "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"}, "subResource": "exec",
        "requestKind": {"group": "g", "version": "v1beta1", "kind": "Pod"}, "dryRun": true,
        "userInfo": {"username": "u", "extra": {"x": ["y"]}}, "object": {"command":  ["sh"]},
        "oldObject": null, "options": {"fieldManager": "m"}}}"#;
    let request = Request::post("/").header("content-type", "application/json");
    let answer = webhooks.answer(request.body(Full::new(Bytes::from(body))).unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let (_, body) = runtime.block_on(async { read(answer.await).await });
    assert!(
        String::from_utf8_lossy(&body).contains(r#""allowed":true"#),
        "{body:?}"
    );
}
