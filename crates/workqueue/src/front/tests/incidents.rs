//! Public incidents, as far as a queue is concerned.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::super::*;
use super::settle;

const SECOND: Duration = Duration::from_secs(1);

/// kubernetes#23731: who lost the lease goes on working. A queue whose owner may write no more starts no run,
/// whatever is ready, delayed or added; what runs is waited for.
#[tokio::test(start_paused = true)]
async fn incident_3_no_run_starts_after_the_lease_is_lost() {
    let queue = Queue::new();
    let leads = Arc::new(AtomicBool::new(true));
    let finished = Arc::new(AtomicU32::new(0));
    let mut workers = JoinSet::new();
    for _ in 0..2 {
        let (queue, leads, finished) = (queue.clone(), Arc::clone(&leads), Arc::clone(&finished));
        workers.spawn(async move {
            while let Some(item) = queue.get().await {
                assert!(
                    leads.load(Ordering::SeqCst),
                    "started {} too late",
                    item.key()
                );
                sleep(SECOND).await;
                finished.fetch_add(1, Ordering::SeqCst);
                item.retry();
            }
        });
    }
    for key in 0..10 {
        queue.add(key);
    }
    queue.add_after(10, SECOND / 2);
    sleep(SECOND / 4).await;
    leads.store(false, Ordering::SeqCst);
    queue.shut_down_now();
    queue.add(11);
    assert_eq!(queue.in_flight(), 2);
    assert_eq!(queue.drain(SECOND).await, Ok(()), "what runs is waited for");
    workers.join_all().await;
    assert_eq!((finished.load(Ordering::SeqCst), queue.dropped()), (2, 9));
}

/// controller-runtime#2719: a follower that shuts down starts work. Workers that wait for their first key are told of
/// the end, though keys were added all the while, and none of them gets one.
#[tokio::test(start_paused = true)]
async fn incident_4_a_queue_that_never_led_ends_without_a_run() {
    let queue = Queue::new();
    let ran = Arc::new(AtomicU32::new(0));
    for key in 0..100 {
        queue.add(key);
        queue.add_after(key, SECOND);
    }
    // The leader's workers, which never start.
    let worker = {
        let (queue, ran) = (queue.clone(), Arc::clone(&ran));
        async move {
            while queue.get().await.is_some() {
                ran.fetch_add(1, Ordering::SeqCst);
            }
        }
    };
    queue.shut_down_now();
    assert_eq!(timeout(SECOND, queue.drain(SECOND)).await, Ok(Ok(())));
    // Started late, as in the incident: there is nothing to do.
    timeout(SECOND, worker).await.unwrap();
    assert_eq!((ran.load(Ordering::SeqCst), queue.dropped()), (0, 200));
}

/// kube-rs#1322: runs vanish when concurrency is bounded. Two workers, three keys, each added again while it runs.
#[tokio::test(start_paused = true)]
async fn incident_7_each_key_runs_again_after_its_last_trigger() {
    let queue: Queue<usize> = Queue::new();
    let level = Arc::new([const { AtomicU32::new(0) }; 3]);
    let seen = Arc::new([const { AtomicU32::new(0) }; 3]);
    let mut workers = JoinSet::new();
    for _ in 0..2 {
        let (queue, level, seen) = (queue.clone(), Arc::clone(&level), Arc::clone(&seen));
        workers.spawn(async move {
            while let Some(item) = queue.get().await {
                let read = level[*item.key()].load(Ordering::SeqCst);
                sleep(SECOND).await;
                seen[*item.key()].store(read, Ordering::SeqCst);
            }
        });
    }
    for round in 1..=50 {
        for key in [round % 3, (round + 1) % 3, (round + 2) % 3] {
            level[key].fetch_add(1, Ordering::SeqCst);
            queue.add(key);
        }
        settle().await;
        assert_eq!(
            queue.in_flight(),
            2,
            "two are triggered while they run, in round {round}"
        );
        sleep(SECOND * 7 / 20).await;
    }
    assert_eq!(queue.drain(60 * SECOND).await, Ok(()));
    workers.join_all().await;
    for key in 0..3 {
        assert_eq!(
            seen[key].load(Ordering::SeqCst),
            50,
            "the last trigger of {key} had no run"
        );
    }
}
