//! Whether an applied configuration fits its schema.

use std::collections::BTreeSet;

use evenkeel_meta::{GroupVersionKind, Reason, Status};
use serde_json::Value;

use super::element::Element;
use crate::schema::{Node, Scalar, ScalarKind, Schema, Topology, Type};

/// Refuses fields that the schema does not have, values of a wrong type and repeated list items.
pub(super) fn check(schema: &Schema, config: &Value) -> Result<(), Status> {
    let mut faults = Faults::default();
    faults.value(schema.root(), config);
    let complaint = match faults.found.as_slice() {
        [] => return Ok(()),
        [one] => one.clone(),
        many => format!("errors:\n  {}", many.join("\n  ")),
    };
    let message = format!(
        "failed to create typed patch object ({}): {complaint}",
        object(schema, config)
    );
    Err(Status::failure(500, Reason::Unknown, message))
}

/// An object as the real server names it in errors.
pub(super) fn object(schema: &Schema, object: &Value) -> String {
    let text = |path: &str| {
        object
            .pointer(path)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    format!(
        "{}/{}; {}",
        text("/metadata/namespace"),
        text("/metadata/name"),
        describe(schema.kind())
    )
}

/// A kind as the real server prints it.
pub(super) fn describe(kind: &GroupVersionKind) -> String {
    format!("{}/{}, Kind={}", kind.group, kind.version, kind.kind)
}

#[derive(Default)]
struct Faults {
    path: Vec<String>,
    found: Vec<String>,
}

impl Faults {
    fn add(&mut self, complaint: &str) {
        let path = self.path.concat();
        self.found.push(if path.is_empty() {
            complaint.to_owned()
        } else {
            format!("{path}: {complaint}")
        });
    }

    fn at(&mut self, step: String, inside: impl FnOnce(&mut Self)) {
        self.path.push(step);
        inside(self);
        self.path.pop();
    }

    fn value(&mut self, node: Node<'_>, value: &Value) {
        match (node.ty(), value) {
            (_, Value::Null) | (Type::Free, _) => {}
            (Type::Struct(_) | Type::Map(_), Value::Object(map)) => {
                for (key, value) in map {
                    let Some(inner) = node.key(key) else {
                        // The first one ends the search in this object.
                        return self.at(format!(".{key}"), |faults| {
                            faults.add("field not declared in schema");
                        });
                    };
                    self.at(format!(".{key}"), |faults| faults.value(inner, value));
                }
            }
            (Type::List(list), Value::Array(items)) => {
                let mut seen = BTreeSet::new();
                for (index, item) in items.iter().enumerate() {
                    let step = if list.topology == Topology::Atomic {
                        format!("[{index}]")
                    } else {
                        match Element::of_item(node, list, item) {
                            Err(why) => return self.add(&format!("element {index}: {why}")),
                            Ok(element) => {
                                let step = element.to_string();
                                if !seen.insert(element) {
                                    self.add(&format!("duplicate entries for key {step}"));
                                }
                                step
                            }
                        }
                    };
                    self.at(step, |faults| faults.value(node.at(list.item), item));
                }
            }
            (Type::Scalar(scalar), value) => self.scalar(scalar, value),
            (Type::List(_), value) => {
                self.add(&format!("expected list, got &{{{}}}", go_value(value)));
            }
            (Type::Struct(_) | Type::Map(_), value) => {
                self.add(&format!("expected map, got &{{{}}}", go_value(value)));
            }
        }
    }

    fn scalar(&mut self, scalar: &Scalar, value: &Value) {
        match (scalar.kind, value) {
            (
                ScalarKind::Quantity | ScalarKind::IntOrString,
                Value::Array(_) | Value::Object(_),
            ) => {
                self.add(&format!(
                    "expected any scalar, got &{{{}}}",
                    go_value(value)
                ));
            }
            (ScalarKind::Quantity | ScalarKind::IntOrString, _)
            | (ScalarKind::Int32 | ScalarKind::Int64 | ScalarKind::Double, Value::Number(_))
            | (ScalarKind::Bool, Value::Bool(_))
            | (_, Value::String(_))
                if !matches!(
                    (scalar.kind, value),
                    (
                        ScalarKind::Int32
                            | ScalarKind::Int64
                            | ScalarKind::Double
                            | ScalarKind::Bool,
                        Value::String(_)
                    )
                ) => {}
            (ScalarKind::Int32 | ScalarKind::Int64 | ScalarKind::Double, value) => {
                self.add(&format!(
                    "expected numeric (int or float), got {}",
                    go_type(value)
                ));
            }
            (ScalarKind::Bool, value) => {
                self.add(&format!("expected boolean, got &{{{}}}", go_value(value)));
            }
            (_, value) => {
                self.add(&format!(
                    "expected string, got &value.valueUnstructured{{Value:{}}}",
                    go_value(value)
                ));
            }
        }
    }
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "string",
        Value::Bool(_) => "bool",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
        Value::Number(_) | Value::Null => "int64",
    }
}

fn go_value(value: &Value) -> String {
    crate::patch::quoted_patch(value)
}
