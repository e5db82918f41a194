//! Counts events and takes their times.

use std::io::BufRead;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::bail;
use parking_lot::Mutex;

/// Later ones are counted, but not timed.
const TIMED: usize = 1 << 20;

#[derive(Clone)]
pub(crate) struct Events(Arc<Mutex<Seen>>);

struct Seen {
    count: usize,
    microseconds: Vec<u32>,
}

impl Events {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Seen {
            count: 0,
            microseconds: Vec::with_capacity(TIMED),
        })))
    }

    /// Takes note of an event that was sent at this time.
    pub(crate) fn note(&self, sent: Option<u64>) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.unwrap_or_default().as_micros() as u64;
        let mut seen = self.0.lock();
        seen.count += 1;
        if seen.microseconds.len() < TIMED {
            let took = now.saturating_sub(sent.unwrap_or(0));
            seen.microseconds.push(took.try_into().unwrap_or(u32::MAX));
        }
    }

    /// Carries out commands until there are no more.
    pub(crate) fn obey(&self) -> anyhow::Result<()> {
        for line in std::io::stdin().lock().lines() {
            let line = line?;
            match line.split_whitespace().collect::<Vec<_>>()[..] {
                ["reset"] => {
                    let mut seen = self.0.lock();
                    seen.count = 0;
                    seen.microseconds.clear();
                    println!("ok");
                }
                ["wait", count] => println!("{}", self.wait(count.parse()?)),
                _ => bail!("no such command: {line}"),
            }
        }
        Ok(())
    }

    fn wait(&self, count: usize) -> String {
        while self.0.lock().count < count {
            thread::sleep(Duration::from_millis(2));
        }
        let mut seen = self.0.lock();
        seen.microseconds.sort_unstable();
        let times = &seen.microseconds;
        let at = |thousandths: usize| times[times.len() * thousandths / 1000];
        format!("events {} {} {}", at(500), at(990), at(999))
    }
}
