//! `cargo xtask mutants`: do the tests notice when the state machines are broken?
//!
//! cargo-mutants changes one expression at a time and runs the crate's tests. A change that no test notices
//! is either a gap in the tests or makes no difference; docs/mutants.md names each of the latter and why.

mod page;

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};

use crate::tools::Tool;
use crate::workspace::Workspace;

/// A crate whose state machines are mutated.
struct Core {
    name: &'static str,
    package: &'static str,
    /// The files without a clock, tasks or input and output, as globs.
    files: &'static [&'static str],
    /// How the tests are built: what drives the machines in production need not be.
    build: &'static [&'static str],
    /// Which tests run, by parts of their names; without any, all. Those of a machine's driver wait for ever on a
    /// machine that is broken.
    tests: &'static [&'static str],
}

const CARGO_MUTANTS: Tool = Tool {
    subcommand: "mutants",
    version: "27.1.0",
};

const CORES: [Core; 4] = [
    Core {
        name: "queue",
        package: "evenkeel-workqueue",
        files: &[
            "crates/workqueue/src/*.rs",
            "crates/workqueue/src/order/*.rs",
        ],
        build: &["--no-default-features"],
        tests: &[],
    },
    Core {
        name: "election",
        package: "evenkeel-election",
        files: &[
            "crates/election/src/machine.rs",
            "crates/election/src/machine/*.rs",
            "crates/election/src/fence/cell.rs",
            "crates/election/src/timing.rs",
        ],
        build: &[],
        tests: &["machine::", "fence::", "timing::"],
    },
    Core {
        name: "graph",
        package: "evenkeel-gc",
        files: &[
            "crates/gc/src/graph.rs",
            "crates/gc/src/graph/*.rs",
            "crates/gc/src/decide.rs",
            "crates/gc/src/patch.rs",
        ],
        build: &[],
        tests: &[],
    },
    Core {
        name: "reflector",
        package: "evenkeel-store",
        files: &[
            "crates/store/src/reflector.rs",
            "crates/store/src/reflector/*.rs",
        ],
        build: &[],
        tests: &["reflector::"],
    },
];

/// Which state machines.
#[derive(clap::Args)]
pub struct Options {
    /// Only these: queue, election, graph, reflector. Without any, all.
    cores: Vec<String>,
    /// Only files whose paths match this glob.
    #[arg(long)]
    file: Option<String>,
}

/// Mutates the cores one after the other.
///
/// # Errors
/// A mutant that survived and that docs/mutants.md does not excuse, or an excuse for one that did not survive.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let workspace = Workspace::load()?;
    let unknown = |name: &&String| !CORES.iter().any(|core| core.name == **name);
    if let Some(name) = options.cores.iter().find(unknown) {
        let known: Vec<_> = CORES.iter().map(|core| core.name).collect();
        bail!("no core `{name}`; there are {}", known.join(", "));
    }
    let page = page::Page::read(&workspace.root.join("docs/mutants.md"))?;
    let chosen = CORES
        .iter()
        .filter(|core| options.cores.is_empty() || options.cores.iter().any(|c| c == core.name));
    let mut complaints = Vec::new();
    for core in chosen {
        let output = workspace.target.join("mutants").join(core.name);
        mutate(&workspace, core, options, &output)?;
        let outcome = page::Outcome::read(&output.join("mutants.out"))?;
        println!("{}: {outcome}", core.name);
        complaints.extend(page.complaints(core.name, &outcome, options.file.is_none()));
    }
    if complaints.is_empty() {
        return Ok(());
    }
    bail!("docs/mutants.md:\n  {}", complaints.join("\n  "));
}

fn mutate(
    workspace: &Workspace,
    core: &Core,
    options: &Options,
    output: &Path,
) -> anyhow::Result<()> {
    fs::create_dir_all(output).with_context(|| format!("create {}", output.display()))?;
    let mutants = CARGO_MUTANTS.command(workspace)?;
    // A mutant may allocate without end before its time is up: the limit ends it, not the machine.
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", "ulimit -v 8388608 && exec \"$0\" \"$@\""])
        .arg(mutants.get_program())
        .args(mutants.get_args())
        .current_dir(&workspace.root)
        .args(["--package", core.package, "--jobs", "1", "--no-shuffle"])
        .args(["--minimum-test-timeout", "20", "--colors", "never"])
        .arg("--output")
        .arg(output)
        .args(core.build)
        // The copy that is mutated is built again and again: what it depends on is built once.
        .env(
            "CARGO_TARGET_DIR",
            workspace.target.join("mutants").join("build"),
        )
        .env("CARGO_PROFILE_DEV_DEBUG", "none")
        // Enough to notice, and there are hundreds of mutants.
        .env("PROPTEST_CASES", "64")
        .env("EVENKEEL_GC_HISTORIES", "500");
    match &options.file {
        Some(file) => {
            command.args(["--file", file]);
        }
        None => {
            for file in core.files {
                command.args(["--file", file]);
            }
        }
    }
    // Only the library's own tests are built, too: nothing else is linked anew for each mutant.
    command.args(["--cargo-arg", "--lib", "--", "--"]);
    command.args(core.tests);
    // It fails when a mutant survives; whether that is excused is for the page to say.
    let status = command.status().context("cannot start cargo-mutants")?;
    match status.code() {
        Some(0 | 2 | 3) => Ok(()),
        _ => bail!("cargo-mutants could not do its work: {status}"),
    }
}
