//! `cargo xtask ci`: every gate in order, each with its duration.

use std::fs;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::envtest::{self, Program};
use crate::shell::{self, human};
use crate::tools::Tool;
use crate::workspace::Workspace;
use crate::{contracts, layers, release_check};

/// Which gates to run.
#[derive(clap::Args)]
pub struct Options {
    /// Run only these gates, separated by commas.
    #[arg(long, value_delimiter = ',', value_name = "GATE")]
    only: Vec<String>,
    /// Leave these gates out.
    #[arg(long, value_delimiter = ',', value_name = "GATE")]
    skip: Vec<String>,
    /// Go on after a gate that failed, and fail at the end.
    #[arg(long)]
    keep_going: bool,
}

/// How a gate ended when it did not fail.
enum Verdict {
    Passed,
    /// The machine lacks what the gate needs; the gate says what.
    Skipped(String),
}

type Gate = fn(&Workspace) -> anyhow::Result<Verdict>;

/// Cheap gates first, so that a small mistake is known in seconds; the real
/// server is there before the tests that use it.
const GATES: [(&str, Gate); 10] = [
    ("fmt", fmt),
    ("layers", check_layers),
    ("release", check_release),
    ("deny", deny),
    ("clippy", clippy),
    ("alone", alone),
    ("docs", docs),
    ("envtest", real_server),
    ("test", test),
    ("contracts", check_contracts),
];

/// Runs the gates.
///
/// # Errors
/// An unknown gate, or the gates that failed.
pub fn run(options: &Options) -> anyhow::Result<()> {
    for name in options.only.iter().chain(&options.skip) {
        if !GATES.iter().any(|(gate, _)| gate == name) {
            let known: Vec<_> = GATES.iter().map(|(gate, _)| *gate).collect();
            bail!("no gate `{name}`; there are {}", known.join(", "));
        }
    }
    let workspace = Workspace::load()?;
    let chosen: Vec<_> = GATES
        .iter()
        .filter(|(name, _)| options.only.is_empty() || options.only.iter().any(|o| o == name))
        .filter(|(name, _)| !options.skip.iter().any(|s| s == name))
        .collect();

    let mut summary = Vec::new();
    let mut failed = Vec::new();
    let mut skipped = 0;
    for (index, (name, gate)) in chosen.iter().enumerate() {
        say(&format!("==> [{}/{}] {name}", index + 1, chosen.len()));
        let (outcome, took) = timed(|| gate(&workspace));
        let line = match &outcome {
            Ok(Verdict::Passed) => "passed".to_owned(),
            Ok(Verdict::Skipped(reason)) => {
                skipped += 1;
                format!("skipped: {reason}")
            }
            Err(error) => format!("FAILED: {error:#}"),
        };
        say(&format!("    {name}: {line} ({})", human(took)));
        summary.push(format!("{name:<10} {:>12}  {line}", human(took)));
        if outcome.is_err() {
            failed.push(*name);
            if !options.keep_going {
                break;
            }
        }
    }
    say("==> summary");
    for line in &summary {
        say(&format!("    {}", line.lines().next().unwrap_or_default()));
    }
    let passed = summary.len() - failed.len() - skipped;
    say(&format!(
        "gates: {passed} passed, {} failed, {skipped} skipped",
        failed.len()
    ));
    if failed.is_empty() {
        return Ok(());
    }
    bail!("failed: {}", failed.join(", "));
}

fn fmt(workspace: &Workspace) -> anyhow::Result<Verdict> {
    cargo(workspace, &["fmt", "--all", "--check"])
}

fn check_layers(_: &Workspace) -> anyhow::Result<Verdict> {
    layers::run(&layers::Options { check: true })?;
    Ok(Verdict::Passed)
}

fn check_release(_: &Workspace) -> anyhow::Result<Verdict> {
    release_check::run(&release_check::Options { light: true })?;
    Ok(Verdict::Passed)
}

/// The list of advisories lives in a repository that not every machine
/// reaches, so it is no part of the gate.
fn deny(workspace: &Workspace) -> anyhow::Result<Verdict> {
    let tool = Tool {
        subcommand: "deny",
        version: "0.20.2",
    };
    let mut command = match tool.command(workspace) {
        Ok(command) => command,
        Err(error) => return Ok(Verdict::Skipped(format!("cargo-deny: {error:#}"))),
    };
    shell::run(command.args(["check", "bans", "licenses", "sources"]))?;
    Ok(Verdict::Passed)
}

fn clippy(workspace: &Workspace) -> anyhow::Result<Verdict> {
    cargo(
        workspace,
        &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ],
    )
}

/// A crate that compiles only beside its neighbours, whose features it borrows,
/// cannot be depended on.
fn alone(workspace: &Workspace) -> anyhow::Result<Verdict> {
    for package in workspace.publish_order()? {
        let mut variants = vec![vec!["check", "--quiet", "-p", &package.name]];
        if package.has_default_features {
            variants.push([variants[0].as_slice(), &["--no-default-features"]].concat());
        }
        for arguments in &variants {
            println!("    cargo {}", arguments.join(" "));
            shell::run(shell::cargo(&workspace.root).args(arguments))?;
        }
    }
    Ok(Verdict::Passed)
}

fn docs(workspace: &Workspace) -> anyhow::Result<Verdict> {
    shell::run(
        shell::cargo(&workspace.root)
            .args(["doc", "--workspace", "--no-deps", "--quiet"])
            .env("RUSTDOCFLAGS", "-D warnings"),
    )?;
    Ok(Verdict::Passed)
}

/// A machine without Go or the module proxy runs the scenarios on the embedded
/// server only, and the run says so.
fn real_server(_: &Workspace) -> anyhow::Result<Verdict> {
    match envtest::provide(&Program::SERVER) {
        Ok(_) => Ok(Verdict::Passed),
        Err(error) if error.is_unavailable() => Ok(Verdict::Skipped(error.to_string())),
        Err(error) => Err(error.into()),
    }
}

/// How many random runs the simulations make: more here than in a plain `cargo test`.
const RUNS: [(&str, &str); 2] = [
    ("EVENKEEL_ELECTION_SCHEDULES", "100000"),
    ("EVENKEEL_GC_HISTORIES", "100000"),
];

fn test(workspace: &Workspace) -> anyhow::Result<Verdict> {
    let log = test_log(workspace);
    fs::create_dir_all(log.parent().unwrap_or(&log)).context("create the log's folder")?;
    let mut tests = shell::cargo(&workspace.root);
    tests.args(["test", "--workspace", "--no-fail-fast"]);
    for (variable, runs) in RUNS {
        if std::env::var_os(variable).is_none() {
            tests.env(variable, runs);
        }
    }
    shell::run_with_log(&mut tests, &log)?;
    Ok(Verdict::Passed)
}

fn check_contracts(workspace: &Workspace) -> anyhow::Result<Verdict> {
    let log = test_log(workspace);
    contracts::run(&contracts::Options {
        update: false,
        ran: log.is_file().then_some(log),
        open: false,
    })?;
    Ok(Verdict::Passed)
}

fn test_log(workspace: &Workspace) -> std::path::PathBuf {
    workspace.target.join("xtask/test.log")
}

fn cargo(workspace: &Workspace, arguments: &[&str]) -> anyhow::Result<Verdict> {
    shell::run(shell::cargo(&workspace.root).args(arguments))?;
    Ok(Verdict::Passed)
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    #[expect(
        clippy::disallowed_methods,
        reason = "durations that a person reads, outside any state machine"
    )]
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}

fn say(line: &str) {
    let mut out = std::io::stdout();
    let bold = out.is_terminal() && line.starts_with("==>");
    let _ = if bold {
        writeln!(out, "\x1b[1m{line}\x1b[0m")
    } else {
        writeln!(out, "{line}")
    };
    let _ = out.flush();
}
