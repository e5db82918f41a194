use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::unix::process::CommandExt;
use std::process::{ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Command;

use crate::args::TiedArgs;
use crate::error::Failure;

/// The command, in a process group of its own. Dropping it kills the group.
pub(super) struct Child {
    child: tokio::process::Child,
    group: Option<Pid>,
    status: Option<ExitStatus>,
}

impl Child {
    /// Must be called on a thread that lives as long as the process, since the command ends
    /// with the thread that started it.
    pub(super) fn spawn(command: &[OsString]) -> Result<Self, Failure> {
        let this = std::env::current_exe().map_err(Failure::failed)?;
        let mut tied = Command::new(this);
        tied.arg("elect-tied")
            .arg(std::process::id().to_string())
            .arg("--")
            .args(command)
            .process_group(0);
        if std::io::stdin().is_terminal() {
            // A group in the background that reads from the terminal is stopped.
            tied.stdin(Stdio::null());
        }
        let child = tied.spawn().map_err(Failure::failed)?;
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Ok(Self {
            child,
            group: id.and_then(Pid::from_raw),
            status: None,
        })
    }

    /// Waits for its end. Cancel safe, and may be called again.
    pub(super) async fn wait(&mut self) -> Result<ExitStatus, Failure> {
        let status = self.child.wait().await.map_err(Failure::failed)?;
        self.status = Some(status);
        Ok(status)
    }

    pub(super) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    pub(super) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // It fails only when nobody of the group is left.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.status.is_none() {
            self.kill();
        }
    }
}

/// Becomes the command, after it has made sure that it ends with its parent: an `elect` that is
/// killed must not leave a command behind that goes on without a lease.
pub(crate) fn become_command(args: &TiedArgs) -> Failure {
    #[cfg(target_os = "linux")]
    {
        if let Err(error) = rustix::process::set_parent_process_death_signal(Some(Signal::KILL)) {
            return Failure::failed(format!("cannot tie the command to this process: {error}"));
        }
        let parent = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get());
        if parent != i32::try_from(args.parent).ok() {
            return Failure::failed("the process that asked for the command has ended");
        }
    }
    let Some((program, rest)) = args.command.split_first() else {
        return Failure::usage("no command");
    };
    let error = std::process::Command::new(program).args(rest).exec();
    Failure::failed(format!("cannot run {}: {error}", program.display()))
}
