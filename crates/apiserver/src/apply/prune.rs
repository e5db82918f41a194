//! Taking back what a manager applied before and no longer does.

use serde_json::{Map, Value};

use super::element::Element;
use super::enumerate::fields_of;
use super::set::FieldSet;
use crate::schema::{Node, Topology, Type};

/// `merged` without the fields that were in `last`, the manager's previous set, and that nobody in
/// `owned` (all managers' sets together, with the new one of this manager) owns.
pub(super) fn prune(node: Node<'_>, merged: Value, last: &FieldSet, owned: &FieldSet) -> Value {
    if last.is_empty() {
        return merged;
    }
    let last = last.with_named_fields(node);
    let pruned = remove(node, &merged, &last);

    // What others own, or this manager still does, comes back.
    let all = fields_of(node, &merged).with_named_fields(node);
    let left = fields_of(node, &pruned).with_named_fields(node);
    let kept = left.union(owned.with_named_fields(node));
    let pruned = remove(node, &merged, &all.clone().difference(&kept));

    // So does what went only because something around it did, and was never this manager's.
    let left = fields_of(node, &pruned).with_named_fields(node);
    remove(node, &merged, &all.difference(&left).intersection(&last))
}

/// The value without these fields. A container that becomes empty becomes null.
fn remove(node: Node<'_>, value: &Value, gone: &FieldSet) -> Value {
    match (node.ty(), value) {
        (Type::Struct(object), Value::Object(_)) if object.atomic => Value::Null,
        (Type::Map(map), Value::Object(_)) if map.atomic => Value::Null,
        (Type::List(list), Value::Array(_)) if list.topology == Topology::Atomic => Value::Null,
        (Type::Struct(_) | Type::Map(_) | Type::Free, Value::Object(map)) => {
            let mut left = Map::new();
            for (key, value) in map {
                let entry = gone.get(&Element::Field(key.as_str().into()));
                let value = match entry {
                    Some(entry) if entry.member => continue,
                    Some(entry) => remove(node.step(key).0, value, &entry.children),
                    None => value.clone(),
                };
                left.insert(key.clone(), value);
            }
            if left.is_empty() {
                Value::Null
            } else {
                Value::Object(left)
            }
        }
        (Type::List(list), Value::Array(items)) => {
            let mut left = Vec::with_capacity(items.len());
            for item in items {
                let entry = Element::of_item(node, list, item)
                    .ok()
                    .and_then(|element| gone.get(&element));
                match entry {
                    Some(entry) if entry.member => {}
                    Some(entry) => left.push(remove(node.at(list.item), item, &entry.children)),
                    None => left.push(item.clone()),
                }
            }
            if left.is_empty() {
                Value::Null
            } else {
                Value::Array(left)
            }
        }
        (_, value) => value.clone(),
    }
}
