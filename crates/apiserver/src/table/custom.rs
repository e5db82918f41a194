//! The columns that a custom resource defines: names and JSON paths.

use serde_json::Value;

use super::column::{Cell, Column, PathStep, age, name};
use crate::object::{field, integer, text};

/// The columns of a version of a definition: the name, then its own, or the age.
pub(crate) fn columns(version: &Value) -> Vec<Column> {
    let own = field(version, &["additionalPrinterColumns"]).and_then(Value::as_array);
    let mut columns = vec![name()];
    columns.extend(own.into_iter().flatten().map(column));
    if columns.len() == 1 {
        columns.push(age());
    }
    columns
}

fn column(definition: &Value) -> Column {
    let part = |part: &str| text(definition, &[part]).unwrap_or_default().to_owned();
    let kind = part("type");
    let path = parse(&part("jsonPath"));
    Column {
        name: part("name").into(),
        format: part("format").into(),
        description: part("description").into(),
        priority: integer(definition, &["priority"]).unwrap_or(0),
        cell: if kind == "date" {
            Cell::Age(path)
        } else {
            Cell::Path(path)
        },
        kind: kind.into(),
    }
}

/// What a path finds, as a cell of a column's type: nothing where the type differs.
pub(super) fn value_at(object: &Value, path: &[PathStep], kind: &str) -> Value {
    let found = all(object, path);
    match (kind, found.as_slice()) {
        (_, []) => Value::Null,
        ("integer" | "number", [value, ..]) if value.is_number() => (*value).clone(),
        ("boolean", [value, ..]) if value.is_boolean() => (*value).clone(),
        ("string", [Value::String(text)]) => text.as_str().into(),
        ("string", values) => values
            .iter()
            .map(|value| show(value))
            .collect::<Vec<_>>()
            .join(" ")
            .into(),
        _ => Value::Null,
    }
}

pub(super) fn first<'a>(object: &'a Value, path: &[PathStep]) -> Option<&'a Value> {
    all(object, path).into_iter().next()
}

fn all<'a>(object: &'a Value, path: &[PathStep]) -> Vec<&'a Value> {
    path.iter().fold(vec![object], |found, step| {
        let next = found.into_iter().flat_map(|value| match (step, value) {
            (PathStep::Field(name), value) => value.get(name).into_iter().collect(),
            (PathStep::Index(at), Value::Array(items)) => items.get(*at).into_iter().collect(),
            (PathStep::All, Value::Array(items)) => items.iter().collect::<Vec<_>>(),
            (PathStep::All, Value::Object(fields)) => fields.values().collect(),
            (PathStep::Where(name, wanted), Value::Array(items)) => items
                .iter()
                .filter(|item| text(item, &[name]) == Some(wanted))
                .collect(),
            _ => Vec::new(),
        });
        next.filter(|value| !value.is_null()).collect()
    })
}

fn show(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Reads the simple JSON paths that definitions may use: fields, indexes, `[*]` and
/// `[?(@.type=="Ready")]`. What cannot be read selects nothing.
fn parse(path: &str) -> Vec<PathStep> {
    let mut steps = Vec::new();
    let mut rest = path.trim();
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let end = closing(inside);
            steps.push(bracket(&inside[..end]));
            rest = inside.get(end + 1..).unwrap_or_default();
        } else {
            rest = rest.strip_prefix('.').unwrap_or(rest);
            let (name, behind) = field_name(rest);
            if !name.is_empty() {
                steps.push(if name == "*" {
                    PathStep::All
                } else {
                    PathStep::Field(name)
                });
            } else if behind.len() == rest.len() && !rest.starts_with('[') {
                return vec![PathStep::Field(String::new())];
            }
            rest = behind;
        }
    }
    steps
}

/// Where the bracket ends, quotes aside.
fn closing(inside: &str) -> usize {
    let mut quote = None;
    for (at, character) in inside.char_indices() {
        match (quote, character) {
            (None, ']') => return at,
            (None, '\'' | '"') => quote = Some(character),
            (Some(open), close) if open == close => quote = None,
            _ => {}
        }
    }
    inside.len()
}

fn bracket(inside: &str) -> PathStep {
    let inside = inside.trim();
    if inside == "*" {
        return PathStep::All;
    }
    if let Ok(at) = inside.parse() {
        return PathStep::Index(at);
    }
    let condition = inside
        .strip_prefix("?(")
        .and_then(|rest| rest.strip_suffix(')'));
    match condition.and_then(|condition| condition.split_once("==")) {
        Some((left, right)) => {
            let name = left.trim().trim_start_matches("@.");
            PathStep::Where(name.to_owned(), unquoted(right).to_owned())
        }
        None => PathStep::Field(unquoted(inside).to_owned()),
    }
}

fn unquoted(text: &str) -> &str {
    text.trim()
        .trim_matches(|character| matches!(character, '\'' | '"'))
}

/// A name up to the next `.` or `[`; a backslash takes the next character as it is.
fn field_name(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '.' | '[' => return (name, &text[at..]),
            '\\' => name.extend(characters.next().map(|(_, next)| next)),
            other => name.push(other),
        }
    }
    (name, "")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(path: &str, kind: &str) -> Value {
        let object = json!({
            "spec": {"replicas": 3, "a.b": "dotted", "list": [{"x": "1"}, {"x": "2"}]},
            "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Else", "status": "False"}]},
        });
        value_at(&object, &parse(path), kind)
    }

    #[test]
    fn paths_of_printer_columns() {
        assert_eq!(at(".spec.replicas", "integer"), 3);
        assert_eq!(
            at(".spec.replicas", "boolean"),
            Value::Null,
            "another type than the column's"
        );
        assert_eq!(at(r".spec.a\.b", "string"), "dotted");
        assert_eq!(at(".spec['a.b']", "string"), "dotted");
        assert_eq!(at(".spec.list[1].x", "string"), "2");
        assert_eq!(at(".spec.list[*].x", "string"), "1 2");
        assert_eq!(
            at(r#".status.conditions[?(@.type=="Ready")].status"#, "string"),
            "True"
        );
        assert_eq!(at(".spec.none", "string"), Value::Null);
        assert_eq!(at("..", "string"), Value::Null);
    }
}
