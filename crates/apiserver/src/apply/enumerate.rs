//! The fields that a configuration sets.

use std::sync::Arc;

use serde_json::Value;

use super::element::Element;
use super::set::FieldSet;
use crate::schema::{Node, Topology, Type};

/// The leaves of `value`, the items of its lists and the keys of its maps.
pub(super) fn fields_of(node: Node<'_>, value: &Value) -> FieldSet {
    let mut found = FieldSet::default();
    below(node, value, &mut found);
    found
}

/// Adds what is below a value to `found`; says whether the value is a field itself.
fn below(node: Node<'_>, value: &Value, found: &mut FieldSet) -> bool {
    match (node.ty(), value) {
        (Type::Struct(object), _) if object.atomic => true,
        (Type::Map(map), _) if map.atomic => true,
        (Type::List(list), _) if list.topology == Topology::Atomic => true,
        (Type::Struct(_) | Type::Map(_) | Type::Free, Value::Object(map)) => {
            for (key, value) in map {
                let mut inner = FieldSet::default();
                let (next, declared) = node.step(key);
                let leaf = below(next, value, &mut inner);
                let empty =
                    value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
                let name = declared.map_or_else(|| key.as_str().into(), Arc::clone);
                found.push(
                    Element::Field(name),
                    leaf || empty || declared.is_none(),
                    inner,
                );
            }
            false
        }
        (Type::List(list), Value::Array(items)) => {
            let elements: Vec<_> = items
                .iter()
                .filter_map(|item| Some((Element::of_item(node, list, item).ok()?, item)))
                .collect();
            for (element, item) in &elements {
                let mut inner = FieldSet::default();
                // Items that cannot be told apart are owned as one.
                if elements
                    .iter()
                    .filter(|(other, _)| other == element)
                    .count()
                    == 1
                {
                    below(node.at(list.item), item, &mut inner);
                }
                found.push(element.clone(), true, inner);
            }
            false
        }
        (Type::Struct(_) | Type::Map(_) | Type::List(_), _) => false,
        (Type::Scalar(_) | Type::Free, _) => true,
    }
}
