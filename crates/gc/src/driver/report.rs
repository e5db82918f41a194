use evenkeel_events::{EventType, ObjectReference};

use super::shared::Shared;
use crate::graph::{ClaimId, NodeId};

impl Shared {
    /// Tells the user that a reference points to an owner in another namespace (G24).
    pub(crate) fn report_misplaced(&self, dependent: NodeId, claim: ClaimId) {
        let (target, owner) = {
            let graph = self.graph.lock();
            let Some(found) = graph.misplaced(dependent, claim) else {
                return;
            };
            found
        };
        let namespace = target.namespace.as_deref().unwrap_or_default();
        let message = format!(
            "ownerRef [{}/{}, namespace: {namespace}, name: {}, uid: {}] does not exist in namespace {namespace:?}",
            owner.api_version, owner.kind, owner.name, owner.uid,
        );
        tracing::warn!(object = %target, "{message}");
        let regarding = ObjectReference {
            kind: target.kind.clone(),
            api_version: target.api_version.clone(),
            namespace: namespace.to_owned(),
            name: target.name.clone(),
            uid: target.uid.to_string(),
            resource_version: target.resource_version.to_string(),
            ..ObjectReference::default()
        };
        if let Some(recorder) = &*self.recorder.lock() {
            recorder.event(
                &regarding,
                EventType::Warning,
                "OwnerRefInvalidNamespace",
                message,
            );
        }
    }
}
