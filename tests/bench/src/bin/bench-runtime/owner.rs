//! Runs for owners, and the events that they answer.

use std::collections::HashMap;
use std::sync::Arc;

use evenkeel::changed::{self, Changed};
use evenkeel::meta::{MetaView, Metadata, Object, ObjectKey};
use evenkeel::{Context, Outcome, ReconcileResult, Reconciler};
use parking_lot::Mutex;

use crate::runs::Runs;

pub(crate) struct Count {
    runs: Arc<Runs>,
    sent: Arc<Mutex<Sent>>,
}

/// When the events were sent that owners are yet to be run for.
type Sent = HashMap<ObjectKey, Vec<u64>>;

impl Count {
    pub(crate) fn new(runs: Arc<Runs>) -> Self {
        let sent = Arc::default();
        Self { runs, sent }
    }

    /// Lets every update pass, and takes note of it.
    pub(crate) fn told(&self) -> Changed<Metadata> {
        let sent = Arc::clone(&self.sent);
        changed::by(move |_, pod: &Metadata| {
            let pod = pod.metadata();
            let owner = pod.owners().next();
            let version = pod
                .resource_version()
                .and_then(|version| version.as_number());
            if let (Some(owner), Some(version)) = (owner, version) {
                let key = ObjectKey::new(pod.namespace(), owner.name);
                sent.lock().entry(key).or_default().push(version);
            }
            true
        })
    }
}

impl Reconciler for Count {
    async fn reconcile(&self, _: &Context, key: &ObjectKey) -> ReconcileResult {
        self.runs.begin();
        let sent = self.sent.lock().remove(key).unwrap_or_default();
        for version in sent {
            self.runs.note(Some(version));
        }
        Ok(Outcome::Done)
    }
}
