//! `cargo xtask bench spine`: one Deployment's whole way in figures.
//!
//! Machines are shared and noisy, so what is compared is run in turn, and every
//! figure is a median with its spread. The nodes run in a process of their own:
//! a manager's figures hold the manager's work only.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that prints a table"
)]

mod handover;
mod memory;
mod scale;
mod up;

use std::process::ExitCode;

use clap::Parser;

use evenkeel_e2e::bench::table::Table;

/// Measures, and prints the table.
#[derive(Parser)]
struct Arguments {
    /// How often each side of a comparison is run.
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Only the embedded server.
    #[arg(long)]
    embedded_only: bool,
    /// Only these figures: up, scale, memory, handover.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut table = Table::default();
    let outcome = measure(&arguments, &mut table).await;
    println!("{table}");
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn measure(arguments: &Arguments, table: &mut Table) -> anyhow::Result<()> {
    let wanted = |name: &str| arguments.only.is_empty() || arguments.only.iter().any(|o| o == name);
    let rounds = arguments.rounds.max(1);
    if wanted("up") {
        up::measure(rounds, table).await?;
    }
    if wanted("scale") {
        scale::on_embedded(rounds, table).await?;
        if !arguments.embedded_only {
            scale::on_real(rounds, table).await?;
        }
    }
    if wanted("memory") {
        memory::measure(arguments.embedded_only, table).await?;
    }
    if wanted("handover") {
        handover::measure(rounds, table).await?;
    }
    Ok(())
}
