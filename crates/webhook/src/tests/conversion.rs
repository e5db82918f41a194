use evenkeel_meta::{ApiResource, Meta, Object, Resource, Scope};
use serde::{Deserialize, Serialize};

use super::*;
use crate::{BoxError, Conversion, ConversionError, Hub, RegisterError, Spoke};

macro_rules! version {
    ($name:ident, $group:literal, $version:literal, $kind:literal, $($field:ident: $type:ty),*) => {
        #[derive(Serialize, Deserialize)]
        struct $name {
            metadata: Meta,
            $($field: $type),*
        }
        impl Object for $name {
            type Meta = Meta;
            fn metadata(&self) -> &Meta {
                &self.metadata
            }
        }
        impl Resource for $name {
            fn api_resource() -> ApiResource {
                ApiResource::new_static($group, $version, $kind, "crontabs", Scope::Namespaced)
            }
        }
    };
}

version!(V1, "example.com", "v1", "CronTab", port: String);
version!(V2, "example.com", "v2", "CronTab", number: u16);
version!(V3, "example.com", "v3", "CronTab", numbers: Vec<u16>);
version!(Again, "example.com", "v2", "CronTab", number: u16);
version!(Foreign, "example.org", "v1", "CronTab", port: String);

impl Spoke<V2> for V1 {
    fn to_hub(self) -> Result<V2, BoxError> {
        assert_ne!(self.port, "panic", "as it was told");
        let mut metadata = self.metadata;
        metadata.labels.insert("converted".into(), "yes".into());
        metadata.name = "another".into();
        let number = self.port.parse()?;
        Ok(V2 { metadata, number })
    }

    fn from_hub(hub: V2) -> Result<Self, BoxError> {
        let port = hub.number.to_string();
        Ok(Self {
            metadata: hub.metadata,
            port,
        })
    }
}

impl Spoke<V2> for V3 {
    fn to_hub(self) -> Result<V2, BoxError> {
        let number = *self.numbers.first().ok_or("no number")?;
        Ok(V2 {
            metadata: self.metadata,
            number,
        })
    }

    fn from_hub(hub: V2) -> Result<Self, BoxError> {
        Ok(Self {
            metadata: hub.metadata,
            numbers: vec![hub.number],
        })
    }
}

macro_rules! no_way {
    ($($name:ident),*) => {$(
        impl Spoke<V2> for $name {
            fn to_hub(self) -> Result<V2, BoxError> {
                Err("none".into())
            }
            fn from_hub(_: V2) -> Result<Self, BoxError> {
                Err("none".into())
            }
        }
    )*};
}

no_way!(Again, Foreign);

fn hub() -> Hub<V2> {
    Hub::new().spoke::<V1>().spoke::<V3>()
}

fn object(version: &str, fields: Value) -> Value {
    let mut object = json!({
        "apiVersion": format!("example.com/{version}"), "kind": "CronTab",
        "metadata": {"name": "a", "namespace": "ns", "uid": "1", "managedFields": [{"manager": "m"}]},
    });
    object
        .as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    object
}

async fn convert(webhooks: &Webhooks, to: &str, objects: Vec<Value>) -> Value {
    let review = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "request": {"uid": "u-1", "desiredAPIVersion": to, "objects": objects},
    });
    let answer = post(webhooks, "/convert", &review).await;
    assert_eq!(answer["response"]["uid"], "u-1");
    assert_eq!(answer["kind"], "ConversionReview");
    assert!(answer.get("request").is_none());
    answer["response"].clone()
}

#[tokio::test]
async fn controller_runtime_t72_hub_and_spokes_lead_from_any_version_to_any() {
    let webhooks = Webhooks::builder().conversion(hub()).build().unwrap();
    let objects = vec![
        object("v1", json!({"port": "80"})),
        object("v2", json!({"number": 81})),
        object("v3", json!({"numbers": [82]})),
    ];
    for (version, field, values) in [
        ("v1", "port", json!(["80", "81", "82"])),
        ("v2", "number", json!([80, 81, 82])),
        ("v3", "numbers", json!([[80], [81], [82]])),
    ] {
        let to = format!("example.com/{version}");
        let answer = convert(&webhooks, &to, objects.clone()).await;
        assert_eq!(answer["result"], json!({"status": "Success"}));
        let converted = answer["convertedObjects"].as_array().unwrap();
        assert!(converted.iter().all(|object| object["apiVersion"] == *to));
        let found: Value = converted
            .iter()
            .map(|object| object[field].clone())
            .collect();
        assert_eq!(found, values);
        // What a type does not know of the metadata, and what a conversion must not change.
        for object in converted {
            assert_eq!(object["metadata"]["managedFields"][0]["manager"], "m");
            assert_eq!(object["metadata"]["name"], "a");
            assert_eq!(object["kind"], "CronTab");
        }
    }
    let answer = convert(&webhooks, "example.com/v2", objects[..1].to_vec()).await;
    let metadata = &answer["convertedObjects"][0]["metadata"];
    assert_eq!(metadata["labels"], json!({"converted": "yes"}));
    // In the version already: as it is, whatever the types know.
    let known = object("v2", json!({"unknown": 1}));
    let answer = convert(&webhooks, "example.com/v2", vec![known.clone()]).await;
    assert_eq!(answer["convertedObjects"][0], known);
}

#[tokio::test]
async fn controller_runtime_t72_a_failure_names_the_object_and_nothing_is_converted() {
    let (webhooks, sink) = counted(Webhooks::builder().conversion(hub()));
    let good = object("v1", json!({"port": "80"}));
    for (bad, to, message) in [
        (
            object("v1", json!({"port": "http"})),
            "example.com/v2",
            "cannot convert CronTab.example.com ns/a from \"example.com/v1\" to \"example.com/v2\": invalid digit found in string",
        ),
        (
            object("v1", json!({})),
            "example.com/v2",
            "ns/a from \"example.com/v1\" to \"example.com/v2\": missing field `port`",
        ),
        (
            object("v7", json!({})),
            "example.com/v2",
            "no type for version \"v7\", only v1, v2, v3",
        ),
        (
            object("v1", json!({"port": "1"})),
            "example.com/v8",
            "no type for version \"v8\"",
        ),
        (
            object("v1", json!({"port": "1"})),
            "example.org/v2",
            "the group is another one",
        ),
        (
            object("v1", json!({"kind": "Other"})),
            "example.com/v2",
            "this webhook does not know the kind",
        ),
        (json!(7), "example.com/v2", "cannot convert"),
    ] {
        let first = object("v2", json!({"number": 1}));
        let objects = if to == "example.com/v2" {
            vec![first, good.clone(), bad]
        } else {
            vec![bad]
        };
        let answer = convert(&webhooks, to, objects).await;
        assert_eq!(answer["result"]["status"], "Failure");
        let told = answer["result"]["message"].as_str().unwrap();
        assert!(told.contains(message), "{told}");
        assert_eq!(answer.get("convertedObjects"), None);
    }
    assert_eq!(
        sink.value("evenkeel_webhook_denials_total", &["/convert", "500"]),
        Some(7.0)
    );
}

#[tokio::test]
async fn controller_runtime_t72_a_panic_is_contained_and_counted() {
    let (webhooks, sink) = counted(Webhooks::builder().conversion(hub()));
    let bad = object("v1", json!({"port": "panic"}));
    let answer = convert(&webhooks, "example.com/v2", vec![bad]).await;
    assert_eq!(
        answer["result"],
        json!({"status": "Failure", "message": "internal error occurred during conversion"})
    );
    let panics = sink.value("controller_runtime_conversion_webhook_panics_total", &[]);
    assert_eq!(panics, Some(1.0));
}

#[test]
fn controller_runtime_t72_versions_that_do_not_go_together_are_refused() {
    let problem = |hub: Hub<V2>| Webhooks::builder().conversion(hub).build().unwrap_err();
    assert_eq!(
        problem(hub().spoke::<Again>()),
        RegisterError::Conversion(ConversionError::DuplicateVersion {
            kind: "CronTab.example.com".into(),
            version: "v2".into(),
        })
    );
    assert_eq!(
        problem(hub().spoke::<Foreign>()),
        RegisterError::Conversion(ConversionError::OtherKind {
            hub: "CronTab.example.com".into(),
            spoke: "CronTab.example.org".into(),
        })
    );
    let twice = Webhooks::builder().conversion(hub()).conversion(hub());
    let error = twice.build().unwrap_err();
    assert_eq!(
        error,
        RegisterError::DuplicateKind("CronTab.example.com".into())
    );
}

#[tokio::test]
async fn one_function_may_convert_all_versions() {
    let by = Conversion::by("example.com", "CronTab", |mut object, version| {
        object["from"] = object["apiVersion"].take();
        object["to"] = version.into();
        match version {
            "v9" => Ok(json!([])),
            _ => Ok(object),
        }
    });
    let webhooks = Webhooks::builder()
        .conversion(by)
        .conversion(Conversion::by("", "Other", |_, _| Err("no".into())));
    let webhooks = webhooks.build().unwrap();
    let answer = convert(
        &webhooks,
        "example.com/v2",
        vec![object("v1", json!({"x": 1}))],
    )
    .await;
    assert_eq!(
        answer["convertedObjects"][0],
        object("v2", json!({"x": 1, "from": "example.com/v1", "to": "v2"}))
    );
    let answer = convert(&webhooks, "example.com/v9", vec![object("v1", json!({}))]).await;
    let told = answer["result"]["message"].as_str().unwrap();
    assert!(told.ends_with("the result is no object"), "{told}");
}

#[tokio::test]
async fn what_is_no_conversion_review_is_a_bad_request() {
    let webhooks = Webhooks::builder().conversion(hub()).build().unwrap();
    for (body, word) in [
        ("", "cannot decode"),
        ("{}", "expected ConversionReview"),
        (
            r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview"}"#,
            "no request",
        ),
        (
            r#"{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"desiredAPIVersion": ""}}"#,
            "got AdmissionReview",
        ),
    ] {
        let (status, answer) = send(&webhooks, "/convert", "application/json", body).await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
        assert!(
            String::from_utf8_lossy(&answer).contains(word),
            "{answer:?}"
        );
    }
}
