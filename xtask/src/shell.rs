//! Running other programs: every task does, and all report failure the same way.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};

/// `cargo` as the toolchain that runs this task provides it.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}

/// Runs to the end with inherited output; anything but success is an error.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let line = describe(command);
    let status = command
        .status()
        .with_context(|| format!("cannot start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed: {status}");
    }
    Ok(())
}

/// Runs to the end and returns standard output; standard error is inherited.
pub(crate) fn read(command: &mut Command) -> anyhow::Result<String> {
    let line = describe(command);
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start `{line}`"))?;
    if !output.status.success() {
        bail!("`{line}` failed: {}", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{line}` printed invalid UTF-8"))
}

/// Runs to the end; what it prints goes to the terminal and, in the order it
/// was written, to `log`.
pub(crate) fn run_with_log(command: &mut Command, log: &Path) -> anyhow::Result<()> {
    let line = describe(command);
    let (reader, writer) = std::io::pipe().context("cannot make a pipe")?;
    let mut child = command
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .spawn()
        .with_context(|| format!("cannot start `{line}`"))?;
    // The command holds the pipe's writing end: reading ends when it lets go.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut copy = File::create(log).with_context(|| format!("cannot create {}", log.display()))?;
    let mut reader = BufReader::new(reader);
    let mut text = Vec::new();
    while reader.read_until(b'\n', &mut text)? > 0 {
        std::io::stdout().write_all(&text)?;
        copy.write_all(&text)?;
        text.clear();
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("`{line}` failed: {status}");
    }
    Ok(())
}

/// Whether `program` can be started at all.
pub(crate) fn is_installed(program: &str, probe: &[&str]) -> bool {
    Command::new(program)
        .args(probe)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// A duration as a person reads it: `4.2 s`, `3 min 05 s`.
pub(crate) fn human(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if seconds < 60 {
        format!("{:.1} s", duration.as_secs_f64())
    } else {
        format!("{} min {:02} s", seconds / 60, seconds % 60)
    }
}

fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program())
        .file_name()
        .unwrap_or(command.get_program())
        .to_string_lossy();
    command
        .get_args()
        .fold(program.into_owned(), |line, argument| {
            format!("{line} {}", argument.to_string_lossy())
        })
}
