use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use evenkeel_meta::GroupVersionKind;
use serde_json::Value;

use super::types::{Node, Type, TypeId};
use super::{custom, data, zero};

/// The schemas of all built-in kinds.
pub(crate) struct Schemas {
    types: Arc<[Type]>,
    kinds: HashMap<GroupVersionKind, Schema>,
    names: HashMap<String, TypeId>,
}

impl Schemas {
    /// Parsed on first use (a few milliseconds), then shared by the process.
    pub(crate) fn builtin() -> &'static Self {
        static BUILTIN: OnceLock<Schemas> = OnceLock::new();
        BUILTIN.get_or_init(|| {
            let data = match data::load() {
                Ok(data) => data,
                // The data is part of the program, and a test loads it.
                Err(error) => unreachable!("compiled-in schemas: {error}"),
            };
            Self::from_data(data)
        })
    }

    fn from_data(data: data::Data) -> Self {
        let kinds = data.kinds.into_iter().map(|(kind, root)| {
            let zero = Arc::new(zero::of(Node::new(&data.types, root)));
            let schema = Schema {
                types: data.types.clone(),
                root,
                kind: kind.clone(),
                origin: Origin::BuiltIn,
                has_status_subresource: true,
                zero,
            };
            (kind, schema)
        });
        Self {
            kinds: kinds.collect(),
            types: data.types.clone(),
            names: data.names,
        }
    }

    pub(crate) fn kind(&self, kind: &GroupVersionKind) -> Option<&Schema> {
        self.kinds.get(kind)
    }

    /// A type that is no kind of one group, such as `meta/v1.DeleteOptions`.
    pub(crate) fn named(&self, name: &str) -> Option<Node<'_>> {
        self.id(name).map(|id| Node::new(&self.types, id))
    }

    pub(super) fn types(&self) -> &[Type] {
        &self.types
    }

    /// Where a type is, by package and name: `meta/v1.ObjectMeta`.
    pub(super) fn id(&self, name: &str) -> Option<TypeId> {
        self.names.get(name).copied()
    }
}

/// Where a schema comes from; the two kinds of server decode their objects differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Decoded into a struct: unknown fields never survive, zero values come and go.
    BuiltIn,
    /// Kept as JSON, pruned and checked by a structural schema.
    Custom,
}

/// The schema of one kind.
#[derive(Clone)]
pub(crate) struct Schema {
    types: Arc<[Type]>,
    root: TypeId,
    kind: GroupVersionKind,
    origin: Origin,
    has_status_subresource: bool,
    zero: Arc<Value>,
}

impl Schema {
    /// A custom kind, by its version in a CustomResourceDefinition (`spec.versions[]`).
    ///
    /// Without a schema in it, any field is kept.
    pub(crate) fn custom(kind: GroupVersionKind, version: &Value) -> Self {
        let (types, root) = custom::build(version.pointer("/schema/openAPIV3Schema"));
        Self {
            types: types.into(),
            root,
            kind,
            origin: Origin::Custom,
            has_status_subresource: version.pointer("/subresources/status").is_some(),
            zero: Arc::new(Value::Object(serde_json::Map::new())),
        }
    }

    pub(crate) fn root(&self) -> Node<'_> {
        Node::new(&self.types, self.root)
    }

    pub(crate) fn kind(&self) -> &GroupVersionKind {
        &self.kind
    }

    pub(crate) fn origin(&self) -> Origin {
        self.origin
    }

    /// Whether a write to the object itself leaves its status alone.
    pub(crate) fn has_status_subresource(&self) -> bool {
        self.has_status_subresource
    }

    /// What an empty object of this kind encodes as.
    pub(crate) fn zero(&self) -> &Value {
        &self.zero
    }
}
