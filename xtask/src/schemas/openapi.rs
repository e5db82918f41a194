//! Facts of the OpenAPI v3 documents.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::go;

const REFERENCE: &str = "#/components/schemas/";

/// A type by its package (`apps/v1`) and name (`Deployment`).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TypeName {
    pub(super) package: String,
    pub(super) name: String,
}

impl TypeName {
    pub(super) fn new(package: &str, name: &str) -> Self {
        Self {
            package: package.to_owned(),
            name: name.to_owned(),
        }
    }

    /// `io.k8s.api.apps.v1.Deployment` is `apps/v1` `Deployment`.
    fn parse(id: &str) -> Self {
        let mut parts = id.rsplit('.');
        let name = parts.next().unwrap_or_default();
        let version = parts.next().unwrap_or_default();
        let group = parts.next().unwrap_or_default();
        Self::new(&format!("{group}/{version}"), name)
    }
}

/// All documents of one version, their schemas merged.
pub(super) struct Documents {
    schemas: BTreeMap<TypeName, Value>,
}

impl Documents {
    pub(super) fn read(dir: &Path) -> Result<Self> {
        let mut schemas = BTreeMap::new();
        for entry in std::fs::read_dir(dir).with_context(|| format!("reading {}", dir.display()))? {
            let path = entry?.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let text = std::fs::read(&path)?;
            let document: Value = serde_json::from_slice(&text)
                .with_context(|| format!("parsing {}", path.display()))?;
            let Some(found) = document
                .pointer("/components/schemas")
                .and_then(Value::as_object)
            else {
                continue;
            };
            schemas.extend(
                found
                    .iter()
                    .map(|(id, schema)| (TypeName::parse(id), schema.clone())),
            );
        }
        Ok(Self { schemas })
    }

    pub(super) fn get(&self, name: &TypeName) -> Result<Schema<'_>> {
        let schema = self.schemas.get(name);
        Ok(Schema(schema.with_context(|| {
            format!("no schema {}.{}", name.package, name.name)
        })?))
    }

    /// The kinds of these group versions; lists of them left out.
    pub(super) fn kinds(&self, group_versions: &[(&str, &str)]) -> Vec<TypeName> {
        self.schemas
            .iter()
            .filter(|(name, schema)| {
                let schema = Schema(schema);
                let is_list = schema
                    .properties()
                    .any(|(field, items)| field == "items" && items.str("type") == Some("array"));
                name.package != "meta/v1"
                    && !is_list
                    && schema.group_version_kind(group_versions).is_some()
            })
            .map(|(name, _)| name.clone())
            .collect()
    }
}

/// One schema, of a type or of a field.
#[derive(Clone, Copy)]
pub(super) struct Schema<'a>(&'a Value);

impl<'a> Schema<'a> {
    pub(super) fn properties(self) -> impl Iterator<Item = (&'a str, Schema<'a>)> {
        let properties = self.0.get("properties").and_then(Value::as_object);
        properties
            .into_iter()
            .flatten()
            .map(|(name, schema)| (name.as_str(), Schema(schema)))
    }

    pub(super) fn requires(self, field: &str) -> bool {
        self.0
            .get("required")
            .and_then(Value::as_array)
            .is_some_and(|all| all.iter().any(|name| name == field))
    }

    pub(super) fn is_atomic_map(self) -> bool {
        self.str("x-kubernetes-map-type") == Some("atomic")
    }

    /// The served group and version when exactly one of `wanted` is this kind's.
    pub(super) fn group_version_kind(
        self,
        wanted: &[(&'a str, &'a str)],
    ) -> Option<(&'a str, &'a str)> {
        let kinds = self.0.get("x-kubernetes-group-version-kind")?.as_array()?;
        let [kind] = kinds.as_slice() else {
            return None;
        };
        let (group, version) = (kind.get("group")?.as_str()?, kind.get("version")?.as_str()?);
        wanted
            .contains(&(group, version))
            .then_some((group, version))
    }

    /// The named struct types that this type's fields lead to.
    pub(super) fn references(self) -> Vec<TypeName> {
        let mut found = Vec::new();
        for (_, property) in self.properties() {
            property.collect_references(&mut found);
        }
        found
    }

    fn collect_references(self, found: &mut Vec<TypeName>) {
        if let Some(name) = self.reference() {
            if !is_scalar(&name) {
                found.push(name);
            }
        } else if let Some(inner) = self
            .child("items")
            .or_else(|| self.child("additionalProperties"))
        {
            inner.collect_references(found);
        }
    }

    fn reference(self) -> Option<TypeName> {
        let direct = self.str("$ref");
        let wrapped = || self.0.pointer("/allOf/0/$ref").and_then(Value::as_str);
        direct
            .or_else(wrapped)
            .and_then(|text| text.strip_prefix(REFERENCE))
            .map(TypeName::parse)
    }

    /// The field's type in the data format; see `crates/apiserver/src/schema/data.rs`.
    pub(super) fn type_token(self, package: &str, go: &go::Field) -> Result<String> {
        self.token(package, Some(go.element()))
    }

    fn token(self, package: &str, go: Option<go::TypeExpression<'_>>) -> Result<String> {
        if let Some(name) = self.reference() {
            return Ok(match scalar(&name) {
                Some(scalar) => scalar.to_owned(),
                None if name.package == package => name.name,
                None => format!("{}.{}", name.package, name.name),
            });
        }
        let (base, plain) = match (self.str("type"), self.str("format")) {
            (Some("array"), _) => {
                let items = self.child("items").context("array without items")?;
                return Ok(format!(
                    "[]{}",
                    items.token(package, go.and_then(go::TypeExpression::item))?
                ));
            }
            (Some("object"), _) => match self.child("additionalProperties") {
                Some(values) => {
                    return Ok(format!(
                        "map:{}",
                        values.token(package, go.and_then(go::TypeExpression::value))?
                    ));
                }
                None => return Ok("any".to_owned()),
            },
            (Some("string"), None) => ("string", "string"),
            (Some("string"), Some("byte")) => ("bytes", "[]uint8"),
            (Some("string"), Some("date-time")) => ("time", "v1.Time"),
            (Some("boolean"), _) => ("bool", "bool"),
            (Some("integer"), Some("int64")) => ("int64", "int64"),
            (Some("integer"), Some("int32")) => ("int32", "int32"),
            (Some("integer"), None) => ("int", "int"),
            (Some("number"), _) => ("double", "float64"),
            other => bail!("type {other:?}"),
        };
        Ok(match go.map(go::TypeExpression::qualified) {
            Some(named) if named != plain && base != "bytes" => format!("{base}~{named}"),
            _ => base.to_owned(),
        })
    }

    /// Whether the encoded zero value is an object rather than a scalar.
    pub(super) fn is_struct(self) -> bool {
        self.reference().is_some()
    }

    pub(super) fn merge_flags(self) -> Result<Vec<String>> {
        let mut flags = Vec::new();
        match self.str("x-kubernetes-list-type") {
            Some("map") => {
                let keys = self
                    .0
                    .get("x-kubernetes-list-map-keys")
                    .and_then(Value::as_array);
                let keys: Vec<_> = keys
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str)
                    .collect();
                flags.push(format!("keys={}", keys.join(",")));
            }
            Some("set") => flags.push("set".to_owned()),
            Some("atomic") | None => {}
            Some(other) => bail!("list type {other}"),
        }
        match self.str("x-kubernetes-map-type") {
            Some(flag @ ("atomic" | "granular")) => flags.push(flag.to_owned()),
            None => {}
            Some(other) => bail!("map type {other}"),
        }
        for strategy in self
            .str("x-kubernetes-patch-strategy")
            .into_iter()
            .flat_map(|all| all.split(','))
        {
            flags.push(match (strategy, self.str("x-kubernetes-patch-merge-key")) {
                ("merge", Some(key)) => format!("merge={key}"),
                ("merge", None) => "merge".to_owned(),
                ("retainKeys" | "replace", _) => strategy.to_owned(),
                (other, _) => bail!("patch strategy {other}"),
            });
        }
        Ok(flags)
    }

    /// The scalar default, where it says more than that the field is always encoded.
    pub(super) fn default_beyond(self, always_encoded: bool) -> Option<&'a Value> {
        self.0.get("default").filter(|value| match value {
            Value::String(text) => !always_encoded || !text.is_empty(),
            Value::Number(number) => !always_encoded || number.as_f64() != Some(0.0),
            Value::Bool(value) => !always_encoded || *value,
            _ => false,
        })
    }

    fn child(self, key: &str) -> Option<Schema<'a>> {
        self.0.get(key).map(Schema)
    }

    fn str(self, key: &str) -> Option<&'a str> {
        self.0.get(key)?.as_str()
    }
}

fn is_scalar(name: &TypeName) -> bool {
    scalar(name).is_some()
}

/// Named types with an encoding of their own.
fn scalar(name: &TypeName) -> Option<&'static str> {
    Some(match (name.package.as_str(), name.name.as_str()) {
        ("meta/v1", "Time") => "time",
        ("meta/v1", "MicroTime") => "microtime",
        (_, "Quantity") => "quantity",
        (_, "IntOrString") => "intstr",
        (_, "RawExtension" | "FieldsV1" | "JSON") => "any",
        (
            _,
            "JSONSchemaPropsOrArray" | "JSONSchemaPropsOrBool" | "JSONSchemaPropsOrStringArray",
        ) => "any",
        _ => return None,
    })
}
