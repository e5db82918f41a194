use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Number, Value};

use crate::schema::{List, Node, Topology, Type, zero_of};

/// One step of a field's path.
#[derive(Clone, Debug)]
pub(crate) enum Element {
    /// A field of a struct, or a key of a map.
    Field(Arc<str>),
    /// The item of a list that has these values in its key fields; sorted by field.
    Key(Arc<[(Arc<str>, Value)]>),
    /// The item of a set.
    Value(Value),
    /// The item of a list without identity.
    Index(i64),
}

impl Element {
    /// What identifies an item of a list; `Err` says why nothing does.
    pub(crate) fn of_item(node: Node<'_>, list: &List, item: &Value) -> Result<Self, &'static str> {
        match &list.topology {
            Topology::Atomic => Err("invalid indexing of non-associative list"),
            Topology::Set => match item {
                Value::Object(_) => {
                    Err("associative list without keys has an element that's a map type")
                }
                Value::Array(_) => Err("not supported: associative list with lists as elements"),
                Value::Null => {
                    Err("associative list without keys has an element that's an explicit null")
                }
                scalar => Ok(Self::Value(scalar.clone())),
            },
            Topology::Keyed(keys) => {
                let Value::Object(item) = item else {
                    return Err(if item.is_null() {
                        "associative list with keys may not have a null element"
                    } else {
                        "associative list with keys may not have non-map elements"
                    });
                };
                let node = node.at(list.item);
                let mut found: Vec<_> = keys
                    .iter()
                    .filter_map(|key| Some((key.clone(), key_value(node, item, key)?)))
                    .collect();
                if found.is_empty() {
                    return Err(
                        "associative list with keys has an element that omits all key fields",
                    );
                }
                found.sort_by(|(left, _), (right, _)| left.cmp(right));
                Ok(Self::Key(found.into()))
            }
        }
    }
}

/// A key field's value: what the item says, or the field's default.
fn key_value(node: Node<'_>, item: &Map<String, Value>, key: &str) -> Option<Value> {
    if let Some(value) = item.get(key) {
        return Some(value.clone());
    }
    let field = node.field(key)?;
    if let Some(default) = &field.default {
        return Some(default.clone());
    }
    let inner = node.at(field.ty);
    let declared = matches!(
        field.presence,
        crate::schema::Presence::Always { nullable: false }
    );
    (declared && matches!(inner.ty(), Type::Scalar(_))).then(|| zero_of(inner))
}

impl Ord for Element {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(left), Self::Field(right)) => left.cmp(right),
            (Self::Key(left), Self::Key(right)) => compare_keys(left, right),
            (Self::Value(left), Self::Value(right)) => compare_values(left, right),
            (Self::Index(left), Self::Index(right)) => left.cmp(right),
            (left, right) => left.rank().cmp(&right.rank()),
        }
    }
}

impl Element {
    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

fn compare_keys(left: &[(Arc<str>, Value)], right: &[(Arc<str>, Value)]) -> Ordering {
    for ((left_name, left), (right_name, right)) in left.iter().zip(right) {
        let order = left_name
            .cmp(right_name)
            .then_with(|| compare_values(left, right));
        if order.is_ne() {
            return order;
        }
    }
    left.len().cmp(&right.len())
}

/// A total order of scalars: numbers, strings, booleans, the rest.
fn compare_values(left: &Value, right: &Value) -> Ordering {
    let rank = |value: &Value| match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    };
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare_numbers(left, right),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        _ => rank(left).cmp(&rank(right)),
    }
}

fn compare_numbers(left: &Number, right: &Number) -> Ordering {
    match (left.as_i64(), right.as_i64()) {
        (Some(left), Some(right)) => left.cmp(&right),
        _ => {
            let (left, right) = (left.as_f64().unwrap_or(0.0), right.as_f64().unwrap_or(0.0));
            left.total_cmp(&right)
        }
    }
}

impl PartialOrd for Element {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Element {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Element {}

/// As paths are written in conflicts: `.spec`, `[name="c"]`, `[="x"]`, `[0]`.
impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(keys) => {
                f.write_str("[")?;
                for (index, (name, value)) in keys.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    write!(f, "{comma}{name}={value}")?;
                }
                f.write_str("]")
            }
            Self::Value(value) => write!(f, "[={value}]"),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}
