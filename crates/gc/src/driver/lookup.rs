use evenkeel_client::Client;
use evenkeel_meta::{ApiResource, MetaView, Metadata, Scope};

use super::kinds::Kinds;
use super::shared::Shared;
use super::worker::Outcome;
use crate::error::{WorkError, says_absent};
use crate::graph::{ClaimId, FOREGROUND_FINALIZER, Lookup, ORPHAN_FINALIZER, Verdict};

impl Shared {
    /// Looks an owner up, once for all who name it alike (G28, G31, G32).
    pub(crate) async fn verify(&self, claim: ClaimId) -> Result<Outcome, WorkError> {
        let Some(lookup) = self.graph.lock().lookup(claim) else {
            return Ok(Outcome::Done);
        };
        let answer = look_up(&self.client, &self.kinds, &lookup).await;
        let verdict = *answer.as_ref().unwrap_or(&Verdict::Unanswered);
        if verdict == Verdict::DeletingDependents {
            self.found_waiting(claim);
        }
        let again = self.change(|graph| {
            graph.verified(claim, verdict);
            graph.lookup(claim).is_some()
        });
        answer?;
        Ok(if again { Outcome::Again } else { Outcome::Done })
    }
}

/// Asks the server for an owner, by what references say of it.
pub(crate) async fn look_up(
    client: &Client,
    kinds: &Kinds,
    lookup: &Lookup,
) -> Result<Verdict, WorkError> {
    let Some(resource) = kinds.find(&lookup.api_version, &lookup.kind) else {
        return Err(WorkError::NotServed {
            api_version: lookup.api_version.clone(),
            kind: lookup.kind.clone(),
        });
    };
    if resource.scope == Scope::Namespaced && lookup.namespace.is_none() {
        return Ok(Verdict::Unresolvable);
    }
    let api = client.metadata(ApiResource::clone(&resource), lookup.namespace.as_deref());
    match api.get(&lookup.name).await {
        Ok(owner) => Ok(judge(&owner, lookup)),
        Err(error) if says_absent(&error, &lookup.name) => Ok(Verdict::Absent),
        Err(error) => Err(error.into()),
    }
}

fn judge(owner: &Metadata, lookup: &Lookup) -> Verdict {
    let owner = &owner.metadata;
    if owner.uid() != Some(lookup.uid.as_str()) {
        Verdict::Absent
    } else if owner.is_terminating()
        && owner.has_finalizer(FOREGROUND_FINALIZER)
        && !owner.has_finalizer(ORPHAN_FINALIZER)
    {
        Verdict::DeletingDependents
    } else {
        Verdict::Alive
    }
}
