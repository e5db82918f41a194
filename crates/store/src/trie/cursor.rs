use std::sync::Arc;

use super::leaf::Leaf;
use super::{Branch, Node, Trie};

/// Walks a map that it keeps alive itself, so that it can be stored across awaits.
pub(crate) struct Cursor<K, V> {
    branches: Vec<(Arc<Branch<K, V>>, usize)>,
    leaf: Option<(Leaf<K, V>, usize)>,
    remaining: usize,
}

impl<K, V> Trie<K, V> {
    pub(crate) fn cursor(&self) -> Cursor<K, V> {
        let mut cursor = Cursor {
            branches: Vec::new(),
            leaf: None,
            remaining: self.len(),
        };
        if let Some(root) = &self.root {
            cursor.descend(root);
        }
        cursor
    }
}

impl<K, V> Cursor<K, V> {
    /// How many entries are still to come.
    pub(crate) fn remaining(&self) -> usize {
        self.remaining
    }

    fn descend(&mut self, node: &Node<K, V>) {
        match node {
            Node::Branch(branch) => self.branches.push((Arc::clone(branch), 0)),
            Node::Leaf(leaf) => self.leaf = Some((leaf.clone(), 0)),
        }
    }

    /// Makes `leaf` point at an entry that has not been visited.
    fn advance(&mut self) -> Option<()> {
        loop {
            if let Some((leaf, at)) = &self.leaf
                && *at < leaf.len()
            {
                return Some(());
            }
            let (branch, at) = self.branches.last_mut()?;
            let Some(child) = branch.get(*at) else {
                self.branches.pop();
                continue;
            };
            *at += 1;
            if let Some(node) = child.clone() {
                self.descend(&node);
            }
        }
    }
}

impl<K: Clone, V: Clone> Iterator for Cursor<K, V> {
    type Item = (K, V);

    fn next(&mut self) -> Option<Self::Item> {
        self.advance()?;
        let (leaf, at) = self.leaf.as_mut()?;
        let entry = leaf.get(*at)?;
        *at += 1;
        self.remaining = self.remaining.saturating_sub(1);
        Some((entry.key.clone(), entry.value.clone()))
    }
}
