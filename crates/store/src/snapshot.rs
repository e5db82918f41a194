use std::fmt;
use std::sync::Arc;

use evenkeel_meta::{LabelSelector, Object, ObjectKey, ResourceVersion};

use crate::contents::Contents;
use crate::index::Index;
use crate::set_aside::SetAside;

/// A store as it was at one moment. It never changes; holding one costs what has changed since.
///
/// Every answer of one snapshot comes from the same moment: objects, indexes and resource
/// version belong together (contract client-go S2, S6).
pub struct Snapshot<K> {
    contents: Arc<Contents<K>>,
}

impl<K: Object + 'static> Snapshot<K> {
    pub(crate) fn new(contents: Arc<Contents<K>>) -> Self {
        Self { contents }
    }

    pub(crate) fn contents(&self) -> &Contents<K> {
        &self.contents
    }

    /// An object by its key.
    #[must_use]
    pub fn get(&self, key: &ObjectKey) -> Option<&Arc<K>> {
        self.contents.objects.get(key)
    }

    /// Whether an object of that key is there.
    #[must_use]
    pub fn contains(&self, key: &ObjectKey) -> bool {
        self.contents.objects.contains_key(key)
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.contents.objects.len()
    }

    /// Whether there is no object.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.contents.objects.is_empty()
    }

    /// Every object with its key, in no order that means anything.
    pub fn iter(&self) -> impl Iterator<Item = (&ObjectKey, &Arc<K>)> {
        self.contents.objects.iter()
    }

    /// The objects for which `index` gives `value`.
    ///
    /// With an index that is not registered with the store the answer is the same, but every
    /// object is looked at.
    #[must_use]
    pub fn by_index(&self, index: &Index<K>, value: &str) -> Vec<Arc<K>> {
        let mut found = Vec::new();
        self.contents
            .for_each_in(index, value, |_, object| found.push(Arc::clone(object)));
        found
    }

    /// The keys of the objects for which `index` gives `value`.
    #[must_use]
    pub fn keys_by_index(&self, index: &Index<K>, value: &str) -> Vec<ObjectKey> {
        let mut found = Vec::new();
        self.contents
            .for_each_in(index, value, |key, _| found.push(key.clone()));
        found
    }

    /// How many objects `index` gives `value` for.
    #[must_use]
    pub fn count_by_index(&self, index: &Index<K>, value: &str) -> usize {
        self.contents.count_in(index, value)
    }

    /// The objects of one namespace. Quick if the store has [`Index::namespace`], which
    /// [`Store::in_namespace`](crate::Store::in_namespace) sees to.
    #[must_use]
    pub fn in_namespace(&self, namespace: &str) -> Vec<Arc<K>> {
        self.by_index(&Index::namespace(), namespace)
    }

    /// The objects whose labels match.
    #[must_use]
    pub fn select(&self, selector: &LabelSelector) -> Vec<Arc<K>> {
        self.contents.select(selector)
    }

    /// The version that the contents are the state of. It is read together with them: every
    /// change up to it is in, none after it. Unset before the first list.
    #[must_use]
    pub fn resource_version(&self) -> &ResourceVersion {
        &self.contents.resource_version
    }

    /// How many times the server's resource versions went backwards (a restored backup).
    /// Versions of different epochs have no order.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.contents.epoch
    }

    /// Whether the contents are a whole list, or what followed one.
    #[must_use]
    pub fn is_synced(&self) -> bool {
        self.contents.synced
    }

    /// The objects that the store could not take, by their metadata.
    pub fn set_aside(&self) -> impl Iterator<Item = (&ObjectKey, &SetAside)> {
        self.contents
            .set_aside
            .iter()
            .map(|(key, object)| (key, &**object))
    }

    /// Whether, and why, the object of that key was set aside. What [`get`](Self::get) shows for
    /// it then is an earlier state.
    #[must_use]
    pub fn is_set_aside(&self, key: &ObjectKey) -> Option<&SetAside> {
        self.contents.set_aside.get(key).map(|object| &**object)
    }
}

impl<K> Clone for Snapshot<K> {
    fn clone(&self) -> Self {
        Self {
            contents: Arc::clone(&self.contents),
        }
    }
}

impl<K> fmt::Debug for Snapshot<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("objects", &self.contents.objects.len())
            .field("set_aside", &self.contents.set_aside.len())
            .field("resource_version", &self.contents.resource_version)
            .field("epoch", &self.contents.epoch)
            .finish_non_exhaustive()
    }
}
