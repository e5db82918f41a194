//! Pausing, and going back to an earlier revision (contracts kcm D11, D14).

use evenkeel_client::Error;
use evenkeel_events::EventType;

use super::condition::{self, Wanted, reason};
use super::reconciler::Pass;
use super::{revision, template};

impl Pass<'_> {
    /// Says in `Progressing` that the Deployment is paused, or was. Time spent paused does not
    /// count against the deadline.
    pub(super) fn note_pause(&mut self) {
        if self.deployment.spec.progress_deadline_seconds.is_none() {
            return;
        }
        let paused = self.is_paused();
        let status = self.deployment.status.get_or_insert_default();
        if condition::has_reason(status, condition::PROGRESSING, reason::DEADLINE_EXCEEDED) {
            return;
        }
        let said = condition::has_reason(status, condition::PROGRESSING, reason::PAUSED);
        let (reason, message) = match (paused, said) {
            (true, false) => (reason::PAUSED, "Deployment is paused"),
            (false, true) => (reason::RESUMED, "Deployment is resumed"),
            _ => return,
        };
        let wanted = Wanted::new(
            condition::PROGRESSING,
            "Unknown",
            reason,
            message.to_owned(),
        );
        condition::set(status, wanted, self.now);
    }

    /// Carries out a rollback that was asked for by annotation; answers whether one was.
    ///
    /// `kubectl rollout undo` does not come this way: it writes the old template itself.
    pub(super) async fn roll_back(&mut self) -> Result<bool, Error> {
        let annotations = self.deployment.metadata.annotations.as_mut();
        let Some(asked) =
            annotations.and_then(|annotations| annotations.remove(revision::ROLLBACK_TO))
        else {
            return Ok(false);
        };
        let to = match asked.parse::<i64>() {
            Ok(0) => self.last_revision(),
            Ok(number) => Some(number),
            Err(_) => None,
        };
        let target = to.and_then(|to| {
            self.children
                .all()
                .find(|set| revision::revision(&set.metadata) == to)
                .cloned()
        });
        match (target, to) {
            (Some(set), Some(to)) => {
                self.take_template(&set);
                let name = self.deployment.metadata.name.clone().unwrap_or_default();
                let message = format!("Rolled back deployment \"{name}\" to revision {to}");
                self.report(EventType::Normal, "DeploymentRollback", message);
            }
            _ => self.report(
                EventType::Warning,
                "DeploymentRollbackRevisionNotFound",
                "Unable to find the revision to rollback to.".to_owned(),
            ),
        }
        // Also where there was nothing to go back to: the request is answered and goes.
        self.context.update(&self.deployment).await?;
        Ok(true)
    }

    /// The revision before the present one.
    fn last_revision(&self) -> Option<i64> {
        let mut revisions: Vec<_> = self
            .children
            .all()
            .map(|set| revision::revision(&set.metadata))
            .collect();
        revisions.sort_unstable();
        revisions
            .iter()
            .rev()
            .nth(1)
            .copied()
            .filter(|revision| *revision > 0)
    }

    fn take_template(&mut self, set: &k8s_openapi::api::apps::v1::ReplicaSet) {
        let Some(mut old) = set.spec.template.clone() else {
            return;
        };
        if let Some(labels) = old.metadata.as_mut().and_then(|meta| meta.labels.as_mut()) {
            labels.remove(template::HASH_LABEL);
        }
        self.deployment.spec.template = old;
    }
}
