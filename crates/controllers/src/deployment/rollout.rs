//! The writes of a rollout: the new set, the sizes of all sets.

use evenkeel_client::Error;
use evenkeel_events::{EventType, ObjectReference};
use evenkeel_meta::{MetaView, Resource};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, ReplicaSetSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::children::{self, wanted};
use super::condition::{self, Wanted, reason};
use super::proportional::{self, Share};
use super::reconciler::Pass;
use super::{revision, rolling, template};

impl Pass<'_> {
    /// One step of a rolling update: the new set first, then the old ones.
    pub(super) async fn roll(&mut self) -> Result<(), Error> {
        let is_made = self.children.new.is_some();
        self.sync_revision(true).await?;
        let Some(new) = &self.children.new else {
            return Ok(());
        };
        // A new set is a step of its own: the status tells of it before anything can fail.
        if !is_made {
            return Ok(());
        }
        let size = rolling::new_size(self.limits, wanted(new), self.children.occupied());
        if size != wanted(new) {
            return self.resize_new(size).await;
        }
        let old: Vec<_> = self.children.old.iter().map(children::size).collect();
        let sizes = rolling::old_sizes(self.limits, children::size(new), &old);
        self.resize_old(&sizes).await
    }

    /// One step of a replacement: all old pods away, then the new set at full size (D10).
    pub(super) async fn recreate(&mut self) -> Result<(), Error> {
        self.sync_revision(false).await?;
        let none = vec![0; self.children.old.len()];
        if self.children.old.iter().any(|set| wanted(set) > 0) {
            return self.resize_old(&none).await;
        }
        if self.old_pods_remain() {
            return Ok(());
        }
        self.sync_revision(true).await?;
        match &self.children.new {
            Some(new) if wanted(new) != self.limits.replicas => {
                self.resize_new(self.limits.replicas).await
            }
            _ => Ok(()),
        }
    }

    /// Whether pods of an old set have not come to their end yet, or may still be made.
    fn old_pods_remain(&self) -> bool {
        if !self.children.old.iter().all(children::is_empty) {
            return true;
        }
        let pods = self.reconciler.pods.snapshot();
        let uids = self
            .children
            .old
            .iter()
            .filter_map(|set| set.metadata.uid());
        uids.flat_map(|uid| pods.by_index(&self.reconciler.pods_of, uid))
            .any(|pod| pod.is_active() || pod.is_terminating())
    }

    /// Brings the new set's annotations and the Deployment's revision up to date; makes the new
    /// set if there is none and `create` allows it.
    pub(super) async fn sync_revision(&mut self, create: bool) -> Result<(), Error> {
        let highest_old = revision::highest(&self.children.old);
        match self.children.new.clone() {
            Some(set) => self.update_new(set, highest_old).await,
            None if create => self.create_new(highest_old).await,
            None => Ok(()),
        }
    }

    async fn update_new(&mut self, mut set: ReplicaSet, highest_old: i64) -> Result<(), Error> {
        let annotated = revision::update_new_set(&mut set, &self.deployment, highest_old);
        let min_ready = self.deployment.spec.min_ready_seconds;
        let slower = set.spec.min_ready_seconds.unwrap_or(0) != min_ready.unwrap_or(0);
        if annotated || slower {
            set.spec.min_ready_seconds = min_ready;
            set = self.context.update(&set).await?;
        }
        self.take_revision(&set);
        let status = self.deployment.status.get_or_insert_default();
        if self.deployment.spec.progress_deadline_seconds.is_some()
            && condition::find(status, condition::PROGRESSING).is_none()
        {
            let name = set.metadata.name.as_deref().unwrap_or_default();
            let message = format!("Found new replica set \"{name}\"");
            condition::set(
                status,
                Wanted::progressing(reason::FOUND, message),
                self.now,
            );
        }
        self.children.new = Some(set);
        Ok(())
    }

    /// The Deployment carries the revision of its new set. Written with the status.
    fn take_revision(&mut self, set: &ReplicaSet) {
        let number = revision::revision(&set.metadata);
        if revision::revision(&self.deployment.metadata) != number {
            let annotations = self.deployment.metadata.annotations.get_or_insert_default();
            annotations.insert(revision::REVISION.to_owned(), number.to_string());
        }
    }

    async fn create_new(&mut self, highest_old: i64) -> Result<(), Error> {
        let mut set = self.new_set();
        let size = rolling::new_size(self.limits, 0, self.children.occupied());
        set.spec.replicas = Some(size);
        revision::update_new_set(&mut set, &self.deployment, highest_old);
        revision::set_replicas_annotations(&mut set, self.limits);
        let name = set.metadata.name.clone().unwrap_or_default();
        let created = match self.context.create(&set).await {
            Ok(created) => created,
            Err(error) if error.is_already_exists() => return self.resolve_collision(error).await,
            Err(error) => return self.report_create_error(error, &name).await,
        };
        self.take_revision(&created);
        if self.deployment.spec.progress_deadline_seconds.is_some() {
            let message = format!("Created new replica set \"{name}\"");
            let status = self.deployment.status.get_or_insert_default();
            condition::set(
                status,
                Wanted::progressing(reason::CREATED, message),
                self.now,
            );
        }
        self.children.new = Some(created);
        if size > 0 {
            self.report_scaling(&name, 0, size);
        }
        Ok(())
    }

    fn new_set(&self) -> ReplicaSet {
        let Deployment { metadata, spec, .. } = &self.deployment;
        let resource = Deployment::api_resource();
        let hash = template::template_hash(&self.deployment);
        let deployment = metadata.name.as_deref().unwrap_or_default();
        let mut template = spec.template.clone();
        let labels = template
            .metadata
            .get_or_insert_default()
            .labels
            .get_or_insert_default();
        labels.insert(template::HASH_LABEL.to_owned(), hash.clone());
        let labels = labels.clone();
        let mut selector = spec.selector.clone();
        let match_labels = selector.match_labels.get_or_insert_default();
        match_labels.insert(template::HASH_LABEL.to_owned(), hash.clone());
        ReplicaSet {
            metadata: ObjectMeta {
                name: Some(template::replica_set_name(deployment, &hash)),
                namespace: metadata.namespace.clone(),
                labels: Some(labels),
                owner_references: Some(vec![OwnerReference {
                    api_version: resource.api_version().into_owned(),
                    kind: resource.kind.into_owned(),
                    name: deployment.to_owned(),
                    uid: metadata.uid.clone().unwrap_or_default(),
                    controller: Some(true),
                    block_owner_deletion: Some(true),
                }]),
                ..ObjectMeta::default()
            },
            spec: ReplicaSetSpec {
                min_ready_seconds: spec.min_ready_seconds,
                selector,
                template: Some(template),
                ..ReplicaSetSpec::default()
            },
            status: None,
        }
    }

    /// The set's name is taken (D4): by our own set that the store does not show yet, or by
    /// another template of the same hash. Then the next hash is tried.
    async fn resolve_collision(&mut self, error: Error) -> Result<(), Error> {
        let name = template::replica_set_name(
            self.deployment.metadata.name.as_deref().unwrap_or_default(),
            &template::template_hash(&self.deployment),
        );
        let api = match MetaView::namespace(&self.deployment.metadata) {
            Some(namespace) => self.context.client().namespaced::<ReplicaSet>(namespace),
            None => return Err(error),
        };
        let Some(existing) = api.get_opt(&name).await? else {
            return Err(error);
        };
        let mine =
            existing.metadata.controller().map(|owner| owner.uid) == self.deployment.metadata.uid();
        let template = existing.spec.template.as_ref();
        let same = |t: &_| template::same_template(t, &self.deployment.spec.template);
        if mine && template.is_some_and(same) {
            self.children.new = Some(existing);
            return Ok(());
        }
        // An orphan of the right template is no collision: the next pass adopts it.
        if existing.metadata.controller().is_none() && template.is_some_and(same) {
            return Err(error);
        }
        let mut status = self.deployment.status.clone().unwrap_or_default();
        status.collision_count = Some(status.collision_count.unwrap_or(0) + 1);
        self.write_status(status).await?;
        Err(error)
    }

    async fn report_create_error(&mut self, error: Error, name: &str) -> Result<(), Error> {
        if error
            .status()
            .is_some_and(evenkeel_meta::Status::is_namespace_terminating)
        {
            return Ok(());
        }
        let text = error
            .status()
            .map_or_else(|| error.to_string(), |status| status.message.clone());
        let message = format!("Failed to create new replica set \"{name}\": {text}");
        self.report(EventType::Warning, reason::CREATE_ERROR, message.clone());
        if self.deployment.spec.progress_deadline_seconds.is_some() {
            let mut status = self.deployment.status.clone().unwrap_or_default();
            let wanted = Wanted::new(
                condition::PROGRESSING,
                "False",
                reason::CREATE_ERROR,
                message,
            );
            condition::set(&mut status, wanted, self.now);
            self.write_status(status).await?;
        }
        Err(error)
    }

    async fn resize_new(&mut self, size: i32) -> Result<(), Error> {
        if let Some(set) = self.children.new.clone() {
            self.children.new = Some(self.resize(set, size).await?);
        }
        Ok(())
    }

    async fn resize_old(&mut self, sizes: &[i32]) -> Result<(), Error> {
        for (at, &size) in sizes.iter().enumerate() {
            let set = self.children.old[at].clone();
            if wanted(&set) != size {
                self.children.old[at] = self.resize(set, size).await?;
            }
        }
        Ok(())
    }

    /// Writes a set's size and the annotations that go with it in one request.
    async fn resize(&self, mut set: ReplicaSet, size: i32) -> Result<ReplicaSet, Error> {
        let before = wanted(&set);
        set.spec.replicas = Some(size);
        let annotated = revision::set_replicas_annotations(&mut set, self.limits);
        if before == size && !annotated {
            return Ok(set);
        }
        let written = self.context.update(&set).await?;
        if before != size {
            self.report_scaling(
                written.metadata.name.as_deref().unwrap_or_default(),
                before,
                size,
            );
        }
        Ok(written)
    }

    /// Gives every set its share of the wanted number (D9).
    pub(super) async fn scale_all(&mut self) -> Result<(), Error> {
        let active: Vec<_> = self
            .children
            .all()
            .filter(|set| wanted(set) > 0)
            .cloned()
            .collect();
        if let [] | [_] = active.as_slice() {
            // None has pods: the new set gets them, or else the newest of the old ones.
            let only = active
                .first()
                .or(self.children.new.as_ref())
                .or(self.children.old.last())
                .cloned();
            if let Some(only) = only {
                let resized = self.resize(only, self.limits.replicas).await?;
                self.replace(resized);
            }
            return Ok(());
        }
        if self.new_is_saturated() {
            let none = vec![0; self.children.old.len()];
            self.resize_old(&none).await?;
            // The new set is as large as it shall be; its annotations may still be the old ones.
            return self.resize_new(self.limits.replicas).await;
        }
        if self.limits.recreate {
            // The strategy was changed in the middle of a rollout: there is nothing to share out.
            // The sets note what they were looked at for, and the replacement goes on.
            for set in active {
                let noted = self.resize(set.clone(), wanted(&set)).await?;
                self.replace(noted);
            }
            return Ok(());
        }
        let shares: Vec<_> = active
            .iter()
            .enumerate()
            .map(|(age, set)| Share {
                size: wanted(set),
                max_replicas: revision::max_replicas(set),
                age,
            })
            .collect();
        let allowed = if self.limits.replicas > 0 {
            self.limits.max_total()
        } else {
            0
        };
        let sizes = proportional::scale(allowed, &shares);
        for (set, size) in active.into_iter().zip(sizes) {
            let resized = self.resize(set, size).await?;
            self.replace(resized);
        }
        Ok(())
    }

    /// Whether the new set has all the pods that the Deployment asks for, and all are available.
    fn new_is_saturated(&self) -> bool {
        self.children.new.as_ref().is_some_and(|new| {
            let size = children::size(new);
            size.wanted == self.limits.replicas
                && size.available == self.limits.replicas
                && revision::desired_replicas(new) == Some(self.limits.replicas)
        })
    }

    fn replace(&mut self, set: ReplicaSet) {
        let Some(place) = self
            .children
            .old
            .iter_mut()
            .chain(&mut self.children.new)
            .find(|other| other.metadata.uid == set.metadata.uid)
        else {
            return;
        };
        *place = set;
    }

    fn report_scaling(&self, set: &str, from: i32, to: i32) {
        let direction = if to > from { "up" } else { "down" };
        let message = format!("Scaled {direction} replica set {set} from {from} to {to}");
        self.report(EventType::Normal, "ScalingReplicaSet", message);
    }

    pub(super) fn report(&self, event_type: EventType, reason: &str, message: String) {
        let subject = ObjectReference::of(&self.deployment);
        self.reconciler
            .recorder
            .event(&subject, event_type, reason, message);
    }
}
