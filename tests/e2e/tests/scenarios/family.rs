//! Objects that own each other, and what is asked about them.

use std::time::Duration;

use evenkeel_client::{Patch, PatchOptions};
use evenkeel_e2e::Env;
use evenkeel_e2e::manifest::CONFIG_MAPS;
use evenkeel_meta::{
    ApiResource, DeleteOptions, DynamicObject, Preconditions, PropagationPolicy, Scope,
};
use serde_json::{Value, json};

pub(crate) const SOON: Duration = Duration::from_secs(90);

pub(crate) const NAMESPACE: &str = "family";

/// An object that a scenario has made.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) resource: ApiResource,
    pub(crate) object: DynamicObject,
}

impl Made {
    pub(crate) fn name(&self) -> &str {
        &self.object.metadata.name
    }

    pub(crate) fn uid(&self) -> String {
        let uid = self.object.metadata.uid.clone();
        uid.unwrap_or_default().to_string()
    }

    /// A reference to it, that blocks or not.
    pub(crate) fn owner(&self, blocks: bool) -> Value {
        json!({
            "apiVersion": self.resource.api_version(), "kind": self.resource.kind,
            "name": self.name(), "uid": self.uid(), "blockOwnerDeletion": blocks,
        })
    }

    /// The same with one field changed.
    pub(crate) fn owner_but(&self, field: &str, value: &str) -> Value {
        let mut reference = self.owner(false);
        reference[field] = json!(value);
        reference
    }
}

/// A reference to an object that never was.
pub(crate) fn nobody() -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": "never-was",
        "uid": "5f8a4f3e-0000-4000-8000-000000000000",
    })
}

/// What a scenario does with its server.
pub(crate) struct Families<'a>(pub(crate) &'a Env);

impl Families<'_> {
    /// With a namespace, before or after the manager is started.
    pub(crate) async fn prepare(env: &Env) -> anyhow::Result<Families<'_>> {
        env.create_namespace(NAMESPACE).await?;
        Ok(Families(env))
    }

    pub(crate) async fn make(
        &self,
        resource: &ApiResource,
        name: &str,
        owners: &[Value],
        rest: Value,
    ) -> anyhow::Result<Made> {
        self.make_in(NAMESPACE, resource, name, owners, rest).await
    }

    /// `rest` is what the object has beside its name and owners.
    pub(crate) async fn make_in(
        &self,
        namespace: &str,
        resource: &ApiResource,
        name: &str,
        owners: &[Value],
        mut rest: Value,
    ) -> anyhow::Result<Made> {
        rest["apiVersion"] = json!(resource.api_version());
        rest["kind"] = json!(resource.kind);
        rest["metadata"]["name"] = json!(name);
        rest["metadata"]["ownerReferences"] = json!(owners);
        let namespace = (resource.scope == Scope::Namespaced).then_some(namespace);
        Ok(Made {
            resource: resource.clone(),
            object: self.0.create(resource, namespace, rest).await?,
        })
    }

    pub(crate) async fn map(&self, name: &str, owners: &[Value]) -> anyhow::Result<Made> {
        self.make(&CONFIG_MAPS, name, owners, json!({})).await
    }

    /// A ConfigMap that stays while somebody else's finalizer is on it.
    pub(crate) async fn slow_map(&self, name: &str, owners: &[Value]) -> anyhow::Result<Made> {
        let rest = json!({"metadata": {"finalizers": ["example.com/slow"]}});
        self.make(&CONFIG_MAPS, name, owners, rest).await
    }

    pub(crate) async fn get(&self, made: &Made) -> anyhow::Result<Option<DynamicObject>> {
        let namespace = made.object.metadata.namespace.as_deref();
        let api = self.0.client().dynamic(made.resource.clone(), namespace);
        let found = api.get_opt(made.name()).await?;
        Ok(found.filter(|object| object.metadata.uid == made.object.metadata.uid))
    }

    pub(crate) async fn is_there(&self, made: &Made) -> anyhow::Result<bool> {
        Ok(self.get(made).await?.is_some())
    }

    /// The UIDs of the owners of an object that is there.
    pub(crate) async fn owners(&self, made: &Made) -> anyhow::Result<Vec<String>> {
        let Some(object) = self.get(made).await? else {
            anyhow::bail!("{} is gone", made.name());
        };
        let owners = object.metadata.owner_references.into_iter();
        Ok(owners.map(|owner| owner.uid.to_string()).collect())
    }

    pub(crate) async fn gone(&self, made: &Made) -> anyhow::Result<()> {
        let what = format!("{} {} is gone", made.resource.kind, made.name());
        self.eventually(&what, async || Ok(!self.is_there(made).await?))
            .await
    }

    pub(crate) async fn eventually(
        &self,
        what: &str,
        holds: impl AsyncFn() -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        evenkeel_e2e::eventually(SOON, what, async || {
            Ok(if holds().await? {
                Ok(())
            } else {
                Err("not yet".to_owned())
            })
        })
        .await
    }

    /// `None` leaves the policy to the server.
    pub(crate) async fn delete(
        &self,
        made: &Made,
        policy: Option<PropagationPolicy>,
    ) -> anyhow::Result<()> {
        let namespace = made.object.metadata.namespace.as_deref();
        let api = self.0.client().dynamic(made.resource.clone(), namespace);
        let options = DeleteOptions {
            propagation_policy: policy,
            preconditions: Some(Preconditions {
                uid: made.object.metadata.uid.clone(),
                resource_version: None,
            }),
            ..DeleteOptions::default()
        };
        api.delete(made.name(), &options).await?;
        Ok(())
    }

    pub(crate) async fn without_finalizers(&self, made: &Made) -> anyhow::Result<()> {
        let namespace = made.object.metadata.namespace.as_deref();
        let api = self.0.client().dynamic(made.resource.clone(), namespace);
        let patch = Patch::merge(&json!({"metadata": {"finalizers": null}}));
        api.patch(made.name(), &patch, &PatchOptions::default())
            .await?;
        Ok(())
    }

    /// That something is *not* collected shows once the collector has dealt with what came after
    /// it, here the dependent of an owner that never was.
    pub(crate) async fn caught_up(&self) -> anyhow::Result<()> {
        let marker = self.map("marker", &[nobody()]).await?;
        self.gone(&marker).await
    }
}
