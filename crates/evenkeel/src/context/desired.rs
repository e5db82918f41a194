use std::hash::Hash;

use evenkeel_client::Patch;
use evenkeel_meta::{Complete, MetaView, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{ChangeResult, Context, WriteError};

/// What a write of a [`Context`] that is only made where it is needed came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// The object was not there.
    Created,
    /// It was there and is different now.
    Patched,
    /// It was as it should be; nothing was sent.
    Unchanged,
}

impl<K: Clone + Eq + Hash> Context<K> {
    /// Makes an object be as `change` leaves it, and says what that took.
    ///
    /// `observed` is the object as a store shows it. If it is there, the difference that `change`
    /// makes is sent as a merge patch, which holds for this state alone; what others wrote into
    /// other fields stays. If it is not there, `draft` is changed and created: it has the name, the
    /// namespace and what is only said once.
    ///
    /// `change` returns nothing, or a `Result`: with an error nothing is written.
    ///
    /// The status is left alone: [`write_status`](Self::write_status) writes that. Where each of
    /// several writers owns fields, [`apply`](Self::apply) is the better tool.
    ///
    /// ```
    /// # use evenkeel::{Context, Outcome, ReconcileResult, meta::MetaMut, store::Store};
    /// # use evenkeel::meta::MetaView;
    /// # use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// # async fn make(context: &Context, owner: &ConfigMap, secrets: &Store<Secret>) -> ReconcileResult {
    /// let mut draft = Secret::default();
    /// draft.metadata.name = owner.metadata.name.clone();
    /// draft.metadata.namespace = owner.metadata.namespace.clone();
    /// let there = secrets.get(&owner.metadata.key());
    /// context
    ///     .create_or_patch(there.as_deref(), || draft, |secret| {
    ///         secret.immutable = Some(true);
    ///         // Keeps the owners that others have put there, and refuses what cannot be.
    ///         secret.metadata.set_controller(owner)
    ///     })
    ///     .await?;
    /// # Ok(Outcome::Done)
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`WriteError::Change`] with the error of `change`, [`WriteError::OtherObject`] if it names
    /// another object. From the API server a conflict when the object is not what it was when it was
    /// observed, or somebody else has created it; both are worth another run with newer stores. Else
    /// as [`Api::patch`](evenkeel_client::Api::patch) and
    /// [`Api::create`](evenkeel_client::Api::create).
    pub async fn create_or_patch<T, R>(
        &self,
        observed: Option<&T>,
        draft: impl FnOnce() -> T,
        change: impl FnOnce(&mut T) -> R,
    ) -> Result<(T, Written), WriteError<R::Error>>
    where
        T: Resource + Complete + Clone + Serialize + DeserializeOwned,
        R: ChangeResult,
    {
        let mut after = observed.cloned().unwrap_or_else(draft);
        let key = after.metadata().key();
        change(&mut after).result().map_err(WriteError::Change)?;
        if after.metadata().key() != key {
            return Err(WriteError::OtherObject {
                was: key,
                is: after.metadata().key(),
            });
        }
        let Some(before) = observed else {
            return Ok((self.create(&after).await?, Written::Created));
        };
        match Patch::between(before, &after).map_err(evenkeel_client::Error::from)? {
            None => Ok((after, Written::Unchanged)),
            Some(patch) => {
                let patched = self.patch(before.metadata(), &patch).await?;
                Ok((patched, Written::Patched))
            }
        }
    }
}
