use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use foldhash::quality::FixedState;

use super::iter::Entries;
use super::leaf::{Entry, Leaf};
use super::{Node, Trie};

/// One way in which a map differs from an earlier one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Difference<'a, K, V> {
    Removed(&'a K, &'a V),
    Added(&'a K, &'a V),
    /// The key is in both; the values, old and new, are not the same.
    Changed(&'a K, &'a V, &'a V),
}

impl<K: Hash + Eq, V> Trie<K, V> {
    /// Reports what a clone of this map became after some writes. Subtrees that the two still
    /// share are skipped whole, so the cost follows the number of writes, not the size.
    pub(crate) fn diff<'a>(
        &'a self,
        newer: &'a Self,
        same: impl Fn(&V, &V) -> bool,
        visit: impl FnMut(Difference<'a, K, V>),
    ) {
        let mut walk = Walk {
            hasher: &self.hasher,
            same,
            visit,
        };
        walk.nodes(self.root.as_ref(), newer.root.as_ref(), 0);
    }
}

struct Walk<'h, S, F> {
    hasher: &'h FixedState,
    same: S,
    visit: F,
}

impl<S, F> Walk<'_, S, F> {
    fn nodes<'a, K: Hash + Eq, V>(
        &mut self,
        old: Option<&'a Node<K, V>>,
        new: Option<&'a Node<K, V>>,
        level: u32,
    ) where
        S: Fn(&V, &V) -> bool,
        F: FnMut(Difference<'a, K, V>),
    {
        match (old, new) {
            (Some(Node::Branch(old)), Some(Node::Branch(new))) => {
                if !Arc::ptr_eq(old, new) {
                    for (old, new) in old.iter().zip(new.iter()) {
                        self.nodes(old.as_ref(), new.as_ref(), level + 1);
                    }
                }
            }
            (Some(Node::Leaf(old)), Some(Node::Leaf(new))) => {
                if !old.is_same(new) {
                    self.leaves(old, new);
                }
            }
            (Some(old), Some(new)) => self.unlike(old, new, level),
            (old, new) => {
                for entry in Entries::below(old) {
                    (self.visit)(Difference::Removed(&entry.key, &entry.value));
                }
                for entry in Entries::below(new) {
                    (self.visit)(Difference::Added(&entry.key, &entry.value));
                }
            }
        }
    }

    fn leaves<'a, K: Eq, V>(&mut self, old: &'a Leaf<K, V>, new: &'a Leaf<K, V>)
    where
        S: Fn(&V, &V) -> bool,
        F: FnMut(Difference<'a, K, V>),
    {
        for (tag, entry) in old.tagged() {
            self.pair(Some(entry), new.find(tag, &entry.key));
        }
        for (tag, entry) in new.tagged() {
            if old.find(tag, &entry.key).is_none() {
                self.pair(None, Some(entry));
            }
        }
    }

    /// A leaf that was split, or a branch that was folded.
    fn unlike<'a, K: Hash + Eq, V>(&mut self, old: &'a Node<K, V>, new: &'a Node<K, V>, level: u32)
    where
        S: Fn(&V, &V) -> bool,
        F: FnMut(Difference<'a, K, V>),
    {
        for entry in Entries::below(Some(old)) {
            let there = new.find(self.hasher.hash_one(&entry.key), level, &entry.key);
            self.pair(Some(entry), there);
        }
        for entry in Entries::below(Some(new)) {
            let hash = self.hasher.hash_one(&entry.key);
            if old.find(hash, level, &entry.key).is_none() {
                self.pair(None, Some(entry));
            }
        }
    }

    fn pair<'a, K, V>(&mut self, old: Option<&'a Entry<K, V>>, new: Option<&'a Entry<K, V>>)
    where
        S: Fn(&V, &V) -> bool,
        F: FnMut(Difference<'a, K, V>),
    {
        match (old, new) {
            (Some(old), Some(new)) if (self.same)(&old.value, &new.value) => {}
            (Some(old), Some(new)) => {
                (self.visit)(Difference::Changed(&new.key, &old.value, &new.value));
            }
            (Some(old), None) => (self.visit)(Difference::Removed(&old.key, &old.value)),
            (None, Some(new)) => (self.visit)(Difference::Added(&new.key, &new.value)),
            (None, None) => {}
        }
    }
}
