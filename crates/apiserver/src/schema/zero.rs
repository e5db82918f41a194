use serde_json::{Map, Value};

use super::types::{Node, Presence, ScalarKind, Type};

/// What the zero value of a type encodes as.
pub(crate) fn of(node: Node<'_>) -> Value {
    match node.ty() {
        Type::Scalar(scalar) => of_scalar(scalar.kind),
        Type::Struct(object) => {
            let always = object
                .fields
                .iter()
                .filter_map(|field| match field.presence {
                    Presence::Always { nullable: true } => {
                        Some((field.name.to_string(), Value::Null))
                    }
                    Presence::Always { nullable: false } => {
                        Some((field.name.to_string(), of(node.at(field.ty))))
                    }
                    Presence::AsSent | Presence::Omitted => None,
                });
            Value::Object(always.collect::<Map<_, _>>())
        }
        Type::Map(_) | Type::List(_) | Type::Free => Value::Null,
    }
}

fn of_scalar(kind: ScalarKind) -> Value {
    match kind {
        ScalarKind::String => Value::String(String::new()),
        ScalarKind::Quantity => Value::String("0".to_owned()),
        ScalarKind::Bool => Value::Bool(false),
        ScalarKind::IntOrString | ScalarKind::Int32 | ScalarKind::Int64 | ScalarKind::Double => {
            Value::from(0)
        }
        ScalarKind::Bytes | ScalarKind::Time | ScalarKind::MicroTime => Value::Null,
    }
}
