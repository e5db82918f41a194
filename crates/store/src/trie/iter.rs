use super::leaf::{self, Entry};
use super::{Node, Trie};

/// Visits every entry once, in the order of the hashes.
pub(crate) struct Iter<'a, K, V>(Entries<'a, K, V>);

pub(super) struct Entries<'a, K, V> {
    branches: Vec<std::slice::Iter<'a, Option<Node<K, V>>>>,
    leaf: leaf::Iter<'a, K, V>,
}

impl<K, V> Trie<K, V> {
    pub(crate) fn iter(&self) -> Iter<'_, K, V> {
        Iter(self.entries())
    }

    pub(super) fn entries(&self) -> Entries<'_, K, V> {
        Entries::below(self.root.as_ref())
    }
}

impl<'a, K, V> Entries<'a, K, V> {
    pub(super) fn below(node: Option<&'a Node<K, V>>) -> Self {
        let mut entries = Self {
            branches: Vec::new(),
            leaf: [].iter().flatten(),
        };
        if let Some(node) = node {
            entries.descend(node);
        }
        entries
    }

    fn descend(&mut self, node: &'a Node<K, V>) {
        match node {
            Node::Branch(branch) => self.branches.push(branch.iter()),
            Node::Leaf(leaf) => self.leaf = leaf.iter(),
        }
    }
}

impl<'a, K, V> Iterator for Entries<'a, K, V> {
    type Item = &'a Entry<K, V>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.leaf.next() {
                return Some(entry);
            }
            match self.branches.last_mut()?.next() {
                Some(Some(node)) => self.descend(node),
                Some(None) => {}
                None => {
                    self.branches.pop();
                }
            }
        }
    }
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|entry| (&entry.key, &entry.value))
    }
}
