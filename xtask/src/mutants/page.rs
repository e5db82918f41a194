//! What survived, and what docs/mutants.md says about it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::Context;

/// What cargo-mutants found, without the positions: those move with every edit.
pub(super) struct Outcome {
    caught: usize,
    unviable: usize,
    /// Those that no test noticed, the ones that made the tests hang left out: somebody would notice that.
    survivors: BTreeSet<String>,
    timeouts: usize,
}

impl Outcome {
    pub(super) fn read(folder: &Path) -> anyhow::Result<Self> {
        let lines = |name: &str| {
            let file = folder.join(name);
            fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))
        };
        Ok(Self {
            caught: lines("caught.txt")?.lines().count(),
            unviable: lines("unviable.txt")?.lines().count(),
            survivors: lines("missed.txt")?.lines().map(without_position).collect(),
            timeouts: lines("timeout.txt")?.lines().count(),
        })
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} caught, {} made the tests hang, {} survived, {} do not compile",
            self.caught,
            self.timeouts,
            self.survivors.len(),
            self.unviable
        )
    }
}

/// The excused survivors of each core: a heading with the core's name, then a table of mutants and reasons.
pub(super) struct Page(BTreeMap<String, BTreeSet<String>>);

impl Page {
    pub(super) fn read(file: &Path) -> anyhow::Result<Self> {
        let text = fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
        Ok(Self::parse(&text))
    }

    fn parse(text: &str) -> Self {
        let mut excused: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut core = String::new();
        for line in text.lines() {
            if let Some(heading) = line.strip_prefix("## ") {
                core = heading.trim().to_owned();
            }
            // | `file: change` | reason |
            let row = line
                .strip_prefix("| `")
                .and_then(|row| row.split_once("` | "));
            if let Some((mutant, reason)) = row
                && !reason.trim_matches([' ', '|']).is_empty()
            {
                let known = excused.entry(core.clone()).or_default();
                known.insert(mutant.replace("\\|", "|"));
            }
        }
        Self(excused)
    }

    /// What does not fit. Only a whole run can tell that an excuse is not needed any more.
    pub(super) fn complaints(&self, core: &str, outcome: &Outcome, whole: bool) -> Vec<String> {
        let none = BTreeSet::new();
        let excused = self.0.get(core).unwrap_or(&none);
        let missing = outcome
            .survivors
            .difference(excused)
            .map(|mutant| format!("{core}: survived without a reason: {mutant}"));
        let stale = excused
            .difference(&outcome.survivors)
            .filter(|_| whole)
            .map(|mutant| format!("{core}: excused and did not survive: {mutant}"));
        missing.chain(stale).collect()
    }
}

/// `crates/x/src/y.rs:12:5: replace a with b` without `:12:5`.
fn without_position(mutant: &str) -> String {
    let Some((file, rest)) = mutant.split_once(".rs:") else {
        return mutant.to_owned();
    };
    match rest.split_once(": ") {
        Some((_, change)) => format!("{file}.rs: {change}"),
        None => mutant.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(survivors: &[&str]) -> Outcome {
        Outcome {
            caught: 0,
            unviable: 0,
            survivors: survivors
                .iter()
                .map(|line| without_position(line))
                .collect(),
            timeouts: 0,
        }
    }

    #[test]
    fn a_survivor_needs_a_reason_and_a_reason_a_survivor() {
        let page = Page::parse(
            "# Mutants\n\n## queue\n\n| mutant | why |\n|---|---|\n\
             | `a.rs: replace \\|\\| with && in f` | the same |\n\
             | `a.rs: replace f with ()` | |\n\n## election\n\n| `b.rs: replace g with ()` | why |\n",
        );
        let found = outcome(&[
            "a.rs:1:2: replace || with && in f",
            "a.rs:3:4: replace f with ()",
        ]);
        assert_eq!(
            page.complaints("queue", &found, true),
            ["queue: survived without a reason: a.rs: replace f with ()"]
        );
        let complaints = page.complaints("election", &outcome(&[]), true);
        assert_eq!(
            complaints,
            ["election: excused and did not survive: b.rs: replace g with ()"]
        );
        assert!(page.complaints("election", &outcome(&[]), false).is_empty());
    }
}
