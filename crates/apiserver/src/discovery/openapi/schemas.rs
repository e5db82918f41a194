//! The types of a group version as OpenAPI schemas: what `kubectl explain` shows.

use serde_json::{Map, Value, json};

use crate::resources::Resource;
use crate::schema::{Node, ScalarKind, Struct, Topology, Type};

/// The schema of a resource's kind, and of every type that it refers to.
pub(super) fn describe(resource: &Resource, schemas: &mut Map<String, Value>) {
    let api = &resource.api;
    let root = resource.schema.root();
    let Type::Struct(object) = root.ty() else {
        return;
    };
    let mut described = properties(root, object, schemas);
    described["x-kubernetes-group-version-kind"] =
        json!([{"group": api.group, "version": api.version, "kind": api.kind}]);
    let prefix = if api.group.is_empty() {
        "core"
    } else {
        &*api.group
    };
    schemas.insert(format!("{prefix}.{}.{}", api.version, api.kind), described);
}

fn schema(node: Node<'_>, schemas: &mut Map<String, Value>) -> Value {
    match node.ty() {
        Type::Scalar(scalar) => scalar_schema(scalar.kind),
        Type::List(list) => {
            let mut described = json!({"type": "array", "items": schema(node.item(), schemas)});
            match &list.topology {
                Topology::Atomic => described["x-kubernetes-list-type"] = "atomic".into(),
                Topology::Set => described["x-kubernetes-list-type"] = "set".into(),
                Topology::Keyed(keys) => {
                    let keys: Vec<&str> = keys.iter().map(|key| &**key).collect();
                    described["x-kubernetes-list-type"] = "map".into();
                    described["x-kubernetes-list-map-keys"] = json!(keys);
                }
            }
            described
        }
        Type::Map(map) => {
            json!({"type": "object", "additionalProperties": schema(node.at(map.value), schemas)})
        }
        Type::Free => json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        // The types of custom kinds have no names.
        Type::Struct(object) if object.name.is_empty() => properties(node, object, schemas),
        Type::Struct(object) => {
            let name = format!("types.{}", object.name);
            if !schemas.contains_key(&name) {
                // Types refer to themselves: the name is taken before the fields are described.
                schemas.insert(name.clone(), Value::Null);
                let described = properties(node, object, schemas);
                schemas.insert(name.clone(), described);
            }
            // A reference beside nothing else is lost by some readers.
            json!({"allOf": [{"$ref": format!("#/components/schemas/{name}")}]})
        }
    }
}

fn properties(node: Node<'_>, object: &Struct, schemas: &mut Map<String, Value>) -> Value {
    let properties: Map<String, Value> = object
        .fields
        .iter()
        .map(|field| (field.name.to_string(), schema(node.at(field.ty), schemas)))
        .collect();
    let required: Vec<&str> = object
        .fields
        .iter()
        .filter(|field| field.required)
        .map(|field| &*field.name)
        .collect();
    let mut described = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        described["required"] = json!(required);
    }
    described
}

fn scalar_schema(kind: ScalarKind) -> Value {
    match kind {
        ScalarKind::String | ScalarKind::Quantity => json!({"type": "string"}),
        ScalarKind::Bytes => json!({"type": "string", "format": "byte"}),
        ScalarKind::Time | ScalarKind::MicroTime => {
            json!({"type": "string", "format": "date-time"})
        }
        ScalarKind::IntOrString => {
            json!({"oneOf": [{"type": "integer"}, {"type": "string"}], "format": "int-or-string"})
        }
        ScalarKind::Bool => json!({"type": "boolean"}),
        ScalarKind::Int32 => json!({"type": "integer", "format": "int32"}),
        ScalarKind::Int64 => json!({"type": "integer", "format": "int64"}),
        ScalarKind::Double => json!({"type": "number", "format": "double"}),
    }
}
