//! Real threads: no key is ever with two workers, and no add is lost.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use evenkeel_pace::ItemBackoff;
use tokio::task::{JoinSet, yield_now};
use tokio::time::timeout;

use super::super::*;

const PRODUCERS: usize = 4;

/// What is known of each key outside the queue.
struct Keys {
    held: Vec<AtomicBool>,
    /// The level: how often the key was added.
    added: Vec<AtomicU32>,
    /// The highest level that a run has read.
    seen: Vec<AtomicU32>,
}

impl Keys {
    fn new(keys: usize) -> Arc<Self> {
        Arc::new(Self {
            held: (0..keys).map(|_| AtomicBool::new(false)).collect(),
            added: (0..keys).map(|_| AtomicU32::new(0)).collect(),
            seen: (0..keys).map(|_| AtomicU32::new(0)).collect(),
        })
    }

    fn add(&self, queue: &Queue<usize>, key: usize) {
        self.added[key].fetch_add(1, Ordering::SeqCst);
        queue.add(key);
    }

    /// Runs keys, with failures and delays in between, until the end.
    async fn work(&self, queue: &Queue<usize>) -> usize {
        let mut runs = 0usize;
        while let Some(item) = queue.get().await {
            let key = *item.key();
            assert!(
                !self.held[key].swap(true, Ordering::SeqCst),
                "two workers have {key}"
            );
            let level = self.added[key].load(Ordering::SeqCst);
            if runs.is_multiple_of(3) {
                yield_now().await;
            }
            self.seen[key].fetch_max(level, Ordering::SeqCst);
            runs += 1;
            assert!(self.held[key].swap(false, Ordering::SeqCst));
            match runs % 50 {
                0 => item.retry(),
                1 => item.retry_after(Duration::from_micros(50)),
                _ => item.forget(),
            }
        }
        runs
    }

    /// Adds keys in an order of its own; now and then a getter changes its mind.
    async fn produce(&self, queue: &Queue<usize>, producer: usize, adds: usize) {
        for step in 0..adds {
            self.add(queue, (step * 7 + producer * 13) % self.held.len());
            if step.is_multiple_of(64) {
                yield_now().await;
                let _ = timeout(Duration::from_nanos(1), queue.get()).await;
            }
        }
    }
}

async fn no_two_workers_share_a_key(workers: usize, keys: usize, adds: usize) {
    let limiter = ItemBackoff::new(Duration::from_micros(10), Duration::from_millis(2));
    let queue: Queue<usize> = Queue::builder().limiter(limiter).build();
    let keys = Keys::new(keys);
    let mut working = JoinSet::new();
    for _ in 0..workers {
        let (keys, queue) = (Arc::clone(&keys), queue.clone());
        working.spawn(async move { keys.work(&queue).await });
    }
    let mut producing = JoinSet::new();
    for producer in 0..PRODUCERS {
        let (keys, queue) = (Arc::clone(&keys), queue.clone());
        producing.spawn(async move { keys.produce(&queue, producer, adds / PRODUCERS).await });
    }
    producing.join_all().await;
    // The getters above may have taken a key's last run: add each once more.
    for key in 0..keys.held.len() {
        keys.add(&queue, key);
    }
    assert_eq!(queue.drain(Duration::from_secs(300)).await, Ok(()));
    let runs: usize = working.join_all().await.into_iter().sum();
    assert!(runs >= keys.held.len());
    for (key, (added, seen)) in keys.added.iter().zip(&keys.seen).enumerate() {
        let (added, seen) = (added.load(Ordering::SeqCst), seen.load(Ordering::SeqCst));
        assert_eq!(seen, added, "an add of {key} was lost");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn client_go_w1_sixteen_workers_never_share_a_key() {
    no_two_workers_share_a_key(16, 1_000, 100_000).await;
}

/// The small sister of the next one.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn client_go_w1_ts63_sixty_four_workers_never_share_a_key() {
    no_two_workers_share_a_key(64, 256, 50_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "a million items: docs/TESTING.md says how it is run"]
async fn sixty_four_workers_and_a_million_items_never_share_a_key() {
    no_two_workers_share_a_key(64, 4_096, 1_000_000).await;
}

async fn each_key_is_handed_out_once(workers: usize, keys: usize) {
    let queue: Queue<usize> = Queue::new();
    let mut working = JoinSet::new();
    for _ in 0..workers {
        let queue = queue.clone();
        working.spawn(async move {
            let mut got = Vec::new();
            while let Some(item) = queue.get().await {
                got.push(*item.key());
            }
            got
        });
    }
    for key in 0..keys {
        queue.add(key);
        if key.is_multiple_of(100) {
            yield_now().await;
        }
    }
    assert_eq!(queue.drain(Duration::from_secs(300)).await, Ok(()));
    let mut all = HashSet::new();
    for key in working.join_all().await.into_iter().flatten() {
        assert!(all.insert(key), "{key} came twice");
    }
    assert_eq!(all.len(), keys);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn client_go_w1_a_hundred_thousand_keys_over_sixteen_workers() {
    each_key_is_handed_out_once(16, 100_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "a million keys: docs/TESTING.md says how it is run"]
async fn a_million_keys_over_sixty_four_workers() {
    each_key_is_handed_out_once(64, 1_000_000).await;
}
