//! `cargo xtask fuzz`: bytes from anywhere against what reads them.

use std::fs;

use anyhow::{Context, bail};

use crate::shell;
use crate::tools::Tool;
use crate::workspace::Workspace;

const CARGO_FUZZ: Tool = Tool {
    subcommand: "fuzz",
    version: "0.13.2",
};

/// Beside the crate that reads strangers' bytes.
const FOLDER: &str = "crates/client/fuzz";

/// What to fuzz.
#[derive(clap::Args)]
pub struct Options {
    /// Only these targets, by the names of the programs in crates/client/fuzz. Without any, all in turn.
    targets: Vec<String>,
    /// How long each target is fuzzed, in seconds.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
}

/// Runs the targets one after the other, with a nightly compiler. What a target has learnt stays under the
/// target directory, and the next run goes on from it.
///
/// # Errors
/// A target that panics, hangs, leaks or takes more than 1 GiB; its input is kept and named in the output.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let workspace = Workspace::load()?;
    let folder = workspace.root.join(FOLDER);
    let mut known = Vec::new();
    for entry in fs::read_dir(folder.join("fuzz_targets"))? {
        let path = entry?.path();
        known.extend(
            path.file_stem()
                .map(|name| name.to_string_lossy().into_owned()),
        );
    }
    known.sort();
    if let Some(name) = options.targets.iter().find(|name| !known.contains(name)) {
        bail!("no target `{name}`; there are {}", known.join(", "));
    }
    let chosen = match options.targets.is_empty() {
        true => &known,
        false => &options.targets,
    };
    for target in chosen {
        let learnt = workspace.target.join("fuzz-corpus").join(target);
        fs::create_dir_all(&learnt).with_context(|| format!("create {}", learnt.display()))?;
        let mut fuzz = CARGO_FUZZ.command(&workspace)?;
        fuzz.args(["run", "--fuzz-dir"])
            .arg(&folder)
            .arg("--target-dir")
            .arg(workspace.target.join("fuzz"))
            .arg(target)
            .arg(&learnt)
            // The same texts that the plain tests change.
            .arg(
                workspace
                    .root
                    .join("crates/client/tests/corpus")
                    .join(target),
            )
            .arg("--")
            .arg(format!("-max_total_time={}", options.seconds))
            .args(["-rss_limit_mb=1024", "-timeout=20", "-print_final_stats=1"])
            // Not the cargo that runs this task: sanitizers need a nightly one.
            .env("RUSTUP_TOOLCHAIN", "nightly")
            .env_remove("CARGO")
            .env_remove("RUSTC")
            .env_remove("RUSTDOC");
        shell::run(&mut fuzz)?;
    }
    Ok(())
}
