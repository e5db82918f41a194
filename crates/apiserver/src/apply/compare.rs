//! What a write changed.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::element::Element;
use super::set::FieldSet;
use crate::schema::{List, Node, Topology, Type};

/// The fields that differ between two states of an object. No field is in two of the sets.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Comparison {
    pub(super) removed: FieldSet,
    pub(super) modified: FieldSet,
    pub(super) added: FieldSet,
}

impl Comparison {
    pub(super) fn is_same(&self) -> bool {
        self.removed.is_empty() && self.modified.is_empty() && self.added.is_empty()
    }

    /// What the new state sets, and what it no longer has.
    pub(super) fn into_written_and_removed(self) -> (FieldSet, FieldSet) {
        (self.modified.union(self.added), self.removed)
    }

    pub(super) fn without(self, ignored: &FieldSet) -> Self {
        Self {
            removed: self.removed.recursive_difference(ignored),
            modified: self.modified.recursive_difference(ignored),
            added: self.added.recursive_difference(ignored),
        }
    }

    fn push(&mut self, element: Element, change: Option<Change>, inner: Self) {
        let removed = change == Some(Change::Removed);
        if removed || !inner.removed.is_empty() {
            self.removed.push(element.clone(), removed, inner.removed);
        }
        let modified = change == Some(Change::Modified);
        if modified || !inner.modified.is_empty() {
            self.modified
                .push(element.clone(), modified, inner.modified);
        }
        self.added
            .push(element, change == Some(Change::Added), inner.added);
    }
}

/// How the value at one path itself differs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Added,
    Removed,
    Modified,
}

pub(super) fn compare(node: Node<'_>, old: &Value, new: &Value) -> Comparison {
    let mut found = Comparison::default();
    difference(node, Some(old), Some(new), &mut found);
    found
}

/// Adds the differences below a value to `found`; says how the value itself differs.
fn difference(
    node: Node<'_>,
    old: Option<&Value>,
    new: Option<&Value>,
    found: &mut Comparison,
) -> Option<Change> {
    let whole = match (old, new) {
        (None, None) => return None,
        (None, Some(_)) => Some(Change::Added),
        (Some(_), None) => Some(Change::Removed),
        (Some(_), Some(_)) => None,
    };
    match Shape::of(node, old, new) {
        Shape::Object => {
            objects(node, object(old), object(new), found);
            whole
        }
        Shape::List(list) => {
            lists(node, list, array(old), array(new), found);
            whole
        }
        Shape::Leaf => whole.or_else(|| (old != new).then_some(Change::Modified)),
    }
}

/// How the values at a path are compared.
enum Shape<'a> {
    /// Key by key.
    Object,
    /// Item by item.
    List(&'a List),
    /// As one.
    Leaf,
}

impl<'a> Shape<'a> {
    fn of(node: Node<'a>, old: Option<&Value>, new: Option<&Value>) -> Self {
        let granular = match node.ty() {
            Type::Struct(object) => !object.atomic,
            Type::Map(map) => !map.atomic,
            Type::Free => [old, new]
                .into_iter()
                .flatten()
                .all(|value| value.is_object() || value.is_null()),
            Type::List(List {
                topology: Topology::Atomic,
                ..
            })
            | Type::Scalar(_) => false,
            Type::List(list) => {
                // Two empty lists may still differ: one may be null.
                let some = array(old).len() + array(new).len() > 0;
                return if some { Self::List(list) } else { Self::Leaf };
            }
        };
        let some = [old, new]
            .into_iter()
            .flatten()
            .any(|value| value.as_object().is_some_and(|map| !map.is_empty()));
        if granular && some {
            Self::Object
        } else {
            Self::Leaf
        }
    }
}

fn object(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}

fn array(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn objects(
    node: Node<'_>,
    old: Option<&Map<String, Value>>,
    new: Option<&Map<String, Value>>,
    found: &mut Comparison,
) {
    for (key, new) in new.into_iter().flatten() {
        let old = old.and_then(|old| old.get(key));
        if old != Some(new) {
            field(node, key, old, Some(new), found);
        }
    }
    for (key, old) in old.into_iter().flatten() {
        if new.is_none_or(|new| !new.contains_key(key)) {
            field(node, key, Some(old), None, found);
        }
    }
}

fn field(
    node: Node<'_>,
    key: &str,
    old: Option<&Value>,
    new: Option<&Value>,
    found: &mut Comparison,
) {
    let (inner, declared) = node.step(key);
    let name = declared.map_or_else(|| key.into(), Arc::clone);
    step(inner, Element::Field(name), old, new, found);
}

fn step(
    node: Node<'_>,
    element: Element,
    old: Option<&Value>,
    new: Option<&Value>,
    found: &mut Comparison,
) {
    let mut inner = Comparison::default();
    let change = difference(node, old, new, &mut inner);
    if change.is_some() || !inner.is_same() {
        found.push(element, change, inner);
    }
}

fn lists(node: Node<'_>, list: &List, old: &[Value], new: &[Value], found: &mut Comparison) {
    if old == new {
        return;
    }
    let identified = |items| identify(node, list, items);
    let (mut old, mut new) = (identified(old).peekable(), identified(new).peekable());
    let node = node.at(list.item);
    loop {
        let element = match (old.peek(), new.peek()) {
            (None, None) => return,
            (Some((one, _)), Some((other, _))) => one.min(other).clone(),
            (Some((element, _)), None) | (None, Some((element, _))) => element.clone(),
        };
        let (before, after) = (run(&mut old, &element), run(&mut new, &element));
        match (before.as_slice(), after.as_slice()) {
            // Items that cannot be told apart are owned as one.
            ([_, _, ..], [_, _, ..]) => {
                if before != after {
                    found.push(element, Some(Change::Modified), Comparison::default());
                }
            }
            ([_, _, ..], rest) => {
                if let Some(after) = rest.first() {
                    step(node, element.clone(), None, Some(after), found);
                }
                found.push(element, Some(Change::Removed), Comparison::default());
            }
            (rest, [_, _, ..]) => {
                if let Some(before) = rest.first() {
                    step(node, element.clone(), Some(before), None, found);
                }
                found.push(element, Some(Change::Added), Comparison::default());
            }
            (before, after) => step(
                node,
                element,
                before.first().copied(),
                after.first().copied(),
                found,
            ),
        }
    }
}

/// The items in the order of what identifies them.
fn identify<'a>(
    node: Node<'_>,
    list: &List,
    items: &'a [Value],
) -> std::vec::IntoIter<(Element, &'a Value)> {
    let identified = items
        .iter()
        .filter_map(|item| Some((Element::of_item(node, list, item).ok()?, item)));
    let mut identified: Vec<_> = identified.collect();
    identified.sort_by(|(one, _), (other, _)| one.cmp(other));
    identified.into_iter()
}

/// The items at the front that this element identifies.
fn run<'a>(
    items: &mut std::iter::Peekable<std::vec::IntoIter<(Element, &'a Value)>>,
    element: &Element,
) -> Vec<&'a Value> {
    std::iter::from_fn(|| items.next_if(|(other, _)| other == element))
        .map(|(_, item)| item)
        .collect()
}
