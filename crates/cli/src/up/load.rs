//! Manifests: from files, directories and standard input to single objects that know where they
//! are from.

mod document;
mod position;

use std::fmt;
use std::fs;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use crate::error::{Failure, one_line};

/// One object of a manifest.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

/// Where an object is written.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    source: Arc<Source>,
    /// Counted from 1; documents that hold nothing but comments do not count.
    document: usize,
    /// Bytes of the document.
    range: Range<usize>,
    /// Line of the document's beginning, counted from 1.
    line: usize,
    /// Where in the document the object is, for an item of a List: `items[2]`.
    item: String,
}

#[derive(Debug)]
struct Source {
    name: String,
    text: String,
}

impl Origin {
    /// The place of a field of the object: file, document, and the line if it can be found.
    pub(crate) fn place(&self, field: &str) -> String {
        let text = &self.source.text[self.range.clone()];
        let line = position::line_of(text, &format!("{}.{field}", self.item));
        format!("{self}, line {}", self.line + line - 1)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: document {}", self.source.name, self.document)?;
        match self.item.strip_prefix('.') {
            Some(item) => write!(f, ", {item}"),
            None => Ok(()),
        }
    }
}

/// Reads all manifests. Every fault is reported, not only the first.
pub(crate) fn load(paths: &[PathBuf]) -> Result<Vec<Object>, Failure> {
    let mut sources = Vec::new();
    let mut stdin_taken = false;
    for path in paths {
        if path.as_os_str() != "-" {
            sources.extend(read(path)?);
        } else if !std::mem::replace(&mut stdin_taken, true) {
            sources.push(read_stdin()?);
        }
    }
    let mut objects = Vec::new();
    let mut faults = Vec::new();
    for source in sources {
        let before = (objects.len(), faults.len());
        let source = Arc::new(source);
        document::parse(&source, &mut objects, &mut faults);
        if (objects.len(), faults.len()) == before {
            faults.push(format!("{}: there is no object in it", source.name));
        }
    }
    if faults.is_empty() {
        return Ok(objects);
    }
    let mut faults: Vec<_> = faults.iter().map(|fault| one_line(fault)).collect();
    faults.push("nothing was applied".to_owned());
    Err(Failure::Failed(faults))
}

/// A file, or the manifests of a directory in the order of their names.
fn read(path: &Path) -> Result<Vec<Source>, Failure> {
    let unreadable = |path: &Path, error: std::io::Error| {
        Failure::usage(format!("cannot read {}: {error}", path.display()))
    };
    let is_folder = fs::metadata(path)
        .map_err(|error| unreadable(path, error))?
        .is_dir();
    if !is_folder {
        let text = fs::read_to_string(path).map_err(|error| unreadable(path, error))?;
        let name = path.display().to_string();
        return Ok(vec![Source { name, text }]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(|error| unreadable(path, error))? {
        let file = entry.map_err(|error| unreadable(path, error))?.path();
        let extension = file.extension().and_then(|extension| extension.to_str());
        if matches!(extension, Some("yaml" | "yml" | "json")) && file.is_file() {
            files.push(file);
        }
    }
    if files.is_empty() {
        let path = path.display();
        return Err(Failure::usage(format!(
            "{path} has no .yaml, .yml or .json file"
        )));
    }
    files.sort();
    let mut sources = Vec::new();
    for file in files {
        sources.extend(read(&file)?);
    }
    Ok(sources)
}

fn read_stdin() -> Result<Source, Failure> {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|error| Failure::usage(format!("cannot read standard input: {error}")))?;
    let name = "standard input".to_owned();
    Ok(Source { name, text })
}

#[cfg(test)]
mod tests;
