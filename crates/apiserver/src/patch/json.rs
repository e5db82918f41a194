//! JSON patch (RFC 6902), with the liberties that the real server's library takes: `replace` sets
//! a missing member of an object, `copy` from a missing one copies null, and so does `add` without
//! a value.

use evenkeel_meta::{Reason, Status, StatusDetails};
use serde_json::Value;

/// The real server takes no more operations in one patch.
const MAX_OPERATIONS: usize = 10_000;
/// Nor does it let the copies of one patch grow beyond the size of a request, in bytes of JSON:
/// forty copies of a document into itself would fill any memory.
const MAX_COPIED: usize = 3 * 1024 * 1024;

/// The document after the operations, or the answer that none of them was done.
pub(crate) fn json(document: &Value, patch: &Value) -> Result<Value, Status> {
    let Value::Array(operations) = patch else {
        let what = match patch {
            Value::Object(_) => "object",
            Value::String(_) => "string",
            Value::Bool(_) => "bool",
            _ => "number",
        };
        let into = "Go value of type []handlers.jsonPatchOp";
        return Err(Status::bad_request(format!(
            "error decoding patch: json: cannot unmarshal {what} into {into}"
        )));
    };
    if operations.len() > MAX_OPERATIONS {
        let message = format!(
            "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
            operations.len()
        );
        return Err(Status::failure(413, Reason::RequestEntityTooLarge, message));
    }
    let mut patched = document.clone();
    let mut may_copy = MAX_COPIED;
    for operation in operations {
        apply(&mut patched, operation, &mut may_copy).ok_or_else(failed)?;
    }
    Ok(patched)
}

/// The real server does not say which operation failed, nor why.
fn failed() -> Status {
    let mut status = Status::failure(
        422,
        Reason::Invalid,
        "the server rejected our request due to an error in our request",
    );
    status.details = Some(StatusDetails::default());
    status
}

/// `None` when the operation does not apply, or would copy more than `may_copy` bytes.
fn apply(document: &mut Value, operation: &Value, may_copy: &mut usize) -> Option<()> {
    let path = Pointer::parse(operation.get("path")?.as_str()?)?;
    let value = || operation.get("value").cloned().unwrap_or(Value::Null);
    let from = || Pointer::parse(operation.get("from")?.as_str()?);
    match operation.get("op")?.as_str()? {
        "add" => path.add(document, value()),
        "remove" => path.remove(document).map(drop),
        "replace" => path.replace(document, value()),
        "move" => {
            let moved = from()?.remove(document)?;
            path.add(document, moved)
        }
        "copy" => {
            let from = from()?;
            let copied = match from.get(document) {
                Some(value) => {
                    *may_copy = may_copy.checked_sub(size(value))?;
                    value.clone()
                }
                None => from
                    .parent(document)
                    .filter(|parent| parent.is_object())
                    .map(|_| Value::Null)?,
            };
            path.add(document, copied)
        }
        "test" => {
            let found = path.get(document).unwrap_or(&Value::Null);
            (*found == value()).then_some(())
        }
        _ => None,
    }
}

/// About the length of the value's JSON, without writing it.
fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| size(item) + 1).sum::<usize>() + 2,
        Value::Object(map) => {
            let fields = map.iter().map(|(name, value)| name.len() + 4 + size(value));
            fields.sum::<usize>() + 2
        }
    }
}

/// A JSON pointer (RFC 6901), unescaped.
struct Pointer {
    tokens: Vec<String>,
}

impl Pointer {
    fn parse(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(Self { tokens: Vec::new() });
        }
        let tokens = text.strip_prefix('/')?.split('/');
        Some(Self {
            tokens: tokens
                .map(|token| token.replace("~1", "/").replace("~0", "~"))
                .collect(),
        })
    }

    fn get<'a>(&self, document: &'a Value) -> Option<&'a Value> {
        self.tokens
            .iter()
            .try_fold(document, |value, token| child(value, token))
    }

    fn parent<'a>(&self, document: &'a Value) -> Option<&'a Value> {
        let (_, parents) = self.tokens.split_last()?;
        parents
            .iter()
            .try_fold(document, |value, token| child(value, token))
    }

    /// The container of the place and the place's name in it.
    fn locate<'a, 'p>(&'p self, document: &'a mut Value) -> Option<(&'a mut Value, &'p str)> {
        let (last, parents) = self.tokens.split_last()?;
        let parent = parents
            .iter()
            .try_fold(document, |value, token| match value {
                Value::Object(map) => map.get_mut(token),
                Value::Array(items) => items.get_mut(index(token)?),
                _ => None,
            })?;
        Some((parent, last))
    }

    fn add(&self, document: &mut Value, value: Value) -> Option<()> {
        if self.tokens.is_empty() {
            *document = value;
            return Some(());
        }
        match self.locate(document)? {
            (Value::Object(map), key) => {
                map.insert(key.to_owned(), value);
            }
            (Value::Array(items), "-") => items.push(value),
            (Value::Array(items), token) => {
                let index = index(token).filter(|index| *index <= items.len())?;
                items.insert(index, value);
            }
            _ => return None,
        }
        Some(())
    }

    fn replace(&self, document: &mut Value, value: Value) -> Option<()> {
        if self.tokens.is_empty() {
            *document = value;
            return Some(());
        }
        match self.locate(document)? {
            (Value::Object(map), key) => {
                map.insert(key.to_owned(), value);
            }
            (Value::Array(items), token) => *items.get_mut(index(token)?)? = value,
            _ => return None,
        }
        Some(())
    }

    fn remove(&self, document: &mut Value) -> Option<Value> {
        match self.locate(document)? {
            (Value::Object(map), key) => map.remove(key),
            (Value::Array(items), token) => {
                let index = index(token).filter(|index| *index < items.len())?;
                Some(items.remove(index))
            }
            _ => None,
        }
    }
}

fn child<'a>(value: &'a Value, token: &str) -> Option<&'a Value> {
    match value {
        Value::Object(map) => map.get(token),
        Value::Array(items) => items.get(index(token)?),
        _ => None,
    }
}

fn index(token: &str) -> Option<usize> {
    let canonical = token == "0" || !token.starts_with('0');
    let digits = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit());
    if canonical && digits {
        token.parse().ok()
    } else {
        None
    }
}
