//! What was applied, so that it is not applied again for nothing.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use evenkeel::meta::{MetaView, Object, Uid};
use parking_lot::Mutex;
use serde::Serialize;

/// What became of each tenant's parts when they were applied last.
///
/// An object of the very version that an apply has left is as that configuration wants it. So the
/// same configuration has nothing to do there, whatever the server has made of it: no comparing of
/// fields with defaults, `0.5` with `500m`. Any other version may be anything, and is applied to.
///
/// In memory alone: after a restart each part is applied once, to which the server answers with
/// the object as it is.
#[derive(Debug, Default)]
pub(crate) struct Applied(Mutex<HashMap<Uid, Left>>);

/// By the UIDs of parts: a version, and the hash of the configuration that led to it.
pub(crate) type Left = HashMap<Uid, (String, u64)>;

impl Applied {
    /// What is known of a tenant's parts. No other run is given it until it is put back, and if
    /// this one fails nobody: forgotten is safe.
    pub(crate) fn take(&self, tenant: &Uid) -> Left {
        self.0.lock().remove(tenant).unwrap_or_default()
    }

    pub(crate) fn put(&self, tenant: Uid, left: Left) {
        self.0.lock().insert(tenant, left);
    }
}

/// An object in one version, and what was or shall be applied to it.
///
/// `None` for an object that no server has seen.
pub(crate) fn mark<T>(object: &T, configuration: &T) -> Option<(Uid, (String, u64))>
where
    T: Object + Serialize,
{
    let meta = object.metadata();
    let text = serde_json::to_vec(configuration).ok()?;
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let version = meta.resource_version()?.to_string();
    Some((Uid::from(meta.uid()?), (version, hasher.finish())))
}
