use std::sync::Arc;

use evenkeel_meta::{LabelSelector, MetaView, Object, ObjectKey, ResourceVersion};

use crate::index::{AddIndexError, Index, IndexFailure, Postings, Values};
use crate::set_aside::SetAside;
use crate::trie::Trie;

/// Everything that a store shows at one moment. Cloning it shares all of it.
pub(crate) struct Contents<K> {
    pub(crate) objects: Trie<ObjectKey, Arc<K>>,
    pub(crate) set_aside: Trie<ObjectKey, Arc<SetAside>>,
    indexes: Vec<Postings<K>>,
    pub(crate) resource_version: ResourceVersion,
    pub(crate) epoch: u64,
    pub(crate) synced: bool,
}

impl<K> Contents<K> {
    pub(crate) fn new(seed: u64) -> Self {
        let objects = Trie::with_seed(seed);
        Self {
            set_aside: objects.fresh(),
            objects,
            indexes: Vec::new(),
            resource_version: ResourceVersion::unset(),
            epoch: 0,
            synced: false,
        }
    }
}

impl<K: 'static> Contents<K> {
    /// Puts an object in place. If an index function fails, nothing has changed, and the object is
    /// given back.
    pub(crate) fn put(
        &mut self,
        key: ObjectKey,
        object: Arc<K>,
        stamp: u32,
    ) -> Result<Option<Arc<K>>, (IndexFailure, Arc<K>)> {
        let values: Result<Vec<_>, _> = self
            .indexes
            .iter()
            .map(|postings| postings.index().values(&object))
            .collect();
        let values = match values {
            Ok(values) => values,
            Err(failure) => return Err((failure, object)),
        };
        let old = self.objects.get(&key).cloned();
        for (postings, new) in self.indexes.iter_mut().zip(&values) {
            let before = values_of(postings.index(), old.as_deref());
            postings.update(&key, &before, new);
        }
        drop(values);
        if !self.set_aside.is_empty() {
            self.set_aside.remove(&key);
        }
        self.objects.insert_marked(key, object, stamp);
        Ok(old)
    }

    /// Forgets an object, and that it was set aside.
    pub(crate) fn remove(&mut self, key: &ObjectKey) -> Option<Arc<K>> {
        if !self.set_aside.is_empty() {
            self.set_aside.remove(key);
        }
        let old = self.objects.remove(key)?;
        for postings in &mut self.indexes {
            let before = values_of(postings.index(), Some(&*old));
            postings.update(key, &before, &Values::default());
        }
        Some(old)
    }

    /// Indexes what is there. Adding an index that is there already is fine.
    pub(crate) fn add_index(&mut self, index: Index<K>) -> Result<(), AddIndexError> {
        let named = self
            .indexes
            .iter()
            .find(|postings| postings.index().name() == index.name());
        match named {
            Some(there) if there.index().is(&index) => Ok(()),
            Some(_) => Err(AddIndexError::NameTaken {
                name: index.name().to_owned(),
            }),
            None => {
                let postings =
                    Postings::build(index, &self.objects).map_err(|(key, failure)| {
                        AddIndexError::Function {
                            name: failure.index.into_owned(),
                            key,
                            message: failure.message.into_owned(),
                        }
                    })?;
                self.indexes.push(postings);
                Ok(())
            }
        }
    }

    /// As `add_index`, given contents that have it: the postings are taken over if both have the
    /// same objects.
    pub(crate) fn add_index_as_in(
        &mut self,
        other: &Self,
        index: Index<K>,
    ) -> Result<(), AddIndexError> {
        if self.has_index(&index) {
            return Ok(());
        }
        match other.postings(&index) {
            Some(postings) if self.objects.is_same(&other.objects) => {
                self.indexes.push(postings.clone());
                Ok(())
            }
            _ => self.add_index(index),
        }
    }

    pub(crate) fn has_index(&self, index: &Index<K>) -> bool {
        self.postings(index).is_some()
    }

    pub(crate) fn indexes(&self) -> impl Iterator<Item = &Index<K>> {
        self.indexes.iter().map(Postings::index)
    }

    /// How many values each index has.
    #[cfg(test)]
    pub(crate) fn index_sizes(&self) -> Vec<usize> {
        self.indexes.iter().map(Postings::len).collect()
    }

    fn postings(&self, index: &Index<K>) -> Option<&Postings<K>> {
        self.indexes
            .iter()
            .find(|postings| postings.index().is(index))
    }

    /// Visits the objects that have `value` in `index`; without postings, by looking at all of them.
    pub(crate) fn for_each_in(
        &self,
        index: &Index<K>,
        value: &str,
        mut visit: impl FnMut(&ObjectKey, &Arc<K>),
    ) {
        if let Some(postings) = self.postings(index) {
            postings.lookup(value, |key| {
                if let Some(object) = self.objects.get(key) {
                    visit(key, object);
                }
            });
            return;
        }
        for (key, object) in self.objects.iter() {
            if values_of(index, Some(&**object)).contains(value) {
                visit(key, object);
            }
        }
    }

    pub(crate) fn count_in(&self, index: &Index<K>, value: &str) -> usize {
        if let Some(postings) = self.postings(index) {
            return postings.count(value);
        }
        let mut count = 0;
        self.for_each_in(index, value, |_, _| count += 1);
        count
    }
}

impl<K: Object> Contents<K> {
    pub(crate) fn select(&self, selector: &LabelSelector) -> Vec<Arc<K>> {
        self.objects
            .iter()
            .filter(|(_, object)| {
                let metadata = object.metadata();
                selector.matches_by(|label| metadata.label(label))
            })
            .map(|(_, object)| Arc::clone(object))
            .collect()
    }
}

/// What an index says about an object. For objects of the store it never fails: they were
/// indexed when they were put in.
fn values_of<'a, K>(index: &Index<K>, object: Option<&'a K>) -> Values<'a> {
    object
        .and_then(|object| index.values(object).ok())
        .unwrap_or_default()
}

impl<K> Clone for Contents<K> {
    fn clone(&self) -> Self {
        Self {
            objects: self.objects.clone(),
            set_aside: self.set_aside.clone(),
            indexes: self.indexes.clone(),
            resource_version: self.resource_version.clone(),
            epoch: self.epoch,
            synced: self.synced,
        }
    }
}
