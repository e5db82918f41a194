//! The ServiceAccount controller: `default` in every active namespace (contract kcm SA1).

use evenkeel::{Context, Controller, Outcome, ReconcileError, Reconciler};
use evenkeel_meta::{Metadata, ObjectKey, Resource};
use evenkeel_store::{Informer, InformerOptions, Store};
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::setup::Setup;

/// The account that pods get when they name none.
const DEFAULT: &str = "default";

/// Makes sure that every active namespace has the ServiceAccount `default`; pods cannot be
/// created there before.
#[must_use]
pub fn controller(setup: &Setup, workers: usize) -> Controller {
    let namespaces = setup
        .informers
        .typed::<Namespace>(InformerOptions::default());
    let accounts: Informer<Metadata> = setup
        .informers
        .metadata(ServiceAccount::api_resource(), InformerOptions::default());
    let reconciler = ServiceAccounts {
        namespaces: namespaces.store().clone(),
        accounts: accounts.store().clone(),
    };
    Controller::builder("serviceaccount")
        .for_(&namespaces)
        .watches_events(&accounts, |key, event, add| {
            if let (evenkeel_store::Event::Deleted(_), Some(namespace), DEFAULT) =
                (event, key.namespace(), key.name())
            {
                add(ObjectKey::cluster(namespace));
            }
        })
        .concurrency(workers)
        .metrics(setup.metrics.clone())
        .reconciler(reconciler)
}

struct ServiceAccounts {
    namespaces: Store<Namespace>,
    accounts: Store<Metadata>,
}

impl Reconciler for ServiceAccounts {
    async fn reconcile(
        &self,
        context: &Context<ObjectKey>,
        key: &ObjectKey,
    ) -> Result<Outcome, ReconcileError> {
        let Some(namespace) = self.namespaces.get(key) else {
            return Ok(Outcome::Done);
        };
        let phase = namespace
            .status
            .as_ref()
            .and_then(|status| status.phase.as_deref());
        let account = ObjectKey::namespaced(key.name(), DEFAULT);
        if phase != Some("Active") || self.accounts.contains(&account) {
            return Ok(Outcome::Done);
        }
        let account = ServiceAccount {
            metadata: ObjectMeta {
                name: Some(DEFAULT.to_owned()),
                namespace: Some(key.name().to_owned()),
                ..ObjectMeta::default()
            },
            ..ServiceAccount::default()
        };
        match context.create(&account).await {
            Ok(_) => Ok(Outcome::Done),
            Err(error) if error.is_already_exists() => Ok(Outcome::Done),
            // The namespace is on its way out: it needs no account any more.
            Err(error)
                if error
                    .status()
                    .is_some_and(evenkeel_meta::Status::is_namespace_terminating) =>
            {
                Ok(Outcome::Done)
            }
            Err(error) => Err(error.into()),
        }
    }
}
