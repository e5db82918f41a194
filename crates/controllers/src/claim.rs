//! Which children belong to a controller: keeping, adopting, releasing (contract kcm C1).

use evenkeel::Context;
use evenkeel_client::{Error, Patch};
use evenkeel_meta::{
    ApiResource, LabelSelector, MetaView, ObjectKey, Operator, OwnerReference, Resource,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector as WireSelector;
use serde::de::DeserializeOwned;

/// A controller that claims children by its selector.
pub(crate) struct Claimant<'a, M> {
    pub(crate) resource: ApiResource,
    pub(crate) meta: &'a M,
    pub(crate) selector: &'a LabelSelector,
}

/// What is to be done with one child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is mine and matches.
    Keep,
    /// It matches and is nobody's: make it mine.
    Adopt,
    /// It is mine and does not match any more: let it go.
    Release,
    /// It is none of my business.
    Ignore,
}

impl<M: MetaView> Claimant<'_, M> {
    /// Judges one child. Neither adopts nor releases while one of the two is being deleted.
    pub(crate) fn judge(&self, child: &impl MetaView) -> Verdict {
        let matches = self.selector.matches_by(|key| child.label(key));
        let settled = !self.meta.is_terminating() && !child.is_terminating();
        match child.controller() {
            Some(owner) if Some(owner.uid) != self.meta.uid() => Verdict::Ignore,
            Some(_) if matches => Verdict::Keep,
            Some(_) if settled => Verdict::Release,
            None if matches && settled => Verdict::Adopt,
            // A child that is going is still counted; one that does not match is not.
            Some(_) | None => Verdict::Ignore,
        }
    }

    /// The reference that makes a child the claimant's.
    pub(crate) fn owner_reference(&self) -> OwnerReference {
        OwnerReference {
            api_version: self.resource.api_version().into_owned(),
            kind: self.resource.kind.clone().into_owned(),
            name: self.meta.name().to_owned(),
            uid: self.meta.uid().unwrap_or_default().into(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        }
    }

    /// Whether a live read still shows the claimant as it was observed: the store may be
    /// behind, and a child must not be adopted by an owner that is going or was replaced.
    pub(crate) async fn may_adopt(&self, context: &Context<ObjectKey>) -> Result<bool, Error> {
        let api = context
            .client()
            .metadata(self.resource.clone(), self.meta.namespace());
        let live = api.get_opt(self.meta.name()).await?;
        Ok(live.is_some_and(|live| {
            live.metadata.uid() == self.meta.uid() && !live.metadata.is_terminating()
        }))
    }

    /// Makes a child the claimant's; `None` when it is gone. The UID in the patch makes sure
    /// that it is this child.
    pub(crate) async fn adopt<T>(
        &self,
        context: &Context<ObjectKey>,
        child: &T,
    ) -> Result<Option<T>, Error>
    where
        T: Resource + DeserializeOwned,
    {
        let patch = Patch::strategic(&serde_json::json!({
            "metadata": {"uid": child.metadata().uid(), "ownerReferences": [self.owner_reference()]},
        }));
        match context.patch(child.metadata(), &patch).await {
            Err(error) if error.is_not_found() => Ok(None),
            adopted => adopted.map(Some),
        }
    }

    /// Takes the claimant's reference off a child. One that is gone, or was replaced by another
    /// of its name, needs no release.
    pub(crate) async fn release<T>(
        &self,
        context: &Context<ObjectKey>,
        child: &T,
    ) -> Result<(), Error>
    where
        T: Resource + DeserializeOwned,
    {
        let patch = Patch::strategic(&serde_json::json!({
            "metadata": {
                "uid": child.metadata().uid(),
                "ownerReferences": [{"$patch": "delete", "uid": self.meta.uid()}],
            },
        }));
        match context.patch::<T>(child.metadata(), &patch).await {
            Err(error) if !error.is_not_found() && !error.is_invalid() => Err(error),
            _ => Ok(()),
        }
    }
}

/// A selector in the form that matches. An operator that does not exist matches nothing; the
/// API server refuses such a selector.
pub(crate) fn selector(wire: &WireSelector) -> LabelSelector {
    let labels =
        wire.match_labels
            .iter()
            .flatten()
            .map(|(key, value)| evenkeel_meta::LabelRequirement {
                key: key.clone(),
                operator: Operator::In,
                values: vec![value.clone()],
            });
    let expressions = wire.match_expressions.iter().flatten().map(|wire| {
        let (operator, values) = match wire.operator.as_str() {
            "In" => (Operator::In, wire.values.clone().unwrap_or_default()),
            "NotIn" => (Operator::NotIn, wire.values.clone().unwrap_or_default()),
            "Exists" => (Operator::Exists, Vec::new()),
            "DoesNotExist" => (Operator::DoesNotExist, Vec::new()),
            _ => (Operator::In, Vec::new()),
        };
        evenkeel_meta::LabelRequirement {
            key: wire.key.clone(),
            operator,
            values,
        }
    });
    LabelSelector::new(labels.chain(expressions))
}

#[cfg(test)]
mod tests {
    use evenkeel_meta::{Meta, Scope};

    use super::*;

    fn meta(json: serde_json::Value) -> Meta {
        serde_json::from_value(json).unwrap()
    }

    fn judge(owner: serde_json::Value, child: serde_json::Value) -> Verdict {
        let owner = meta(owner);
        let claimant = Claimant {
            resource: ApiResource::new_static(
                "apps",
                "v1",
                "ReplicaSet",
                "replicasets",
                Scope::Namespaced,
            ),
            meta: &owner,
            selector: &"app=web".parse().unwrap(),
        };
        claimant.judge(&meta(child))
    }

    #[test]
    fn kcm_c1_children_are_kept_adopted_released_or_ignored() {
        let me = serde_json::json!({"name": "r", "uid": "me"});
        let dying_me = serde_json::json!({"name": "r", "uid": "me", "deletionTimestamp": "2026-01-01T00:00:00Z"});
        let child = |label: &str, owner: Option<&str>, dying: bool| {
            let owners = owner.map(|uid| {
                serde_json::json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet",
                "name": "r", "uid": uid, "controller": true}])
            });
            serde_json::json!({"name": "p", "labels": {"app": label}, "ownerReferences": owners,
                "deletionTimestamp": dying.then_some("2026-01-01T00:00:00Z")})
        };
        assert_eq!(
            judge(me.clone(), child("web", Some("me"), false)),
            Verdict::Keep
        );
        assert_eq!(
            judge(me.clone(), child("web", Some("me"), true)),
            Verdict::Keep
        );
        assert_eq!(
            judge(me.clone(), child("db", Some("me"), false)),
            Verdict::Release
        );
        assert_eq!(
            judge(me.clone(), child("db", Some("me"), true)),
            Verdict::Ignore
        );
        assert_eq!(judge(me.clone(), child("web", None, false)), Verdict::Adopt);
        assert_eq!(judge(me.clone(), child("web", None, true)), Verdict::Ignore);
        assert_eq!(judge(me.clone(), child("db", None, false)), Verdict::Ignore);
        assert_eq!(
            judge(me, child("web", Some("other"), false)),
            Verdict::Ignore
        );
        assert_eq!(
            judge(dying_me.clone(), child("web", None, false)),
            Verdict::Ignore
        );
        assert_eq!(
            judge(dying_me, child("db", Some("me"), false)),
            Verdict::Ignore
        );
    }

    #[test]
    fn an_unknown_operator_selects_nothing() {
        let wire = serde_json::from_value(serde_json::json!({
            "matchLabels": {"app": "web"},
            "matchExpressions": [{"key": "tier", "operator": "Odd", "values": ["a"]}]}));
        let selector = selector(&wire.unwrap());
        assert!(!selector.matches([("app", "web"), ("tier", "a")]));
    }
}
