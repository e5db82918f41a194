//! Counts events and takes their times.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Later ones are counted, but not timed.
const TIMED: usize = 1 << 20;

#[derive(Clone)]
pub struct Events(Arc<Mutex<Seen>>);

struct Seen {
    count: usize,
    microseconds: Vec<u32>,
}

impl Events {
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(Seen {
            count: 0,
            microseconds: Vec::with_capacity(TIMED),
        })))
    }

    /// Takes note of an event, whose resource version is the time when it was sent.
    pub fn note(&self, version: Option<&str>) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let sent: u64 = version.unwrap().parse().unwrap();
        let mut seen = self.0.lock().unwrap();
        seen.count += 1;
        if seen.microseconds.len() < TIMED {
            let took = (now.as_micros() as u64).saturating_sub(sent);
            seen.microseconds.push(took.try_into().unwrap_or(u32::MAX));
        }
    }

    /// Carries out commands until there are no more.
    pub fn obey(&self) {
        for line in std::io::stdin().lines() {
            let line = line.unwrap();
            match line.split_whitespace().collect::<Vec<_>>()[..] {
                ["reset"] => {
                    let mut seen = self.0.lock().unwrap();
                    seen.count = 0;
                    seen.microseconds.clear();
                    println!("ok");
                }
                ["wait", count] => println!("{}", self.wait(count.parse().unwrap())),
                _ => panic!("no such command: {line}"),
            }
        }
    }

    fn wait(&self, count: usize) -> String {
        while self.0.lock().unwrap().count < count {
            thread::sleep(Duration::from_millis(2));
        }
        let mut seen = self.0.lock().unwrap();
        seen.microseconds.sort_unstable();
        let times = &seen.microseconds;
        let at = |thousandths: usize| times[times.len() * thousandths / 1000];
        format!("events {} {} {}", at(500), at(990), at(999))
    }
}
