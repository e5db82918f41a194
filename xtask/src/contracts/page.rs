//! docs/contracts.md: prose, and tables of two columns, `contract` and `shown by`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use anyhow::bail;

use super::number::Contract;

/// The page, line by line, so that writing it back keeps the prose.
pub(super) struct Page {
    lines: Vec<Line>,
}

enum Line {
    Prose(String),
    Row(Contract, Shown),
}

/// What the second column says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    Open,
    /// These tests fail if the contract breaks.
    Tests(BTreeSet<String>),
    /// Ours differs on purpose, and why.
    Different(String),
}

impl Page {
    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        let mut seen = BTreeSet::new();
        let mut lines = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let Some((contract, shown)) = row(line) else {
                lines.push(Line::Prose(line.to_owned()));
                continue;
            };
            let Some(contract) = Contract::parse(contract) else {
                bail!("line {}: `{contract}` is no contract", index + 1);
            };
            if !seen.insert(contract.clone()) {
                bail!("line {}: {contract} is there twice", index + 1);
            }
            let Some(shown) = Shown::parse(shown) else {
                bail!(
                    "line {}: {contract} is shown by tests in backticks, or is `open`, \
                     or `different: reason`",
                    index + 1
                );
            };
            lines.push(Line::Row(contract, shown));
        }
        Ok(Self { lines })
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = (&Contract, &Shown)> {
        self.lines.iter().filter_map(|line| match line {
            Line::Row(contract, shown) => Some((contract, shown)),
            Line::Prose(_) => None,
        })
    }

    pub(super) fn contracts(&self) -> BTreeSet<Contract> {
        self.rows().map(|(contract, _)| contract.clone()).collect()
    }

    /// The documents in the order of the page.
    pub(super) fn documents(&self) -> Vec<String> {
        let mut documents = Vec::new();
        for (contract, _) in self.rows() {
            if !documents.contains(&contract.document) {
                documents.push(contract.document.clone());
            }
        }
        documents
    }

    /// Adds the claims to the rows, and takes out tests that are gone. A
    /// difference stays what it is until a test claims the contract.
    pub(super) fn fill(
        &mut self,
        claims: &BTreeMap<Contract, BTreeSet<String>>,
        tests: &BTreeSet<String>,
    ) {
        for line in &mut self.lines {
            let Line::Row(contract, shown) = line else {
                continue;
            };
            let mut named = claims.get(contract).cloned().unwrap_or_default();
            if let Shown::Tests(before) = shown {
                named.extend(before.intersection(tests).cloned());
            }
            if !named.is_empty() {
                *shown = Shown::Tests(named);
            } else if matches!(shown, Shown::Tests(_)) {
                *shown = Shown::Open;
            }
        }
    }
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.lines {
            match line {
                Line::Prose(text) => writeln!(f, "{text}")?,
                Line::Row(contract, shown) => writeln!(f, "| {contract} | {shown} |")?,
            }
        }
        Ok(())
    }
}

impl Shown {
    fn parse(text: &str) -> Option<Self> {
        if text == "open" {
            return Some(Self::Open);
        }
        if let Some(reason) = text.strip_prefix("different:") {
            let reason = reason.trim();
            return (!reason.is_empty()).then(|| Self::Different(reason.to_owned()));
        }
        let tests = text
            .split(", ")
            .map(|test| {
                let path = test.strip_prefix('`')?.strip_suffix('`')?;
                path.contains("::").then(|| path.to_owned())
            })
            .collect::<Option<_>>()?;
        Some(Self::Tests(tests))
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open => f.write_str("open"),
            Self::Different(reason) => write!(f, "different: {reason}"),
            Self::Tests(tests) => {
                for (index, test) in tests.iter().enumerate() {
                    write!(f, "{}`{test}`", if index == 0 { "" } else { ", " })?;
                }
                Ok(())
            }
        }
    }
}

/// The two cells of a table's row; the heading and the rule under it are prose.
fn row(line: &str) -> Option<(&str, &str)> {
    let inner = line.strip_prefix("| ")?.strip_suffix(" |")?;
    let (contract, shown) = inner.split_once(" | ")?;
    (contract != "contract").then_some((contract, shown))
}
