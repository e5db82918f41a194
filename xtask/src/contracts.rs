//! `cargo xtask contracts`: docs/contracts.md says which test would fail if a
//! numbered contract broke, and this task says whether that is true.
//!
//! Contracts are numbered by the document that they come from. A test claims
//! one by its name: `w1_...` in the work queue, or with the document spelled
//! out, `client_go_w1_...`; several numbers may follow one another.

mod claims;
mod log;
mod number;
mod page;
mod scan;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, bail};

use self::number::Contract;
use self::page::{Page, Shown};
use crate::workspace::Workspace;

/// What to do with the page.
#[derive(clap::Args)]
pub struct Options {
    /// Fill the page in from the names of the tests in the sources.
    #[arg(long)]
    pub(crate) update: bool,
    /// The saved output of `cargo test`: every named test must have passed in it.
    #[arg(long, value_name = "FILE")]
    pub(crate) ran: Option<PathBuf>,
    /// List the numbers that no test shows yet.
    #[arg(long)]
    pub(crate) open: bool,
}

/// Checks the page against the sources (and a test run), and prints the counts.
///
/// # Errors
/// A named test that does not exist or did not pass, or a claim in the sources
/// that the page lacks.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let workspace = Workspace::load()?;
    let path = workspace.root.join("docs/contracts.md");
    let text = fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    let mut page = Page::parse(&text).with_context(|| format!("in {}", path.display()))?;
    let tests = scan::tests(&workspace)?;
    let claims = claims::of(&tests, &page.contracts());

    if options.update {
        page.fill(&claims, &tests);
        fs::write(&path, page.to_string()).with_context(|| format!("write {}", path.display()))?;
    }
    let mut complaints = existence(&page, &tests, &claims);
    if let Some(file) = &options.ran {
        let output =
            fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
        complaints.extend(execution(&page, &log::parse(&output)));
    }
    report(&page, options.open);
    if !complaints.is_empty() {
        bail!(
            "docs/contracts.md is not true:\n  {}",
            complaints.join("\n  ")
        );
    }
    Ok(())
}

fn existence(
    page: &Page,
    tests: &BTreeSet<String>,
    claims: &BTreeMap<Contract, BTreeSet<String>>,
) -> Vec<String> {
    let mut complaints = Vec::new();
    for (contract, shown) in page.rows() {
        let named = match shown {
            Shown::Tests(named) => named.clone(),
            Shown::Open | Shown::Different(_) => BTreeSet::new(),
        };
        for test in named.difference(tests) {
            complaints.push(format!("{contract}: no test {test} in the sources"));
        }
        let claimed = claims.get(contract).cloned().unwrap_or_default();
        for test in claimed.difference(&named) {
            complaints.push(format!(
                "{contract}: {test} claims it and the page does not say so \
                 (`cargo xtask contracts --update`)"
            ));
        }
    }
    complaints
}

fn execution(page: &Page, ran: &BTreeMap<String, log::Outcome>) -> Vec<String> {
    let mut complaints = Vec::new();
    for (contract, shown) in page.rows() {
        let Shown::Tests(named) = shown else {
            continue;
        };
        for test in named {
            match ran.get(test) {
                Some(log::Outcome::Passed | log::Outcome::Skipped) => {}
                Some(log::Outcome::Failed) => complaints.push(format!("{contract}: {test} failed")),
                Some(log::Outcome::Ignored) => {
                    complaints.push(format!("{contract}: {test} was ignored"));
                }
                None => complaints.push(format!("{contract}: {test} did not run")),
            }
        }
    }
    complaints
}

fn report(page: &Page, list_open: bool) {
    println!(
        "{:<20} {:>7} {:>6} {:>10}",
        "contracts", "claimed", "open", "different"
    );
    for document in page.documents() {
        let rows: Vec<_> = page
            .rows()
            .filter(|(contract, _)| contract.document == document)
            .collect();
        let count =
            |wanted: fn(&Shown) -> bool| rows.iter().filter(|(_, shown)| wanted(shown)).count();
        println!(
            "{document:<20} {:>7} {:>6} {:>10}",
            count(|shown| matches!(shown, Shown::Tests(_))),
            count(|shown| matches!(shown, Shown::Open)),
            count(|shown| matches!(shown, Shown::Different(_))),
        );
        if list_open {
            let open: Vec<_> = rows
                .iter()
                .filter(|(_, shown)| matches!(shown, Shown::Open))
                .map(|(contract, _)| contract.number())
                .collect();
            println!("  open: {}", open.join(" "));
        }
    }
}

#[cfg(test)]
mod tests;
