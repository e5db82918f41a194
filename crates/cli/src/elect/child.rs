use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::unix::process::CommandExt;
use std::process::{ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::Command;
use tokio::time::{Duration, sleep};

use crate::args::TiedArgs;
use crate::error::Failure;

/// How often to look whether the group is empty. Nobody is told when the last of it ends: the
/// system tells parents only, and those whom the command has left behind are nobody's children.
const LOOK: Duration = Duration::from_millis(50);

/// The command, in a process group of its own. Dropping it kills the group.
pub(super) struct Child {
    child: tokio::process::Child,
    /// `None` when nobody of it is left: the number may be somebody else's by then.
    group: Option<Pid>,
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
        })
    }

    /// Waits for its end. Cancel safe, and may be called again.
    pub(super) async fn wait(&mut self) -> Result<ExitStatus, Failure> {
        self.child.wait().await.map_err(Failure::failed)
    }

    /// Waits, after the command's own end, for the end of what it has started. Cancel safe.
    pub(super) async fn leaves_nobody(&mut self) {
        while let Some(group) = self.group {
            if is_alive(group) {
                sleep(LOOK).await;
            } else {
                // One that was just being started may have been overlooked.
                self.kill();
                self.group = None;
            }
        }
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

/// Whether somebody of the group runs still.
fn is_alive(group: Pid) -> bool {
    test_kill_process_group(group).is_ok() && !has_only_zombies(group)
}

/// A container's process 1 may never ask how the orphans that it was given have ended: then they stay in the group.
#[cfg(target_os = "linux")]
fn has_only_zombies(group: Pid) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return false;
    };
    let group = group.as_raw_nonzero().to_string();
    let mut states = processes.flatten().filter_map(|process| {
        let stat = std::fs::read_to_string(process.path().join("stat")).ok()?;
        // The name before the state is in parentheses, and may be anything.
        let (_, rest) = stat.rsplit_once(") ")?;
        let mut fields = rest.split(' ');
        let (state, _parent, of) = (fields.next()?, fields.next()?, fields.next()?);
        (of == group).then_some(matches!(state, "Z" | "X"))
    });
    states.all(|is_over| is_over)
}

#[cfg(not(target_os = "linux"))]
fn has_only_zombies(_: Pid) -> bool {
    false
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
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
