//! Strategic merge patch: a merge patch that knows by the schema which lists are sets of things.

use evenkeel_meta::{Reason, Status};
use serde_json::{Map, Value};

use super::directives::{self, Directives, PATCH};
use super::order::{self, Identity};
use super::quoted_patch;
use crate::schema::{Node, Origin, Patch, Schema};
use crate::validation::Misfit;

/// Why a patch cannot be followed.
#[derive(Debug, thiserror::Error)]
pub(super) enum PatchError {
    #[error("invalid patch format of retainKeys")]
    RetainKeys,
    #[error("invalid patch format of setElementOrder list")]
    SetElementOrder,
    #[error("invalid patch format of primitive list")]
    PrimitiveList,
    #[error("lists of lists are not supported")]
    ListOfLists,
    #[error("list element types are not identical: {0}")]
    MixedList(String),
    #[error("map: {item} does not contain declared merge key: {key}")]
    NoMergeKey { item: String, key: String },
    #[error("The order in patch list:\n{patch}\n doesn't match $setElementOrder list:\n{order}\n")]
    Order { patch: String, order: String },
    #[error("unknown patch type: {0} in map: {1}")]
    Directive(String, String),
    #[error("merging lists cannot yet be specified in the patch")]
    MergeDirective,
}

impl From<PatchError> for Status {
    fn from(error: PatchError) -> Self {
        match error {
            PatchError::RetainKeys | PatchError::SetElementOrder | PatchError::PrimitiveList => {
                Self::bad_request(error.to_string())
            }
            PatchError::ListOfLists => Self::failure(422, Reason::Invalid, error.to_string()),
            // The real server lets its library's complaints through as they are.
            _ => Self::failure(500, Reason::Unknown, error.to_string()),
        }
    }
}

/// The document after the patch. Only built-in kinds have the schema that it takes (415 else).
pub(crate) fn strategic(schema: &Schema, document: &Value, patch: &Value) -> Result<Value, Status> {
    if schema.origin() == Origin::Custom {
        let accepted = "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {accepted}"
        );
        return Err(Status::failure(415, Reason::UnsupportedMediaType, message));
    }
    let Value::Object(patch) = patch else {
        return Err(Status::bad_request(
            Misfit::unmarshal(patch, "map[string]interface {}").to_string(),
        ));
    };
    let Value::Object(document) = document else {
        return Err(Status::bad_request("the document is not an object"));
    };
    Ok(Value::Object(merge_object(
        schema.root(),
        document.clone(),
        patch,
    )?))
}

fn merge_object(
    node: Node<'_>,
    mut original: Map<String, Value>,
    patch: &Map<String, Value>,
) -> Result<Map<String, Value>, PatchError> {
    match patch.get(PATCH) {
        None => {}
        Some(Value::String(directive)) if directive == "replace" => {
            let mut replacement = patch.clone();
            replacement.remove(PATCH);
            return Ok(replacement);
        }
        Some(Value::String(directive)) if directive == "delete" => return Ok(Map::new()),
        Some(other) => {
            let patch = quoted_patch(&Value::Object(patch.clone()));
            return Err(PatchError::Directive(quoted_patch(other), patch));
        }
    }
    let directives = Directives::of(patch)?;
    if let Some(keys) = &directives.retain_keys {
        original.retain(|key, _| keys.contains(&key.as_str()));
    }
    for (field, deleted) in &directives.deletions {
        if let Some(Value::Array(items)) = original.get_mut(*field) {
            items.retain(|item| !deleted.contains(item));
        }
    }
    for (key, value) in &directives.fields {
        let order = directives
            .orders
            .iter()
            .find(|(field, _)| field == key)
            .map(|(_, order)| *order);
        merge_field(node, &mut original, key, value, order)?;
    }
    for (field, order) in &directives.orders {
        if !directives.fields.iter().any(|(key, _)| key == field) {
            reorder(node, &mut original, field, order);
        }
    }
    Ok(original)
}

fn merge_field(
    node: Node<'_>,
    original: &mut Map<String, Value>,
    key: &str,
    value: &Value,
    order: Option<&[Value]>,
) -> Result<(), PatchError> {
    let plain = Patch::default();
    let strategy = node.field(key).map_or(&plain, |field| &field.patch);
    let inner = node.key(key).unwrap_or_else(Node::free);
    if let (Value::Array(patch), Some(order)) = (value, order) {
        check_order(strategy, patch, order)?;
    }
    let merged = match (original.remove(key), value) {
        (_, Value::Null) => return Ok(()),
        (Some(Value::Object(_)), Value::Object(patch)) if strategy.replace => {
            Some(Value::Object(patch.clone()))
        }
        (Some(Value::Object(current)), Value::Object(patch)) => {
            Some(Value::Object(merge_object(inner, current, patch)?))
        }
        (Some(Value::Array(current)), Value::Array(patch)) if strategy.merge => Some(Value::Array(
            merge_list(inner.item(), strategy, current, patch, order)?,
        )),
        (Some(Value::Array(_)), Value::Array(_)) => Some(value.clone()),
        _ => directives::without(value),
    };
    if let Some(merged) = merged {
        original.insert(key.to_owned(), merged);
    }
    Ok(())
}

fn merge_list(
    item: Node<'_>,
    strategy: &Patch,
    current: Vec<Value>,
    patch: &[Value],
    order: Option<&[Value]>,
) -> Result<Vec<Value>, PatchError> {
    let of_objects = item_kind(current.iter().chain(patch))?;
    let identity = Identity {
        key: strategy.merge_key.as_deref().filter(|_| of_objects),
    };
    let server = current.clone();
    let (merged, patch) = match identity.key {
        Some(key) => merge_keyed(item, key, current, patch)?,
        None => (merge_scalars(current, patch), patch.to_vec()),
    };
    Ok(order::arrange(
        merged,
        order.unwrap_or(&patch),
        &server,
        identity,
    ))
}

/// The merged items, and those of the patch that were no instructions.
fn merge_keyed(
    item: Node<'_>,
    key: &str,
    mut merged: Vec<Value>,
    patch: &[Value],
) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
    let identity = Identity { key: Some(key) };
    let mut plain = Vec::new();
    let mut replace = false;
    for change in patch {
        match change
            .get(PATCH)
            .map(|directive| directive.as_str().unwrap_or_default())
        {
            None => plain.push(change.clone()),
            Some("replace") => replace = true,
            Some("delete") => {
                if change.get(key).is_none() {
                    return Err(no_merge_key(change, key));
                }
                merged.retain(|item| identity.of(item) != identity.of(change));
            }
            Some("merge") => return Err(PatchError::MergeDirective),
            Some(other) => {
                return Err(PatchError::Directive(
                    other.to_owned(),
                    quoted_patch(change),
                ));
            }
        }
    }
    if replace {
        return Ok((plain.clone(), plain));
    }
    for change in &plain {
        if change.get(key).is_none() {
            return Err(no_merge_key(change, key));
        }
        match (
            identity
                .position(&merged, change)
                .and_then(|at| merged.get_mut(at)),
            change,
        ) {
            (Some(Value::Object(current)), Value::Object(change)) => {
                *current = merge_object(item, std::mem::take(current), change)?;
            }
            _ => merged.push(change.clone()),
        }
    }
    Ok((merged, plain))
}

fn merge_scalars(mut merged: Vec<Value>, patch: &[Value]) -> Vec<Value> {
    for value in patch {
        if !merged.contains(value) {
            merged.push(value.clone());
        }
    }
    merged
}

/// A `$setElementOrder` for a list that the patch does not change otherwise.
fn reorder(node: Node<'_>, original: &mut Map<String, Value>, field: &str, order: &[Value]) {
    let Some(Value::Array(items)) = original.get_mut(field) else {
        return;
    };
    let key = node
        .field(field)
        .and_then(|field| field.patch.merge_key.as_deref());
    let identity = Identity { key };
    let server = items.clone();
    *items = order::arrange(std::mem::take(items), order, &server, identity);
}

fn check_order(strategy: &Patch, patch: &[Value], order: &[Value]) -> Result<(), PatchError> {
    let identity = Identity {
        key: strategy.merge_key.as_deref(),
    };
    let plain = patch.iter().filter(|item| item.get(PATCH).is_none());
    if patch.is_empty() || order.is_empty() || order::follows(plain, order, identity) {
        return Ok(());
    }
    let quoted = |items: &[Value]| quoted_patch(&Value::Array(items.to_vec()));
    Err(PatchError::Order {
        patch: quoted(patch),
        order: quoted(order),
    })
}

/// Whether these are objects; all must be of one type.
fn item_kind<'a>(items: impl Iterator<Item = &'a Value> + Clone) -> Result<bool, PatchError> {
    let mut kinds = items.clone().map(std::mem::discriminant);
    let first = kinds.next();
    if kinds.any(|kind| Some(kind) != first) {
        return Err(PatchError::MixedList(quoted_patch(&Value::Array(
            items.cloned().collect(),
        ))));
    }
    match items.clone().next() {
        Some(Value::Array(_)) => Err(PatchError::ListOfLists),
        item => Ok(item.is_some_and(Value::is_object)),
    }
}

fn no_merge_key(item: &Value, key: &str) -> PatchError {
    PatchError::NoMergeKey {
        item: quoted_patch(item),
        key: key.to_owned(),
    }
}
