//! A server's contents, as informers see them: every resource whole and as metadata, and as its
//! type where Rust has one.

use std::collections::BTreeMap;

use anyhow::Context;
use evenkeel_client::{Client, ListOptions};
use evenkeel_meta::{ApiResource, DynamicObject, MetaView, Metadata, Object, ObjectKey, Resource};
use evenkeel_store::{Informer, InformerOptions, Informers};
use k8s_openapi::api::{apps, core, networking, policy, rbac};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Objects by resource and key.
pub type Contents = BTreeMap<(ApiResource, ObjectKey), Value>;

/// The resource version of each object of a resource.
pub type Versions = BTreeMap<ObjectKey, String>;

/// Informers of a server's resources. They end with it.
pub struct Mirror {
    client: Client,
    // Of their own each, so that none is served by another's watch.
    whole: Informers,
    metadata: Informers,
    typed: Informers,
    resources: BTreeMap<ApiResource, Views>,
}

struct Views {
    whole: Informer<DynamicObject>,
    metadata: Informer<Metadata>,
    typed: Option<Box<dyn Typed>>,
}

/// An informer of a type.
trait Typed: Send + Sync {
    fn versions(&self) -> Versions;
    fn contents(&self) -> BTreeMap<ObjectKey, Value>;
}

impl Mirror {
    /// Of nothing yet.
    #[must_use]
    pub fn new(client: &Client) -> Self {
        let informers = || Informers::new(client.clone());
        Self {
            client: client.clone(),
            whole: informers(),
            metadata: informers(),
            typed: informers(),
            resources: BTreeMap::new(),
        }
    }

    /// Watches these too, and waits until their informers have synced.
    ///
    /// # Errors
    /// One cannot sync.
    pub async fn watch(
        &mut self,
        resources: impl IntoIterator<Item = ApiResource>,
    ) -> anyhow::Result<()> {
        let options = InformerOptions::default;
        let mut new = Vec::new();
        for resource in resources {
            if self.resources.contains_key(&resource) {
                continue;
            }
            let whole = options().with_managed_fields();
            let views = Views {
                whole: self.whole.dynamic(resource.clone(), whole),
                metadata: self.metadata.metadata(resource.clone(), options()),
                typed: typed(&self.typed, &resource),
            };
            new.push((views.whole.clone(), views.metadata.clone()));
            self.resources.insert(resource, views);
        }
        for informers in [&self.whole, &self.metadata, &self.typed] {
            informers.start();
        }
        for (whole, metadata) in new {
            whole.synced().await?;
            metadata.synced().await?;
        }
        Ok(())
    }

    /// Whether every view of every resource is what the server lists now; or which is not.
    ///
    /// # Errors
    /// The server cannot be asked.
    pub async fn is_current(&self) -> anyhow::Result<Result<(), String>> {
        for (resource, views) in &self.resources {
            let api = self.client.metadata(resource.clone(), None);
            let listed = match api.list(&ListOptions::default()).await {
                Ok(list) => versions(list.items.iter()),
                // Its definition is gone.
                Err(error) if error.is_not_found() => Versions::new(),
                Err(error) => return Err(error).with_context(|| resource.plural.to_string()),
            };
            let whole = versions(views.whole.store().list().iter().map(|object| &**object));
            let metadata = versions(views.metadata.store().list().iter().map(|object| &**object));
            let typed = views.typed.as_ref().map(|typed| typed.versions());
            for (name, view) in [
                ("whole", Some(whole)),
                ("metadata", Some(metadata)),
                ("typed", typed),
            ] {
                if let Some(view) = view
                    && view != listed
                {
                    let plural = &resource.plural;
                    return Ok(Err(format!(
                        "{plural}, {name}: {view:?} instead of {listed:?}"
                    )));
                }
            }
        }
        Ok(Ok(()))
    }

    /// The versions of a resource's objects, as they are shown whole.
    #[must_use]
    pub fn versions(&self, resource: &ApiResource) -> Versions {
        let views = self.resources.get(resource);
        let objects = views.map(|views| views.whole.store().list());
        versions(objects.iter().flatten().map(|object| &**object))
    }

    /// All objects, whole.
    ///
    /// # Errors
    /// One cannot be written as JSON.
    pub fn contents(&self) -> anyhow::Result<Contents> {
        let mut contents = Contents::new();
        for (resource, views) in &self.resources {
            for object in views.whole.store().list() {
                let key = object.metadata.key();
                contents.insert((resource.clone(), key), serde_json::to_value(&*object)?);
            }
        }
        Ok(contents)
    }

    /// The objects of which there are types, as such.
    #[must_use]
    pub fn typed_contents(&self) -> Contents {
        let mut contents = Contents::new();
        for (resource, views) in &self.resources {
            for (key, object) in views.typed.iter().flat_map(|typed| typed.contents()) {
                contents.insert((resource.clone(), key), object);
            }
        }
        contents
    }
}

impl<K> Typed for Informer<K>
where
    K: Object + Serialize + Send + Sync + 'static,
{
    fn versions(&self) -> Versions {
        versions(self.store().list().iter().map(|object| &**object))
    }

    fn contents(&self) -> BTreeMap<ObjectKey, Value> {
        let objects = self.store().list();
        let objects = objects.iter().map(|object| {
            let value = serde_json::to_value(&**object).unwrap_or_default();
            (object.metadata().key(), value)
        });
        objects.collect()
    }
}

/// The informer of the type that is `resource`, if there is one.
fn typed(informers: &Informers, resource: &ApiResource) -> Option<Box<dyn Typed>> {
    fn of<K>(informers: &Informers, resource: &ApiResource) -> Option<Box<dyn Typed>>
    where
        K: Resource + DeserializeOwned + Serialize + Send + Sync + 'static,
    {
        (K::api_resource() == *resource)
            .then(|| Box::new(informers.typed::<K>(InformerOptions::default())) as Box<dyn Typed>)
    }
    let types = [
        of::<core::v1::Namespace>,
        of::<core::v1::ConfigMap>,
        of::<core::v1::Secret>,
        of::<core::v1::Service>,
        of::<core::v1::ServiceAccount>,
        of::<apps::v1::Deployment>,
        of::<apps::v1::StatefulSet>,
        of::<apps::v1::DaemonSet>,
        of::<networking::v1::NetworkPolicy>,
        of::<policy::v1::PodDisruptionBudget>,
        of::<rbac::v1::Role>,
        of::<rbac::v1::RoleBinding>,
        of::<rbac::v1::ClusterRole>,
        of::<rbac::v1::ClusterRoleBinding>,
        of::<apiextensions::v1::CustomResourceDefinition>,
    ];
    types.iter().find_map(|of| of(informers, resource))
}

fn versions<'a, K: Object + 'a>(objects: impl Iterator<Item = &'a K>) -> Versions {
    let versions = objects.map(|object| {
        let metadata = object.metadata();
        let version = metadata.resource_version().unwrap_or_default();
        (metadata.key(), version.to_string())
    });
    versions.collect()
}
