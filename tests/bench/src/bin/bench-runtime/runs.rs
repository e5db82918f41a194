//! Counts runs: first one of each object, which does nothing else, then those of events, which are timed.

use std::io::BufRead;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::bail;
use parking_lot::Mutex;

/// How often the main thread looks.
const LOOK: Duration = Duration::from_millis(2);

pub(crate) struct Runs {
    objects: usize,
    begun: AtomicUsize,
    started: OnceLock<Instant>,
    took: OnceLock<Duration>,
    microseconds: Mutex<Vec<u32>>,
}

impl Runs {
    pub(crate) fn new(objects: usize) -> Self {
        Self {
            objects,
            begun: AtomicUsize::new(0),
            started: OnceLock::new(),
            took: OnceLock::new(),
            microseconds: Mutex::default(),
        }
    }

    /// Whether this run is one of the first ones.
    pub(crate) fn begin(&self) -> bool {
        if self.begun.load(Ordering::Relaxed) >= self.objects {
            return false;
        }
        let number = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
        let started = *self.started.get_or_init(Instant::now);
        if number == self.objects {
            let _ = self.took.set(started.elapsed());
        }
        true
    }

    /// Milliseconds from the first run of the first object to that of the last one.
    pub(crate) fn first(&self) -> f64 {
        loop {
            if let Some(took) = self.took.get() {
                return took.as_secs_f64() * 1e3;
            }
            thread::sleep(LOOK);
        }
    }

    /// Takes note of a run for an object that was sent at this time.
    pub(crate) fn note(&self, sent: Option<u64>) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.unwrap_or_default().as_micros() as u64;
        let took = now.saturating_sub(sent.unwrap_or(0));
        let mut microseconds = self.microseconds.lock();
        microseconds.push(took.try_into().unwrap_or(u32::MAX));
    }

    /// Carries out commands until there are no more.
    pub(crate) fn obey(&self) -> anyhow::Result<()> {
        for line in std::io::stdin().lock().lines() {
            let line = line?;
            match line.split_whitespace().collect::<Vec<_>>()[..] {
                ["reset"] => {
                    self.microseconds.lock().clear();
                    println!("ok");
                }
                ["wait", count] => println!("{}", self.wait(count.parse()?)),
                _ => bail!("no such command: {line}"),
            }
        }
        Ok(())
    }

    fn wait(&self, count: usize) -> String {
        while self.microseconds.lock().len() < count {
            thread::sleep(LOOK);
        }
        let mut times = self.microseconds.lock();
        times.sort_unstable();
        let at = |thousandths: usize| times[times.len() * thousandths / 1000];
        format!("runs {} {} {}", at(500), at(990), at(999))
    }
}
