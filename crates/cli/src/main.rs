//! The `evenkeel` binary: a control plane in one process, an embedded API server, a controller
//! manager, simulated nodes.

mod apiserver;
mod args;
mod connection;
mod controller_manager;
mod duration;
#[cfg(unix)]
mod elect;
mod error;
mod graph;
mod kubeconfig;
mod log;
mod nodes;
mod output;
mod replica;
mod serving;
mod up;

use std::process::ExitCode;

use clap::Parser;
use evenkeel::args::LogFormat;
use tokio_util::sync::CancellationToken;

use crate::args::{Cli, Command};
use crate::error::Failure;
use crate::output::Output;

/// Objects come and go by the thousand a second on every thread; the system's allocator took a
/// quarter of the embedded server's time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse_from(args::normalized(std::env::args_os()));
    let output = Output::new();
    let format = cli.logging.log_format;
    let outcome = start(cli, &output);
    output.finish();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            for line in failure.lines() {
                match format {
                    LogFormat::Text => output.error(&line),
                    LogFormat::Json => tracing::error!("{line}"),
                }
            }
            failure.exit_code()
        }
    }
}

fn start(cli: Cli, output: &Output) -> Result<(), Failure> {
    #[cfg(unix)]
    if let Command::ElectTied(args) = &cli.command {
        // Before there is any other thread: the command takes this one's place.
        return Err(elect::become_command(args));
    }
    log::init(&cli.logging, cli.command.default_verbosity(), output)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| anyhow::Error::new(error).context("cannot start the runtime"))?;
    let outcome = runtime.block_on(until_second_signal(|stop| {
        dispatch(cli.command, output.clone(), stop)
    }));
    // A thread that still reads standard input would hold up an orderly shutdown for ever.
    runtime.shutdown_background();
    outcome
}

/// Runs `work`, whose token the first SIGINT or SIGTERM cancels; the second one drops it.
async fn until_second_signal<F>(work: impl FnOnce(CancellationToken) -> F) -> Result<(), Failure>
where
    F: Future<Output = Result<(), Failure>>,
{
    let stop = CancellationToken::new();
    let work = work(stop.clone());
    tokio::select! {
        // The handlers must be there before the work says its first word.
        biased;
        signalled = evenkeel::stop_on_signal(stop) => match signalled {
            Ok(()) => Err(Failure::failed("ended at once by a second signal")),
            Err(error) => Err(Failure::failed(format!("cannot handle signals: {error}"))),
        },
        outcome = work => outcome,
    }
}

async fn dispatch(
    command: Command,
    output: Output,
    stop: CancellationToken,
) -> Result<(), Failure> {
    // Boxed: each of these is a large future, and only one of them runs.
    match command {
        Command::Up(args) => Box::pin(up::run(args, &output, stop)).await,
        Command::Apiserver(args) => Box::pin(apiserver::run(&args, &output, stop)).await,
        Command::ControllerManager(args) => Box::pin(controller_manager::run(args, stop)).await,
        Command::Nodes(args) => Box::pin(nodes::run(&args, stop)).await,
        Command::Graph(args) => Box::pin(graph::run(&args, &output, stop)).await,
        #[cfg(unix)]
        Command::Elect(args) => Box::pin(elect::run(&args, stop)).await,
        #[cfg(unix)]
        Command::ElectTied(args) => Err(elect::become_command(&args)),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn terminate_self() {
        let id = std::process::id().to_string();
        let sent = std::process::Command::new("kill")
            .args(["-TERM", &id])
            .status();
        assert!(sent.is_ok_and(|status| status.success()));
    }

    #[tokio::test]
    async fn the_first_signal_asks_and_the_second_ends() {
        let ended = until_second_signal(|stop| async move {
            terminate_self();
            stop.cancelled().await;
            terminate_self();
            std::future::pending().await
        });
        let failure = ended.await.unwrap_err();
        assert_eq!(failure.lines(), ["ended at once by a second signal"]);
        assert!(matches!(failure, Failure::Failed(_)));
    }
}
