//! From the text of a file to documents, and from documents to objects.

use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use super::{Object, Origin, Source};

/// Appends the objects of a file, and what is wrong with it.
pub(super) fn parse(source: &Arc<Source>, objects: &mut Vec<Object>, faults: &mut Vec<String>) {
    let mut number = 0;
    for (range, line) in split(&source.text) {
        let text = &source.text[range.clone()];
        if is_blank(text) {
            continue;
        }
        number += 1;
        let origin = Origin {
            source: Arc::clone(source),
            document: number,
            range,
            line,
            item: String::new(),
        };
        match value(text) {
            Ok(value) => flatten(value, &origin, objects, faults),
            Err(fault) => faults.push(fault.at(&origin)),
        }
    }
}

/// The documents: bytes, and the line at which each begins.
///
/// A line that begins with `---` is a boundary wherever it stands, as YAML has it. Splitting
/// before parsing keeps a fault in one document from hiding the others.
fn split(text: &str) -> Vec<(Range<usize>, usize)> {
    let mut documents = Vec::new();
    let (mut start, mut start_line) = (0, 1);
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if is_boundary(line) {
            documents.push((start..at, start_line));
            // What follows on the boundary's line belongs to the next document.
            start = at + 3;
            start_line = number + 1;
        }
        at += line.len();
    }
    documents.push((start..text.len(), start_line));
    documents
}

fn is_boundary(line: &str) -> bool {
    line.strip_prefix("---")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}

fn is_blank(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').lines().all(|line| {
        let line = line.trim();
        line.is_empty() || line.starts_with('#') || line.starts_with('%') || line == "..."
    })
}

/// Why a document cannot be read; the line counts from its beginning.
struct Fault {
    line: usize,
    column: usize,
    message: String,
}

impl Fault {
    fn at(&self, origin: &Origin) -> String {
        let line = origin.line + self.line.max(1) - 1;
        format!(
            "{origin}, line {line}, column {}: {}",
            self.column.max(1),
            self.message
        )
    }
}

fn value(text: &str) -> Result<Value, Fault> {
    // JSON may be indented with tabs, which YAML forbids.
    if text.trim_start().starts_with('{')
        && let Ok(value) = serde_json::from_str(text)
    {
        return Ok(value);
    }
    serde_saphyr::from_str_with_options(text, super::position::options()).map_err(|error| {
        let location = error.location().unwrap_or(serde_saphyr::Location::UNKNOWN);
        let to_usize = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        Fault {
            line: to_usize(location.line()),
            column: to_usize(location.column()),
            message: bare(&error),
        }
    })
}

/// The parser's message without the place, which counts from the document's beginning.
fn bare(error: &serde_saphyr::Error) -> String {
    let text = error.without_snippet().to_string();
    match text.rfind(" at line ") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}

/// A List is the objects in it.
fn flatten(value: Value, origin: &Origin, objects: &mut Vec<Object>, faults: &mut Vec<String>) {
    let is_list = value["kind"]
        .as_str()
        .is_some_and(|kind| kind.ends_with("List"));
    match value {
        Value::Object(mut list) if is_list && list.get("items").is_some_and(Value::is_array) => {
            let items = list.remove("items");
            let items = items
                .as_ref()
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            for (at, item) in items.enumerate() {
                let mut origin = origin.clone();
                origin.item = format!("{}.items[{at}]", origin.item);
                flatten(item.clone(), &origin, objects, faults);
            }
        }
        value => match object(value, origin) {
            Ok(object) => objects.push(object),
            Err(fault) => faults.push(fault),
        },
    }
}

fn object(value: Value, origin: &Origin) -> Result<Object, String> {
    if !value.is_object() {
        return Err(format!(
            "{}: not an object: {}",
            origin.place(""),
            kind_of(&value)
        ));
    }
    let text = |pointer: &str, field: &str| match value.pointer(pointer) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(format!(
            "{}: {field}: expected a string, got {}",
            origin.place(field),
            kind_of(other)
        )),
    };
    let kind = text("/kind", "kind")?;
    let required = |field: &str, text: Option<String>| {
        let kind = kind
            .as_deref()
            .map(|kind| format!("{kind}: "))
            .unwrap_or_default();
        text.ok_or_else(|| format!("{}: {kind}{field} is missing", origin.place("")))
    };
    Ok(Object {
        kind: required("kind", kind.clone())?,
        api_version: required("apiVersion", text("/apiVersion", "apiVersion")?)?,
        name: required("metadata.name", text("/metadata/name", "metadata.name")?)?,
        namespace: text("/metadata/namespace", "metadata.namespace")?,
        value,
        origin: origin.clone(),
    })
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}
