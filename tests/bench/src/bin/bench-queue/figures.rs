//! The figures. The programs for the other queues do the same.

use std::hint::spin_loop;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use evenkeel_observe::{MemorySink, Metrics};
use evenkeel_workqueue::Queue;
use tokio::runtime::{Builder, Runtime};

use crate::process;

/// A string that is cheap to clone, as Go's are.
type Key = Arc<str>;

const COUNT: u32 = 1_000_000;
const WORKERS: usize = 1_000;
/// How long a busy worker holds a key.
const HOLD: Duration = Duration::from_millis(10);
/// How many adds are timed beside the busy workers, and how far apart.
const TIMED: u32 = 200_000;
const PAUSE: Duration = Duration::from_micros(10);
/// Delays are spread evenly over this time.
const SPREAD: Duration = Duration::from_secs(5);

/// Add, get and done of distinct keys, in nanoseconds an item.
pub(crate) fn item() -> anyhow::Result<()> {
    let (keys, runtime) = (keys(COUNT, "default"), runtime()?);
    let least = least_of(3, || {
        let queue = queue();
        let start = Instant::now();
        for key in &keys {
            queue.add_ref(key);
        }
        runtime.block_on(drain(&queue));
        start.elapsed()
    });
    report("item_ns", each(least));
    Ok(())
}

/// What a queued key takes, the 16 bytes of its handle included.
pub(crate) fn bytes() -> anyhow::Result<()> {
    let (keys, queue) = (keys(COUNT, "default"), queue());
    let before = process::anonymous_memory()?;
    for key in &keys {
        queue.add_ref(key);
    }
    let after = process::anonymous_memory()?;
    report("bytes", (after - before) as f64 / f64::from(COUNT));
    Ok(())
}

/// One key that waits is added again and again, in nanoseconds an add.
pub(crate) fn hot() -> anyhow::Result<()> {
    let queue = queue();
    let key: Key = "default/pod-0000000".into();
    queue.add_ref(&key);
    let least = least_of(10, || {
        let start = Instant::now();
        for _ in 0..COUNT {
            queue.add_ref(&key);
        }
        start.elapsed()
    });
    report("hot_ns", each(least));
    Ok(())
}

/// Keys with random delays, until all have been handed out: CPU nanoseconds a key.
pub(crate) fn delays() -> anyhow::Result<()> {
    let (keys, queue, runtime) = (keys(COUNT, "default"), queue(), runtime()?);
    let mut random = fastrand::Rng::with_seed(1);
    let before = process::cpu()?;
    thread::scope(|scope| {
        scope.spawn(|| {
            for key in &keys {
                let delay = random.u64(1..SPREAD.as_nanos() as u64);
                queue.add_after(Arc::clone(key), Duration::from_nanos(delay));
            }
        });
        runtime.block_on(drain(&queue));
    });
    let took = process::cpu()? - before;
    report("delays_cpu_ns", each(took));
    Ok(())
}

/// Adds of new keys with a million ready and a thousand workers that each hold a key, add it again and give it
/// back: percentiles in
/// nanoseconds.
pub(crate) fn busy() -> anyhow::Result<()> {
    let (queue, runtime) = (queue(), runtime()?);
    for key in keys(COUNT, "default") {
        queue.add(key);
    }
    let fresh = keys(TIMED, "fresh");
    for _ in 0..WORKERS {
        let queue = queue.clone();
        runtime.spawn(async move {
            while let Some(item) = queue.get().await {
                tokio::time::sleep(HOLD).await;
                queue.add_ref(item.key());
            }
        });
    }
    thread::sleep(Duration::from_millis(100));
    let mut took = Vec::with_capacity(fresh.len());
    let mut next = Instant::now();
    for key in fresh {
        while Instant::now() < next {
            spin_loop();
        }
        let start = Instant::now();
        queue.add(key);
        took.push(start.elapsed());
        next = start + PAUSE;
    }
    queue.shut_down_now();
    took.sort_unstable();
    report("busy_p99_ns", took[took.len() * 99 / 100].as_nanos() as f64);
    report(
        "busy_p999_ns",
        took[took.len() * 999 / 1000].as_nanos() as f64,
    );
    Ok(())
}

/// As a controller's: named, with metrics and priorities.
fn queue() -> Queue<Key> {
    Queue::builder()
        .name("bench")
        .metrics(Metrics::new(MemorySink::new()))
        .build()
}

fn runtime() -> anyhow::Result<Runtime> {
    Ok(Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()?)
}

fn keys(count: u32, prefix: &str) -> Vec<Key> {
    (0..count)
        .map(|number| format!("{prefix}/pod-{number:07}").into())
        .collect()
}

async fn drain(queue: &Queue<Key>) {
    for _ in 0..COUNT {
        drop(queue.get().await);
    }
}

/// The quickest of several runs: what else the machine does only ever adds.
fn least_of(runs: usize, run: impl FnMut() -> Duration) -> Duration {
    std::iter::repeat_with(run)
        .take(runs)
        .min()
        .unwrap_or_default()
}

fn each(total: Duration) -> f64 {
    total.as_nanos() as f64 / f64::from(COUNT)
}

fn report(name: &str, value: f64) {
    println!("{name} {value:.3}");
}
