//! Drives kube-rs's scheduler through the figures of `bench-queue` that it can do. Run by
//! `cargo xtask bench queue`.
//!
//! Its controller gives it requests through a channel and polls it with the keys that are being worked
//! on; there is no queue to call. So an add is a send, a get is the next item that is not held, and
//! done takes the key out of the set. It has no busy figure: adds go to the channel, whose time would be
//! measured, not the scheduler's.

use std::collections::HashSet;
use std::fs;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::channel::mpsc;
use futures::{StreamExt, poll};
use kube_runtime::scheduler::{ScheduleRequest, scheduler};

type Key = Arc<str>;

const COUNT: usize = 1_000_000;
const SPREAD: Duration = Duration::from_secs(5);

#[tokio::main(worker_threads = 2)]
async fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("item") => item().await,
        Some("bytes") => bytes().await,
        Some("hot") => hot().await,
        Some("delays") => delays().await,
        _ => {
            eprintln!("usage: queue-kube-rs item|bytes|hot|delays");
            std::process::exit(2);
        }
    }
}

async fn item() {
    let keys = keys();
    let mut least = u128::MAX;
    for _ in 0..3 {
        let (sender, requests) = mpsc::unbounded();
        let mut scheduler = pin!(scheduler(requests));
        let mut held = HashSet::new();
        let start = Instant::now();
        for key in &keys {
            sender.unbounded_send(now(key)).unwrap();
        }
        for _ in &keys {
            let key = scheduler
                .as_mut()
                .hold_unless(|key| !held.contains(key))
                .next()
                .await
                .unwrap();
            held.insert(key.clone());
            held.remove(&key);
        }
        least = least.min(start.elapsed().as_nanos());
    }
    report("item_ns", least);
}

async fn bytes() {
    let keys = keys();
    let (sender, requests) = mpsc::unbounded();
    let mut scheduler = pin!(scheduler(requests));
    let before = anonymous_memory();
    // Far enough that they stay; polled now and then, so that the channel does not count.
    let run_at = tokio::time::Instant::now() + Duration::from_secs(3600);
    for chunk in keys.chunks(1000) {
        for key in chunk {
            let request = ScheduleRequest {
                message: key.clone(),
                run_at,
            };
            sender.unbounded_send(request).unwrap();
        }
        assert!(poll!(scheduler.next()).is_pending());
    }
    report("bytes", u128::from(anonymous_memory() - before));
}

async fn hot() {
    let (sender, requests) = mpsc::unbounded();
    let mut scheduler = pin!(scheduler(requests));
    let key: Key = "default/pod-0000000".into();
    let run_at = tokio::time::Instant::now() + Duration::from_secs(3600);
    let mut least = u128::MAX;
    for _ in 0..10 {
        let start = Instant::now();
        for _ in 0..COUNT / 1000 {
            for _ in 0..1000 {
                let request = ScheduleRequest {
                    message: key.clone(),
                    run_at,
                };
                sender.unbounded_send(request).unwrap();
            }
            assert!(poll!(scheduler.next()).is_pending());
        }
        least = least.min(start.elapsed().as_nanos());
    }
    report("hot_ns", least);
}

async fn delays() {
    let keys = keys();
    let (sender, requests) = mpsc::unbounded();
    let mut scheduler = pin!(scheduler(requests));
    let mut random = fastrand::Rng::with_seed(1);
    let before = cpu();
    let sending = tokio::task::spawn_blocking({
        let sender = sender.clone();
        move || {
            for key in keys {
                let delay = Duration::from_nanos(random.u64(1..SPREAD.as_nanos() as u64));
                let run_at = tokio::time::Instant::now() + delay;
                sender
                    .unbounded_send(ScheduleRequest {
                        message: key,
                        run_at,
                    })
                    .unwrap();
            }
        }
    });
    for _ in 0..COUNT {
        scheduler.next().await.unwrap();
    }
    sending.await.unwrap();
    report("delays_cpu_ns", (cpu() - before).as_nanos());
}

fn now(key: &Key) -> ScheduleRequest<Key> {
    ScheduleRequest {
        message: key.clone(),
        run_at: tokio::time::Instant::now(),
    }
}

fn keys() -> Vec<Key> {
    (0..COUNT)
        .map(|number| format!("default/pod-{number:07}").into())
        .collect()
}

fn anonymous_memory() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").unwrap();
    let pages: Vec<u64> = text
        .split(' ')
        .filter_map(|pages| pages.trim().parse().ok())
        .collect();
    (pages[1] - pages[2]) * 4096
}

fn cpu() -> Duration {
    let text = fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = text
        .rsplit_once(')')
        .unwrap()
        .1
        .split_ascii_whitespace()
        .collect();
    let ticks = fields[11].parse::<u32>().unwrap() + fields[12].parse::<u32>().unwrap();
    Duration::from_millis(10) * ticks
}

fn report(name: &str, total: u128) {
    println!("{name} {:.3}", total as f64 / COUNT as f64);
}
