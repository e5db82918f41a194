//! `cargo xtask layers`: dependencies point downwards, and the drawing of them
//! in docs/ARCHITECTURE.md is the truth.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, bail};
use toml::{Table, Value};

use crate::workspace::{Package, Workspace};

const BEGIN: &str = "<!-- layers:begin (written by `cargo xtask layers`) -->";
const END: &str = "<!-- layers:end -->";

/// What to do with the drawing.
#[derive(clap::Args)]
pub struct Options {
    /// Fail when the drawing is stale instead of writing it.
    #[arg(long)]
    pub(crate) check: bool,
}

/// Checks every edge, then writes or checks the drawing.
///
/// # Errors
/// An edge that does not descend, a crate without a layer, or a stale drawing.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let workspace = Workspace::load()?;
    let file = workspace.root.join("layers.toml");
    let text = fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))?;
    let layers = parse(&text).with_context(|| format!("in {}", file.display()))?;

    let complaints = check(&workspace.packages, &layers);
    if !complaints.is_empty() {
        bail!("the layers do not hold:\n  {}", complaints.join("\n  "));
    }
    let drawing = draw(&workspace.packages, &layers);
    update(
        &workspace.root.join("docs/ARCHITECTURE.md"),
        &drawing,
        options.check,
    )?;
    println!("layers: {} crates, every edge descends", layers.len());
    Ok(())
}

fn parse(text: &str) -> anyhow::Result<BTreeMap<String, i64>> {
    let table: Table = text.parse()?;
    let Some(Value::Table(layers)) = table.get("layers") else {
        bail!("no table [layers]");
    };
    layers
        .iter()
        .map(|(name, layer)| match layer.as_integer() {
            Some(layer) => Ok((name.clone(), layer)),
            None => bail!("{name}: a layer is a number"),
        })
        .collect()
}

fn check(packages: &[Package], layers: &BTreeMap<String, i64>) -> Vec<String> {
    let mut complaints = Vec::new();
    for name in layers.keys() {
        if !packages.iter().any(|package| package.name == *name) {
            complaints.push(format!("{name} is in layers.toml and not in the workspace"));
        }
    }
    for package in packages {
        let layer = layers.get(&package.name);
        if layer.is_none() && package.publish {
            complaints.push(format!("{} is published and has no layer", package.name));
        }
        for dependency in &package.dependencies {
            let edge = format!("{} -> {}", package.name, dependency.name);
            if dependency.is_dev {
                if package.publish && dependency.has_version {
                    complaints.push(format!(
                        "{edge}: a dev-dependency between members is path-only, \
                         or publishing runs in a circle"
                    ));
                }
                continue;
            }
            match (layer, layers.get(&dependency.name)) {
                (Some(from), Some(to)) if to >= from => complaints.push(format!(
                    "{edge}: layer {from} may only use lower layers, not {to}"
                )),
                (Some(_), None) => {
                    complaints.push(format!("{edge}: the dependency has no layer"));
                }
                _ => {}
            }
        }
    }
    complaints
}

/// The layers from the top down. An edge that a longer way implies is not
/// drawn: the picture shows the shape, the manifests the whole list.
fn draw(packages: &[Package], layers: &BTreeMap<String, i64>) -> String {
    let uses: BTreeMap<&str, BTreeSet<&str>> = packages
        .iter()
        .filter(|package| layers.contains_key(&package.name))
        .map(|package| {
            let below = package.dependencies.iter().filter(|d| !d.is_dev);
            (
                package.name.as_str(),
                below.map(|d| d.name.as_str()).collect(),
            )
        })
        .collect();
    let width = uses.keys().map(|name| name.len()).max().unwrap_or_default();
    let levels: BTreeSet<i64> = layers.values().copied().collect();

    let mut text = String::from("```text\n");
    for level in levels.iter().rev() {
        for (name, _) in layers.iter().filter(|(_, layer)| *layer == level) {
            let direct = &uses[name.as_str()];
            let shown: Vec<_> = direct
                .iter()
                .filter(|below| {
                    !direct
                        .iter()
                        .any(|other| other != *below && reaches(&uses, other, below))
                })
                .map(|below| below.strip_prefix("evenkeel-").unwrap_or(below))
                .collect();
            let arrow = if shown.is_empty() { "" } else { " -> " };
            let line = format!("L{level}  {name:width$}{arrow}{}", shown.join(", "));
            let _ = writeln!(text, "{}", line.trim_end());
        }
        text.push_str(if Some(level) == levels.first() {
            "```"
        } else {
            "\n"
        });
    }
    text
}

fn reaches(uses: &BTreeMap<&str, BTreeSet<&str>>, from: &str, to: &str) -> bool {
    uses.get(from).is_some_and(|below| {
        below
            .iter()
            .any(|next| *next == to || reaches(uses, next, to))
    })
}

fn update(path: &std::path::Path, drawing: &str, check: bool) -> anyhow::Result<()> {
    let page = if path.exists() {
        fs::read_to_string(path)?
    } else {
        format!("# Architecture\n\n## The layers\n\n{BEGIN}\n{END}\n")
    };
    let Some((before, rest)) = page.split_once(BEGIN) else {
        bail!("{} lacks the line {BEGIN}", path.display());
    };
    let Some((_, after)) = rest.split_once(END) else {
        bail!("{} lacks the line {END}", path.display());
    };
    let wanted = format!("{before}{BEGIN}\n{drawing}\n{END}{after}");
    if path.exists() && wanted == page {
        return Ok(());
    }
    if check {
        bail!(
            "the drawing in {} is stale: run `cargo xtask layers`",
            path.display()
        );
    }
    fs::write(path, wanted).with_context(|| format!("write {}", path.display()))
}

#[cfg(test)]
mod tests;
