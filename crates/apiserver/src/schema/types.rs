use std::sync::Arc;

use serde_json::Value;

/// A type's place among the types of its [`Schema`](super::Schema).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TypeId(pub(super) u32);

/// The shape of a value.
#[derive(Clone, Debug)]
pub(crate) enum Type {
    Scalar(Scalar),
    Struct(Struct),
    Map(Map),
    List(List),
    /// Any JSON; its shape is what it happens to be.
    Free,
}

/// A value without parts.
#[derive(Clone, Debug)]
pub(crate) struct Scalar {
    pub(crate) kind: ScalarKind,
    /// The type's name in the words of the real server's decoder errors.
    pub(crate) go_name: Arc<str>,
    pub(crate) constraints: Option<Box<Constraints>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScalarKind {
    String,
    /// Base64 text.
    Bytes,
    Time,
    MicroTime,
    Quantity,
    IntOrString,
    Bool,
    Int32,
    Int64,
    Double,
}

impl ScalarKind {
    /// The name of the plain Go type.
    pub(crate) fn go_name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Bytes => "[]uint8",
            Self::Time => "v1.Time",
            Self::MicroTime => "v1.MicroTime",
            Self::Quantity => "resource.Quantity",
            Self::IntOrString => "intstr.IntOrString",
            Self::Bool => "bool",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Double => "float64",
        }
    }
}

/// Rules on a value beyond its type; only custom kinds have them in their schema.
#[derive(Clone, Debug, Default)]
pub(crate) struct Constraints {
    pub(crate) allowed: Vec<Value>,
    pub(crate) minimum: Option<f64>,
    pub(crate) maximum: Option<f64>,
    pub(crate) min_length: Option<u64>,
    pub(crate) max_length: Option<u64>,
    /// Text is a date and time.
    pub(crate) is_time: bool,
    pub(crate) nullable: bool,
}

/// An object whose fields are declared.
#[derive(Clone, Debug)]
pub(crate) struct Struct {
    /// The name of the Go type without its package; empty for custom kinds.
    pub(crate) name: Arc<str>,
    /// Sorted by name.
    pub(crate) fields: Box<[Field]>,
    /// One manager owns all of it or nothing.
    pub(crate) atomic: bool,
    /// Fields that are not declared are kept, and are [`Type::Free`].
    pub(crate) open: bool,
    pub(crate) nullable: bool,
}

impl Struct {
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        let found = self
            .fields
            .binary_search_by(|field| (*field.name).cmp(name));
        found.ok().and_then(|index| self.fields.get(index))
    }
}

/// One declared field.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: Arc<str>,
    pub(crate) ty: TypeId,
    pub(crate) required: bool,
    pub(crate) presence: Presence,
    /// Of a built-in kind's field, the zero value identifies the items of a list, and no more.
    pub(crate) default: Option<Value>,
    pub(crate) patch: Patch,
    /// The field's number in protobuf, behind those of the messages that embed it. Empty where
    /// protobuf does not have the field.
    pub(crate) numbers: Box<[u32]>,
}

/// What becomes of a field whose value is its type's zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Kept as sent; left out when it was not sent or null.
    AsSent,
    /// Left out.
    Omitted,
    /// Written, even when it was not sent: as null where `nil` is a value of its type.
    Always { nullable: bool },
}

/// How a strategic merge patch treats a field.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patch {
    /// Lists are merged rather than replaced.
    pub(crate) merge: bool,
    /// The field that tells the list's items apart; lists of scalars have none.
    pub(crate) merge_key: Option<Arc<str>>,
    /// Fields that the patch does not list under `$retainKeys` are dropped.
    pub(crate) retain_keys: bool,
    /// Objects are replaced rather than merged.
    pub(crate) replace: bool,
}

/// An object with keys of the user's.
#[derive(Clone, Debug)]
pub(crate) struct Map {
    pub(crate) value: TypeId,
    pub(crate) atomic: bool,
    pub(crate) nullable: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct List {
    pub(crate) item: TypeId,
    pub(crate) topology: Topology,
    pub(crate) min_items: Option<u64>,
    pub(crate) max_items: Option<u64>,
    pub(crate) nullable: bool,
}

/// What tells the items of a list apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Topology {
    /// Nothing: one manager owns the whole list.
    Atomic,
    /// Their values.
    Set,
    /// These fields of theirs.
    Keyed(Box<[Arc<str>]>),
}

/// A type together with the types it refers to.
#[derive(Clone, Copy)]
pub(crate) struct Node<'a> {
    types: &'a [Type],
    ty: &'a Type,
}

/// What undeclared fields and the inside of free-form values are.
static FREE: Type = Type::Free;

impl<'a> Node<'a> {
    pub(super) fn new(types: &'a [Type], id: TypeId) -> Self {
        Self {
            types,
            ty: types.get(id.0 as usize).unwrap_or(&FREE),
        }
    }

    pub(crate) fn free() -> Self {
        Self {
            types: &[],
            ty: &FREE,
        }
    }

    pub(crate) fn ty(self) -> &'a Type {
        self.ty
    }

    /// The type of another place in the same schema.
    pub(crate) fn at(self, id: TypeId) -> Self {
        Self::new(self.types, id)
    }

    /// The type under `key` of an object, declared or not.
    pub(crate) fn key(self, key: &str) -> Option<Self> {
        match self.ty {
            Type::Struct(object) => match object.field(key) {
                Some(field) => Some(self.at(field.ty)),
                None => object.open.then(Self::free),
            },
            Type::Map(map) => Some(self.at(map.value)),
            Type::Free => Some(Self::free()),
            Type::Scalar(_) | Type::List(_) => None,
        }
    }

    /// The type under `key`, free where the schema does not say, and the name if it is declared.
    pub(crate) fn step(self, key: &str) -> (Self, Option<&'a Arc<str>>) {
        match self.field(key) {
            Some(field) => (self.at(field.ty), Some(&field.name)),
            None => (self.key(key).unwrap_or_else(Self::free), None),
        }
    }

    /// The declared field under `key`.
    pub(crate) fn field(self, key: &str) -> Option<&'a Field> {
        match self.ty {
            Type::Struct(object) => object.field(key),
            _ => None,
        }
    }

    /// The type of a list's items.
    pub(crate) fn item(self) -> Self {
        match self.ty {
            Type::List(list) => self.at(list.item),
            _ => Self::free(),
        }
    }
}
