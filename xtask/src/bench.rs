//! `cargo xtask bench`: figures as ratios of things run in turn.

mod build;
mod client;
mod election;
mod gc;
mod peers;
mod queue;
mod runtime;
mod store;
mod subject;
mod table;

use clap::Subcommand;

use crate::envtest::{self, Program};
use crate::shell;
use crate::workspace::Workspace;

/// What to measure.
#[derive(clap::Args)]
pub struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// One Deployment's whole way, on the embedded server and on the real one
    /// beside the Go controller manager.
    Spine {
        /// How often each side of a ratio is run.
        #[arg(long, default_value_t = 3)]
        rounds: u32,
        /// Only the embedded server's figures.
        #[arg(long)]
        embedded_only: bool,
    },
    /// The work queue beside those of client-go, controller-runtime and kube-rs.
    Queue {
        /// How often each figure of each queue is run.
        #[arg(long, default_value_t = 5)]
        rounds: u32,
        /// Only ours, without Go and without the network.
        #[arg(long)]
        ours: bool,
        /// Only these figures: item, bytes, hot, delays, busy.
        #[arg(long, value_delimiter = ',')]
        only: Vec<String>,
    },
    /// Informers beside those of client-go and kube-rs: memory, time to synced, events, relists.
    Client(client::Options),
    /// The store's reads under writes, and what informers cost that are idle, beside the same two.
    Store(store::Options),
    /// Controllers beside those of controller-runtime and kube-rs: reconciles a second, delays, idleness.
    Runtime(runtime::Options),
    /// How long a Lease takes to change hands, beside client-go's election.
    Election(election::Options),
    /// What it costs to collect garbage, beside the Go controller manager.
    Gc(gc::Options),
    /// What it costs to build the smallest controller, beside kube-rs.
    Build(build::Options),
}

/// Builds what is measured, in the release profile unless the build is what is measured, then measures.
///
/// # Errors
/// A build or a measurement that failed.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let workspace = Workspace::load()?;
    match &options.what {
        What::Spine {
            rounds,
            embedded_only,
        } => spine(&workspace, *rounds, *embedded_only),
        What::Queue { rounds, ours, only } => queue::run(&workspace, *rounds, *ours, only),
        What::Client(options) => client::run(&workspace, options),
        What::Store(options) => store::run(&workspace, options),
        What::Runtime(options) => runtime::run(&workspace, options),
        What::Election(options) => election::run(&workspace, options),
        What::Gc(options) => gc::run(&workspace, options),
        What::Build(options) => build::run(&workspace, options),
    }
}

fn spine(workspace: &Workspace, rounds: u32, embedded_only: bool) -> anyhow::Result<()> {
    if !embedded_only {
        envtest::provide(&[
            Program::Etcd,
            Program::KubeApiserver,
            Program::KubeControllerManager,
        ])?;
    }
    build_for_e2e(workspace)?;
    let folder = workspace.target.join("release");
    let mut measure = std::process::Command::new(folder.join("bench-spine"));
    measure
        .arg("--rounds")
        .arg(rounds.to_string())
        .env("EVENKEEL_BIN", folder.join("evenkeel"));
    if embedded_only {
        measure.arg("--embedded-only");
    }
    shell::run(&mut measure)
}

/// The programs that are measured and those that measure: one command for all, so that they share
/// one build of the dependencies.
fn build_for_e2e(workspace: &Workspace) -> anyhow::Result<()> {
    shell::run(shell::cargo(&workspace.root).args([
        "build",
        "--release",
        "--package",
        "evenkeel-cli",
        "--package",
        "evenkeel-e2e",
        "--bins",
    ]))
}
