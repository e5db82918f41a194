mod desired;
mod finalizers;
mod status;
mod write_error;

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_client::{Client, Result, WriteOptions};
use evenkeel_client::{Deleted, Patch, PatchOptions};
use evenkeel_events::Recorder;
use evenkeel_meta::{
    Complete, DeleteOptions, MetaView, Object, ObjectKey, Preconditions, Resource, Uid,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use desired::Written;
pub use write_error::{ChangeResult, WriteError};

use crate::controller::Shared;
use crate::run::Run;
use crate::writes::{SourceId, Writes};

/// What a run of a [`Reconciler`](crate::Reconciler) has at hand: the client, and the writes
/// that it makes in the name of its key.
///
/// Reads come from the stores that the reconciler was built with, and from the
/// [`client`](Self::client) where the present state is needed. Writes made here are noted: the
/// key is not handed out again before the controller's stores show them, so the next run never
/// acts on a state from before this one (contracts client-go B31, kcm K12). A write that goes
/// through the bare client is not noted.
pub struct Context<K = ObjectKey> {
    pub(crate) key: K,
    pub(crate) run: Run,
    /// One handle for all that the runs share: what each run would count anew, all workers would contend for.
    pub(crate) shared: Arc<Shared<K>>,
}

impl<K: Clone + Eq + Hash> Context<K> {
    /// The client: reads are live, writes are fenced while the Manager elects a leader.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.shared.client
    }

    /// Reports what happened to objects, as events of the controller's name, to the cluster that is
    /// written to.
    ///
    /// It returns at once, correlates what happens again, and shares its queue with all recorders
    /// of the Manager. Not fenced: what a run that lost its leadership says is still said.
    ///
    /// ```
    /// # use evenkeel::Context;
    /// # use k8s_openapi::api::core::v1::ConfigMap;
    /// use evenkeel::events::{EventType, ObjectReference};
    ///
    /// fn complain(context: &Context, map: &ConfigMap) {
    ///     let about = ObjectReference::of(map);
    ///     context.recorder().event(&about, EventType::Warning, "Empty", "There is nothing in it");
    /// }
    /// ```
    #[must_use]
    pub fn recorder(&self) -> &Recorder {
        self.shared.recorder.get()
    }

    /// Whether the controller's store of `T` may lack writes that this run should know of.
    ///
    /// It may in two cases. A term begins with what the store holds, while the last writes of
    /// the predecessor may still be on their way here: until the store has shown the first write
    /// of this term, and with it all that went before. And where the store has not shown a write
    /// of this controller within ten seconds, until it does.
    ///
    /// Most writes need not care: a resource version makes a late one a conflict, and a name
    /// that is taken refuses a second creation. What has neither, such as a creation by
    /// `generateName`, is to be checked against a live read first.
    #[must_use]
    pub fn may_be_behind<T: Resource>(&self) -> bool {
        !self.writes().are_proven::<T>()
    }

    /// Creates an object.
    ///
    /// # Errors
    ///
    /// As [`Api::create`](evenkeel_client::Api::create).
    pub async fn create<T>(&self, object: &T) -> Result<T>
    where
        T: Resource + Complete + Serialize + DeserializeOwned,
    {
        let api = self.shared.client.all::<T>();
        let api = match object.metadata().namespace() {
            Some(namespace) => api.in_namespace(namespace),
            None => api,
        };
        let source = self.source_of::<T>(object.metadata());
        let written = api.create(object, &WriteOptions::default()).await;
        self.note(source, written)
    }

    /// Replaces an object. With a resource version, only if it is still the present one.
    ///
    /// # Errors
    ///
    /// As [`Api::update`](evenkeel_client::Api::update).
    pub async fn update<T>(&self, object: &T) -> Result<T>
    where
        T: Resource + Complete + Serialize + DeserializeOwned,
    {
        let source = self.source_of::<T>(object.metadata());
        let api = self.api_of::<T>(object.metadata());
        let written = api.update(object, &WriteOptions::default()).await;
        self.note(source, written)
    }

    /// Replaces an object's status.
    ///
    /// # Errors
    ///
    /// As [`Api::update_status`](evenkeel_client::Api::update_status).
    pub async fn update_status<T>(&self, object: &T) -> Result<T>
    where
        T: Resource + Complete + Serialize + DeserializeOwned,
    {
        let source = self.source_of::<T>(object.metadata());
        let api = self.api_of::<T>(object.metadata());
        let written = api.update_status(object, &WriteOptions::default()).await;
        self.note(source, written)
    }

    /// Patches the object that `target` names.
    ///
    /// # Errors
    ///
    /// As [`Api::patch`](evenkeel_client::Api::patch).
    pub async fn patch<T>(&self, target: &impl MetaView, patch: &Patch) -> Result<T>
    where
        T: Resource + DeserializeOwned,
    {
        let source = self.source_of::<T>(target);
        let api = self.api_of::<T>(target);
        let written = api
            .patch(target.name(), patch, &PatchOptions::default())
            .await;
        self.note(source, written)
    }

    /// Patches the status of the object that `target` names.
    ///
    /// # Errors
    ///
    /// As [`Api::patch_status`](evenkeel_client::Api::patch_status).
    pub async fn patch_status<T>(&self, target: &impl MetaView, patch: &Patch) -> Result<T>
    where
        T: Resource + DeserializeOwned,
    {
        let source = self.source_of::<T>(target);
        let api = self.api_of::<T>(target);
        let written = api
            .patch_status(target.name(), patch, &PatchOptions::default())
            .await;
        self.note(source, written)
    }

    /// Applies a configuration: the object shall have these fields (server-side apply).
    ///
    /// Takes fields over from other managers, as a controller must: nobody is there to resolve
    /// a conflict. To be refused instead, [`patch`](Self::patch) with [`Patch::apply`].
    ///
    /// # Errors
    ///
    /// As [`Api::apply`](evenkeel_client::Api::apply).
    pub async fn apply<T>(&self, configuration: &T) -> Result<T>
    where
        T: Resource + Serialize + DeserializeOwned + Sync,
    {
        let meta = configuration.metadata();
        let source = self.source_of::<T>(meta);
        let written = self
            .api_of::<T>(meta)
            .apply(meta.name(), configuration, &PatchOptions::default().force())
            .await;
        self.note(source, written)
    }

    /// Replaces a subresource of the object that `target` names, such as its `scale`.
    ///
    /// What the server answers with tells the object's own resource version, so this is waited for
    /// like any write to the object, of type `T`.
    ///
    /// ```
    /// # use evenkeel::{Context, ReconcileError};
    /// # use k8s_openapi::api::apps::v1::Deployment;
    /// # use k8s_openapi::api::autoscaling::v1::{Scale, ScaleSpec};
    /// # async fn example(context: &Context, web: &Deployment) -> Result<(), ReconcileError> {
    /// let scale = Scale {
    ///     metadata: web.metadata.clone(), // its resource version makes a later change a conflict
    ///     spec: Some(ScaleSpec { replicas: Some(3) }),
    ///     status: None,
    /// };
    /// context.update_subresource::<Deployment, _>(&web.metadata, "scale", &scale).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Subresource::update`](evenkeel_client::Subresource::update).
    pub async fn update_subresource<T, S>(
        &self,
        target: &impl MetaView,
        subresource: &str,
        body: &S,
    ) -> Result<S>
    where
        T: Resource,
        S: Object + Serialize + DeserializeOwned + Sync,
    {
        let source = self.source_of::<T>(target);
        let api = self.api_of::<T>(target).subresource(subresource);
        let written = api
            .update(target.name(), body, &WriteOptions::default())
            .await;
        self.note(source, written)
    }

    /// Deletes an object as it was observed.
    ///
    /// The UID of `object` becomes a precondition unless the options name one: what is deleted
    /// is this object, and never a later one of the same name (incident 11).
    ///
    /// # Errors
    ///
    /// As [`Api::delete`](evenkeel_client::Api::delete).
    pub async fn delete<T>(&self, object: &T, options: DeleteOptions) -> Result<Deleted<T>>
    where
        T: Resource + DeserializeOwned,
    {
        let meta = object.metadata();
        let mut options = options;
        let preconditions = options
            .preconditions
            .get_or_insert_with(|| Preconditions::same_object(meta));
        preconditions.uid = preconditions
            .uid
            .take()
            .or_else(|| meta.uid().map(Uid::from));
        let is_stored = options.dry_run.is_empty();
        let source = self.source_of::<T>(meta).filter(|_| is_stored);
        let deleted = self.api_of::<T>(meta).delete(meta.name(), &options).await?;
        if let Some(source) = source {
            match &deleted {
                Deleted::Object(left) if left.metadata().is_terminating() => {
                    self.writes().wrote(source, &self.key, left.metadata());
                }
                _ => self.writes().deleted(source, &self.key, meta),
            }
        }
        Ok(deleted)
    }

    fn api_of<T: Resource>(&self, target: &impl MetaView) -> evenkeel_client::Api<T> {
        match target.namespace() {
            Some(namespace) => self.shared.client.namespaced(namespace),
            None => self.shared.client.all(),
        }
    }

    /// Which store will show what is written to `target`; none shows a dry run.
    fn source_of<T: Resource>(&self, target: &impl MetaView) -> Option<SourceId> {
        let options = self.shared.client.options();
        if options.dry_run {
            return None;
        }
        // What names no namespace goes to the one that the client is for.
        let namespace = target.namespace().or(options.only_namespace.as_deref());
        self.writes().source_of::<T>(namespace)
    }

    fn writes(&self) -> &Writes<K> {
        &self.shared.intake.writes
    }

    fn note<T: Object>(&self, source: Option<SourceId>, written: Result<T>) -> Result<T> {
        if let (Some(source), Ok(object)) = (source, &written) {
            self.writes().wrote(source, &self.key, object.metadata());
        }
        written
    }
}

impl<K: fmt::Debug> fmt::Debug for Context<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("key", &self.key)
            .field("run", &self.run.id)
            .finish_non_exhaustive()
    }
}

/// How long a key waits at most for its own writes to be seen.
///
/// Longer than any healthy watch lags; a watch that hangs is noticed and reopened within about
/// 45 s (contract client-go TR1), and a controller that stands still for that long is worse than
/// one that looks again too early: every write carries a precondition.
pub(crate) const SEEN_WITHIN: Duration = Duration::from_secs(10);
