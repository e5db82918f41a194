//! Merging an applied configuration into an object: what it sets wins, the rest stays.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::element::Element;
use crate::schema::{List, Node, Topology, Type};

/// `None` when nothing is left: a container that is empty on both sides is kept as it is.
pub(super) fn merge(
    node: Node<'_>,
    live: Option<&Value>,
    applied: Option<&Value>,
) -> Option<Value> {
    let winner = || applied.or(live).cloned();
    let granular = match node.ty() {
        Type::Struct(object) => !object.atomic,
        Type::Map(map) => !map.atomic,
        Type::Free => applied.or(live).is_some_and(Value::is_object),
        Type::List(list) => {
            let (left, right) = (array(live), array(applied));
            if list.topology == Topology::Atomic || left.len() + right.len() == 0 {
                return winner();
            }
            return merge_lists(node, list, left, right);
        }
        Type::Scalar(_) => false,
    };
    let (left, right) = (
        live.and_then(Value::as_object),
        applied.and_then(Value::as_object),
    );
    if !granular || left.is_none_or(Map::is_empty) && right.is_none_or(Map::is_empty) {
        return winner();
    }
    let mut merged = Map::new();
    for (key, value) in left.into_iter().flatten() {
        let applied = right.and_then(|right| right.get(key));
        merge_key(node, key, Some(value), applied, &mut merged);
    }
    for (key, value) in right.into_iter().flatten() {
        if left.is_none_or(|left| !left.contains_key(key)) {
            merge_key(node, key, None, Some(value), &mut merged);
        }
    }
    (!merged.is_empty()).then_some(Value::Object(merged))
}

fn merge_key(
    node: Node<'_>,
    key: &str,
    live: Option<&Value>,
    applied: Option<&Value>,
    merged: &mut Map<String, Value>,
) {
    let inner = node.step(key).0;
    if let Some(value) = merge(inner, live, applied) {
        merged.insert(key.to_owned(), value);
    }
}

fn array(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The order is the configuration's; items that only the object has stay where they stood,
/// as far as that leaves the configuration's order alone.
fn merge_lists(node: Node<'_>, list: &List, live: &[Value], applied: &[Value]) -> Option<Value> {
    let identify = |items: &'_ [Value]| -> Vec<Element> {
        items
            .iter()
            .filter_map(|item| Element::of_item(node, list, item).ok())
            .collect()
    };
    let (live_ids, applied_ids) = (identify(live), identify(applied));
    if live_ids.len() != live.len() || applied_ids.len() != applied.len() {
        return Some(Value::Array(
            if applied.is_empty() { live } else { applied }.to_vec(),
        ));
    }
    // Of items that cannot be told apart none is merged with.
    let mut live_by_id: BTreeMap<&Element, Option<&Value>> = BTreeMap::new();
    for (id, item) in live_ids.iter().zip(live) {
        live_by_id
            .entry(id)
            .and_modify(|found| *found = None)
            .or_insert(Some(item));
    }
    let applied_by_id: BTreeMap<&Element, &Value> = applied_ids.iter().zip(applied).collect();
    let mut shared = applied_ids.iter().filter(|id| live_by_id.contains_key(id));
    let mut next_shared = shared.next();

    let item = node.at(list.item);
    let mut out = Vec::with_capacity(live.len() + applied.len());
    let mut done: Vec<&Element> = Vec::new();
    let (mut left, mut right) = (0, 0);
    while left < live.len() || right < applied.len() {
        if let (Some(live_id), Some(applied_id)) = (live_ids.get(left), applied_ids.get(right)) {
            if live_id == applied_id {
                let found = live_by_id.get(live_id).copied().flatten();
                out.extend(merge(item, found, applied.get(right)));
                done.push(applied_id);
                (left, right) = (left + 1, right + 1);
                next_shared = shared.next();
                continue;
            }
            if applied_by_id.contains_key(live_id)
                && next_shared.is_some_and(|next| next != live_id)
            {
                // It comes later, where the configuration puts it.
                left += 1;
                continue;
            }
        }
        if let Some(live_id) = live_ids.get(left) {
            if !applied_by_id.contains_key(live_id) {
                out.extend(merge(item, live.get(left), None));
                left += 1;
                continue;
            }
            if done.contains(&live_id) {
                left += 1;
            }
        }
        if let Some(applied_id) = applied_ids.get(right) {
            let found = live_by_id.get(applied_id).copied().flatten();
            out.extend(merge(item, found, applied.get(right)));
            done.push(applied_id);
            right += 1;
            if next_shared == Some(applied_id) {
                next_shared = shared.next();
            }
        }
    }
    (!out.is_empty()).then_some(Value::Array(out))
}
