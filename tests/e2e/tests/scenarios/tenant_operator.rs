//! The tenant operator of `examples/`, as its user runs it.

use std::process::Command;
use std::time::Duration;

use anyhow::ensure;
use evenkeel_client::{Patch, PatchOptions};
use evenkeel_e2e::manifest::{CONFIG_MAPS, LEASES, NAMESPACES};
use evenkeel_e2e::observe::{controller, field};
use evenkeel_e2e::{Env, Process, Signal, eventually, poll, program};
use evenkeel_meta::{ApiResource, DeleteOptions, DynamicObject, Scope};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(60);

const TENANTS: ApiResource = ApiResource::new_static(
    "example.evenkeel.dev",
    "v1",
    "Tenant",
    "tenants",
    Scope::Cluster,
);
const QUOTAS: ApiResource = in_namespaces("", "ResourceQuota", "resourcequotas");
const LIMITS: ApiResource = in_namespaces("", "LimitRange", "limitranges");
const POLICIES: ApiResource =
    in_namespaces("networking.k8s.io", "NetworkPolicy", "networkpolicies");
const BINDINGS: ApiResource =
    in_namespaces("rbac.authorization.k8s.io", "RoleBinding", "rolebindings");

const fn in_namespaces(
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
) -> ApiResource {
    ApiResource::new_static(group, "v1", kind, plural, Scope::Namespaced)
}

/// It makes what a tenant is to have, takes back what drifts, leaves another's namespace alone until
/// the name is free, and lets the tenant go when its namespaces are gone.
pub(crate) async fn a_tenant_lives_loses_a_namespace_and_goes(env: Env) -> anyhow::Result<()> {
    let _manager = env.start_manager("manager", &[])?;
    let mut command = Command::new(program::example("tenant-operator")?);
    command
        .env("KUBECONFIG", env.kubeconfig())
        .arg("--health-probe-bind-address=127.0.0.1:0");
    let mut operator = Process::start("operator", command, env.folder())?;
    env.create_namespace("taken").await?;

    let tenant = json!({
        "apiVersion": "example.evenkeel.dev/v1", "kind": "Tenant", "metadata": {"name": "acme"},
        "spec": {
            "namespaces": ["acme-dev", "acme-prod"],
            "members": [{"kind": "Group", "name": "acme", "role": "view"}],
            "quota": {"pods": "20", "limits.cpu": "0.5"},
            "containerDefaults": {"memory": "128Mi"},
        }
    });
    poll::until(SOON, "the kind is served", async || {
        Ok(env.create(&TENANTS, None, tenant.clone()).await.ok())
    })
    .await?;
    ready_is(&env, 1, "True", "Provisioned").await?;
    let tenants = env.client().dynamic(TENANTS, None);
    let uid = tenants.get("acme").await?.metadata.uid;
    let uid = uid.as_ref().map(evenkeel_meta::Uid::as_str);
    for place in ["acme-dev", "acme-prod"] {
        for (resource, name) in [
            (QUOTAS, "tenant"),
            (LIMITS, "tenant"),
            (POLICIES, "tenant"),
            (BINDINGS, "tenant-view"),
        ] {
            let part = env.client().dynamic(resource, Some(place));
            ensure!(controller(&part.get(name).await?) == uid, "{place}/{name}");
        }
    }

    // Somebody takes fields over by force, and adds one.
    let quotas = env.client().dynamic(QUOTAS, Some("acme-dev"));
    let quota: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "tenant"},
        "spec": {"hard": {"pods": "1000", "services": "3"}}
    }))?;
    let auditor = PatchOptions::default().field_manager("auditor").force();
    quotas.apply("tenant", &quota, &auditor).await?;
    eventually(SOON, "what is the tenant's is taken back", async || {
        let quota = quotas.get("tenant").await?;
        let hard = field(&quota, "/spec/hard").clone();
        let wanted = json!({"pods": "20", "limits.cpu": "500m", "services": "3"});
        Ok(if hard == wanted {
            Ok(())
        } else {
            Err(hard.to_string())
        })
    })
    .await?;

    let namespaces = env.client().dynamic(NAMESPACES, None);
    let options = PatchOptions::default();
    let other = Patch::merge(&json!({"spec": {"namespaces": ["acme-dev", "taken"]}}));
    tenants.patch("acme", &other, &options).await?;
    ready_is(&env, 2, "False", "NamespaceTaken").await?;
    gone(&env, &NAMESPACES, "acme-prod").await?;
    let taken = namespaces.get("taken").await?;
    ensure!(controller(&taken).is_none(), "it was taken over");

    // An apply with a UID makes nothing anew, which the operator relies on.
    let ghost = json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "ghost", "uid": "0c5a1f3e-0000-4000-8000-000000000000"}
    });
    let refused = namespaces.apply("ghost", &ghost, &auditor).await;
    ensure!(refused.is_err_and(|error| error.is_conflict()));

    namespaces
        .delete("taken", &DeleteOptions::default())
        .await?;
    ready_is(&env, 2, "True", "Provisioned").await?;
    ensure!(controller(&namespaces.get("taken").await?) == uid);

    // What the schema forbids is refused before the operator sees it.
    let wrong = Patch::merge(&json!({"spec": {"namespaces": ["a".repeat(64)]}}));
    let refused = tenants.patch("acme", &wrong, &options).await;
    ensure!(refused.is_err_and(|error| error.is_invalid()));

    let held = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "held", "finalizers": ["example.com/hold"]}
    });
    env.create(&CONFIG_MAPS, Some("acme-dev"), held).await?;
    tenants.delete("acme", &DeleteOptions::default()).await?;
    gone(&env, &NAMESPACES, "taken").await?;
    ready_is(&env, 2, "False", "Deleting").await?;
    let release = Patch::merge(&json!({"metadata": {"finalizers": null}}));
    let maps = env.client().dynamic(CONFIG_MAPS, Some("acme-dev"));
    maps.patch("held", &release, &options).await?;
    gone(&env, &TENANTS, "acme").await?;
    gone(&env, &NAMESPACES, "acme-dev").await?;

    operator.signal(Signal::Terminate)?;
    let status = operator.wait(SOON).await?;
    ensure!(status.success(), "it did not stop in order: {status}");
    let lease = env.client().dynamic(LEASES, Some("default"));
    let lease = lease.get("tenant-operator").await?;
    let holder = field(&lease, "/spec/holderIdentity");
    let holder = holder.as_str().unwrap_or_default();
    ensure!(holder.is_empty(), "{holder} holds the Lease still");
    Ok(())
}

/// Waits until the condition `Ready` is that. A deletion is a generation too.
async fn ready_is(env: &Env, generation: i64, status: &str, reason: &str) -> anyhow::Result<()> {
    let tenants = env.client().dynamic(TENANTS, None);
    let what = format!("generation {generation} is {reason}");
    eventually(SOON, &what, async || {
        let tenant = tenants.get("acme").await?;
        let conditions = field(&tenant, "/status/conditions");
        let mut conditions = conditions.as_array().into_iter().flatten();
        let is_so = conditions.any(|one| {
            one["type"] == "Ready"
                && one["status"] == status
                && one["reason"] == reason
                && one["observedGeneration"].as_i64() >= Some(generation)
        });
        Ok(if is_so {
            Ok(())
        } else {
            Err(field(&tenant, "/status").to_string())
        })
    })
    .await
}

async fn gone(env: &Env, resource: &ApiResource, name: &str) -> anyhow::Result<()> {
    let api = env.client().dynamic(resource.clone(), None);
    eventually(SOON, &format!("{name} is gone"), async || {
        Ok(match api.get_opt(name).await? {
            None => Ok(()),
            Some(left) => Err(left
                .data
                .get("status")
                .map_or_else(String::new, Value::to_string)),
        })
    })
    .await
}
