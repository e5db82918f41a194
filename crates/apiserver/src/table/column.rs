//! Columns and the cells that most of them hold.

use std::borrow::Cow;

use evenkeel_meta::Timestamp;
use serde_json::{Value, json};

use super::duration;
use crate::object::{field, integer, text};

/// A column of a table.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: Cow<'static, str>,
    /// An OpenAPI type: `string`, `integer`, `date` ...
    pub(crate) kind: Cow<'static, str>,
    pub(crate) format: Cow<'static, str>,
    pub(crate) description: Cow<'static, str>,
    /// Above 0: only in wide output.
    pub(crate) priority: i64,
    pub(crate) cell: Cell,
}

/// How a cell comes from its object.
#[derive(Debug, Clone)]
pub(crate) enum Cell {
    /// By a function of this crate.
    Computed(fn(&Value, Timestamp) -> Value),
    /// By a path, for custom resources.
    Path(Vec<PathStep>),
    /// By a path to a timestamp: its age.
    Age(Vec<PathStep>),
}

/// A step of a JSON path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PathStep {
    Field(String),
    Index(usize),
    /// Every element.
    All,
    /// The elements whose field equals a text.
    Where(String, String),
}

impl Column {
    pub(super) fn describe(&self) -> Value {
        json!({
            "name": self.name,
            "type": self.kind,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        })
    }

    pub(super) fn cell(&self, object: &Value, now: Timestamp) -> Value {
        match &self.cell {
            Cell::Computed(compute) => compute(object, now),
            Cell::Path(path) => super::custom::value_at(object, path, &self.kind),
            Cell::Age(path) => super::custom::first(object, path)
                .map_or(Value::Null, |time| duration::since(Some(time), now).into()),
        }
    }
}

/// A column of text.
pub(super) fn string(name: &'static str, cell: fn(&Value, Timestamp) -> Value) -> Column {
    Column {
        name: name.into(),
        kind: "string".into(),
        format: "".into(),
        description: "".into(),
        priority: 0,
        cell: Cell::Computed(cell),
    }
}

/// A column of numbers.
pub(super) fn number(name: &'static str, cell: fn(&Value, Timestamp) -> Value) -> Column {
    Column {
        kind: "integer".into(),
        ..string(name, cell)
    }
}

/// A column that only wide output shows.
pub(super) fn wide(name: &'static str, cell: fn(&Value, Timestamp) -> Value) -> Column {
    Column {
        priority: 1,
        ..string(name, cell)
    }
}

pub(super) fn name() -> Column {
    Column {
        format: "name".into(),
        description: "Name must be unique within a namespace.".into(),
        ..string("Name", |object, _| object["metadata"]["name"].clone())
    }
}

pub(super) fn age() -> Column {
    string("Age", |object, now| {
        duration::since(field(object, &["metadata", "creationTimestamp"]), now).into()
    })
}

pub(super) fn created_at() -> Column {
    Column {
        kind: "date".into(),
        ..string("Created At", |object, _| {
            object["metadata"]["creationTimestamp"].clone()
        })
    }
}

/// A text field, `<none>` when it is absent or empty.
pub(super) fn text_or_none(object: &Value, path: &[&str]) -> Value {
    text(object, path)
        .filter(|text| !text.is_empty())
        .unwrap_or("<none>")
        .into()
}

/// An integer field, 0 when it is absent.
pub(super) fn count(object: &Value, path: &[&str]) -> i64 {
    integer(object, path).unwrap_or(0)
}

pub(super) fn list<'a>(object: &'a Value, path: &[&str]) -> &'a [Value] {
    field(object, path)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// How many entries the maps at these paths have together.
pub(super) fn entries(object: &Value, paths: &[&str]) -> Value {
    let entries = |name: &&str| {
        object
            .get(*name)
            .and_then(Value::as_object)
            .map_or(0, serde_json::Map::len)
    };
    paths.iter().map(entries).sum::<usize>().into()
}

/// `a=1,b=2`, `<none>` when empty.
pub(super) fn pairs(map: Option<&Value>) -> String {
    let map = map.and_then(Value::as_object);
    let pairs: Vec<String> = map
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    if pairs.is_empty() {
        "<none>".to_owned()
    } else {
        pairs.join(",")
    }
}

/// A label selector as text.
pub(super) fn selector(selector: Option<&Value>) -> Value {
    let labels = selector.and_then(|selector| selector.get("matchLabels"));
    let expressions = selector
        .and_then(|selector| selector.get("matchExpressions"))
        .and_then(Value::as_array);
    let mut parts: Vec<String> = Vec::new();
    if labels
        .and_then(Value::as_object)
        .is_some_and(|labels| !labels.is_empty())
    {
        parts.push(pairs(labels));
    }
    for expression in expressions.into_iter().flatten() {
        let key = text(expression, &["key"]).unwrap_or_default();
        let values = list(expression, &["values"])
            .iter()
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join(",");
        parts.push(match text(expression, &["operator"]) {
            Some("In") => format!("{key} in ({values})"),
            Some("NotIn") => format!("{key} notin ({values})"),
            Some("DoesNotExist") => format!("!{key}"),
            _ => key.to_owned(),
        });
    }
    if parts.is_empty() {
        "<none>".into()
    } else {
        parts.join(",").into()
    }
}

/// The names or images of the containers of a pod template.
pub(super) fn containers(spec: Option<&Value>, what: &str) -> Value {
    let containers = spec.map_or(&[][..], |spec| list(spec, &["containers"]));
    let all: Vec<&str> = containers
        .iter()
        .filter_map(|container| text(container, &[what]))
        .collect();
    all.join(",").into()
}
