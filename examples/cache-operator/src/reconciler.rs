use std::sync::Arc;

use evenkeel::client::Patch;
use evenkeel::meta::{LabelSelector, MetaView, ObjectKey};
use evenkeel::store::{InformerOptions, Store};
use evenkeel::{
    AddError, Clock, Context, Controller, Manager, ObjectReconciler, Outcome, ReconcileError,
    ReconcileResult, Watch, Written, changed, controlled_by,
};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::parts::{self, MANAGED_BY, PORT};
use crate::{Cache, CacheStatus, directory, status};

/// A cache has it as long as its line may be in the directory.
pub const FINALIZER: &str = "example.evenkeel.dev/directory";

/// Makes the parts of caches, and keeps them as they should be.
#[derive(Debug)]
pub struct Caches {
    maps: Store<ConfigMap>,
    deployments: Store<Deployment>,
    services: Store<Service>,
    directory: ObjectKey,
    clock: Clock,
}

/// Adds the operator to a Manager. `directory` is the ConfigMap with the addresses.
///
/// # Errors
/// There is a controller named `cache` already.
pub fn install(manager: &mut Manager, directory: ObjectKey, clock: Clock) -> Result<(), AddError> {
    let caches = manager.watch::<Cache>();
    // Of all the ConfigMaps of a cluster only ours are sent, decoded and kept.
    let ours = InformerOptions::default().labels(&LabelSelector::from_labels([MANAGED_BY]));
    let maps = manager.informers().typed::<ConfigMap>(ours.clone());
    let deployments = manager.informers().typed::<Deployment>(ours.clone());
    let services = manager.informers().typed::<Service>(ours);
    let reconciler = Caches {
        maps: maps.store().clone(),
        deployments: deployments.store().clone(),
        services: services.store().clone(),
        directory: directory.clone(),
        clock,
    };
    let asked = changed::generation().or(changed::labels());
    manager.add(
        Controller::builder("cache")
            .for_(Watch::of(&caches).when(asked))
            .owns(&maps)
            .owns(&deployments)
            .owns(&services)
            .watches_events(&maps, move |key, event, tell| {
                if *key == directory {
                    directory::concerned(event, tell);
                }
            })
            .concurrency(4)
            .object_reconciler(reconciler),
    )
}

impl ObjectReconciler<Cache> for Caches {
    async fn reconcile(&self, context: &Context, cache: Arc<Cache>) -> ReconcileResult {
        if cache.metadata.is_terminating() {
            return self.clean_up(context, &cache).await;
        }
        // Before there is anything to clean up.
        let cache = match context.add_finalizer(&*cache, FINALIZER).await? {
            Some(newer) => Arc::new(newer),
            None => cache,
        };
        let configuration = match parts::configuration(&cache.spec) {
            Ok(configuration) => configuration,
            Err(why) => {
                let status = status::refused(&cache, &why, &self.now());
                report(context, &cache, status).await?;
                // No retry will mend what the user wrote.
                return Err(ReconcileError::permanent(why));
            }
        };
        let deployment = self.make_parts(context, &cache, &configuration).await?;
        let address = address(&cache);
        self.enter(context, &cache, &address).await?;
        let status = status::running(&cache, &deployment, &address, &self.now());
        report(context, &cache, status).await?;
        Ok(Outcome::Done)
    }
}

impl Caches {
    async fn make_parts(
        &self,
        context: &Context,
        cache: &Cache,
        configuration: &str,
    ) -> Result<Deployment, ReconcileError> {
        let key = cache.metadata.key();
        let map = self.maps.get(&key);
        let draft = ConfigMap {
            metadata: parts::named(cache),
            ..ConfigMap::default()
        };
        let owner = controlled_by(cache, map.as_deref().unwrap_or(&draft))?;
        let (_, written) = context
            .create_or_patch(
                map.as_deref(),
                || draft,
                |map| {
                    parts::mark(&mut map.metadata, owner.into());
                    parts::shape_config_map(map, configuration);
                },
            )
            .await?;
        if written == Written::Patched {
            tracing::info!("The configuration has changed, the pods will be replaced");
        }

        let deployment = self.deployments.get(&key);
        let draft = Deployment {
            metadata: parts::named(cache),
            ..Deployment::default()
        };
        let owner = controlled_by(cache, deployment.as_deref().unwrap_or(&draft))?;
        let (made, _) = context
            .create_or_patch(
                deployment.as_deref(),
                || draft,
                |deployment| {
                    parts::mark(&mut deployment.metadata, owner.into());
                    parts::shape_deployment(deployment, cache, configuration);
                },
            )
            .await?;

        let service = self.services.get(&key);
        let draft = Service {
            metadata: parts::named(cache),
            ..Service::default()
        };
        let owner = controlled_by(cache, service.as_deref().unwrap_or(&draft))?;
        context
            .create_or_patch(
                service.as_deref(),
                || draft,
                |service| {
                    parts::mark(&mut service.metadata, owner.into());
                    parts::shape_service(service, cache);
                },
            )
            .await?;
        Ok(made)
    }

    /// Enters the address into the directory.
    async fn enter(
        &self,
        context: &Context,
        cache: &Cache,
        address: &str,
    ) -> Result<(), ReconcileError> {
        let key = cache.metadata.key();
        match self.maps.get(&self.directory) {
            Some(there) if directory::says(&there, &key, address) => {}
            Some(there) => {
                let line = directory::change(&key, Some(address));
                context.patch::<ConfigMap>(&there.metadata, &line).await?;
            }
            None => {
                // Another worker may be faster: then this comes again.
                let first = directory::first(&self.directory, &key, address);
                context.create(&first).await?;
            }
        }
        Ok(())
    }

    /// The parts go with their owner; the line is for us to take out.
    async fn clean_up(&self, context: &Context, cache: &Cache) -> ReconcileResult {
        if cache.metadata.has_finalizer(FINALIZER) {
            // Not first looked up in the store: a line that is not there yet would stay for ever.
            let target = directory::first(&self.directory, &cache.metadata.key(), "").metadata;
            let line = directory::change(&cache.metadata.key(), None);
            match context.patch::<ConfigMap>(&target, &line).await {
                Err(error) if !error.is_not_found() => return Err(error.into()),
                _ => {}
            }
            context.remove_finalizer(cache, FINALIZER).await?;
        }
        Ok(Outcome::Done)
    }

    fn now(&self) -> Time {
        Time(self.clock.now().into())
    }
}

/// Writes the status, if it is not what is there.
async fn report(
    context: &Context,
    cache: &Cache,
    status: CacheStatus,
) -> Result<(), ReconcileError> {
    let after = Cache {
        status: Some(status),
        ..cache.clone()
    };
    if let Some(difference) = Patch::between(cache, &after)? {
        let target = &cache.metadata;
        context.patch_status::<Cache>(target, &difference).await?;
    }
    Ok(())
}

fn address(cache: &Cache) -> String {
    let key = cache.metadata.key();
    let namespace = key.namespace().unwrap_or_default();
    format!("{}.{namespace}.svc:{PORT}", key.name())
}
