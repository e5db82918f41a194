//! What `cargo metadata` says about this workspace, reduced to what tasks ask.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use serde_json::Value;

use crate::shell;

/// The checkout that this task was built from.
pub(crate) fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_path_buf()
}

/// The members of the workspace, in dependency order (lowest first) where
/// [`Workspace::publish_order`] is asked.
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    pub(crate) target: PathBuf,
    pub(crate) packages: Vec<Package>,
}

pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) folder: PathBuf,
    pub(crate) publish: bool,
    pub(crate) is_library: bool,
    pub(crate) has_default_features: bool,
    pub(crate) dependencies: Vec<Dependency>,
    /// The package's manifest as `cargo metadata` prints it.
    pub(crate) manifest: Value,
}

/// A dependency on another member.
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) is_dev: bool,
    pub(crate) has_version: bool,
}

impl Workspace {
    pub(crate) fn load() -> anyhow::Result<Self> {
        let root = root();
        let text = shell::read(shell::cargo(&root).args([
            "metadata",
            "--no-deps",
            "--format-version",
            "1",
        ]))?;
        let metadata: Value = serde_json::from_str(&text).context("cargo metadata")?;
        let target = metadata["target_directory"]
            .as_str()
            .ok_or_else(|| anyhow!("cargo metadata names no target directory"))?
            .into();
        let listed = array(&metadata["packages"]);
        let names: Vec<&str> = listed.iter().filter_map(|p| p["name"].as_str()).collect();
        let packages = listed
            .iter()
            .map(|package| Package::parse(package, &names))
            .collect::<anyhow::Result<_>>()?;
        Ok(Self {
            root,
            target,
            packages,
        })
    }

    /// The packages that are published, each after those it depends on.
    pub(crate) fn publish_order(&self) -> anyhow::Result<Vec<&Package>> {
        let mut waiting: Vec<&Package> = self.packages.iter().filter(|p| p.publish).collect();
        let mut ordered: Vec<&Package> = Vec::new();
        while !waiting.is_empty() {
            let (ready, blocked): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|package| {
                package.dependencies.iter().all(|dependency| {
                    dependency.is_dev || ordered.iter().any(|done| done.name == dependency.name)
                })
            });
            if ready.is_empty() {
                let names: Vec<_> = blocked.iter().map(|p| p.name.as_str()).collect();
                return Err(anyhow!("these cannot be published in any order: {names:?}"));
            }
            ordered.extend(ready);
            waiting = blocked;
        }
        Ok(ordered)
    }
}

impl Package {
    fn parse(package: &Value, members: &[&str]) -> anyhow::Result<Self> {
        let text = |key: &str| {
            package[key]
                .as_str()
                .map(ToOwned::to_owned)
                .ok_or_else(|| anyhow!("cargo metadata: a package without {key}"))
        };
        let dependencies = array(&package["dependencies"])
            .iter()
            .filter_map(|dependency| {
                let name = dependency["name"].as_str()?;
                (dependency["path"].is_string() && members.contains(&name)).then(|| Dependency {
                    name: name.to_owned(),
                    is_dev: dependency["kind"] == "dev",
                    has_version: dependency["req"] != "*",
                })
            })
            .collect();
        let folder = PathBuf::from(text("manifest_path")?)
            .parent()
            .map(Path::to_path_buf)
            .unwrap_or_default();
        Ok(Self {
            name: text("name")?,
            version: text("version")?,
            folder,
            publish: package["publish"].is_null(),
            is_library: array(&package["targets"])
                .iter()
                .any(|target| array(&target["kind"]).iter().any(|kind| kind == "lib")),
            has_default_features: !array(&package["features"]["default"]).is_empty(),
            dependencies,
            manifest: package.clone(),
        })
    }
}

/// The elements of a JSON array; none for anything else.
pub(crate) fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
