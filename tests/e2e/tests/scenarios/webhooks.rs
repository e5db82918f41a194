//! Webhooks and guarded metrics as a real API server knows them.

#![allow(
    clippy::needless_pass_by_value,
    reason = "`json!(..)` reads best as it is"
)]

use std::fs;
use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::{Context, ensure};
use base64::Engine as _;
use bytes::Bytes;
use evenkeel::webhook::{
    Change, Conversion, Mutating, Validating, Webhooks, defaulter, mutate_path, validate_path,
    validator,
};
use evenkeel::{Endpoint, Guard, Registry, Tls, TlsFiles};
use evenkeel_client::{Client, Config, Patch, PatchOptions};
use evenkeel_e2e::manifest::CONFIG_MAPS;
use evenkeel_e2e::server::Server;
use evenkeel_e2e::{Env, poll};
use evenkeel_meta::{ApiResource, DynamicObject, Resource, Scope};
use k8s_openapi::api::core::v1::ConfigMap;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

const PATIENCE: Duration = Duration::from_secs(20);
const NAMESPACE: &str = "hooked";

const MUTATING: ApiResource = admission("MutatingWebhookConfiguration");
const VALIDATING: ApiResource = admission("ValidatingWebhookConfiguration");
const DEFINITIONS: ApiResource = ApiResource::new_static(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    Scope::Cluster,
);
const KNOBS: ApiResource = knobs("v1");
const KNOBS_V2: ApiResource = knobs("v2");

const fn admission(kind: &'static str) -> ApiResource {
    let plural = match kind.as_bytes()[0] {
        b'M' => "mutatingwebhookconfigurations",
        _ => "validatingwebhookconfigurations",
    };
    ApiResource::new_static(
        "admissionregistration.k8s.io",
        "v1",
        kind,
        plural,
        Scope::Cluster,
    )
}

const fn knobs(version: &'static str) -> ApiResource {
    ApiResource::new_static(
        "hooks.example.com",
        version,
        "Knob",
        "knobs",
        Scope::Namespaced,
    )
}

/// An endpoint in this process, which the API server trusts.
struct Served {
    url: String,
    ca: String,
    registry: Registry,
    _task: AbortOnDropHandle<()>,
}

impl Served {
    async fn start(
        env: &Env,
        make: impl FnOnce(Endpoint, &Registry) -> anyhow::Result<Endpoint>,
    ) -> anyhow::Result<Self> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new(["127.0.0.1".to_owned()])?.signed_by(&key, &ca)?;
        fs::write(env.folder().join("tls.crt"), certificate.pem())?;
        fs::write(env.folder().join("tls.key"), key.serialize_pem())?;
        let registry = Registry::new();
        let tls = Tls::from_files(TlsFiles::in_directory(env.folder()), &registry.metrics())?;
        let endpoint = Endpoint::bind((Ipv4Addr::LOCALHOST, 0).into(), Some(tls)).await?;
        let url = format!("https://{}", endpoint.local_addr()?);
        let endpoint = make(endpoint, &registry)?;
        let task = tokio::spawn(endpoint.serve(CancellationToken::new()));
        Ok(Self {
            url,
            ca: ca.pem(),
            registry,
            _task: AbortOnDropHandle::new(task),
        })
    }

    fn client_config(&self, path: &str) -> Value {
        let bundle = base64::engine::general_purpose::STANDARD.encode(&self.ca);
        json!({"url": format!("{}{path}", self.url), "caBundle": bundle})
    }

    /// Has the server ask about ConfigMaps and Knobs of the namespace.
    async fn register(
        &self,
        env: &Env,
        kind: &ApiResource,
        hooks: &[(&str, &ApiResource)],
    ) -> anyhow::Result<()> {
        let hooks = hooks.iter().enumerate().map(|(at, (path, of))| json!({
            "name": format!("h{at}.hooks.example.com"),
            "clientConfig": self.client_config(path),
            "rules": [{"apiGroups": [of.group], "apiVersions": [of.version], "resources": [of.plural],
                "operations": ["CREATE", "UPDATE", "DELETE"], "scope": "*"}],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": NAMESPACE}},
            "sideEffects": "None", "admissionReviewVersions": ["v1"], "timeoutSeconds": 5,
        }));
        let object = json!({
            "apiVersion": kind.api_version(), "kind": kind.kind,
            "metadata": {"name": "hooks.example.com"},
            "webhooks": hooks.collect::<Vec<_>>(),
        });
        env.create(kind, None, object).await?;
        Ok(())
    }
}

fn config_map(name: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": NAMESPACE}, "data": data})
}

fn knob(version: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": format!("hooks.example.com/{version}"), "kind": "Knob",
        "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec})
}

/// Defines Knobs: `v1` is stored and has a `size`, `v2` has `sizes`.
async fn define(env: &Env, conversion: Option<Value>) -> anyhow::Result<()> {
    let spec = |properties: Value| {
        json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object",
            "x-kubernetes-preserve-unknown-fields": true, "properties": properties}}}})
    };
    let mut object = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "knobs.hooks.example.com"},
        "spec": {
            "group": "hooks.example.com", "scope": "Namespaced", "names": {"plural": "knobs", "kind": "Knob"},
            "versions": [
                {"name": "v1", "served": true, "storage": true, "schema": spec(json!({"size": {"type": "integer"}}))},
                {"name": "v2", "served": true, "storage": false,
                    "schema": spec(json!({"sizes": {"type": "array", "items": {"type": "integer"}}}))},
            ],
        },
    });
    if let Some(client_config) = conversion {
        object["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {
            "conversionReviewVersions": ["v1"], "clientConfig": client_config}});
    }
    env.create(&DEFINITIONS, None, object).await?;
    poll::eventually(PATIENCE, "knobs are served", async || {
        let api = env.client().dynamic(KNOBS, Some(NAMESPACE));
        Ok(api
            .list(&Default::default())
            .await
            .map(drop)
            .map_err(|error| error.to_string()))
    })
    .await
}

/// Waits until the server asks: what it was told of webhooks reaches its front a moment later.
async fn asked(env: &Env, probe: &Value) -> anyhow::Result<()> {
    poll::eventually(PATIENCE, "the webhooks are asked", async || {
        let made = env
            .create(&CONFIG_MAPS, Some(NAMESPACE), probe.clone())
            .await;
        let Ok(made) = made else { return Ok(Ok(())) };
        let is_hooked = made.metadata.labels.contains_key("hooked");
        let name = made.metadata.name;
        let api = env.client().dynamic(CONFIG_MAPS, Some(NAMESPACE));
        api.delete(&name, &Default::default()).await?;
        Ok(if is_hooked {
            Ok(())
        } else {
            Err("not asked yet".to_owned())
        })
    })
    .await
}

/// A denial and its warnings arrive at the client, with the webhook's own reason.
pub(crate) async fn controller_runtime_t71_f10_who_is_denied_reads_why(
    env: Env,
) -> anyhow::Result<()> {
    env.create_namespace(NAMESPACE).await?;
    define(&env, None).await?;
    let served = Served::start(&env, |endpoint, registry| {
        let maps = validator(|review, change: Change<'_, ConfigMap>| {
            review.warn("the rules are strict");
            let data = |map: &ConfigMap| map.data.clone().unwrap_or_default();
            match change {
                Change::Created(new) | Change::Updated { new, .. }
                    if data(new).contains_key("secret") =>
                {
                    Err(review.invalid([("data[secret]", "belongs elsewhere")]))
                }
                Change::Created(new) if data(new).contains_key("panic") => panic!("as it was told"),
                Change::Deleted(old) if data(old).contains_key("keep") => {
                    Err("is to be kept".into())
                }
                _ => Ok(()),
            }
        });
        let knobs = validator(|_, change: Change<'_, DynamicObject>| match change {
            Change::Updated { old, new }
                if old.data["spec"]["size"] != new.data["spec"]["size"] =>
            {
                Err("the size is for ever".into())
            }
            _ => Ok(()),
        });
        let webhooks = Webhooks::builder()
            .metrics(registry.metrics())
            .validating::<ConfigMap>(maps)
            .admission(validate_path(&KNOBS), Validating::any_kind(knobs))
            .build()?;
        Ok(endpoint.with_webhooks(webhooks))
    })
    .await?;
    let maps = validate_path(&ConfigMap::api_resource());
    let hooks = [
        (maps.as_str(), &CONFIG_MAPS),
        (&validate_path(&KNOBS), &KNOBS),
    ];
    served.register(&env, &VALIDATING, &hooks).await?;
    asked(&env, &config_map("probe", json!({"secret": ""}))).await?;

    let create = async |object: Value| {
        let arguments = ["create", "-f", "-"];
        env.kubectl().attempt(&arguments, &object.to_string()).await
    };
    let denied = create(config_map("a", json!({"secret": "x"}))).await?;
    ensure!(!denied.success, "it was created");
    for words in [
        "Warning: the rules are strict",
        // kubectl writes the answers of webhooks as it writes the server's own.
        "The ConfigMap \"a\" is invalid: data[secret]: belongs elsewhere",
    ] {
        ensure!(denied.stderr.contains(words), "{words}: {}", denied.stderr);
    }
    let made = create(config_map("b", json!({"keep": ""}))).await?;
    ensure!(
        made.success && made.stderr.contains("Warning: the rules are strict"),
        "{made:?}"
    );
    let kept = env
        .kubectl()
        .attempt(&["delete", "-n", NAMESPACE, "configmap", "b"], "")
        .await?;
    ensure!(
        kept.stderr
            .contains("h0.hooks.example.com\" denied the request: is to be kept"),
        "{kept:?}"
    );
    // A program sees the reason and the code.
    let api = env.client().dynamic(CONFIG_MAPS, Some(NAMESPACE));
    let error = api
        .delete("b", &Default::default())
        .await
        .err()
        .context("it was deleted")?;
    ensure!(
        error
            .status()
            .is_some_and(evenkeel_meta::Status::is_forbidden),
        "{error}"
    );
    let object: DynamicObject = serde_json::from_value(config_map("c", json!({"secret": ""})))?;
    let error = api
        .create(&object, &Default::default())
        .await
        .err()
        .context("it was created")?;
    let status = error.status().context("a status")?;
    ensure!(status.is_invalid() && status.code == 422, "{status:?}");
    let panicked = create(config_map("d", json!({"panic": ""}))).await?;
    ensure!(
        panicked
            .stderr
            .contains("panic: as it was told [recovered]"),
        "{panicked:?}"
    );

    env.create(&KNOBS, Some(NAMESPACE), knob("v1", "k", json!({"size": 1})))
        .await?;
    let api = env.client().dynamic(KNOBS, Some(NAMESPACE));
    let bigger = Patch::merge(&json!({"spec": {"size": 2}}));
    let error = api
        .patch("k", &bigger, &PatchOptions::default())
        .await
        .err()
        .context("it grew")?;
    ensure!(
        error.to_string().contains("the size is for ever"),
        "{error}"
    );
    let labelled = Patch::merge(&json!({"metadata": {"labels": {"a": "b"}}}));
    api.patch("k", &labelled, &PatchOptions::default()).await?;

    let text = served.registry.encode();
    for line in [
        "controller_runtime_webhook_panics_total 1",
        "controller_runtime_webhook_requests_in_flight{webhook=\"/validate--v1-configmap\"} 0",
        "evenkeel_webhook_denials_total{webhook=\"/validate-hooks-example-com-v1-knob\",code=\"403\"} 1",
        "certwatcher_read_certificate_total 1",
    ] {
        ensure!(text.contains(line), "{line}: {text}");
    }
    Ok(())
}

/// What is stored is what the defaulter made, fields included that its type does not know.
pub(crate) async fn controller_runtime_t70_the_server_stores_what_a_defaulter_made(
    env: Env,
) -> anyhow::Result<()> {
    env.create_namespace(NAMESPACE).await?;
    define(&env, None).await?;
    let served = Served::start(&env, |endpoint, registry| {
        let maps = defaulter(|_, map: &mut ConfigMap| {
            let labels = map.metadata.labels.get_or_insert_default();
            labels.insert("hooked".into(), "yes".into());
            let data = map.data.get_or_insert_default();
            data.remove("old");
            data.entry("a/b~c".into()).or_insert("made".into());
            Ok(())
        });
        let knobs = defaulter(|_, knob: &mut DynamicObject| {
            let spec = knob.data.get_mut("spec").and_then(Value::as_object_mut);
            let spec = spec.ok_or("a knob has a spec")?;
            spec.entry("size").or_insert(7.into());
            Ok(())
        });
        let webhooks = Webhooks::builder()
            .metrics(registry.metrics())
            .mutating::<ConfigMap>(maps)
            .admission(mutate_path(&KNOBS), Mutating::any_kind(knobs))
            .build()?;
        Ok(endpoint.with_webhooks(webhooks))
    })
    .await?;
    let maps = mutate_path(&ConfigMap::api_resource());
    let hooks = [
        (maps.as_str(), &CONFIG_MAPS),
        (&mutate_path(&KNOBS), &KNOBS),
    ];
    served.register(&env, &MUTATING, &hooks).await?;
    asked(&env, &config_map("probe", json!({}))).await?;

    let made = env
        .create(
            &CONFIG_MAPS,
            Some(NAMESPACE),
            config_map("a", json!({"old": "1", "x": "y"})),
        )
        .await;
    // A key with a slash is no key of a ConfigMap: that the server says so proves the escapes.
    let error = format!("{:#}", made.err().context("it was created")?);
    ensure!(error.contains("a/b~c"), "{error}");
    let made = env
        .create(
            &KNOBS,
            Some(NAMESPACE),
            knob("v1", "k", json!({"later": {"deep": [1]}})),
        )
        .await?;
    ensure!(
        made.data["spec"] == json!({"size": 7, "later": {"deep": [1]}}),
        "{made:?}"
    );
    let made = env
        .create(&KNOBS, Some(NAMESPACE), knob("v1", "l", json!({"size": 1})))
        .await?;
    ensure!(made.data["spec"] == json!({"size": 1}), "{made:?}");
    let object = json!({"apiVersion": "hooks.example.com/v1", "kind": "Knob",
        "metadata": {"name": "m", "namespace": NAMESPACE}});
    let error = env
        .create(&KNOBS, Some(NAMESPACE), object)
        .await
        .err()
        .context("it was created")?;
    ensure!(
        format!("{error:#}").contains("a knob has a spec"),
        "{error:#}"
    );
    Ok(())
}

/// Written in one version, read in the other, listed, and refused where there is no way.
pub(crate) async fn controller_runtime_t72_a_custom_resource_in_two_versions(
    env: Env,
) -> anyhow::Result<()> {
    env.create_namespace(NAMESPACE).await?;
    let served = Served::start(&env, |endpoint, registry| {
        let conversion = Conversion::by("hooks.example.com", "Knob", |mut knob, version| {
            let mut spec = knob["spec"].take();
            if version == "v2" {
                let size = spec.as_object_mut().and_then(|spec| spec.remove("size"));
                spec["sizes"] = json!([size.unwrap_or_default()]);
            } else {
                let sizes = spec.as_object_mut().and_then(|spec| spec.remove("sizes"));
                let sizes = sizes.as_ref().and_then(Value::as_array);
                let [size] = sizes.map(Vec::as_slice).unwrap_or_default() else {
                    return Err("more or less than one size".into());
                };
                spec["size"] = size.clone();
            }
            knob["spec"] = spec;
            Ok(knob)
        });
        let webhooks = Webhooks::builder()
            .metrics(registry.metrics())
            .conversion(conversion);
        Ok(endpoint.with_webhooks(webhooks.build()?))
    })
    .await?;
    define(&env, Some(served.client_config("/convert"))).await?;
    for at in 0..50 {
        let object = knob("v1", &format!("k{at}"), json!({"size": at, "other": true}));
        env.create(&KNOBS, Some(NAMESPACE), object).await?;
    }
    let v2 = env.client().dynamic(KNOBS_V2, Some(NAMESPACE));
    poll::eventually(PATIENCE, "the conversion is known", async || {
        Ok(v2
            .get("k7")
            .await
            .map(drop)
            .map_err(|error| error.to_string()))
    })
    .await?;
    let seven = v2.get("k7").await?;
    ensure!(
        seven.types.api_version == "hooks.example.com/v2",
        "{seven:?}"
    );
    ensure!(
        seven.data["spec"] == json!({"sizes": [7], "other": true}),
        "{seven:?}"
    );
    let all = v2.list(&Default::default()).await?;
    ensure!(all.items.len() == 50, "{} of 50", all.items.len());
    ensure!(
        all.items
            .iter()
            .all(|knob| knob.data["spec"]["sizes"][0].is_number()),
        "{all:?}"
    );
    // Back again, through the stored version.
    let patch = Patch::merge(&json!({"spec": {"sizes": [70]}}));
    v2.patch("k7", &patch, &PatchOptions::default()).await?;
    let v1 = env.client().dynamic(KNOBS, Some(NAMESPACE));
    ensure!(v1.get("k7").await?.data["spec"] == json!({"size": 70, "other": true}));
    let two = knob("v2", "two", json!({"sizes": [1, 2]})).to_string();
    let refused = env.kubectl().attempt(&["create", "-f", "-"], &two).await?;
    for words in [
        "cannot convert Knob.hooks.example.com hooked/two",
        "more or less than one size",
    ] {
        ensure!(refused.stderr.contains(words), "{words}: {refused:?}");
    }
    Ok(())
}

/// Tokens and permissions are those of the API server.
pub(crate) async fn controller_runtime_t18_metrics_for_whom_rbac_lets(
    env: Env,
) -> anyhow::Result<()> {
    let served = Served::start(&env, |endpoint, registry| {
        let guard = Guard::new(env.client());
        let extra = |_: &http::Request<()>| http::Response::new(Bytes::from_static(b"extra"));
        let endpoint = endpoint.with_metrics(registry.clone()).with_guard(guard);
        Ok(endpoint.with_page("/extra", extra)?)
    })
    .await?;
    let Server::Real(server) = env.server() else {
        anyhow::bail!("this needs RBAC");
    };
    let token = |path: &std::path::Path| -> anyhow::Result<String> {
        let config: Value = serde_json::from_slice(&fs::read(path)?)?;
        let token = config["users"][0]["user"]["token"].as_str();
        Ok(token.context("a token")?.to_owned())
    };
    let get = async |path: &str, token: &str| -> anyhow::Result<u16> {
        let config = Config::new(&served.url)?
            .ca_pem(served.ca.clone())
            .token(token);
        let request = http::Request::get(path).body(Bytes::new())?;
        match Client::connect(&config)?.raw(request).await {
            Ok(response) => Ok(response.status().as_u16()),
            Err(error) => Ok(error.status().with_context(|| error.to_string())?.code),
        }
    };
    let nobody = token(&server.kubeconfig_of_nobody()?)?;
    ensure!(get("/metrics", &token(env.kubeconfig())?).await? == 200);
    ensure!(get("/extra", &token(env.kubeconfig())?).await? == 200);
    ensure!(get("/metrics", &nobody).await? == 403);
    ensure!(get("/metrics", "of-nobody").await? == 401);
    ensure!(get("/extra", "of-nobody").await? == 401);
    Ok(())
}
