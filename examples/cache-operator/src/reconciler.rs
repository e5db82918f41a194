use std::sync::Arc;

use evenkeel::events::{EventType, ObjectReference};
use evenkeel::meta::{LabelSelector, MetaView, ObjectKey};
use evenkeel::store::{InformerOptions, Store};
use evenkeel::{
    AddError, Clock, Context, Controller, Manager, ObjectReconciler, Outcome, ReconcileError,
    ReconcileResult, Watch, Written, changed,
};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Service};

use crate::parts::{self, MANAGED_BY, PORT};
use crate::{Cache, directory, status};

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
        let (cache, _) = context.add_finalizer(&cache, FINALIZER).await?;
        let configuration = match parts::configuration(&cache.spec) {
            Ok(configuration) => configuration,
            Err(why) => {
                let refused = |cache: &mut Cache| status::refused(cache, &why, self.clock.now());
                context.write_status(&*cache, refused).await?;
                let about = ObjectReference::of(&*cache);
                let recorder = context.recorder();
                recorder.event(
                    &about,
                    EventType::Warning,
                    "ReservedSetting",
                    why.to_string(),
                );
                // No retry will mend what the user wrote.
                return Err(ReconcileError::permanent(why));
            }
        };
        let deployment = self.make_parts(context, &cache, &configuration).await?;
        let address = address(&cache);
        self.enter(context, &cache, &address).await?;
        let now = self.clock.now();
        let running = |cache: &mut Cache| status::running(cache, &deployment, &address, now);
        context.write_status(&*cache, running).await?;
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
        let (_, written) = context
            .create_or_patch(
                map.as_deref(),
                || draft,
                |map| {
                    parts::shape_config_map(map, configuration);
                    parts::mark(&mut map.metadata, cache)
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
        let (made, _) = context
            .create_or_patch(
                deployment.as_deref(),
                || draft,
                |deployment| {
                    parts::shape_deployment(deployment, cache, configuration);
                    parts::mark(&mut deployment.metadata, cache)
                },
            )
            .await?;

        let service = self.services.get(&key);
        let draft = Service {
            metadata: parts::named(cache),
            ..Service::default()
        };
        context
            .create_or_patch(
                service.as_deref(),
                || draft,
                |service| {
                    parts::shape_service(service, cache);
                    parts::mark(&mut service.metadata, cache)
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
    async fn clean_up(&self, context: &Context, cache: &Arc<Cache>) -> ReconcileResult {
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
}

fn address(cache: &Cache) -> String {
    let key = cache.metadata.key();
    let namespace = key.namespace().unwrap_or_default();
    format!("{}.{namespace}.svc:{PORT}", key.name())
}
