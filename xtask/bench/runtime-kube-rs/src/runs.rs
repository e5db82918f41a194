//! Counts runs: first one of each object, which does nothing else, then those of events, which are timed.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How often the main thread looks.
const LOOK: Duration = Duration::from_millis(2);

pub struct Runs {
    objects: usize,
    begun: AtomicUsize,
    started: OnceLock<Instant>,
    took: OnceLock<Duration>,
    microseconds: Mutex<Vec<u32>>,
}

impl Runs {
    pub fn new(objects: usize) -> Self {
        Self {
            objects,
            begun: AtomicUsize::new(0),
            started: OnceLock::new(),
            took: OnceLock::new(),
            microseconds: Mutex::default(),
        }
    }

    /// Whether this run is one of the first ones.
    pub fn begin(&self) -> bool {
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
    pub fn first(&self) -> f64 {
        loop {
            if let Some(took) = self.took.get() {
                return took.as_secs_f64() * 1e3;
            }
            thread::sleep(LOOK);
        }
    }

    /// Takes note of a run for an object, whose resource version is the time when it was sent.
    pub fn note(&self, version: Option<&str>) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let sent: u64 = version.unwrap().parse().unwrap();
        let took = (now.as_micros() as u64).saturating_sub(sent);
        let mut microseconds = self.microseconds.lock().unwrap();
        microseconds.push(took.try_into().unwrap_or(u32::MAX));
    }

    /// Carries out commands until there are no more.
    pub fn obey(&self) {
        for line in std::io::stdin().lines() {
            let line = line.unwrap();
            match line.split_whitespace().collect::<Vec<_>>()[..] {
                ["reset"] => {
                    self.microseconds.lock().unwrap().clear();
                    println!("ok");
                }
                ["wait", count] => println!("{}", self.wait(count.parse().unwrap())),
                _ => panic!("no such command: {line}"),
            }
        }
    }

    fn wait(&self, count: usize) -> String {
        while self.microseconds.lock().unwrap().len() < count {
            thread::sleep(LOOK);
        }
        let mut times = self.microseconds.lock().unwrap();
        times.sort_unstable();
        let at = |thousandths: usize| times[times.len() * thousandths / 1000];
        format!("runs {} {} {}", at(500), at(990), at(999))
    }
}
