use std::sync::Arc;

use evenkeel_meta::ObjectKey;

use super::{Index, IndexFailure, Values};
use crate::trie::Trie;

/// One index's contents: which keys have which value.
pub(crate) struct Postings<K> {
    index: Index<K>,
    keys: Trie<Arc<str>, Keys>,
}

/// The keys that share a value. Most values (owner UIDs) have few.
#[derive(Clone)]
enum Keys {
    One(ObjectKey),
    Many(Trie<ObjectKey, ()>),
}

impl<K: 'static> Postings<K> {
    /// The postings of the objects that are there.
    pub(crate) fn build(
        index: Index<K>,
        objects: &Trie<ObjectKey, Arc<K>>,
    ) -> Result<Self, (ObjectKey, IndexFailure)> {
        let mut postings = Self {
            index,
            keys: objects.fresh(),
        };
        for (key, object) in objects.iter() {
            let values = postings
                .index
                .values(object)
                .map_err(|failure| (key.clone(), failure))?;
            for value in values.iter() {
                postings.add(value, key);
            }
        }
        Ok(postings)
    }

    pub(crate) fn index(&self) -> &Index<K> {
        &self.index
    }

    /// How many values there are.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Moves `key` from the values of its old object to those of its new one.
    pub(crate) fn update(&mut self, key: &ObjectKey, old: &Values<'_>, new: &Values<'_>) {
        if old == new {
            return;
        }
        for value in old.iter().filter(|value| !new.contains(value)) {
            self.take(value, key);
        }
        for value in new.iter().filter(|value| !old.contains(value)) {
            self.add(value, key);
        }
    }

    pub(crate) fn lookup(&self, value: &str, mut visit: impl FnMut(&ObjectKey)) {
        match self.keys.get(value) {
            None => {}
            Some(Keys::One(key)) => visit(key),
            Some(Keys::Many(keys)) => keys.iter().for_each(|(key, ())| visit(key)),
        }
    }

    pub(crate) fn count(&self, value: &str) -> usize {
        match self.keys.get(value) {
            None => 0,
            Some(Keys::One(_)) => 1,
            Some(Keys::Many(keys)) => keys.len(),
        }
    }

    fn add(&mut self, value: &str, key: &ObjectKey) {
        let empty = self.keys.fresh();
        match self.keys.get_mut(value) {
            None => {
                self.keys.insert(value.into(), Keys::One(key.clone()));
            }
            Some(Keys::Many(keys)) => {
                keys.insert(key.clone(), ());
            }
            Some(one @ Keys::One(_)) => {
                let mut keys = empty;
                keys.insert(key.clone(), ());
                if let Keys::One(there) = one {
                    keys.insert(there.clone(), ());
                }
                *one = Keys::Many(keys);
            }
        }
    }

    /// Values that nobody has any more are dropped (contract client-go S5).
    fn take(&mut self, value: &str, key: &ObjectKey) {
        let emptied = match self.keys.get_mut(value) {
            None => false,
            Some(Keys::One(there)) => there == key,
            Some(Keys::Many(keys)) => {
                keys.remove(key);
                keys.is_empty()
            }
        };
        if emptied {
            self.keys.remove(value);
        }
    }
}

impl<K> Clone for Postings<K> {
    fn clone(&self) -> Self {
        Self {
            index: self.index.clone(),
            keys: self.keys.clone(),
        }
    }
}
