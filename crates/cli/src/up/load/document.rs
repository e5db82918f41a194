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
        let mut origin = |range: Range<usize>, line| {
            number += 1;
            Origin {
                source: Arc::clone(source),
                document: number,
                range,
                line,
                item: String::new(),
            }
        };
        if let Some(values) = json_values(text) {
            for (value, within) in values {
                let line = line + text[..within.start].matches('\n').count();
                let range = range.start + within.start..range.start + within.end;
                flatten(value, &origin(range, line), objects, faults);
            }
            continue;
        }
        match value(text) {
            Ok(Value::Null) => {}
            Ok(value) => flatten(value, &origin(range, line), objects, faults),
            Err(fault) => faults.push(fault.at(&origin(range, line))),
        }
    }
}

/// The JSON objects of a text that is nothing but such, one behind the other, and where they are.
///
/// YAML would take one, and forbids the tabs with which JSON may be indented.
fn json_values(text: &str) -> Option<Vec<(Value, Range<usize>)>> {
    let skipped = text.len() - text.trim_start_matches('\u{feff}').len();
    let text = &text[skipped..];
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter();
    let mut found = Vec::new();
    loop {
        let before = values.byte_offset();
        match values.next() {
            None => return Some(found),
            Some(Ok(mut value)) => {
                integral(&mut value);
                let gap = text[before..].len() - text[before..].trim_start().len();
                found.push((
                    value,
                    skipped + before + gap..skipped + values.byte_offset(),
                ));
            }
            Some(Err(_)) => return None,
        }
    }
}

/// `1.0` is the integer 1, as it is to Go's decoder.
fn integral(value: &mut Value) {
    /// Beyond it not every integer is a float.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) => {
            let float = number.as_f64().filter(|_| number.is_f64());
            if let Some(float) = float.filter(|float| float.fract() == 0.0 && float.abs() <= EXACT)
            {
                *value = Value::from(float as i64);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(integral),
        Value::Object(fields) => fields.values_mut().for_each(integral),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
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
    let read = serde_saphyr::from_str_with_options(text, super::position::options());
    let read = read.map(|mut value| {
        integral(&mut value);
        value
    });
    read.map_err(|error| {
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
