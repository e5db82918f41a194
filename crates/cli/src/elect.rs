//! `evenkeel elect`: runs a command only while it leads.

mod child;

use std::process::ExitStatus;
use std::time::Duration;

use evenkeel_election::{Elector, Leadership, LossCause, unique_identity};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

pub(crate) use self::child::become_command;

use self::child::Child;
use crate::args::ElectArgs;
use crate::connection::{config_in, connect, first_look};
use crate::error::Failure;

pub(crate) async fn run(args: &ElectArgs, stop: CancellationToken) -> Result<(), Failure> {
    let timing = args
        .timing
        .timing()
        .map_err(|error| Failure::usage(format!("leader election: {error}")))?;
    let config = config_in(&args.connection, args.context.as_deref())?;
    let client = connect(&config, "elect")?;
    let (namespace, name) = (&args.lease.namespace, &args.lease.name);
    let elector = Elector::builder(client.clone())
        .lease(namespace, name)
        .identity(args.identity.clone().unwrap_or_else(unique_identity))
        .timing(timing)
        // The rest of what is left of the lease after the lead is lost: for the command to end.
        .margin(timing.default_margin() / 3)
        .build()
        .map_err(Failure::usage)?;
    tokio::select! {
        looked = first_look(&client) => looked?,
        () = stop.cancelled() => return Ok(()),
    }
    let (lease, identity) = (format!("{namespace}/{name}"), elector.identity());
    tracing::info!(lease, identity, "Attempting to acquire leader lease");
    let Ok(leadership) = elector.campaign(&stop).await else {
        tracing::info!("Stopped before it led");
        return Ok(());
    };
    tracing::info!(lease, identity, "Successfully acquired lease");
    let ended = lead(&leadership, &args.command, args.grace, &stop).await;
    // The command has ended, or never began: the next leader may begin at once.
    let released = leadership.release().await;
    tracing::info!(lease, ?released, "Leader lease ended");
    ended
}

async fn lead(
    leadership: &Leadership,
    command: &[std::ffi::OsString],
    grace: Duration,
    stop: &CancellationToken,
) -> Result<(), Failure> {
    let mut child = Child::spawn(command)?;
    let ended = tokio::select! {
        biased;
        cause = leadership.lost() => return lost(leadership, child, cause).await,
        status = child.wait() => Some(status?),
        () = stop.cancelled() => None,
    };
    // Either the command itself, or what it has started and left behind.
    child.terminate();
    // The Lease is renewed while all of it ends.
    let deadline = Instant::now() + grace;
    let status = tokio::select! {
        biased;
        cause = leadership.lost() => return lost(leadership, child, cause).await,
        status = end(&mut child) => status?,
        () = sleep_until(deadline) => {
            tracing::warn!(?grace, "The command does not end: killing it");
            child.kill();
            child.wait().await?
        }
    };
    exit(ended.unwrap_or(status))
}

/// The end of the command and of all that it has started.
async fn end(child: &mut Child) -> Result<ExitStatus, Failure> {
    let status = child.wait().await?;
    child.leaves_nobody().await;
    Ok(status)
}

/// The command is told to end, and killed before a rival may begin; at once, if one has.
async fn lost(leadership: &Leadership, mut child: Child, cause: LossCause) -> Result<(), Failure> {
    let left = match cause {
        LossCause::NotRenewed { .. } | LossCause::EndOfTerm { .. } => leadership.fence().horizon(),
        _ => Duration::ZERO,
    };
    tracing::error!(%cause, ?left, "Lost the lead: the command must end");
    child.terminate();
    if timeout(left, end(&mut child)).await.is_err() {
        tracing::warn!("The command does not end: killing it");
    }
    child.kill();
    child.wait().await?;
    Err(Failure::failed(format!("lost the lead: {cause}")))
}

/// The command's own code; 128 and the signal's number, as shells do.
fn exit(status: ExitStatus) -> Result<(), Failure> {
    use std::os::unix::process::ExitStatusExt;
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    match code.unwrap_or(1) {
        0 => Ok(()),
        code => Err(Failure::Exit(u8::try_from(code).unwrap_or(1))),
    }
}
