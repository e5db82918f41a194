//! The rules that a custom kind's schema states: types, required fields and bounds.

use std::collections::BTreeSet;

use serde_json::Value;

use super::report::{Path, Raw, Report};
use crate::schema::{Constraints, List, Node, Scalar, ScalarKind, Schema, Struct, Topology, Type};

/// Every rule that the object's schema states and the object breaks. `metadata` has rules of its own.
pub(super) fn check(schema: &Schema, object: &Value, report: &mut Report) {
    let root = schema.root();
    let (Type::Struct(ty), Value::Object(map)) = (root.ty(), object) else {
        return;
    };
    for field in ty.fields.iter().filter(|field| *field.name != *"metadata") {
        let at = Path::root(&field.name);
        match map.get(&*field.name) {
            Some(value) => self::value(&at, root.at(field.ty), value, report),
            None if field.required => report.required(&at, ""),
            None => {}
        }
    }
}

fn value(at: &Path<'_>, node: Node<'_>, value: &Value, report: &mut Report) {
    match (node.ty(), value) {
        (Type::Free, _) => {}
        (Type::Struct(object), Value::Object(_)) => fields(at, node, object, value, report),
        (Type::Map(map), Value::Object(entries)) => {
            for (key, inner) in entries {
                self::value(&at.field(key), node.at(map.value), inner, report);
            }
        }
        (Type::List(list), Value::Array(items)) => self::items(at, node, list, items, report),
        (Type::Scalar(scalar), value) => self::scalar(at, scalar, value, report),
        (Type::Struct(_) | Type::Map(_), value) => wrong_type(at, "object", value, report),
        (Type::List(_), value) => wrong_type(at, "array", value, report),
    }
}

fn fields(at: &Path<'_>, node: Node<'_>, object: &Struct, value: &Value, report: &mut Report) {
    // Built-in types inside, such as metadata, are checked when they are decoded.
    if !object.name.is_empty() {
        return;
    }
    for field in &object.fields {
        let at = at.field(&field.name);
        match value.get(&*field.name) {
            Some(inner) => self::value(&at, node.at(field.ty), inner, report),
            None if field.required => report.required(&at, ""),
            None => {}
        }
    }
}

fn items(at: &Path<'_>, node: Node<'_>, list: &List, items: &[Value], report: &mut Report) {
    let count = items.len() as u64;
    if let Some(least) = list.min_items.filter(|least| count < *least) {
        let why = format!("{at} in body should have at least {least} items");
        report.invalid(at, Raw(count.to_string()), &why);
    }
    if let Some(most) = list.max_items.filter(|most| count > *most) {
        report.too_many(at, count, most);
    }
    let mut seen = BTreeSet::new();
    for (index, item) in items.iter().enumerate() {
        let at = at.index(index);
        value(&at, node.at(list.item), item, report);
        let identity = match &list.topology {
            Topology::Atomic => continue,
            Topology::Set => item.to_string(),
            Topology::Keyed(keys) => {
                let named = keys
                    .iter()
                    .filter_map(|key| Some((key.to_string(), item.get(&**key)?.clone())));
                Value::Object(named.collect()).to_string()
            }
        };
        if !seen.insert(identity.clone()) {
            report.duplicate(&at, Raw(identity));
        }
    }
}

fn scalar(at: &Path<'_>, scalar: &Scalar, value: &Value, report: &mut Report) {
    let none = Constraints::default();
    let rules = scalar.constraints.as_deref().unwrap_or(&none);
    if value.is_null() && rules.nullable {
        return;
    }
    let (expected, fits) = match scalar.kind {
        ScalarKind::Bool => ("boolean", value.is_boolean()),
        ScalarKind::Int32 | ScalarKind::Int64 => ("integer", is_whole(value)),
        ScalarKind::Double => ("number", value.is_number()),
        ScalarKind::IntOrString => ("integer,string", is_whole(value) || value.is_string()),
        _ => ("string", value.is_string()),
    };
    if !fits {
        wrong_type(at, expected, value, report);
        return;
    }
    if let Some(number) = value.as_f64() {
        bounds(at, rules, number, value, report);
    }
    if let Some(text) = value.as_str() {
        let length = text.chars().count() as u64;
        if let Some(least) = rules.min_length.filter(|least| length < *least) {
            report.invalid(
                at,
                text,
                &format!("{at} in body should be at least {least} chars long"),
            );
        }
        if let Some(most) = rules.max_length.filter(|most| length > *most) {
            report.too_long(at, usize::try_from(most).unwrap_or(usize::MAX));
        }
        if rules.is_time && text.parse::<jiff::Timestamp>().is_err() {
            report.wrong_type(
                at,
                text,
                &format!("{at} in body must be of type date-time: {text:?}"),
            );
        }
    }
    if !rules.allowed.is_empty() && !rules.allowed.contains(value) {
        let allowed: Vec<String> = rules
            .allowed
            .iter()
            .map(|value| {
                value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned)
            })
            .collect();
        let allowed: Vec<&str> = allowed.iter().map(String::as_str).collect();
        report.not_supported(at, value, &allowed);
    }
}

fn bounds(at: &Path<'_>, rules: &Constraints, number: f64, value: &Value, report: &mut Report) {
    let show = |bound: f64| {
        Value::from(bound)
            .to_string()
            .trim_end_matches(".0")
            .to_owned()
    };
    if let Some(least) = rules.minimum.filter(|least| number < *least) {
        let why = format!(
            "{at} in body should be greater than or equal to {}",
            show(least)
        );
        report.invalid(at, value, &why);
    }
    if let Some(most) = rules.maximum.filter(|most| number > *most) {
        let why = format!(
            "{at} in body should be less than or equal to {}",
            show(most)
        );
        report.invalid(at, value, &why);
    }
}

fn is_whole(value: &Value) -> bool {
    value.is_i64() || value.is_u64()
}

fn wrong_type(at: &Path<'_>, expected: &str, value: &Value, report: &mut Report) {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) if is_whole(value) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    report.wrong_type(
        at,
        found,
        &format!("{at} in body must be of type {expected}: {found:?}"),
    );
}
