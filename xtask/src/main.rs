//! `cargo xtask`: the tasks of this repository.

#![expect(
    clippy::print_stderr,
    reason = "a task talks to the person who runs it"
)]

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Development tasks of the evenkeel workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run every gate in order; what CI runs.
    Ci(xtask::ci::Options),
    /// Check that dependencies point downwards and draw them in docs/ARCHITECTURE.md.
    Layers(xtask::layers::Options),
    /// Check that every contract's tests exist and ran; print what is open.
    Contracts(xtask::contracts::Options),
    /// Provide a real control plane: build it, or say where it is.
    Envtest(xtask::envtest::Options),
    /// Measure, and print the table of figures.
    Bench(xtask::bench::Options),
    /// Run the model checker over what is concurrent.
    Loom(xtask::loom::Options),
    /// Feed arbitrary bytes to what reads a server's or a user's.
    Fuzz(xtask::fuzz::Options),
    /// Break the state machines one expression at a time: the tests must notice.
    Mutants(xtask::mutants::Options),
    /// Pack every crate and build each package outside the workspace.
    ReleaseCheck(xtask::release_check::Options),
    /// Condense the built-in types' facts for the embedded API server.
    Schemas(xtask::schemas::Options),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().task {
        Task::Ci(options) => xtask::ci::run(&options),
        Task::Layers(options) => xtask::layers::run(&options),
        Task::Contracts(options) => xtask::contracts::run(&options),
        Task::Envtest(options) => xtask::envtest::run(&options),
        Task::Bench(options) => xtask::bench::run(&options),
        Task::Loom(options) => xtask::loom::run(&options),
        Task::Fuzz(options) => xtask::fuzz::run(&options),
        Task::Mutants(options) => xtask::mutants::run(&options),
        Task::ReleaseCheck(options) => xtask::release_check::run(&options),
        Task::Schemas(options) => xtask::schemas::run(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
