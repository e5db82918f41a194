//! One run over one tenant: what it writes.

use std::sync::Arc;

use evenkeel::Context;
use evenkeel::client::{Error, Patch};
use evenkeel::events::{EventType, ObjectReference};
use evenkeel::meta::{DeleteOptions, MetaMut, MetaView, Object, OwnershipError, Resource, Status};
use evenkeel::store::{Index, Store};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::api::Tenant;
use crate::applied::{Left, mark};

/// Why a tenant's parts are not as they should be.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Server(#[from] Error),
    #[error(transparent)]
    Ownership(#[from] OwnershipError),
}

impl Failure {
    /// What somebody has to change, as no retry will.
    ///
    /// # Errors
    /// Itself, if a retry may help.
    pub(crate) fn refusal(self) -> Result<String, Self> {
        match self {
            Self::Server(error) if !error.is_invalid() => Err(Self::Server(error)),
            Self::Server(error) => Ok(match error.status() {
                Some(status) => status.message.clone(),
                None => error.to_string(),
            }),
            Self::Ownership(error) => Ok(error.to_string()),
        }
    }
}

/// What a part has to be to be kept.
pub(crate) trait Part:
    Resource + Object<Meta = ObjectMeta> + Serialize + DeserializeOwned + Send + Sync + 'static
{
}

impl<T> Part for T where
    T: Resource + Object<Meta = ObjectMeta> + Serialize + DeserializeOwned + Send + Sync + 'static
{
}

/// See the [module](self).
pub(crate) struct Round<'a> {
    pub(crate) context: &'a Context,
    pub(crate) tenant: &'a Tenant,
    /// What makes an object a part of the tenant.
    pub(crate) marks: ObjectMeta,
    /// What earlier runs have left.
    pub(crate) before: Left,
    /// What this one leaves, to which only what is still there goes over.
    pub(crate) after: Left,
}

impl Round<'_> {
    /// Brings all of the tenant's parts of one kind to what is wanted, and removes those that are
    /// not. It looks only into `places`; what is in other namespaces is for those to answer for
    /// who delete these.
    pub(crate) async fn keep_all<T: Part>(
        &mut self,
        store: &Store<T>,
        places: &[String],
        wanted: Vec<T>,
    ) -> Result<(), Failure> {
        for part in &wanted {
            let there = store.get(&part.metadata().key());
            if let Some(there) = &there {
                // What has another controller is not ours to have.
                there.metadata().clone().set_controller(self.tenant)?;
            }
            self.keep(there.as_deref(), part).await?;
        }
        for part in self.own(store) {
            let (meta, key) = (part.metadata(), part.metadata().key());
            let is_here = places.iter().any(|place| key.namespace() == Some(place));
            let is_wanted = wanted.iter().any(|one| one.metadata().key() == key);
            if is_here && !is_wanted && !meta.is_terminating() {
                remove(self.context, &*part).await?;
            }
        }
        Ok(())
    }

    /// What the tenant controls: its owner reference says so, whatever it is called.
    pub(crate) fn own<T: Part>(&self, store: &Store<T>) -> Vec<Arc<T>> {
        let uid = self.tenant.metadata.uid().unwrap_or_default();
        store.by_index(&Index::controller_uid(), uid)
    }

    /// Applies a configuration, unless it has left `there` as it is.
    ///
    /// First without force, to be told who else has set which field. Then with it: a quota that
    /// anybody may raise is none. Whatever is not in the configuration is no conflict, and stays.
    pub(crate) async fn keep<T: Part>(
        &mut self,
        there: Option<&T>,
        wanted: &T,
    ) -> Result<(), Failure> {
        if let Some((uid, left)) = there.and_then(|there| mark(there, wanted))
            && self.before.get(&uid) == Some(&left)
        {
            self.after.insert(uid, left);
            return Ok(());
        }
        let patch = Patch::apply(wanted);
        let mut applied = self.context.patch::<T>(wanted.metadata(), &patch).await;
        if let Err(error) = &applied
            && let Some(others) = error.status().and_then(field_conflicts)
        {
            let (kind, key) = (T::api_resource().kind, wanted.metadata().key());
            let about = ObjectReference::of(self.tenant);
            let message = format!("of {kind} {key}: {others}");
            let recorder = self.context.recorder();
            recorder.event(&about, EventType::Warning, "FieldsTakenBack", &message);
            applied = self.context.apply(wanted).await;
        }
        self.after.extend(mark(&applied?, wanted));
        Ok(())
    }
}

/// Deletes an object as it was seen: never a later one of its name.
pub(crate) async fn remove<T: Part>(context: &Context, object: &T) -> Result<(), Error> {
    match context.delete(object, DeleteOptions::default()).await {
        Err(error) if !error.is_not_found() => Err(error),
        _ => Ok(()),
    }
}

/// Who has set which of the fields to something else; `None` if that is not the conflict.
fn field_conflicts(status: &Status) -> Option<String> {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let fields = causes.filter(|cause| cause.reason == "FieldManagerConflict");
    let told: Vec<_> = fields
        .map(|cause| format!("{}: {}", cause.field, cause.message))
        .collect();
    (!told.is_empty()).then(|| told.join(", "))
}
