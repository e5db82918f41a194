//! `cargo xtask schemas <kubernetes module directory>`: condenses what the embedded API server
//! must know of the built-in types into `crates/apiserver/data/*.types`.
//!
//! Two sources, both facts only: the OpenAPI v3 documents (field types, list and map topology,
//! patch strategies, defaults, required fields) and the Go type declarations (which fields a
//! server leaves out when they are zero, and what its decoder calls them in errors). No
//! description is read into the output.

mod go;
mod openapi;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use self::go::GoTypes;
use self::openapi::{Documents, Schema, TypeName};

/// Group versions whose kinds the embedded server serves.
const GROUP_VERSIONS: &[(&str, &str)] = &[
    ("", "v1"),
    ("admissionregistration.k8s.io", "v1"),
    ("apiextensions.k8s.io", "v1"),
    ("apiregistration.k8s.io", "v1"),
    ("apps", "v1"),
    ("authentication.k8s.io", "v1"),
    ("authorization.k8s.io", "v1"),
    ("autoscaling", "v1"),
    ("autoscaling", "v2"),
    ("batch", "v1"),
    ("certificates.k8s.io", "v1"),
    ("coordination.k8s.io", "v1"),
    ("discovery.k8s.io", "v1"),
    ("events.k8s.io", "v1"),
    ("networking.k8s.io", "v1"),
    ("node.k8s.io", "v1"),
    ("policy", "v1"),
    ("rbac.authorization.k8s.io", "v1"),
    ("scheduling.k8s.io", "v1"),
    ("storage.k8s.io", "v1"),
];

/// Types of requests and answers that belong to no group version of their own.
const META_KINDS: &[&str] = &["DeleteOptions", "ObjectMeta", "Status"];

/// What to read.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The root of the `k8s.io/kubernetes` module in the Go module cache; the staging modules of
    /// the same version lie beside it.
    kubernetes: PathBuf,
}

/// Reads the sources of one Kubernetes version and rewrites the data files.
pub fn run(options: &Options) -> Result<()> {
    let documents = Documents::read(&options.kubernetes.join("api/openapi-spec/v3"))?;
    let mut go = GoTypes::new(StagingModules::beside(&options.kubernetes)?);
    let packages = reachable(&documents)?;
    let out = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/apiserver/data");
    for (package, types) in packages {
        let text = render(&package, &types, &documents, &mut go)
            .with_context(|| format!("package {package}"))?;
        let file = out.join(format!("{}.types", package.replace('/', ".")));
        std::fs::write(&file, text).with_context(|| format!("writing {}", file.display()))?;
    }
    Ok(())
}

/// Every type that a served kind leads to, by package.
fn reachable(documents: &Documents) -> Result<BTreeMap<String, BTreeSet<TypeName>>> {
    let mut todo: Vec<TypeName> = documents.kinds(GROUP_VERSIONS);
    todo.extend(META_KINDS.iter().map(|kind| TypeName::new("meta/v1", kind)));
    let mut packages: BTreeMap<String, BTreeSet<TypeName>> = BTreeMap::new();
    while let Some(name) = todo.pop() {
        if packages
            .entry(name.package.clone())
            .or_default()
            .insert(name.clone())
        {
            todo.extend(documents.get(&name)?.references());
        }
    }
    Ok(packages)
}

fn render(
    package: &str,
    types: &BTreeSet<TypeName>,
    documents: &Documents,
    go: &mut GoTypes,
) -> Result<String> {
    let mut text = String::new();
    for name in types {
        let schema = documents.get(name)?;
        let kind = schema.group_version_kind(GROUP_VERSIONS);
        write!(text, "type {}", name.name)?;
        if let Some((group, version)) = kind {
            write!(
                text,
                " kind={}",
                if group.is_empty() {
                    version.to_owned()
                } else {
                    format!("{group}/{version}")
                }
            )?;
        }
        if schema.is_atomic_map() {
            text.push_str(" atomic");
        }
        text.push('\n');
        for (field, property) in schema.properties() {
            let line = render_field(
                package,
                field,
                &property,
                schema.requires(field),
                go.field(name, field)?,
            )
            .with_context(|| format!("{}.{field}", name.name))?;
            writeln!(text, " {line}")?;
        }
    }
    Ok(text)
}

fn render_field(
    package: &str,
    field: &str,
    property: &Schema<'_>,
    required: bool,
    go: Option<go::Field>,
) -> Result<String> {
    let go = go.context("no such field in the Go type")?;
    let mut line = format!("{field} ");
    if go.is_pointer() {
        line.push('*');
    }
    line.push_str(&property.type_token(package, &go)?);
    if required {
        line.push_str(" !");
    }
    if go.is_always_encoded(property) {
        line.push_str(" +");
    }
    for flag in property
        .merge_flags()?
        .into_iter()
        .chain([go.number_flag()])
    {
        if flag.is_empty() {
            continue;
        }
        ensure!(!flag.contains(' '), "flag with a space: {flag}");
        line.push(' ');
        line.push_str(&flag);
    }
    if let Some(default) = property.default_beyond(go.is_always_encoded(property)) {
        write!(line, " default={default}")?;
    }
    Ok(line)
}

/// Where the Go module cache keeps the staging modules of one Kubernetes version.
struct StagingModules {
    cache: PathBuf,
    version: String,
}

impl StagingModules {
    fn beside(kubernetes: &Path) -> Result<Self> {
        let name = kubernetes
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let version = name.strip_prefix("kubernetes@v1.").with_context(|| {
            format!(
                "{} is not a kubernetes@v1.x.y directory",
                kubernetes.display()
            )
        })?;
        let cache = kubernetes
            .parent()
            .context("no module cache around it")?
            .to_owned();
        Ok(Self {
            cache,
            version: format!("v0.{version}"),
        })
    }

    /// The directory of the Go package that declares the types of `package`.
    fn directory(&self, package: &str) -> PathBuf {
        let (module, path) = match package {
            "meta/v1" => ("apimachinery", "pkg/apis/meta/v1".to_owned()),
            "apiextensions/v1" => (
                "apiextensions-apiserver",
                "pkg/apis/apiextensions/v1".to_owned(),
            ),
            "apiregistration/v1" => ("kube-aggregator", "pkg/apis/apiregistration/v1".to_owned()),
            other => ("api", other.to_owned()),
        };
        self.cache
            .join(format!("{module}@{}", self.version))
            .join(path)
    }
}
