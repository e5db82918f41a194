//! `cargo xtask bench gc`.

use std::process::Command;

use crate::envtest::{self, Program};
use crate::shell;
use crate::workspace::Workspace;

/// How much to measure.
#[derive(clap::Args)]
pub(super) struct Options {
    /// How often each figure is taken, and each side of a comparison run.
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Only these figures: graph (needs no server), collect.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
}

/// Builds both collectors, and lets them collect the same on a real server in turn.
pub(super) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<()> {
    if options.only.is_empty() || options.only.iter().any(|figure| figure == "collect") {
        envtest::provide(&[
            Program::Etcd,
            Program::KubeApiserver,
            Program::KubeControllerManager,
        ])?;
    }
    super::build_for_e2e(workspace)?;
    let folder = workspace.target.join("release");
    let mut measure = Command::new(folder.join("bench-gc"));
    measure
        .args(["--rounds", &options.rounds.to_string()])
        .env("EVENKEEL_BIN", folder.join("evenkeel"));
    if !options.only.is_empty() {
        measure.args(["--only", &options.only.join(",")]);
    }
    shell::run(&mut measure)
}
