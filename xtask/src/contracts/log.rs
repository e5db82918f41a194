//! Reading the saved output of `cargo test`.

use std::collections::BTreeMap;

/// How a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outcome {
    Ignored,
    /// Ignored for what this machine lacks, which the harness says.
    Skipped,
    Passed,
    Failed,
}

/// The tests by the path that [`super::scan`] gives them. A test that ran more
/// than once (a scenario on two servers) failed if it failed once, and passed
/// if it passed once and never failed.
pub(super) fn parse(output: &str) -> BTreeMap<String, Outcome> {
    let mut tests = BTreeMap::new();
    let mut binary = String::new();
    for line in output.lines() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix("Running ").and_then(binary_name) {
            binary = name;
        } else if line.starts_with("Doc-tests ") {
            binary.clear();
        } else if let Some((test, outcome)) = result(line)
            && !binary.is_empty()
        {
            let path = format!("{binary}::{}", without_server(test));
            let known = tests.entry(path).or_insert(outcome);
            *known = outcome.max(*known);
        }
    }
    tests
}

/// `unittests src/lib.rs (target/debug/deps/evenkeel_gc-0123456789abcdef)` is
/// `evenkeel_gc`.
fn binary_name(line: &str) -> Option<String> {
    let path = line.rsplit_once('(')?.1.strip_suffix(')')?;
    let file = path.rsplit(['/', '\\']).next()?;
    let (name, hash) = file.rsplit_once('-')?;
    hash.chars()
        .all(|c| c.is_ascii_hexdigit())
        .then(|| name.to_owned())
}

fn result(line: &str) -> Option<(&str, Outcome)> {
    let (test, outcome) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let is_skipped = test.starts_with("[skipped");
    // `name - should panic`, and the harness's `[kind] name`.
    let test = test.split(" - ").next()?.rsplit("] ").next()?.trim();
    match outcome.split([' ', ',']).next()? {
        "ok" => Some((test, Outcome::Passed)),
        "FAILED" => Some((test, Outcome::Failed)),
        "ignored" if is_skipped => Some((test, Outcome::Skipped)),
        "ignored" => Some((test, Outcome::Ignored)),
        _ => None,
    }
}

/// The end-to-end scenarios are written once and run once a server.
fn without_server(test: &str) -> &str {
    test.strip_prefix("embedded::")
        .or_else(|| test.strip_prefix("real::"))
        .unwrap_or(test)
}
