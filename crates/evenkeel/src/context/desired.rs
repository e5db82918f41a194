use std::hash::Hash;

use evenkeel_client::{Patch, Result};
use evenkeel_meta::{Complete, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Context;

/// What [`Context::create_or_patch`] did.
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
    /// The status is left alone: [`patch_status`](Self::patch_status) writes that. Where each of
    /// several writers owns fields, [`apply`](Self::apply) is the better tool.
    ///
    /// # Errors
    ///
    /// A conflict when the object is not what it was when it was observed, or somebody else has
    /// created it; both are worth another run with newer stores. Else as
    /// [`Api::patch`](evenkeel_client::Api::patch) and [`Api::create`](evenkeel_client::Api::create).
    pub async fn create_or_patch<T>(
        &self,
        observed: Option<&T>,
        draft: impl FnOnce() -> T,
        change: impl FnOnce(&mut T),
    ) -> Result<(T, Written)>
    where
        T: Resource + Complete + Clone + Serialize + DeserializeOwned,
    {
        let Some(before) = observed else {
            let mut object = draft();
            change(&mut object);
            return Ok((self.create(&object).await?, Written::Created));
        };
        let mut after = before.clone();
        change(&mut after);
        match Patch::between(before, &after)? {
            None => Ok((after, Written::Unchanged)),
            Some(patch) => {
                let patched = self.patch(before.metadata(), &patch).await?;
                Ok((patched, Written::Patched))
            }
        }
    }
}
