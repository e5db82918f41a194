//! Facts of the Go type declarations: which fields are pointers, which are left out when zero.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use anyhow::{Context as _, Result};

use super::StagingModules;
use super::openapi::{Schema, TypeName};

/// The struct declarations of the Go packages asked for, read on first use.
pub(super) struct GoTypes {
    modules: StagingModules,
    packages: HashMap<String, Package>,
}

impl GoTypes {
    pub(super) fn new(modules: StagingModules) -> Self {
        Self {
            modules,
            packages: HashMap::new(),
        }
    }

    /// The field that encodes as `json` in the struct `name`, embedded structs included.
    pub(super) fn field(&mut self, name: &TypeName, json: &str) -> Result<Option<Field>> {
        let directory = self.modules.directory(&name.package);
        if !self.packages.contains_key(&name.package) {
            let package = Package::read(&directory)
                .with_context(|| format!("Go package {}", directory.display()))?;
            self.packages.insert(name.package.clone(), package);
        }
        Ok(self
            .packages
            .get(&name.package)
            .and_then(|package| package.field(&name.name, json)))
    }
}

struct Package {
    /// As reflection prints it before a type's name: the version.
    name: String,
    structs: BTreeMap<String, Vec<Member>>,
    imports: HashMap<String, String>,
}

enum Member {
    /// Its fields are the outer struct's in JSON; in protobuf it is a message of this number.
    Embedded(String, Option<u32>),
    Field {
        json: String,
        field: Field,
    },
}

impl Package {
    fn read(directory: &Path) -> Result<Self> {
        let name = directory
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default()
            .to_owned();
        let mut package = Self {
            name,
            structs: BTreeMap::new(),
            imports: HashMap::new(),
        };
        for entry in std::fs::read_dir(directory)? {
            let path = entry?.path();
            let file = path
                .file_name()
                .and_then(|name| name.to_str())
                .unwrap_or_default();
            let generated =
                file.starts_with("zz_") || file.ends_with(".pb.go") || file.ends_with("_test.go");
            if file.ends_with(".go") && !generated {
                package.parse(&std::fs::read_to_string(&path)?);
            }
        }
        Ok(package)
    }

    fn parse(&mut self, text: &str) {
        let mut current: Option<(String, Vec<Member>)> = None;
        for line in text.lines() {
            let line = line.trim();
            if let Some((name, members)) = &mut current {
                if line == "}" {
                    self.structs
                        .insert(std::mem::take(name), std::mem::take(members));
                    current = None;
                } else if let Some(member) = parse_member(line, &self.name, &self.imports) {
                    members.push(member);
                }
            } else if let Some(name) = line
                .strip_prefix("type ")
                .and_then(|rest| rest.strip_suffix(" struct {"))
            {
                current = Some((name.to_owned(), Vec::new()));
            } else if let Some((alias, path)) = parse_import(line) {
                self.imports.insert(alias, path);
            }
        }
    }

    fn field(&self, name: &str, json: &str) -> Option<Field> {
        let members = self.structs.get(name)?;
        let own = members.iter().find_map(|member| match member {
            Member::Field { json: found, field } if found == json => Some(field.clone()),
            _ => None,
        });
        own.or_else(|| {
            members.iter().find_map(|member| match member {
                Member::Embedded(inner, _) if inner == "TypeMeta" => {
                    matches!(json, "apiVersion" | "kind").then(|| Field::omitted("string"))
                }
                Member::Embedded(inner, number) => {
                    let mut field = self.field(inner, json)?;
                    if !field.numbers.is_empty() {
                        field.numbers.splice(0..0, *number);
                    }
                    Some(field)
                }
                Member::Field { .. } => None,
            })
        })
    }
}

/// `alias "path/last"` or `"path/last"` inside an import block: what the alias stands for.
fn parse_import(line: &str) -> Option<(String, String)> {
    let (alias, rest) = line.split_once('"')?;
    let last = rest.strip_suffix('"')?.rsplit('/').next()?.to_owned();
    let alias = alias.trim();
    if alias.contains([' ', '(', '=']) {
        return None;
    }
    Some((
        if alias.is_empty() {
            last.clone()
        } else {
            alias.to_owned()
        },
        last,
    ))
}

fn parse_member(line: &str, package: &str, imports: &HashMap<String, String>) -> Option<Member> {
    if line.starts_with("//") {
        return None;
    }
    let (declaration, tags) = line.split_once('`')?;
    let tag = tags.split_once("json:\"")?.1.split('"').next()?;
    let number = protobuf_number(tags);
    let mut parts = tag.split(',');
    let json = parts.next()?.to_owned();
    let options: Vec<&str> = parts.collect();
    let mut words = declaration.split_whitespace();
    let first = words.next()?;
    let Some(expression) = words.next() else {
        let embedded = first.rsplit('.').next()?.to_owned();
        return if json.is_empty() {
            Some(Member::Embedded(embedded, number))
        } else {
            let field = Field::new(first, &options, number, package, imports);
            Some(Member::Field { json, field })
        };
    };
    Some(Member::Field {
        json,
        field: Field::new(expression, &options, number, package, imports),
    })
}

/// The second part of a `protobuf:"bytes,3,opt,name=..."` tag.
fn protobuf_number(tags: &str) -> Option<u32> {
    let tag = tags.split_once("protobuf:\"")?.1;
    tag.split(',').nth(1)?.parse().ok()
}

/// One Go struct field.
#[derive(Clone)]
pub(super) struct Field {
    /// The type with its package names resolved: `*v1.LabelSelector`, `map[string]string`.
    expression: String,
    omit_empty: bool,
    omit_zero: bool,
    /// The field's number in protobuf, behind those of the messages that embed it.
    numbers: Vec<u32>,
}

impl Field {
    fn new(
        expression: &str,
        options: &[&str],
        number: Option<u32>,
        package: &str,
        imports: &HashMap<String, String>,
    ) -> Self {
        Self {
            expression: qualify(expression, package, imports),
            omit_empty: options.contains(&"omitempty"),
            omit_zero: options.contains(&"omitzero"),
            numbers: number.into_iter().collect(),
        }
    }

    fn omitted(expression: &str) -> Self {
        Self {
            expression: expression.to_owned(),
            omit_empty: true,
            omit_zero: false,
            numbers: Vec::new(),
        }
    }

    /// `#2.1`: field 1 of the embedded message 2. Empty where protobuf does not have it.
    pub(super) fn number_flag(&self) -> String {
        let numbers: Vec<String> = self.numbers.iter().map(u32::to_string).collect();
        if numbers.is_empty() {
            String::new()
        } else {
            format!("#{}", numbers.join("."))
        }
    }

    pub(super) fn is_pointer(&self) -> bool {
        self.expression.starts_with('*')
    }

    /// Whether the field is in the encoded object even when it was not in the decoded one.
    pub(super) fn is_always_encoded(&self, property: &Schema<'_>) -> bool {
        let is_value = !self.is_pointer()
            && !self.expression.starts_with("map[")
            && !self.expression.starts_with("[]");
        !self.omit_zero && (!self.omit_empty || (is_value && property.is_struct()))
    }

    pub(super) fn element(&self) -> TypeExpression<'_> {
        TypeExpression(self.expression.trim_start_matches('*'))
    }
}

/// A Go type as reflection prints it.
#[derive(Clone, Copy)]
pub(super) struct TypeExpression<'a>(&'a str);

impl<'a> TypeExpression<'a> {
    pub(super) fn qualified(self) -> &'a str {
        self.0
    }

    pub(super) fn item(self) -> Option<Self> {
        self.0
            .strip_prefix("[]")
            .map(|inner| Self(inner.trim_start_matches('*')))
    }

    pub(super) fn value(self) -> Option<Self> {
        let (_, value) = self.0.strip_prefix("map[")?.split_once(']')?;
        Some(Self(value.trim_start_matches('*')))
    }
}

/// Replaces import aliases by package names, and gives local types that of their package.
fn qualify(expression: &str, package: &str, imports: &HashMap<String, String>) -> String {
    let mut out = String::new();
    let mut word = String::new();
    for character in expression.chars().chain(['\n']) {
        if character.is_alphanumeric() || character == '_' || character == '.' {
            word.push(character);
            continue;
        }
        if !word.is_empty() {
            out.push_str(&qualify_word(&word, package, imports));
            word.clear();
        }
        if character != '\n' {
            out.push(character);
        }
    }
    out
}

fn qualify_word(word: &str, package: &str, imports: &HashMap<String, String>) -> String {
    match word.split_once('.') {
        Some((alias, name)) => {
            let package = imports.get(alias).map_or(alias, String::as_str);
            format!("{package}.{name}")
        }
        None if word.starts_with(char::is_uppercase) => format!("{package}.{word}"),
        None if word == "byte" => "uint8".to_owned(),
        None => word.to_owned(),
    }
}
