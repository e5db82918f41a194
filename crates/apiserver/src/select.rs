//! Which objects a list or watch is about.

use evenkeel_meta::{FieldSelector, LabelSelector, Status};
use serde_json::Value;

use crate::resources::Resource;
use crate::storage::{KeyRange, Record};

/// A range of keys, narrowed by selectors.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    pub(crate) range: KeyRange,
    labels: LabelSelector,
    fields: Vec<FieldTest>,
}

#[derive(Debug, Clone)]
struct FieldTest {
    field: Field,
    value: Box<str>,
    equal: bool,
}

#[derive(Debug, Clone, Copy)]
enum Field {
    Name,
    Namespace,
    Indexed(usize),
}

impl Selection {
    pub(crate) fn new(
        resource: &Resource,
        namespace: Option<&str>,
        labels: &LabelSelector,
        fields: &FieldSelector,
    ) -> Result<Self, Status> {
        let mut tests = Vec::new();
        for requirement in fields.requirements() {
            let field = match requirement.field.as_str() {
                "metadata.name" => Field::Name,
                "metadata.namespace" => Field::Namespace,
                other => Field::Indexed(
                    resource
                        .fields
                        .iter()
                        .position(|known| known.label == other)
                        .ok_or_else(|| {
                            Status::bad_request(format!("field label not supported: {other}"))
                        })?,
                ),
            };
            tests.push(FieldTest {
                field,
                value: requirement.value.as_str().into(),
                equal: requirement.equal,
            });
        }
        // A pinned name turns a scan into one look-up.
        let name = fields.pinned("metadata.name");
        let namespace = namespace.or_else(|| {
            fields
                .pinned("metadata.namespace")
                .filter(|_| resource.namespaced())
        });
        Ok(Self {
            range: KeyRange::of(namespace, name, resource.namespaced()),
            labels: labels.clone(),
            fields: tests,
        })
    }

    /// Whether every object of the range is selected.
    pub(crate) fn is_whole_range(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    pub(crate) fn matches(&self, record: &Record) -> bool {
        let meta = record.meta();
        self.labels
            .matches_by(|key| meta.labels.get(key).map(String::as_str))
            && self.fields.iter().all(|test| {
                let value = match test.field {
                    Field::Name => meta.name.as_str(),
                    Field::Namespace => meta.namespace.as_deref().unwrap_or_default(),
                    Field::Indexed(at) => record.fields().get(at).map_or("", |value| value),
                };
                (value == &*test.value) == test.equal
            })
    }
}

/// The values of an object's selectable fields, in the order of the resource's list.
pub(crate) fn field_values(resource: &Resource, object: &Value) -> Box<[Box<str>]> {
    resource
        .fields
        .iter()
        .map(|field| {
            let value = field
                .path
                .iter()
                .try_fold(object, |value, part| value.get(part.as_ref()));
            match value {
                Some(Value::String(text)) if !text.is_empty() => text.as_str().into(),
                Some(Value::Bool(flag)) => flag.to_string().into(),
                Some(Value::Number(number)) => number.to_string().into(),
                _ => field.default.into(),
            }
        })
        .collect()
}
