//! `cargo xtask bench election`: how long a Lease takes to change hands, and what it costs to
//! keep, beside client-go's election on the same server at the same time.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that prints a table"
)]

mod measure;
mod table;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use clap::Parser;
use evenkeel_e2e::contest::Maker;
use evenkeel_e2e::server::ServerKind;
use evenkeel_e2e::{Env, program};
use xtask::envtest::{Assets, Program};

use self::measure::Figures;

/// Measures, and prints the table.
#[derive(Parser)]
struct Arguments {
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

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if let Err(program::Unbuilt::Missing(why) | program::Unbuilt::Broken(why)) =
        program::go_candidate()
    {
        bail!("no candidate of client-go's: {why}");
    }
    let assets =
        Assets::locate(&Program::SERVER).map_err(|missing| anyhow::anyhow!("{missing}"))?;
    let folder = Env::new_folder(ServerKind::Real, "bench::election")?;
    let program = program::evenkeel()?;
    let env = Env::start(ServerKind::Real, &folder, Some(&assets), &program).await?;
    let window = Duration::from_secs(arguments.seconds);
    let measure = async |maker| {
        Figures::measure(&env, maker, arguments.releases, arguments.kills, window).await
    };
    let (ours, go) = tokio::try_join!(measure(Maker::Evenkeel), measure(Maker::ClientGo))?;
    println!("{}", table::render(&ours, &go));
    drop(env);
    std::fs::remove_dir_all(folder)?;
    Ok(())
}
