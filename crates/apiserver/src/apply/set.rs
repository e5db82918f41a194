use std::cmp::Ordering;
use std::sync::Arc;

use super::element::Element;
use crate::schema::Node;

/// A set of field paths, as a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSet {
    /// Sorted by element; none is empty.
    nodes: Vec<Entry>,
}

/// A path element, whether the path that ends with it is in the set, and the paths beyond.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) element: Element,
    pub(crate) member: bool,
    pub(crate) children: FieldSet,
}

impl Entry {
    fn is_empty(&self) -> bool {
        !self.member && self.children.is_empty()
    }
}

impl FieldSet {
    #[cfg(test)]
    pub(crate) fn of(paths: &[&[&str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            set.insert_fields(path);
        }
        set
    }

    /// Adds the path of these field names.
    pub(crate) fn insert_fields(&mut self, path: &[&str]) {
        let Some((first, rest)) = path.split_first() else { return };
        let entry = self.entry(Element::Field(Arc::from(*first)));
        if rest.is_empty() {
            entry.member = true;
        } else {
            entry.children.insert_fields(rest);
        }
    }

    fn entry(&mut self, element: Element) -> &mut Entry {
        let at = match self.nodes.binary_search_by(|entry| entry.element.cmp(&element)) {
            Ok(at) => at,
            Err(at) => {
                self.nodes.insert(at, Entry { element, member: false, children: Self::default() });
                at
            }
        };
        &mut self.nodes[at]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.nodes
    }

    pub(crate) fn contains(&self, path: &[Element]) -> bool {
        match path {
            [] => false,
            [last] => self.get(last).is_some_and(|entry| entry.member),
            [first, rest @ ..] => self.get(first).is_some_and(|entry| entry.children.contains(rest)),
        }
    }

    pub(crate) fn get(&self, element: &Element) -> Option<&Entry> {
        let at = self.nodes.binary_search_by(|entry| entry.element.cmp(element)).ok()?;
        self.nodes.get(at)
    }

    /// Appends an entry that a walk has finished; entries may come in any order, each once.
    pub(crate) fn push(&mut self, element: Element, member: bool, children: Self) {
        let entry = Entry { element, member, children };
        if entry.is_empty() {
            return;
        }
        match self.nodes.last() {
            Some(last) if last.element >= entry.element => {
                match self.nodes.binary_search_by(|other| other.element.cmp(&entry.element)) {
                    Ok(at) => {
                        let other = &mut self.nodes[at];
                        other.member |= entry.member;
                        other.children = other.children.union(&entry.children);
                    }
                    Err(at) => self.nodes.insert(at, entry),
                }
            }
            _ => self.nodes.push(entry),
        }
    }

    pub(crate) fn union(&self, other: &Self) -> Self {
        self.zip(other, |pair| match pair {
            Pair::Left(entry) | Pair::Right(entry) => Some(entry.clone()),
            Pair::Both(left, right) => Some(Entry {
                element: left.element.clone(),
                member: left.member || right.member,
                children: left.children.union(&right.children),
            }),
        })
    }

    pub(crate) fn intersection(&self, other: &Self) -> Self {
        self.zip(other, |pair| match pair {
            Pair::Left(_) | Pair::Right(_) => None,
            Pair::Both(left, right) => Some(Entry {
                element: left.element.clone(),
                member: left.member && right.member,
                children: left.children.intersection(&right.children),
            }),
        })
    }

    /// The paths that are not in `other`.
    pub(crate) fn difference(&self, other: &Self) -> Self {
        self.zip(other, |pair| match pair {
            Pair::Left(entry) => Some(entry.clone()),
            Pair::Right(_) => None,
            Pair::Both(left, right) => Some(Entry {
                element: left.element.clone(),
                member: left.member && !right.member,
                children: left.children.difference(&right.children),
            }),
        })
    }

    /// The paths that neither are in `other` nor lie beyond one that is.
    pub(crate) fn recursive_difference(&self, other: &Self) -> Self {
        self.zip(other, |pair| match pair {
            Pair::Left(entry) => Some(entry.clone()),
            Pair::Right(_) => None,
            Pair::Both(_, right) if right.member => None,
            Pair::Both(left, right) => Some(Entry {
                element: left.element.clone(),
                member: left.member,
                children: left.children.recursive_difference(&right.children),
            }),
        })
    }

    /// With each declared field on the way to a path in the set added. Keys of maps and items of
    /// lists are not: they exist by themselves.
    pub(crate) fn with_named_fields(&self, node: Node<'_>) -> Self {
        let nodes = self.nodes.iter().map(|entry| {
            let (declared, inner) = match &entry.element {
                Element::Field(name) => {
                    (node.field(name).is_some(), node.key(name).unwrap_or_else(Node::free))
                }
                _ => (false, node.item()),
            };
            Entry {
                element: entry.element.clone(),
                member: entry.member || (declared && !entry.children.is_empty()),
                children: entry.children.with_named_fields(inner),
            }
        });
        Self { nodes: nodes.collect() }
    }

    /// Calls `visit` with each path in the set: before each level's children come its members.
    pub(crate) fn for_each(&self, visit: &mut impl FnMut(&[Element])) {
        self.visit(&mut Vec::new(), visit);
    }

    fn visit(&self, prefix: &mut Vec<Element>, visit: &mut impl FnMut(&[Element])) {
        for entry in self.nodes.iter().filter(|entry| entry.member) {
            prefix.push(entry.element.clone());
            visit(prefix);
            prefix.pop();
        }
        for entry in self.nodes.iter().filter(|entry| !entry.children.is_empty()) {
            prefix.push(entry.element.clone());
            entry.children.visit(prefix, visit);
            prefix.pop();
        }
    }

    fn zip(&self, other: &Self, mut merge: impl FnMut(Pair<'_>) -> Option<Entry>) -> Self {
        let mut nodes = Vec::with_capacity(self.nodes.len().max(other.nodes.len()));
        let (mut left, mut right) = (self.nodes.iter().peekable(), other.nodes.iter().peekable());
        loop {
            let order = match (left.peek(), right.peek()) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(left), Some(right)) => left.element.cmp(&right.element),
            };
            let merged = match order {
                Ordering::Less => left.next().and_then(|left| merge(Pair::Left(left))),
                Ordering::Greater => right.next().and_then(|right| merge(Pair::Right(right))),
                Ordering::Equal => {
                    left.next().zip(right.next()).and_then(|(left, right)| merge(Pair::Both(left, right)))
                }
            };
            nodes.extend(merged.filter(|entry| !entry.is_empty()));
        }
        Self { nodes }
    }
}

/// Entries of two sets under the same element.
enum Pair<'a> {
    Left(&'a Entry),
    Right(&'a Entry),
    Both(&'a Entry, &'a Entry),
}
