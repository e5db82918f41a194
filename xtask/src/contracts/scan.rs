//! Finding the tests in the sources, so that checking the page needs no build.
//!
//! A small reader of Rust: it follows braces and modules, skips comments and
//! literals, and takes a function for a test when an attribute above it ends in
//! `test`. The end-to-end scenarios are functions that take an environment.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::workspace::{Workspace, array};

/// The path of every test: the name of its binary, then what the binary prints.
pub(super) fn tests(workspace: &Workspace) -> anyhow::Result<BTreeSet<String>> {
    let mut tests = BTreeSet::new();
    for package in &workspace.packages {
        for target in array(&package.manifest["targets"]) {
            let (Some(name), Some(root)) = (target["name"].as_str(), target["src_path"].as_str())
            else {
                continue;
            };
            let binary = name.replace('-', "_");
            for (module, file) in modules(Path::new(root))? {
                let text = fs::read_to_string(&file)
                    .with_context(|| format!("read {}", file.display()))?;
                let mut prefix = vec![binary.clone()];
                prefix.extend(module);
                tests.extend(in_source(&text, &prefix));
            }
        }
    }
    Ok(tests)
}

/// The files of a target with the module each one is. A folder of several
/// integration tests (`tests/*.rs`) shares nothing but its subfolders.
fn modules(root: &Path) -> anyhow::Result<Vec<(Vec<String>, PathBuf)>> {
    let folder = root.parent().unwrap_or(root);
    let owns_folder = root
        .file_stem()
        .is_some_and(|stem| stem == "lib" || stem == "main");
    let mut found = vec![(Vec::new(), root.to_path_buf())];
    if owns_folder {
        walk(folder, &[], root, &mut found)?;
    }
    Ok(found)
}

fn walk(
    folder: &Path,
    module: &[String],
    root: &Path,
    found: &mut Vec<(Vec<String>, PathBuf)>,
) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))? {
        let path = entry?.path();
        let Some(stem) = path.file_stem().and_then(|stem| stem.to_str()) else {
            continue;
        };
        if path.is_dir() {
            let below = [module, &[stem.to_owned()]].concat();
            walk(&path, &below, root, found)?;
        } else if path.extension().is_some_and(|e| e == "rs") && path != root {
            let is_root = module.is_empty() && (stem == "lib" || stem == "main");
            let own = match stem {
                _ if is_root => continue,
                "mod" => module.to_vec(),
                _ => [module, &[stem.to_owned()]].concat(),
            };
            found.push((own, path));
        }
    }
    Ok(())
}

pub(super) fn in_source(text: &str, prefix: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let mut path: Vec<String> = prefix.to_vec();
    // The depth at which each inner module closes.
    let mut open: Vec<usize> = Vec::new();
    let mut depth = 0_usize;
    let mut is_test = false;
    let tokens = tokens(text);
    let mut index = 0;
    while index < tokens.len() {
        let word = |offset: usize| tokens.get(index + offset).map_or("", String::as_str);
        match tokens[index].as_str() {
            "#" if word(1) == "[" => {
                let (end, last) = attribute(&tokens, index + 1);
                is_test |= last == "test";
                index = end;
                continue;
            }
            "mod" if word(2) == "{" => {
                path.push(word(1).to_owned());
                open.push(depth);
                depth += 1;
                index += 3;
                continue;
            }
            "fn" => {
                let is_scenario = word(2) == "(" && word(4) == ":" && word(5) == "Env";
                if is_test || is_scenario {
                    found.push(format!("{}::{}", path.join("::"), word(1)));
                }
                is_test = false;
            }
            "{" => depth += 1,
            "}" => {
                depth = depth.saturating_sub(1);
                if open.last() == Some(&depth) {
                    open.pop();
                    path.pop();
                }
            }
            "struct" | "enum" | "mod" | "impl" | "use" => is_test = false,
            _ => {}
        }
        index += 1;
    }
    found
}

/// Where the attribute that opens at `start` ends, and the last word of its
/// path: `test` for `#[test]` and `#[tokio::test(start_paused = true)]`.
fn attribute(tokens: &[String], start: usize) -> (usize, &str) {
    let mut last = "";
    let mut depth = 0_usize;
    let mut in_path = true;
    for (offset, token) in tokens[start..].iter().enumerate() {
        match token.as_str() {
            "[" | "(" | "{" => {
                depth += 1;
                in_path &= depth == 1;
            }
            "]" | ")" | "}" => {
                depth -= 1;
                if depth == 0 {
                    return (start + offset + 1, last);
                }
            }
            "=" => in_path = false,
            word if in_path && word != ":" => last = word,
            _ => {}
        }
    }
    (tokens.len(), last)
}

/// Words and single signs; comments and literals are left out.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if let Some(length) = string(rest) {
            length
        } else if let Some(length) = character(rest) {
            length
        } else if first.is_alphanumeric() || first == '_' {
            let length = rest
                .find(|c: char| !c.is_alphanumeric() && c != '_')
                .unwrap_or(rest.len());
            tokens.push(rest[..length].to_owned());
            length
        } else {
            if !first.is_whitespace() {
                tokens.push(first.to_string());
            }
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    tokens
}

fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut index = 0;
    while index < text.len() {
        if text[index..].starts_with("/*") {
            depth += 1;
            index += 2;
        } else if text[index..].starts_with("*/") {
            depth -= 1;
            index += 2;
            if depth == 0 {
                return index;
            }
        } else {
            index += text[index..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// The length of a string literal at the start, raw ones and prefixes included.
fn string(text: &str) -> Option<usize> {
    let prefix = text
        .bytes()
        .take(2)
        .take_while(|byte| matches!(byte, b'b' | b'c' | b'r'))
        .count();
    let is_raw = text[..prefix].ends_with('r');
    let hashes = text[prefix..]
        .bytes()
        .take_while(|byte| *byte == b'#')
        .count();
    if !text[prefix + hashes..].starts_with('"') || (hashes > 0 && !is_raw) {
        return None;
    }
    let body = prefix + hashes + 1;
    if is_raw {
        let end = format!("\"{}", "#".repeat(hashes));
        let at = text[body..].find(&end)?;
        return Some(body + at + end.len());
    }
    let mut escaped = false;
    for (offset, c) in text[body..].char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(body + offset + 1),
            _ => {}
        }
    }
    Some(text.len())
}

/// The length of a character literal at the start; a lifetime is none.
fn character(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('\'')?;
    let mut characters = inner.char_indices();
    let (_, first) = characters.next()?;
    if first == '\\' {
        let escaped = characters.next()?.0 + 1;
        return inner[escaped..].find('\'').map(|at| 1 + escaped + at + 1);
    }
    let (at, second) = characters.next()?;
    (second == '\'').then_some(1 + at + 1)
}
