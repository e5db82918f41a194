//! A child process that ends with its handle and whose output is kept.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};

use crate::poll;

/// A running program. Dropping it kills it and waits for its end.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

/// What a scenario does to a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Ask it to stop.
    Terminate,
    /// As Ctrl-C does.
    Interrupt,
    /// End it without a word.
    Kill,
    /// Freeze it.
    Stop,
    /// Let it go on.
    Continue,
}

impl Process {
    /// Starts `command` with its output in `<folder>/<name>.log` (appended, so
    /// that a restart keeps what was said before).
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start(name: &str, mut command: Command, folder: &Path) -> anyhow::Result<Self> {
        let log = folder.join(format!("{name}.log"));
        let output = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&log)
            .with_context(|| format!("open {}", log.display()))?;
        let errors = output.try_clone()?;
        let program = command.get_program().to_string_lossy().into_owned();
        let child = command
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .spawn()
            .with_context(|| format!("start {program}"))?;
        Ok(Self {
            name: name.to_owned(),
            child,
            log,
        })
    }

    /// The name that it was started with.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Everything it has printed so far.
    #[must_use]
    pub fn output(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Sends a signal.
    ///
    /// # Errors
    /// The process is gone already.
    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        let flag = match signal {
            Signal::Terminate => "-TERM",
            Signal::Interrupt => "-INT",
            Signal::Kill => "-KILL",
            Signal::Stop => "-STOP",
            Signal::Continue => "-CONT",
        };
        let status = Command::new("kill")
            .args([flag, &self.id().to_string()])
            .status()
            .context("run kill")?;
        if !status.success() {
            bail!("{} ({}) is gone: {signal:?} not sent", self.name, self.id());
        }
        Ok(())
    }

    /// The status it ended with; `None` while it runs.
    ///
    /// # Errors
    /// The system cannot say.
    pub fn try_wait(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// It still runs after `within`.
    pub async fn wait(&mut self, within: Duration) -> anyhow::Result<ExitStatus> {
        let name = self.name.clone();
        poll::until(within, &format!("{name} ends"), async || {
            Ok(self.child.try_wait()?)
        })
        .await
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The end of each log in `folder`, for the report of a failure.
#[must_use]
pub fn last_lines(folder: &Path, lines: usize) -> String {
    let Ok(entries) = fs::read_dir(folder) else {
        return String::new();
    };
    let mut logs: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "log"))
        .filter(|path| path.file_stem().is_some_and(|stem| stem != "audit"))
        .collect();
    logs.sort();
    let mut report = String::new();
    for log in logs {
        let text = fs::read(&log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let all: Vec<&str> = text.lines().collect();
        let from = all.len().saturating_sub(lines);
        report.push_str(&format!("--- {}\n", log.display()));
        for line in &all[from..] {
            report.push_str(line);
            report.push('\n');
        }
    }
    report
}

/// An empty file that a program may append to.
pub(crate) fn touch(path: &Path) -> anyhow::Result<()> {
    File::create(path).with_context(|| format!("create {}", path.display()))?;
    Ok(())
}
