//! Reads a document of a custom kind by its structural schema: prunes, defaults, checks.

use serde_json::{Map, Value};

use super::decode::{Decoder, Step};
use crate::schema::{Node, Struct, Type};

/// Prunes what the schema does not have and fills in defaults; metadata is decoded as built in.
pub(super) fn decode(decoder: &mut Decoder, root: Node<'_>, object: &mut Value) {
    value(decoder, root, object);
}

fn value(decoder: &mut Decoder, node: Node<'_>, value: &mut Value) {
    match (node.ty(), value) {
        (Type::Struct(ty), Value::Object(map)) => object(decoder, node, ty, map),
        (Type::Map(ty), Value::Object(map)) => {
            for (key, inner) in map.iter_mut() {
                decoder.step(Step::Key(key), |decoder| {
                    self::value(decoder, node.at(ty.value), inner);
                });
            }
        }
        (Type::List(list), Value::Array(items)) => {
            for (index, inner) in items.iter_mut().enumerate() {
                decoder.step(Step::Index(index), |decoder| {
                    self::value(decoder, node.at(list.item), inner);
                });
            }
        }
        // Wrong types are faults of validation, with their field, not of decoding.
        (_, Value::Number(number)) => {
            // A float without a fraction is stored as an integer.
            if let Some(whole) = number
                .as_f64()
                .filter(|_| number.is_f64())
                .filter(|float| float.fract() == 0.0 && float.abs() < 1e15)
            {
                *number = serde_json::Number::from(whole as i64);
            }
        }
        _ => {}
    }
}

fn object(decoder: &mut Decoder, node: Node<'_>, ty: &Struct, map: &mut Map<String, Value>) {
    if !ty.name.is_empty() {
        // Metadata is of a built-in type.
        decoder.object(node, ty, map);
        return;
    }
    map.retain(|name, inner| {
        let Some(field) = ty.field(name) else {
            if !ty.open {
                decoder.unknown(name);
            }
            return ty.open;
        };
        let node = node.at(field.ty);
        let step = Step::Field { of: ty, name };
        decoder.step(step, |decoder| match node.ty() {
            Type::Struct(metadata) if !metadata.name.is_empty() => {
                decoder.value(node, Some(field), inner)
            }
            _ => {
                value(decoder, node, inner);
                // A null that the schema does not allow is as good as nothing.
                !inner.is_null() || is_nullable(node)
            }
        })
    });
    for field in &ty.fields {
        if let Some(default) = &field.default
            && !map.contains_key(&*field.name)
        {
            map.insert(field.name.to_string(), default.clone());
            if let Some(inner) = map.get_mut(&*field.name) {
                value(decoder, node.at(field.ty), inner);
            }
        }
    }
}

fn is_nullable(node: Node<'_>) -> bool {
    match node.ty() {
        Type::Struct(object) => object.nullable,
        Type::Map(map) => map.nullable,
        Type::List(list) => list.nullable,
        Type::Scalar(scalar) => scalar
            .constraints
            .as_ref()
            .is_some_and(|rules| rules.nullable),
        Type::Free => true,
    }
}
