//! `cargo xtask bench gc`: what it costs to collect garbage, beside kube-controller-manager on the
//! same real server in turn, and what the owner graph costs by itself.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that prints a table"
)]

mod collect;
mod deletions;
mod graph;
mod requests;

use std::process::ExitCode;

use clap::Parser;
use evenkeel_e2e::bench::table::Table;

/// Measures, and prints the table.
#[derive(Parser)]
struct Arguments {
    /// How often each figure is taken, and each side of a comparison run.
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Nodes of the graph.
    #[arg(long, default_value_t = 1_000_000)]
    nodes: usize,
    /// Only these figures: graph, collect.
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
    if wanted("graph") {
        graph::measure(rounds, arguments.nodes, table)?;
    }
    if wanted("collect") {
        collect::measure(rounds, table).await?;
    }
    Ok(())
}
