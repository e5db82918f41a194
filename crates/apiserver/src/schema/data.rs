//! The compiled-in facts of the built-in types.
//!
//! `data/*.types`, written by `cargo xtask schemas`, one file a Go package. A line `type NAME`
//! starts a type; `kind=GROUP/VERSION` marks a served kind and `atomic` an object that is owned
//! whole. Each line under it is a field: its name, its type, its flags.
//!
//! | type | |
//! |---|---|
//! | `string` `bytes` `time` `microtime` `quantity` `intstr` `bool` `int32` `int64` `double` `any` | scalars; `~v1.Name` after one names its Go type |
//! | `Name`, `package.Name` | a type of this package, of another |
//! | `[]T`, `map:T` | list, map |
//! | `*T` | a pointer in Go: zero and absent differ |
//!
//! | flag | |
//! |---|---|
//! | `!` | required |
//! | `+` | encoded even when zero |
//! | `keys=a,b`, `set` | list topology, else atomic |
//! | `atomic`, `granular` | map topology, where it is not the type's own |
//! | `merge`, `merge=key`, `retainKeys`, `replace` | patch strategy |
//! | `#2.1` | protobuf number: field 1 of the embedded message 2 |
//! | `default=JSON` | a default; that of a field with `+` is the zero value where none is given |

use std::collections::HashMap;
use std::sync::Arc;

use evenkeel_meta::GroupVersionKind;
use serde_json::Value;

use super::types::{
    Field, List, Map, Patch, Presence, Scalar, ScalarKind, Struct, Topology, Type, TypeId,
};

/// Package and text of each data file.
const PACKAGES: &[(&str, &str)] = &[
    (
        "admissionregistration/v1",
        include_str!("../../data/admissionregistration.v1.types"),
    ),
    (
        "apiextensions/v1",
        include_str!("../../data/apiextensions.v1.types"),
    ),
    (
        "apiregistration/v1",
        include_str!("../../data/apiregistration.v1.types"),
    ),
    ("apps/v1", include_str!("../../data/apps.v1.types")),
    (
        "authentication/v1",
        include_str!("../../data/authentication.v1.types"),
    ),
    (
        "authorization/v1",
        include_str!("../../data/authorization.v1.types"),
    ),
    (
        "autoscaling/v1",
        include_str!("../../data/autoscaling.v1.types"),
    ),
    (
        "autoscaling/v2",
        include_str!("../../data/autoscaling.v2.types"),
    ),
    ("batch/v1", include_str!("../../data/batch.v1.types")),
    (
        "certificates/v1",
        include_str!("../../data/certificates.v1.types"),
    ),
    (
        "coordination/v1",
        include_str!("../../data/coordination.v1.types"),
    ),
    ("core/v1", include_str!("../../data/core.v1.types")),
    (
        "discovery/v1",
        include_str!("../../data/discovery.v1.types"),
    ),
    ("events/v1", include_str!("../../data/events.v1.types")),
    ("meta/v1", include_str!("../../data/meta.v1.types")),
    (
        "networking/v1",
        include_str!("../../data/networking.v1.types"),
    ),
    ("node/v1", include_str!("../../data/node.v1.types")),
    ("policy/v1", include_str!("../../data/policy.v1.types")),
    ("rbac/v1", include_str!("../../data/rbac.v1.types")),
    (
        "scheduling/v1",
        include_str!("../../data/scheduling.v1.types"),
    ),
    (
        "scheduling/v1alpha3",
        include_str!("../../data/scheduling.v1alpha3.types"),
    ),
    ("storage/v1", include_str!("../../data/storage.v1.types")),
];

/// All built-in types, and where each kind and each named type is among them.
pub(super) struct Data {
    pub(super) types: Arc<[Type]>,
    pub(super) kinds: Vec<(GroupVersionKind, TypeId)>,
    pub(super) names: HashMap<String, TypeId>,
}

/// A line that does not follow the format.
#[derive(Debug, thiserror::Error)]
#[error("{package}, line {line}: {fault}")]
pub(super) struct DataError {
    package: &'static str,
    line: usize,
    fault: String,
}

pub(super) fn load() -> Result<Data, DataError> {
    let mut parser = Parser::default();
    for (package, text) in PACKAGES {
        for (number, line) in text.lines().enumerate() {
            parser.line(package, line).map_err(|fault| DataError {
                package,
                line: number + 1,
                fault,
            })?;
        }
        parser.finish_type();
    }
    parser.copy_granular();
    Ok(Data {
        types: parser.types.into(),
        kinds: parser.kinds,
        names: parser.names,
    })
}

#[derive(Default)]
struct Parser {
    types: Vec<Type>,
    kinds: Vec<(GroupVersionKind, TypeId)>,
    /// By `package.Name`. A type may be named before it is declared.
    names: HashMap<String, TypeId>,
    /// Types without a name, by what they are written as.
    inline: HashMap<String, TypeId>,
    /// Granular copies of types that are atomic elsewhere: the copy, the original.
    granular: Vec<(TypeId, TypeId)>,
    open: Option<(TypeId, Arc<str>, bool, Vec<Field>)>,
}

impl Parser {
    fn line(&mut self, package: &str, line: &str) -> Result<(), String> {
        if let Some(rest) = line.strip_prefix("type ") {
            self.finish_type();
            return self.start_type(package, rest);
        }
        let field = self.field(package, line.trim_start())?;
        let Some((.., fields)) = &mut self.open else {
            return Err("a field outside a type".to_owned());
        };
        fields.push(field);
        Ok(())
    }

    fn start_type(&mut self, package: &str, line: &str) -> Result<(), String> {
        let mut words = line.split(' ');
        let name = words.next().unwrap_or_default();
        let id = self.named(package, name);
        let mut atomic = false;
        for flag in words {
            match flag.split_once('=') {
                Some(("kind", group_version)) => {
                    self.kinds
                        .push((GroupVersionKind::from_api_version(group_version, name), id));
                }
                None if flag == "atomic" => atomic = true,
                _ => return Err(format!("type flag {flag:?}")),
            }
        }
        self.open = Some((id, name.into(), atomic, Vec::new()));
        Ok(())
    }

    fn finish_type(&mut self) {
        let Some((id, name, atomic, mut fields)) = self.open.take() else {
            return;
        };
        fields.sort_by(|left, right| left.name.cmp(&right.name));
        let object = Struct {
            name,
            fields: fields.into(),
            atomic,
            open: false,
            nullable: true,
        };
        if let Some(slot) = self.types.get_mut(id.0 as usize) {
            *slot = Type::Struct(object);
        }
    }

    fn field(&mut self, package: &str, line: &str) -> Result<Field, String> {
        let (line, default) = match line.split_once(" default=") {
            Some((line, json)) => {
                let default: Value =
                    serde_json::from_str(json).map_err(|error| error.to_string())?;
                (line, Some(default))
            }
            None => (line, None),
        };
        let mut words = line.split(' ');
        let (Some(name), Some(token)) = (words.next(), words.next()) else {
            return Err("a field has a name and a type".to_owned());
        };
        let flags = Flags::parse(words)?;
        let pointer = token.starts_with('*');
        let token = token.trim_start_matches('*');
        let ty = self.ty(package, token, &flags)?;
        let nullable = pointer
            || token.starts_with("[]")
            || token.starts_with("map:")
            || matches!(token, "any" | "bytes" | "time" | "microtime");
        Ok(Field {
            name: name.into(),
            ty,
            required: flags.required,
            presence: if flags.always {
                Presence::Always { nullable }
            } else if pointer {
                Presence::AsSent
            } else {
                Presence::Omitted
            },
            default,
            patch: flags.patch,
            numbers: flags.numbers.into(),
        })
    }

    fn ty(&mut self, package: &str, token: &str, flags: &Flags) -> Result<TypeId, String> {
        if let Some(item) = token.strip_prefix("[]") {
            let item = self.ty(package, item, &Flags::default())?;
            let list = List {
                item,
                topology: flags.topology.clone(),
                min_items: None,
                max_items: None,
                nullable: true,
            };
            return Ok(self.add(Type::List(list)));
        }
        if let Some(value) = token.strip_prefix("map:") {
            let value = self.ty(package, value, &Flags::default())?;
            return Ok(self.add(Type::Map(Map {
                value,
                atomic: flags.atomic,
                nullable: true,
            })));
        }
        if token == "any" {
            return Ok(self.inline(token, Type::Free));
        }
        let (base, go_name) = token
            .split_once('~')
            .map_or((token, None), |(base, name)| (base, Some(name)));
        if let Some(kind) = scalar(base) {
            let go_name = go_name.unwrap_or(kind.go_name()).into();
            return Ok(self.inline(
                token,
                Type::Scalar(Scalar {
                    kind,
                    go_name,
                    constraints: None,
                }),
            ));
        }
        let (package, name) = token.rsplit_once('.').unwrap_or((package, token));
        if !name.starts_with(char::is_uppercase) {
            return Err(format!("type {token:?}"));
        }
        let named = self.named(package, name);
        if !flags.granular {
            return Ok(named);
        }
        let copy = self.add(Type::Free);
        self.granular.push((copy, named));
        Ok(copy)
    }

    /// Once every type is declared.
    fn copy_granular(&mut self) {
        for (copy, original) in std::mem::take(&mut self.granular) {
            let Some(Type::Struct(object)) = self.types.get(original.0 as usize) else {
                continue;
            };
            let granular = Type::Struct(Struct {
                atomic: false,
                ..object.clone()
            });
            if let Some(slot) = self.types.get_mut(copy.0 as usize) {
                *slot = granular;
            }
        }
    }

    fn named(&mut self, package: &str, name: &str) -> TypeId {
        let key = format!("{package}.{name}");
        if let Some(id) = self.names.get(&key) {
            return *id;
        }
        let id = self.add(Type::Free);
        self.names.insert(key, id);
        id
    }

    fn inline(&mut self, token: &str, ty: Type) -> TypeId {
        if let Some(id) = self.inline.get(token) {
            return *id;
        }
        let id = self.add(ty);
        self.inline.insert(token.to_owned(), id);
        id
    }

    fn add(&mut self, ty: Type) -> TypeId {
        self.types.push(ty);
        TypeId(u32::try_from(self.types.len() - 1).unwrap_or(u32::MAX))
    }
}

struct Flags {
    required: bool,
    always: bool,
    atomic: bool,
    granular: bool,
    topology: Topology,
    patch: Patch,
    numbers: Vec<u32>,
}

impl Default for Flags {
    fn default() -> Self {
        Self {
            required: false,
            always: false,
            atomic: false,
            granular: false,
            topology: Topology::Atomic,
            patch: Patch::default(),
            numbers: Vec::new(),
        }
    }
}

impl Flags {
    fn parse<'a>(words: impl Iterator<Item = &'a str>) -> Result<Self, String> {
        let mut flags = Self::default();
        for word in words {
            if let Some(numbers) = word.strip_prefix('#') {
                let numbers: Result<_, _> = numbers.split('.').map(str::parse).collect();
                flags.numbers = numbers.map_err(|_| format!("number {word:?}"))?;
                continue;
            }
            match word.split_once('=') {
                Some(("keys", keys)) => {
                    flags.topology = Topology::Keyed(keys.split(',').map(Arc::from).collect());
                }
                Some(("merge", key)) => {
                    flags.patch.merge = true;
                    flags.patch.merge_key = Some(key.into());
                }
                None if word == "!" => flags.required = true,
                None if word == "+" => flags.always = true,
                None if word == "set" => flags.topology = Topology::Set,
                None if word == "atomic" => flags.atomic = true,
                None if word == "granular" => flags.granular = true,
                None if word == "merge" => flags.patch.merge = true,
                None if word == "retainKeys" => flags.patch.retain_keys = true,
                None if word == "replace" => flags.patch.replace = true,
                _ => return Err(format!("flag {word:?}")),
            }
        }
        Ok(flags)
    }
}

fn scalar(token: &str) -> Option<ScalarKind> {
    Some(match token {
        "string" => ScalarKind::String,
        "bytes" => ScalarKind::Bytes,
        "time" => ScalarKind::Time,
        "microtime" => ScalarKind::MicroTime,
        "quantity" => ScalarKind::Quantity,
        "intstr" => ScalarKind::IntOrString,
        "bool" => ScalarKind::Bool,
        "int32" => ScalarKind::Int32,
        "int" | "int64" => ScalarKind::Int64,
        "double" => ScalarKind::Double,
        _ => return None,
    })
}
