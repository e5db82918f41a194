//! A process that is measured, or that serves one: it is told what to do line by line, and
//! answers with lines.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use anyhow::{Context, bail, ensure};

/// Clock ticks a second in `/proc/ID/stat`; the same on every Linux.
const TICKS: f64 = 100.0;
/// Where `stat` has, after the name, the CPU of a process itself and of the children that it has waited for.
const OWN: usize = 11;
pub(super) const CHILDREN: usize = 13;
/// A process that uses less than this much CPU in this time has nothing left to do.
const QUIET: (f64, Duration) = (0.015, Duration::from_millis(500));

/// How long an answer may take: the slowest takes a minute.
const PATIENCE: Duration = Duration::from_secs(300);

/// Seconds of each thread.
pub(super) type Threads = HashMap<OsString, f64>;

pub(super) struct Subject {
    name: String,
    child: Child,
    input: ChildStdin,
    /// Its lines, read by a thread that ends with it.
    output: Receiver<std::io::Result<String>>,
}

impl Subject {
    /// Starts it and waits for its first line, which begins with `ready`; answers the rest of it.
    pub(super) fn start(command: &mut Command) -> anyhow::Result<(Self, String)> {
        let name = command.get_program().to_string_lossy().into_owned();
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (Some(input), Some(output)) = (input, output) else {
            bail!("{name} has no pipes");
        };
        let (sender, lines) = sync_channel(0);
        std::thread::spawn(move || {
            let mut output = BufReader::new(output).lines();
            while let Some(line) = output.next()
                && sender.send(line).is_ok()
            {}
        });
        let subject = Self {
            name,
            child,
            input,
            output: lines,
        };
        let rest = subject.expect("ready")?;
        Ok((subject, rest))
    }

    /// Says something without waiting for the answer.
    pub(super) fn tell(&mut self, line: &str) -> anyhow::Result<()> {
        writeln!(self.input, "{line}").with_context(|| format!("{} has ended", self.name))
    }

    /// The next line, which begins with this word; the rest of it.
    pub(super) fn expect(&self, word: &str) -> anyhow::Result<String> {
        let line = match self.output.recv_timeout(PATIENCE) {
            Ok(line) => line?,
            Err(RecvTimeoutError::Disconnected) => bail!("{} has ended", self.name),
            Err(RecvTimeoutError::Timeout) => {
                bail!(
                    "{}: expected {word}, got nothing for {PATIENCE:?}",
                    self.name
                )
            }
        };
        let (first, rest) = line.split_once(' ').unwrap_or((&line, ""));
        ensure!(
            first == word,
            "{}: expected {word}, got {line:?}",
            self.name
        );
        Ok(rest.to_owned())
    }

    pub(super) fn ask(&mut self, line: &str, word: &str) -> anyhow::Result<String> {
        self.tell(line)?;
        self.expect(word)
    }

    /// User and system time so far, in seconds, of all threads.
    pub(super) fn cpu(&self) -> anyhow::Result<f64> {
        cpu_seconds(&self.read("stat")?, OWN)
    }

    /// The same to the nanosecond, by thread: for what takes next to nothing.
    pub(super) fn threads(&self) -> anyhow::Result<Threads> {
        let mut threads = Threads::new();
        for task in fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let task = task?;
            let text = fs::read_to_string(task.path().join("schedstat"))?;
            let first = text.split(' ').next().context("schedstat is empty")?;
            threads.insert(task.file_name(), first.parse::<f64>()? / 1e9);
        }
        Ok(threads)
    }

    /// What its threads have used since. Those that have ended meanwhile are not counted.
    pub(super) fn used_since(&self, before: &Threads) -> anyhow::Result<f64> {
        let now = self.threads()?;
        let used = now
            .iter()
            .map(|(thread, seconds)| seconds - before.get(thread).unwrap_or(&0.0));
        Ok(used.sum())
    }

    /// Resident memory in bytes.
    pub(super) fn resident(&self) -> anyhow::Result<f64> {
        self.status("VmRSS:")
    }

    /// The most resident memory since the last [`forget_peak`](Self::forget_peak), in bytes.
    pub(super) fn peak(&self) -> anyhow::Result<f64> {
        self.status("VmHWM:")
    }

    pub(super) fn forget_peak(&self) -> anyhow::Result<()> {
        fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5")
            .with_context(|| format!("the peak of {} cannot be reset", self.name))
    }

    /// Waits until it has nothing left to do.
    pub(super) fn settle(&self) -> anyhow::Result<()> {
        let mut before = self.cpu()?;
        loop {
            pause(QUIET.1);
            let now = self.cpu()?;
            if now - before < QUIET.0 {
                return Ok(());
            }
            before = now;
        }
    }

    fn status(&self, name: &str) -> anyhow::Result<f64> {
        let text = self.read("status")?;
        let mut lines = text.lines().filter_map(|line| line.strip_prefix(name));
        let line = lines.next().with_context(|| format!("no {name}"))?;
        let kilobytes: f64 = line.trim().trim_end_matches(" kB").trim().parse()?;
        Ok(kilobytes * 1024.0)
    }

    fn read(&self, file: &str) -> anyhow::Result<String> {
        fs::read_to_string(format!("/proc/{}/{file}", self.child.id()))
            .with_context(|| format!("{} has ended", self.name))
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        // It may have ended by itself; nobody else's process has its number until it is waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// User and system time in a `stat`, of the two fields from `at` on.
pub(super) fn cpu_seconds(stat: &str, at: usize) -> anyhow::Result<f64> {
    // The name before it may hold spaces and parentheses.
    let (_, fields) = stat.rsplit_once(')').context("stat of another form")?;
    let fields = fields.split_whitespace().skip(at).take(2);
    let ticks: f64 = fields.filter_map(|field| field.parse::<f64>().ok()).sum();
    Ok(ticks / TICKS)
}

#[expect(
    clippy::disallowed_methods,
    reason = "it waits for other processes, and runs nothing itself"
)]
pub(super) fn pause(time: Duration) {
    std::thread::sleep(time);
}
