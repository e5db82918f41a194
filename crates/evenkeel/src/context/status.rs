use std::hash::Hash;

use evenkeel_client::{Error, Patch};
use evenkeel_meta::Resource;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{ChangeResult, Context, WriteError, Written};

impl<K: Clone + Eq + Hash> Context<K> {
    /// Makes an object's status be as `change` leaves it, and says whether there was anything to
    /// write.
    ///
    /// The difference is sent as a merge patch, which holds for the state `before` alone. What
    /// `change` does to anything but the status is not sent: the API server would not take it. A list is
    /// replaced as a whole, as merge patches do: where `T` knows a part of the fields of its items, the
    /// others are lost. Fields that `T` does not know elsewhere stay.
    ///
    /// `change` returns nothing, or a `Result`: with an error nothing is written.
    ///
    /// ```
    /// # use evenkeel::{Context, Outcome, ReconcileResult};
    /// use evenkeel::meta::{Condition, Conditions, Timestamp};
    /// # use k8s_openapi::api::policy::v1::PodDisruptionBudget;
    ///
    /// # async fn report(context: &Context, budget: &PodDisruptionBudget) -> ReconcileResult {
    /// let generation = budget.metadata.generation;
    /// context
    ///     .write_status(budget, |budget| {
    ///         let status = budget.status.get_or_insert_default();
    ///         status.observed_generation = generation;
    ///         let found = Condition::new("DisruptionAllowed", true, "SufficientPods");
    ///         let conditions = status.conditions.get_or_insert_default();
    ///         // Its time stays what it was, unless the status changes.
    ///         conditions.set_condition(found.observed(generation), Timestamp::now());
    ///     })
    ///     .await?;
    /// # Ok(Outcome::Done)
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`WriteError::Change`] with the error of `change`. From the API server a conflict when the
    /// object is not what it was when `before` was read, which is worth another run with newer stores.
    /// Else as [`Api::patch_status`](evenkeel_client::Api::patch_status).
    pub async fn write_status<T, R>(
        &self,
        before: &T,
        change: impl FnOnce(&mut T) -> R,
    ) -> Result<(T, Written), WriteError<R::Error>>
    where
        T: Resource + Clone + Serialize + DeserializeOwned,
        R: ChangeResult,
    {
        let mut after = before.clone();
        change(&mut after).result().map_err(WriteError::Change)?;
        match Patch::between_statuses(before, &after).map_err(Error::from)? {
            None => Ok((after, Written::Unchanged)),
            Some(patch) => {
                let patched = self.patch_status(before.metadata(), &patch).await?;
                Ok((patched, Written::Patched))
            }
        }
    }
}
