//! `cargo xtask bench election`.

use std::process::Command;

use crate::envtest::{self, Program};
use crate::shell;
use crate::workspace::Workspace;

/// How much to measure.
#[derive(clap::Args)]
pub(super) struct Options {
    /// Handovers after a release, each maker.
    #[arg(long, default_value_t = 30)]
    releases: u32,
    /// Take-overs after a kill -9, each maker.
    #[arg(long, default_value_t = 5)]
    kills: u32,
    /// For how many seconds to count requests.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
}

/// Builds both makers' candidates and lets them compete on a real server.
pub(super) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<()> {
    envtest::provide(&[Program::Etcd, Program::KubeApiserver])?;
    // What is measured waits for the network: the profile makes no difference to it.
    shell::run(shell::cargo(&workspace.root).args([
        "build",
        "--package",
        "evenkeel-cli",
        "--package",
        "evenkeel-e2e",
        "--bins",
    ]))?;
    let folder = workspace.target.join("debug");
    let mut measure = Command::new(folder.join("bench-election"));
    measure
        .args(["--releases", &options.releases.to_string()])
        .args(["--kills", &options.kills.to_string()])
        .args(["--seconds", &options.seconds.to_string()])
        .env("EVENKEEL_BIN", folder.join("evenkeel"));
    shell::run(&mut measure)
}
