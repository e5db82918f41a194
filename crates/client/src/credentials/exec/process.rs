use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

/// A plugin that prints more is broken.
const LARGEST_STDOUT: usize = 1 << 20;
/// How much of standard error is kept, from its beginning.
const KEPT_STDERR: u64 = 4 << 10;
/// How long something that the program left behind may hold its output open.
const AFTER_EXIT: Duration = Duration::from_millis(500);

/// What is left of a program that has ended.
pub(super) struct Finished {
    pub(super) status: ExitStatus,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
}

/// Why a program did not get to its end.
#[derive(Debug)]
pub(super) enum Unfinished {
    NotStarted(io::Error),
    TooLong(Duration),
    TooMuch { limit: usize },
    Lost(io::Error),
}

/// Runs a program to its end, within `limit`. Dropping the future kills it.
///
/// An interactive one has the terminal of this process; of any other standard error is kept,
/// and the processes that it has started are killed with it.
pub(super) async fn run(
    mut command: Command,
    interactive: bool,
    limit: Duration,
) -> Result<Finished, Unfinished> {
    command.stdout(Stdio::piped()).kill_on_drop(true);
    if interactive {
        command.stdin(Stdio::inherit()).stderr(Stdio::inherit());
    } else {
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        // A terminal's foreground group is the one that may read from it, so an interactive
        // program stays in ours.
        #[cfg(unix)]
        command.process_group(0);
    }
    let child = command.spawn().map_err(Unfinished::NotStarted)?;
    let mut running = Running {
        child,
        own_group: !interactive,
        ended: false,
    };
    let outcome = tokio::time::timeout(limit, running.finish()).await;
    outcome.unwrap_or(Err(Unfinished::TooLong(limit)))
}

struct Running {
    child: Child,
    own_group: bool,
    ended: bool,
}

impl Running {
    async fn finish(&mut self) -> Result<Finished, Unfinished> {
        let mut stdout = Vec::new();
        let mut stderr = Vec::new();
        let status = {
            let out = self.child.stdout.take();
            let err = self.child.stderr.take();
            let both =
                async { tokio::try_join!(all(out, &mut stdout), beginning(err, &mut stderr)) };
            tokio::pin!(both);
            tokio::select! {
                read = &mut both => {
                    read?;
                    self.child.wait().await
                }
                status = self.child.wait() => {
                    if let Ok(read) = tokio::time::timeout(AFTER_EXIT, both).await {
                        read?;
                    }
                    status
                }
            }
        };
        let status = status.map_err(Unfinished::Lost)?;
        self.ended = true;
        Ok(Finished {
            status,
            stdout,
            stderr,
        })
    }
}

/// Reads to the end, unless there is too much.
async fn all(from: Option<ChildStdout>, text: &mut Vec<u8>) -> Result<(), Unfinished> {
    let Some(from) = from else { return Ok(()) };
    let mut bounded = from.take(LARGEST_STDOUT as u64 + 1);
    bounded.read_to_end(text).await.map_err(Unfinished::Lost)?;
    match text.len() > LARGEST_STDOUT {
        true => Err(Unfinished::TooMuch {
            limit: LARGEST_STDOUT,
        }),
        false => Ok(()),
    }
}

/// Reads to the end and keeps the beginning: the program must not block on a pipe that nobody
/// reads.
async fn beginning(from: Option<ChildStderr>, text: &mut Vec<u8>) -> Result<(), Unfinished> {
    let Some(mut from) = from else { return Ok(()) };
    let mut bounded = (&mut from).take(KEPT_STDERR);
    bounded.read_to_end(text).await.map_err(Unfinished::Lost)?;
    tokio::io::copy(&mut from, &mut tokio::io::sink())
        .await
        .map_err(Unfinished::Lost)?;
    Ok(())
}

impl Drop for Running {
    fn drop(&mut self) {
        #[cfg(unix)]
        if !self.ended
            && self.own_group
            // Until it is waited for, nobody else can have its number.
            && let Some(id) = self.child.id()
            && let Some(group) = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw)
        {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}
