use std::hash::Hash;
use std::sync::Arc;

use evenkeel_client::{Patch, Result};
use evenkeel_meta::{MetaView, Resource};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Context, Written};

impl<K: Clone + Eq + Hash> Context<K> {
    /// Puts a finalizer on an object: it will stay, terminating, until the finalizer is taken
    /// away again. Before anything is made outside the cluster that is to be cleaned up.
    ///
    /// The object as it is from here on, and whether that took a write. None is needed if it is
    /// there already, and none is made to an object that is terminating, when the API server takes no
    /// new finalizers.
    ///
    /// # Errors
    ///
    /// A conflict when the object is not what it was when `object` was read, and as
    /// [`Api::patch`](evenkeel_client::Api::patch).
    pub async fn add_finalizer<T>(
        &self,
        object: &Arc<T>,
        finalizer: &str,
    ) -> Result<(Arc<T>, Written)>
    where
        T: Resource + DeserializeOwned,
    {
        let meta = object.metadata();
        if meta.has_finalizer(finalizer) || meta.is_terminating() {
            return Ok((Arc::clone(object), Written::Unchanged));
        }
        let all = meta.finalizers().chain([finalizer]);
        let patch = finalizers(meta, all);
        let patched = self.patch(meta, &patch).await?;
        Ok((Arc::new(patched), Written::Patched))
    }

    /// Takes a finalizer away, once everything that it stood for is cleaned up. If it was the
    /// last one of an object that is terminating, the object is gone then.
    ///
    /// The object as it is from here on, and whether that took a write. None is needed if the
    /// finalizer is not there; if the object itself is gone, it is returned as it was.
    ///
    /// # Errors
    ///
    /// A conflict when the object is not what it was when `object` was read, and as
    /// [`Api::patch`](evenkeel_client::Api::patch).
    pub async fn remove_finalizer<T>(
        &self,
        object: &Arc<T>,
        finalizer: &str,
    ) -> Result<(Arc<T>, Written)>
    where
        T: Resource + DeserializeOwned,
    {
        let meta = object.metadata();
        if !meta.has_finalizer(finalizer) {
            return Ok((Arc::clone(object), Written::Unchanged));
        }
        let rest = meta.finalizers().filter(|other| *other != finalizer);
        let patch = finalizers(meta, rest);
        match self.patch(meta, &patch).await {
            Err(error) if error.is_not_found() => Ok((Arc::clone(object), Written::Unchanged)),
            patched => patched.map(|patched| (Arc::new(patched), Written::Patched)),
        }
    }
}

/// A merge patch replaces the whole list, so it holds for the state that was read alone: of that
/// very object, and of that version.
fn finalizers<'a>(meta: &impl MetaView, all: impl Iterator<Item = &'a str>) -> Patch {
    let all: Vec<&str> = all.collect();
    let all = match all.is_empty() {
        true => Value::Null,
        false => json!(all),
    };
    Patch::merge(&json!({"metadata": {
        "uid": meta.uid(),
        "resourceVersion": meta.resource_version(),
        "finalizers": all,
    }}))
}
