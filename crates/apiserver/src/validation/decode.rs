//! Reads a document as the real server's decoder does.
//!
//! The real server decodes a built-in kind into a Go struct and encodes that. So unknown fields
//! vanish, nulls vanish, zero values come or go by the field's declaration, quantities and times
//! take their canonical form, and a wrong type is an error that names the Go field. Here the same
//! happens to the JSON in place.

use evenkeel_meta::{GroupVersionKind, Status};
use serde_json::{Map, Value};

use super::scalars::{self, Misfit};
use super::structural;
use crate::schema::{Field, Node, Origin, Presence, Schema, Struct, Type, zero_of};

/// The real server reports no more unknown fields than this.
const MAX_STRICT_ERRORS: usize = 100;

/// What to do about fields that the kind does not have (`fieldValidation`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum FieldValidation {
    Ignore,
    #[default]
    Warn,
    Strict,
}

/// Why a document cannot be read as its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A value of the wrong type; the decoder's complaint.
    Type(String),
    /// Fields that strict decoding does not let pass, each complaint.
    Strict(Vec<String>),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Type(complaint) => f.write_str(complaint),
            Self::Strict(complaints) => {
                write!(f, "strict decoding error: {}", complaints.join(", "))
            }
        }
    }
}

impl Fault {
    /// The answer to a create or update whose body has this fault.
    pub(crate) fn into_bad_request(self, kind: &GroupVersionKind) -> Status {
        let GroupVersionKind { version, kind, .. } = kind;
        Status::bad_request(format!(
            "{kind} in version \"{version}\" cannot be handled as a {kind}: {self}"
        ))
    }
}

/// Decodes the body of a create or update in place; answers with warnings.
///
/// `duplicates` are the paths that [`duplicate_fields`](super::duplicate_fields) found.
pub(crate) fn check_fields(
    schema: &Schema,
    object: &mut Value,
    duplicates: &[String],
    mode: FieldValidation,
) -> Result<Vec<String>, Status> {
    decode(schema, object, duplicates, mode).map_err(|fault| fault.into_bad_request(schema.kind()))
}

/// Decodes a whole object in place; answers with warnings.
pub(crate) fn decode(
    schema: &Schema,
    object: &mut Value,
    duplicates: &[String],
    mode: FieldValidation,
) -> Result<Vec<String>, Fault> {
    let mut decoder = Decoder::default();
    match schema.origin() {
        Origin::BuiltIn => {
            decoder.value(schema.root(), None, object);
        }
        Origin::Custom => structural::decode(&mut decoder, schema.root(), object),
    }
    if let Some(fault) = decoder.fault {
        return Err(Fault::Type(fault.to_string()));
    }
    let duplicates = duplicates
        .iter()
        .map(|path| format!("duplicate field \"{path}\""));
    let unknown = decoder
        .unknown
        .iter()
        .map(|path| format!("unknown field \"{path}\""));
    let complaints: Vec<String> = duplicates.chain(unknown).take(MAX_STRICT_ERRORS).collect();
    match mode {
        FieldValidation::Strict if !complaints.is_empty() => Err(Fault::Strict(complaints)),
        FieldValidation::Ignore => Ok(Vec::new()),
        FieldValidation::Strict | FieldValidation::Warn => Ok(complaints),
    }
}

/// The walk. Paths are put together on the way back, so that a sound document costs none.
#[derive(Default)]
pub(super) struct Decoder {
    unknown: Vec<String>,
    /// The first value of a wrong type; what comes after it is not looked at.
    fault: Option<Misplaced>,
}

/// A misfit and the Go struct field that it is in.
struct Misplaced {
    misfit: Misfit,
    object: String,
    /// Innermost first.
    path: Vec<String>,
}

impl std::fmt::Display for Misplaced {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Misfit::Unmarshal { what, into } = &self.misfit else {
            return self.misfit.fmt(f);
        };
        if self.path.is_empty() {
            return self.misfit.fmt(f);
        }
        write!(
            f,
            "json: cannot unmarshal {what} into Go struct field {}",
            self.object
        )?;
        for name in self.path.iter().rev() {
            write!(f, ".{name}")?;
        }
        write!(f, " of type {into}")
    }
}

/// One step down from a container to a value in it.
pub(super) enum Step<'a> {
    Field { of: &'a Struct, name: &'a str },
    Key(&'a str),
    Index(usize),
}

impl Decoder {
    pub(super) fn step<R>(&mut self, step: Step<'_>, down: impl FnOnce(&mut Self) -> R) -> R {
        let unknown = self.unknown.len();
        let sound = self.fault.is_none();
        let result = down(self);
        for path in self.unknown.iter_mut().skip(unknown) {
            *path = step.prefix(path);
        }
        if sound
            && let (Some(fault), Step::Field { of, name }) = (&mut self.fault, step)
            // The decoder of custom kinds starts anew with their metadata.
            && !of.name.is_empty()
        {
            if fault.object.is_empty() {
                fault.object = of.name.to_string();
            }
            fault.path.push(name.to_owned());
        }
        result
    }

    pub(super) fn unknown(&mut self, name: &str) {
        self.unknown.push(name.to_owned());
    }

    pub(super) fn misfit(&mut self, misfit: Misfit) {
        let fault = Misplaced {
            misfit,
            object: String::new(),
            path: Vec::new(),
        };
        self.fault.get_or_insert(fault);
    }

    pub(super) fn is_faulty(&self) -> bool {
        self.fault.is_some()
    }

    /// Decodes a value in place; says whether its field stays in the object.
    pub(super) fn value(
        &mut self,
        node: Node<'_>,
        field: Option<&Field>,
        value: &mut Value,
    ) -> bool {
        if value.is_null() {
            return null(node, field, value);
        }
        let is_zero = match (node.ty(), &mut *value) {
            _ if self.is_faulty() => false,
            (Type::Struct(object), Value::Object(map)) => {
                self.object(node, object, map);
                map.is_empty()
            }
            (Type::Map(ty), Value::Object(map)) => {
                for (key, value) in map.iter_mut() {
                    self.step(Step::Key(key), |decoder| {
                        decoder.value(node.at(ty.value), None, value)
                    });
                }
                map.is_empty()
            }
            (Type::List(list), Value::Array(items)) => {
                for (index, value) in items.iter_mut().enumerate() {
                    self.step(Step::Index(index), |decoder| {
                        decoder.value(node.at(list.item), None, value)
                    });
                }
                items.is_empty()
            }
            (Type::Scalar(scalar), value) => match scalars::normalize(scalar, value) {
                Ok(()) => scalars::is_zero(scalar.kind, value),
                Err(misfit) => {
                    self.misfit(misfit);
                    false
                }
            },
            (Type::Free, _) => false,
            (_, value) => {
                self.misfit(Misfit::unmarshal(value, &go_type_name(node)));
                false
            }
        };
        // An empty list of managers is not none: it takes them all away.
        let omitted =
            |field: &Field| field.presence == Presence::Omitted && *field.name != *"managedFields";
        !(is_zero && field.is_some_and(omitted))
    }

    pub(super) fn object(&mut self, node: Node<'_>, object: &Struct, map: &mut Map<String, Value>) {
        map.retain(|name, value| {
            let Some(field) = object.field(name) else {
                self.unknown(name);
                return false;
            };
            let step = Step::Field { of: object, name };
            self.step(step, |decoder| {
                decoder.value(node.at(field.ty), Some(field), value)
            })
        });
        for field in &object.fields {
            let absent = match (&field.default, field.presence) {
                (Some(default), presence)
                    if presence == Presence::AsSent || !is_zero_scalar(default) =>
                {
                    default.clone()
                }
                (_, Presence::Always { nullable: true }) => Value::Null,
                (_, Presence::Always { nullable: false }) if map.contains_key(&*field.name) => {
                    continue;
                }
                (_, Presence::Always { nullable: false }) => zero_of(node.at(field.ty)),
                (_, Presence::AsSent | Presence::Omitted) => continue,
            };
            if !map.contains_key(&*field.name) {
                map.insert(field.name.to_string(), absent);
            }
        }
    }
}

impl Step<'_> {
    fn prefix(&self, path: &str) -> String {
        let name = match self {
            Self::Field { name, .. } | Self::Key(name) => (*name).to_owned(),
            Self::Index(index) => format!("[{index}]"),
        };
        if path.starts_with('[') {
            name + path
        } else {
            name + "." + path
        }
    }
}

/// What becomes of a null: it leaves its field as if it had not been sent.
fn null(node: Node<'_>, field: Option<&Field>, value: &mut Value) -> bool {
    match field.map(|field| field.presence) {
        Some(Presence::Always { nullable: true }) => true,
        Some(Presence::AsSent | Presence::Omitted) => false,
        // The items of lists and maps have no way to be absent.
        Some(Presence::Always { nullable: false }) | None => {
            *value = zero_of(node);
            true
        }
    }
}

fn is_zero_scalar(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Bool(value) => !value,
        _ => false,
    }
}

/// A type as Go's reflection prints it.
fn go_type_name(node: Node<'_>) -> String {
    match node.ty() {
        Type::Scalar(scalar) => scalar.go_name.to_string(),
        Type::Struct(object) => format!("v1.{}", object.name),
        Type::Map(map) => format!("map[string]{}", go_type_name(node.at(map.value))),
        Type::List(list) => format!("[]{}", go_type_name(node.at(list.item))),
        Type::Free => "interface {}".to_owned(),
    }
}
