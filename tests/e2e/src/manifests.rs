//! Manifests of others, as objects.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use serde_json::Value;

/// All objects of a folder's YAML files, those in folders below it too: the files in the order of
/// their paths, lists taken apart.
///
/// # Errors
/// A file cannot be read, is no YAML, or there is none.
pub fn load(folder: &Path) -> anyhow::Result<Vec<Value>> {
    let mut objects = Vec::new();
    for file in files(folder)? {
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        for document in documents(&text) {
            let parsed = serde_saphyr::from_str_with_options(document, options());
            flatten(
                parsed.with_context(|| file.display().to_string())?,
                &mut objects,
            );
        }
    }
    ensure!(!objects.is_empty(), "no object in {}", folder.display());
    Ok(objects)
}

fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "yaml" || e == "yml") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// What stands between lines that begin with `---`.
fn documents(text: &str) -> Vec<&str> {
    let mut documents = Vec::new();
    let (mut start, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        if line.trim_end() == "---" {
            documents.push(&text[start..at]);
            start = at + line.len();
        }
        at += line.len();
    }
    documents.push(&text[start..]);
    documents
}

/// Definitions of kinds are larger than what a parser takes from strangers.
fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_nodes: 10_000_000,
            max_events: 40_000_000,
            max_total_scalar_bytes: 512 << 20,
        },
    }
}

fn flatten(mut document: Value, objects: &mut Vec<Value>) {
    let is_list = document["kind"]
        .as_str()
        .is_some_and(|kind| kind.ends_with("List"));
    match document.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) if is_list => objects.extend(items),
        _ if document.is_object() => objects.push(document),
        // Nothing but comments.
        _ => {}
    }
}
