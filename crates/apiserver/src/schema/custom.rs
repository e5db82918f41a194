//! Structural schemas: the `openAPIV3Schema` of a custom kind's version.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::Schemas;
use super::types::{
    Constraints, Field, List, Map, Patch, Presence, Scalar, ScalarKind, Struct, Topology, Type,
    TypeId,
};

const PRESERVE_UNKNOWN: &str = "x-kubernetes-preserve-unknown-fields";
const EMBEDDED_RESOURCE: &str = "x-kubernetes-embedded-resource";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";
const LIST_TYPE: &str = "x-kubernetes-list-type";
const LIST_MAP_KEYS: &str = "x-kubernetes-list-map-keys";
const MAP_TYPE: &str = "x-kubernetes-map-type";

/// The types of a custom kind and its root among them.
pub(super) fn build(open_api_v3: Option<&Value>) -> (Vec<Type>, TypeId) {
    let mut builder = Builder::default();
    let any = Value::Object(serde_json::Map::new());
    let schema = open_api_v3.unwrap_or(&any);
    let root = builder.resource(schema, open_api_v3.is_none());
    (builder.types, root)
}

#[derive(Default)]
struct Builder {
    types: Vec<Type>,
    /// The built-in types that were copied.
    grafted: HashMap<u32, TypeId>,
}

impl Builder {
    /// An object with a type and metadata of its own.
    fn resource(&mut self, schema: &Value, open: bool) -> TypeId {
        let mut fields = self.fields(schema);
        fields.retain(|field| !matches!(&*field.name, "apiVersion" | "kind" | "metadata"));
        let string = self.add(scalar_type(ScalarKind::String, None));
        fields.push(plain_field("apiVersion", string));
        fields.push(plain_field("kind", string));
        let metadata = match Schemas::builtin().id("meta/v1.ObjectMeta") {
            Some(id) => self.graft(id),
            None => self.add(Type::Free),
        };
        fields.push(plain_field("metadata", metadata));
        self.object(schema, fields, open)
    }

    /// A whole object inside another: it says what it is.
    fn embedded(&mut self, schema: &Value) -> TypeId {
        let id = self.resource(schema, false);
        if let Some(Type::Struct(object)) = self.types.get_mut(id.0 as usize) {
            for field in &mut object.fields {
                field.required |= matches!(&*field.name, "apiVersion" | "kind");
            }
        }
        id
    }

    fn ty(&mut self, schema: &Value) -> TypeId {
        if is(schema, INT_OR_STRING) {
            return self.add(scalar_type(ScalarKind::IntOrString, constraints(schema)));
        }
        if is(schema, EMBEDDED_RESOURCE) {
            return self.embedded(schema);
        }
        match text(schema, "type") {
            Some("object") => self.object_or_map(schema),
            Some("array") => self.list(schema),
            Some("string") => self.add(scalar_type(ScalarKind::String, constraints(schema))),
            Some("boolean") => self.add(scalar_type(ScalarKind::Bool, constraints(schema))),
            Some("integer") => self.add(scalar_type(ScalarKind::Int64, constraints(schema))),
            Some("number") => self.add(scalar_type(ScalarKind::Double, constraints(schema))),
            _ => self.add(Type::Free),
        }
    }

    fn object_or_map(&mut self, schema: &Value) -> TypeId {
        let atomic = text(schema, MAP_TYPE) == Some("atomic");
        let value = match schema.get("additionalProperties") {
            Some(Value::Object(_)) => schema.get("additionalProperties"),
            Some(Value::Bool(true)) => None,
            _ => {
                let fields = self.fields(schema);
                return self.object(schema, fields, false);
            }
        };
        let value = match value {
            Some(value) => self.ty(value),
            None => self.add(Type::Free),
        };
        self.add(Type::Map(Map {
            value,
            atomic,
            nullable: is(schema, "nullable"),
        }))
    }

    fn object(&mut self, schema: &Value, mut fields: Vec<Field>, open: bool) -> TypeId {
        fields.sort_by(|left, right| left.name.cmp(&right.name));
        self.add(Type::Struct(Struct {
            name: "".into(),
            fields: fields.into(),
            atomic: text(schema, MAP_TYPE) == Some("atomic"),
            open: open || is(schema, PRESERVE_UNKNOWN),
            nullable: is(schema, "nullable"),
        }))
    }

    fn fields(&mut self, schema: &Value) -> Vec<Field> {
        let required: Vec<&str> = strings(schema, "required");
        let properties = schema.get("properties").and_then(Value::as_object);
        let mut fields = Vec::new();
        for (name, property) in properties.into_iter().flatten() {
            fields.push(Field {
                required: required.contains(&name.as_str()),
                default: property.get("default").cloned(),
                ..plain_field(name, self.ty(property))
            });
        }
        fields
    }

    fn list(&mut self, schema: &Value) -> TypeId {
        let item = match schema.get("items") {
            Some(items) => self.ty(items),
            None => self.add(Type::Free),
        };
        let topology = match text(schema, LIST_TYPE) {
            Some("set") => Topology::Set,
            Some("map") => Topology::Keyed(
                strings(schema, LIST_MAP_KEYS)
                    .into_iter()
                    .map(Arc::from)
                    .collect(),
            ),
            _ => Topology::Atomic,
        };
        let (min_items, max_items) = (number(schema, "minItems"), number(schema, "maxItems"));
        self.add(Type::List(List {
            item,
            topology,
            min_items,
            max_items,
            nullable: is(schema, "nullable"),
        }))
    }

    /// Copies a built-in type with all that it leads to.
    fn graft(&mut self, id: TypeId) -> TypeId {
        if let Some(copy) = self.grafted.get(&id.0) {
            return *copy;
        }
        let copy = self.add(Type::Free);
        self.grafted.insert(id.0, copy);
        let Some(original) = Schemas::builtin().types().get(id.0 as usize) else {
            return copy;
        };
        let mut ty = original.clone();
        match &mut ty {
            Type::Struct(object) => {
                for field in &mut object.fields {
                    field.ty = self.graft(field.ty);
                }
            }
            Type::Map(map) => map.value = self.graft(map.value),
            Type::List(list) => list.item = self.graft(list.item),
            Type::Scalar(_) | Type::Free => {}
        }
        if let Some(slot) = self.types.get_mut(copy.0 as usize) {
            *slot = ty;
        }
        copy
    }

    fn add(&mut self, ty: Type) -> TypeId {
        self.types.push(ty);
        TypeId(u32::try_from(self.types.len() - 1).unwrap_or(u32::MAX))
    }
}

fn plain_field(name: &str, ty: TypeId) -> Field {
    Field {
        name: name.into(),
        ty,
        required: false,
        presence: Presence::AsSent,
        default: None,
        patch: Patch::default(),
        numbers: Box::default(),
    }
}

fn scalar_type(kind: ScalarKind, constraints: Option<Box<Constraints>>) -> Type {
    Type::Scalar(Scalar {
        kind,
        go_name: kind.go_name().into(),
        constraints,
    })
}

fn constraints(schema: &Value) -> Option<Box<Constraints>> {
    let found = Constraints {
        allowed: schema
            .get("enum")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default(),
        minimum: schema.get("minimum").and_then(Value::as_f64),
        maximum: schema.get("maximum").and_then(Value::as_f64),
        min_length: number(schema, "minLength"),
        max_length: number(schema, "maxLength"),
        is_time: text(schema, "format") == Some("date-time"),
        nullable: is(schema, "nullable"),
    };
    Some(Box::new(found))
}

fn is(schema: &Value, flag: &str) -> bool {
    schema.get(flag) == Some(&Value::Bool(true))
}

fn number(schema: &Value, key: &str) -> Option<u64> {
    schema.get(key)?.as_u64()
}

fn text<'a>(schema: &'a Value, key: &str) -> Option<&'a str> {
    schema.get(key)?.as_str()
}

fn strings<'a>(schema: &'a Value, key: &str) -> Vec<&'a str> {
    schema
        .get(key)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}
