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
        let Some((first, rest)) = path.split_first() else {
            return;
        };
        let entry = self.entry(Element::Field(Arc::from(*first)));
        if rest.is_empty() {
            entry.member = true;
        } else {
            entry.children.insert_fields(rest);
        }
    }

    fn entry(&mut self, element: Element) -> &mut Entry {
        let at = match self
            .nodes
            .binary_search_by(|entry| entry.element.cmp(&element))
        {
            Ok(at) => at,
            Err(at) => {
                self.nodes.insert(
                    at,
                    Entry {
                        element,
                        member: false,
                        children: Self::default(),
                    },
                );
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
            [first, rest @ ..] => self
                .get(first)
                .is_some_and(|entry| entry.children.contains(rest)),
        }
    }

    pub(crate) fn get(&self, element: &Element) -> Option<&Entry> {
        let at = self
            .nodes
            .binary_search_by(|entry| entry.element.cmp(element))
            .ok()?;
        self.nodes.get(at)
    }

    /// Appends an entry that a walk has finished; entries may come in any order, each once.
    pub(crate) fn push(&mut self, element: Element, member: bool, children: Self) {
        let entry = Entry {
            element,
            member,
            children,
        };
        if entry.is_empty() {
            return;
        }
        match self.nodes.last() {
            Some(last) if last.element >= entry.element => {
                match self
                    .nodes
                    .binary_search_by(|other| other.element.cmp(&entry.element))
                {
                    Ok(at) => {
                        let other = &mut self.nodes[at];
                        other.member |= entry.member;
                        other.children = std::mem::take(&mut other.children).union(entry.children);
                    }
                    Err(at) => self.nodes.insert(at, entry),
                }
            }
            _ => self.nodes.push(entry),
        }
    }

    pub(crate) fn union(self, other: Self) -> Self {
        if self.is_empty() {
            return other;
        }
        if other.is_empty() {
            return self;
        }
        let mut nodes = Vec::with_capacity(self.nodes.len().max(other.nodes.len()));
        let (mut left, mut right) = (
            self.nodes.into_iter().peekable(),
            other.nodes.into_iter().peekable(),
        );
        while let (Some(one), Some(two)) = (left.peek(), right.peek()) {
            match one.element.cmp(&two.element) {
                Ordering::Less => nodes.extend(left.next()),
                Ordering::Greater => nodes.extend(right.next()),
                Ordering::Equal => {
                    nodes.extend(left.next().zip(right.next()).map(|(one, two)| Entry {
                        element: one.element,
                        member: one.member || two.member,
                        children: one.children.union(two.children),
                    }));
                }
            }
        }
        nodes.extend(left);
        nodes.extend(right);
        Self { nodes }
    }

    pub(crate) fn intersection(&self, other: &Self) -> Self {
        let mut nodes = Vec::new();
        for (one, two) in self.shared(other) {
            let entry = Entry {
                element: one.element.clone(),
                member: one.member && two.member,
                children: one.children.intersection(&two.children),
            };
            if !entry.is_empty() {
                nodes.push(entry);
            }
        }
        Self { nodes }
    }

    /// Whether a path is in both; cheaper than the intersection.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.shared(other)
            .any(|(one, two)| (one.member && two.member) || one.children.meets(&two.children))
    }

    /// The paths that are not in `other`.
    pub(crate) fn difference(mut self, other: &Self) -> Self {
        self.subtract(other, |entry, gone| {
            entry.member &= !gone.member;
            entry.children = std::mem::take(&mut entry.children).difference(&gone.children);
        });
        self
    }

    /// The paths that neither are in `other` nor lie beyond one that is.
    pub(crate) fn recursive_difference(mut self, other: &Self) -> Self {
        self.subtract(other, |entry, gone| {
            if gone.member {
                entry.member = false;
                entry.children = Self::default();
            } else {
                entry.children =
                    std::mem::take(&mut entry.children).recursive_difference(&gone.children);
            }
        });
        self
    }

    fn subtract(&mut self, other: &Self, subtract: impl Fn(&mut Entry, &Entry)) {
        if other.is_empty() {
            return;
        }
        self.nodes.retain_mut(|entry| {
            if let Some(gone) = other.get(&entry.element) {
                subtract(entry, gone);
            }
            !entry.is_empty()
        });
    }

    /// The entries of both under the same element.
    fn shared<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = (&'a Entry, &'a Entry)> {
        let (few, many) = if self.nodes.len() <= other.nodes.len() {
            (self, other)
        } else {
            (other, self)
        };
        few.nodes
            .iter()
            .filter_map(|entry| Some((entry, many.get(&entry.element)?)))
    }

    /// With each declared field on the way to a path in the set added. Keys of maps and items of
    /// lists are not: they exist by themselves.
    pub(crate) fn with_named_fields(&self, node: Node<'_>) -> Self {
        let nodes = self.nodes.iter().map(|entry| {
            let (declared, inner) = match &entry.element {
                Element::Field(name) => (
                    node.field(name).is_some(),
                    node.key(name).unwrap_or_else(Node::free),
                ),
                _ => (false, node.item()),
            };
            Entry {
                element: entry.element.clone(),
                member: entry.member || (declared && !entry.children.is_empty()),
                children: entry.children.with_named_fields(inner),
            }
        });
        Self {
            nodes: nodes.collect(),
        }
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
}
