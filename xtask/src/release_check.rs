//! `cargo xtask release-check`: each crate can be published by itself.
//!
//! Every crate is packed in dependency order, its package unpacked outside the
//! workspace and built there against the other packages, so that a file or a
//! version that only the workspace provides is noticed before a release.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::shell;
use crate::workspace::{Package, Workspace, array};

/// How deep to look.
#[derive(clap::Args)]
pub struct Options {
    /// Only the manifests and READMEs; pack and build nothing.
    #[arg(long)]
    pub(crate) light: bool,
}

/// Checks what a release needs.
///
/// # Errors
/// A manifest or README that is not fit to publish, or a package that does not
/// build outside the workspace.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let workspace = Workspace::load()?;
    let order = workspace.publish_order()?;
    let complaints: Vec<String> = order.iter().flat_map(|package| fitness(package)).collect();
    if !complaints.is_empty() {
        bail!("not fit to publish:\n  {}", complaints.join("\n  "));
    }
    println!("release-check: {} manifests and READMEs", order.len());
    if options.light {
        return Ok(());
    }
    let packages = pack(&workspace, &order)?;
    build(&workspace, &order, &packages)?;
    println!("release-check: semver skipped: no base yet");
    Ok(())
}

/// What crates.io and its readers ask of a manifest.
fn fitness(package: &Package) -> Vec<String> {
    let mut complaints = Vec::new();
    let manifest = &package.manifest;
    for key in ["description", "license", "repository", "rust_version"] {
        if manifest[key].as_str().is_none_or(str::is_empty) {
            complaints.push(format!("{}: no {key}", package.name));
        }
    }
    for (key, most) in [("keywords", 5), ("categories", 5)] {
        let given = array(&manifest[key]).len();
        if !(1..=most).contains(&given) {
            complaints.push(format!("{}: {given} {key}, not 1 to {most}", package.name));
        }
    }
    if package.is_library && manifest["metadata"]["docs"]["rs"].is_null() {
        complaints.push(format!("{}: no [package.metadata.docs.rs]", package.name));
    }
    let readme = package
        .folder
        .join(manifest["readme"].as_str().unwrap_or("README.md"));
    match fs::read_to_string(&readme) {
        Ok(text)
            if text
                .trim_start()
                .starts_with(&format!("# {}", package.name)) => {}
        Ok(_) => complaints.push(format!(
            "{}: its README does not begin with its name",
            package.name
        )),
        Err(error) => complaints.push(format!("{}: {}: {error}", package.name, readme.display())),
    }
    for dependency in package.dependencies.iter().filter(|d| !d.is_dev) {
        if !dependency.has_version {
            complaints.push(format!(
                "{} -> {}: a dependency without a version cannot be published",
                package.name, dependency.name
            ));
        }
    }
    complaints
}

/// Packs all crates in one go (cargo resolves those not published yet among
/// themselves) and returns the folders that the packages were unpacked to.
fn pack(workspace: &Workspace, order: &[&Package]) -> anyhow::Result<Vec<PathBuf>> {
    let mut command = shell::cargo(&workspace.root);
    command.args(["package", "--quiet", "--no-verify", "--allow-dirty"]);
    for package in order {
        command.args(["--package", &package.name]);
    }
    shell::run(&mut command)?;

    let outside = std::env::temp_dir().join(format!("evenkeel-release-{}", std::process::id()));
    fs::create_dir_all(&outside).with_context(|| format!("create {}", outside.display()))?;
    order
        .iter()
        .map(|package| {
            let name = format!("{}-{}", package.name, package.version);
            let archive = workspace
                .target
                .join("package")
                .join(format!("{name}.crate"));
            shell::run(
                Command::new("tar")
                    .arg("-xzf")
                    .arg(&archive)
                    .arg("-C")
                    .arg(&outside),
            )?;
            Ok(outside.join(name))
        })
        .collect()
}

/// Builds each package where no workspace is above it. The others stand in for
/// the registry by path.
fn build(workspace: &Workspace, order: &[&Package], folders: &[PathBuf]) -> anyhow::Result<()> {
    let Some(outside) = folders.first().and_then(|folder| folder.parent()) else {
        return Ok(());
    };
    let mut config = String::from("[patch.crates-io]\n");
    for (package, folder) in order.iter().zip(folders) {
        writeln!(config, "{} = {{ path = {:?} }}", package.name, folder)?;
    }
    // Libraries leave the version of the Kubernetes API to whoever builds them.
    config.push_str("[env]\nK8S_OPENAPI_ENABLED_VERSION = \"1.37\"\n");
    fs::create_dir_all(outside.join(".cargo"))?;
    fs::write(outside.join(".cargo/config.toml"), config)?;

    for (package, folder) in order.iter().zip(folders) {
        println!(
            "release-check: building {} {}",
            package.name, package.version
        );
        // The versions that the workspace was tested with; only the members
        // change their source.
        fs::copy(workspace.root.join("Cargo.lock"), folder.join("Cargo.lock"))
            .context("copy Cargo.lock")?;
        let mut command = shell::cargo(folder);
        command
            .args(["check", "--quiet"])
            .env("CARGO_TARGET_DIR", workspace.target.join("release-check"));
        shell::run(&mut command)
            .with_context(|| format!("{} does not build by itself", package.name))?;
    }
    remove(outside);
    Ok(())
}

/// Left-overs in the temporary directory are no reason to fail.
fn remove(folder: &Path) {
    let _ = fs::remove_dir_all(folder);
}
