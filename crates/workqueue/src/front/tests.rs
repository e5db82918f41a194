mod foreign;
mod incidents;
mod scenarios;
mod stress;
mod wakeups;

use std::panic::AssertUnwindSafe;
use std::sync::Arc as StdArc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use evenkeel_observe::{MemorySink, Metrics};
use evenkeel_pace::{ItemBackoff, Limiter, TokenBucket};
use tokio::task::{JoinHandle, yield_now};
use tokio::time::{Instant, advance, sleep, timeout};

use super::*;
use crate::{Add, Fifo};

const LONG: Duration = Duration::from_secs(3600);

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A worker that notes what it gets and when.
fn worker(queue: &Queue<&'static str>) -> JoinHandle<Vec<(&'static str, Duration)>> {
    let queue = queue.clone();
    let start = Instant::now();
    tokio::spawn(async move {
        let mut got = Vec::new();
        while let Some(item) = queue.get().await {
            got.push((*item.key(), start.elapsed()));
        }
        got
    })
}

/// Lets every task that can run do so.
async fn settle() {
    for _ in 0..20 {
        yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn client_go_w2_get_waits_for_a_key_or_the_end() {
    let queue = Queue::new();
    assert!(timeout(LONG, queue.get()).await.is_err());
    queue.add("a");
    assert_eq!(queue.get().await.map(|item| *item.key()), Some("a"));
    let worker = worker(&queue);
    settle().await;
    queue.add("b");
    settle().await;
    queue.add("c");
    queue.shut_down();
    queue.add("d");
    let got: Vec<_> = worker
        .await
        .unwrap()
        .into_iter()
        .map(|(key, _)| key)
        .collect();
    assert_eq!(
        got,
        ["b", "c"],
        "the end is told only when the queue is empty"
    );
    assert!(queue.get().await.is_none());
    assert!(queue.is_shutting_down());
}

#[tokio::test(start_paused = true)]
async fn client_go_w2_len_counts_what_waits_only() {
    let queue = Queue::new();
    queue.add("a");
    queue.add("b");
    queue.add_after("c", millis(10));
    let item = queue.get().await.unwrap();
    assert_eq!((queue.len(), queue.delayed(), queue.in_flight()), (1, 1, 1));
    sleep(millis(10)).await;
    assert_eq!(
        (queue.len(), queue.delayed()),
        (2, 0),
        "due keys count, though no worker has looked"
    );
    drop(item);
}

#[tokio::test(start_paused = true)]
async fn client_go_w4_shutdown_wakes_every_worker() {
    let queue = Queue::new();
    let workers: Vec<_> = (0..16).map(|_| worker(&queue)).collect();
    queue.add_after("late", LONG);
    settle().await;
    queue.shut_down();
    for worker in workers {
        assert!(
            timeout(millis(1), worker)
                .await
                .unwrap()
                .unwrap()
                .is_empty()
        );
    }
    assert_eq!(queue.dropped(), 1);
}

#[tokio::test(start_paused = true)]
async fn client_go_w6_a_panic_in_the_holder_is_a_failure() {
    let queue = Queue::new();
    queue.add("a");
    let item = queue.get().await.unwrap();
    let ended = std::panic::catch_unwind(AssertUnwindSafe(move || {
        let _held = item;
        panic!("the reconciler broke");
    }));
    assert!(ended.is_err());
    assert_eq!(
        (queue.in_flight(), queue.failures(&"a"), queue.delayed()),
        (0, 1, 1)
    );
    let start = Instant::now();
    assert_eq!(queue.get().await.map(|item| *item.key()), Some("a"));
    assert!(start.elapsed() >= millis(5));
}

#[tokio::test(start_paused = true)]
async fn client_go_w6_a_worker_that_is_aborted_gives_its_key_back() {
    let queue = Queue::new();
    queue.add("a");
    let holder = tokio::spawn({
        let queue = queue.clone();
        async move {
            let _item = queue.get().await;
            std::future::pending::<()>().await;
        }
    });
    settle().await;
    queue.add("a");
    assert_eq!(queue.in_flight(), 1);
    holder.abort();
    assert!(holder.await.unwrap_err().is_cancelled());
    assert_eq!(queue.get().await.map(|item| *item.key()), Some("a"));
}

#[tokio::test(start_paused = true)]
async fn client_go_w7_one_waiting_worker_keeps_the_time_for_all() {
    let queue = Queue::new();
    let workers = [worker(&queue), worker(&queue), worker(&queue)];
    settle().await;
    queue.add_after("late", millis(100));
    settle().await;
    // An earlier timer moves the alarm of whoever keeps the time.
    queue.add_after("early", millis(20));
    queue.add_after("twice", millis(80));
    queue.add_after("twice", millis(40));
    sleep(millis(200)).await;
    queue.shut_down();
    let mut got = Vec::new();
    for worker in workers {
        got.extend(worker.await.unwrap());
    }
    got.sort_by_key(|(_, at)| *at);
    assert_eq!(
        got,
        [
            ("early", millis(20)),
            ("twice", millis(40)),
            ("late", millis(100))
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn client_go_w9_no_task_outlives_the_queue() {
    let before = tokio::runtime::Handle::current()
        .metrics()
        .num_alive_tasks();
    let queue = Queue::new();
    queue.add_after("a", LONG);
    assert!(timeout(millis(1), queue.get()).await.is_err());
    assert_eq!(
        tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks(),
        before,
        "there is none at all"
    );
    let alive = StdArc::new(());
    let keyed: Queue<StdArc<()>> = Queue::new();
    keyed.add_after(StdArc::clone(&alive), LONG);
    drop(keyed);
    assert_eq!(StdArc::strong_count(&alive), 1);
}

#[tokio::test(start_paused = true)]
async fn client_go_b23_a_burst_of_failures_does_not_delay_others_for_long() {
    let bucket = TokenBucket::new(10.0, 100).longest_wait(Duration::from_secs(30));
    let queue = Queue::builder()
        .limiter(ItemBackoff::default().max_of(bucket))
        .build();
    for key in 0..10_000 {
        queue.add_rate_limited(key);
    }
    queue.add_rate_limited(10_000);
    sleep(Duration::from_secs(30)).await;
    assert_eq!((queue.len(), queue.delayed()), (10_001, 0));
}

#[tokio::test(start_paused = true)]
async fn client_go_b25_drain_waits_for_queued_and_in_flight_work() {
    let queue = Queue::builder().order(Fifo::new()).build();
    for key in ["a", "b", "c"] {
        queue.add(key);
    }
    let finished = StdArc::new(AtomicUsize::new(0));
    let worker = tokio::spawn({
        let (queue, finished) = (queue.clone(), StdArc::clone(&finished));
        async move {
            while let Some(item) = queue.get().await {
                sleep(Duration::from_secs(1)).await;
                finished.fetch_add(1, Ordering::Relaxed);
                drop(item);
            }
        }
    });
    assert_eq!(queue.drain(LONG).await, Ok(()));
    assert_eq!(
        finished.load(Ordering::Relaxed),
        3,
        "it returned after the third was done"
    );
    worker.await.unwrap();
    assert_eq!(queue.drain(LONG).await, Ok(()), "again, with nothing to do");
}

#[tokio::test(start_paused = true)]
async fn client_go_b25_drain_starts_waiting_with_nothing_in_flight_and_gives_up_at_its_deadline() {
    let queue = Queue::new();
    queue.add("a");
    queue.add("b");
    let held = queue.get().await.unwrap();
    let start = Instant::now();
    let late = queue.drain(Duration::from_secs(5)).await.unwrap_err();
    assert_eq!(
        (late.queued, late.in_flight, start.elapsed()),
        (1, 1, Duration::from_secs(5))
    );
    assert!(late.to_string().contains("1 keys waiting"));
    let drains = [0; 3].map(|_| {
        let queue = queue.clone();
        tokio::spawn(async move { queue.drain(LONG).await })
    });
    settle().await;
    drop(held);
    worker(&queue).await.unwrap();
    for drain in drains {
        assert_eq!(drain.await.unwrap(), Ok(()), "everybody who waits is told");
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_get_loses_neither_key_nor_timer() {
    let queue: Queue<&str> = Queue::new();
    // The one that keeps the time is dropped: another takes over.
    let keeper = worker(&queue);
    queue.add_after("a", millis(50));
    settle().await;
    let other = worker(&queue);
    settle().await;
    keeper.abort();
    sleep(millis(60)).await;
    queue.shut_down();
    assert_eq!(other.await.unwrap(), [("a", millis(50))]);
}

#[tokio::test(start_paused = true)]
async fn a_get_that_is_dropped_after_it_was_woken_passes_the_key_on() {
    let queue: Queue<u32> = Queue::new();
    for key in 0..200 {
        let mut first = Box::pin(queue.get());
        let mut second = Box::pin(queue.get());
        assert!(futures_poll(&mut first).await.is_none());
        assert!(futures_poll(&mut second).await.is_none());
        queue.add(key);
        // The latest who waits was woken; it goes without looking.
        drop(second);
        let item = timeout(millis(1), first).await.unwrap().unwrap();
        assert_eq!(*item.key(), key);
    }
    assert_eq!(queue.len(), 0);
}

/// Polls a future once.
async fn futures_poll<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    std::future::poll_fn(|cx| match std::pin::Pin::new(&mut *future).poll(cx) {
        std::task::Poll::Ready(output) => std::task::Poll::Ready(Some(output)),
        std::task::Poll::Pending => std::task::Poll::Ready(None),
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn retry_after_and_park_work_from_the_item() {
    let queue = Queue::new();
    queue.add("a");
    let item = queue.get().await.unwrap();
    item.park(millis(100));
    item.retry_after(millis(10));
    let start = Instant::now();
    let item = queue.get().await.unwrap();
    assert_eq!(
        (*item.key(), start.elapsed()),
        ("a", millis(100)),
        "parked until its bound"
    );
    item.park(LONG);
    item.retry_after(Duration::ZERO);
    assert!(queue.try_get().is_none());
    let waiting = worker(&queue);
    settle().await;
    queue.unpark(&"a");
    settle().await;
    queue.shut_down();
    assert_eq!(waiting.await.unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn priorities_reach_the_order_and_the_item() {
    let queue = Queue::new();
    queue.add_with("low", Add::priority(-100));
    queue.add("mid");
    queue.add_with("high", Add::priority(9));
    let mut item = queue.get().await.unwrap();
    assert_eq!((*item.key(), item.priority()), ("high", 9));
    item.set_priority(-200);
    item.retry();
    sleep(millis(5)).await;
    let order: Vec<_> = std::iter::from_fn(|| queue.try_get())
        .map(|item| *item.key())
        .collect();
    assert_eq!(order, ["mid", "low", "high"]);
}

#[tokio::test(start_paused = true)]
async fn client_go_m1_metrics_by_their_upstream_names() {
    let sink = MemorySink::new();
    let queue = Queue::builder()
        .name("deployment")
        .metrics(Metrics::new(sink.clone()))
        .build();
    let value = |name: &str| sink.value(name, &["deployment"]).unwrap();
    queue.add("a");
    queue.add("a");
    queue.add_after("b", Duration::from_secs(1));
    assert_eq!(
        (value("workqueue_depth"), value("workqueue_adds_total")),
        (1.0, 1.0)
    );
    assert_eq!(value("workqueue_retries_total"), 1.0);
    sleep(Duration::from_secs(3)).await;
    assert_eq!(value("workqueue_depth"), 2.0);
    let a = queue.get().await.unwrap();
    queue.add("a");
    assert_eq!(
        value("workqueue_depth"),
        2.0,
        "W11: a key that is to run again counts at once"
    );
    sleep(Duration::from_secs(2)).await;
    let b = queue.get().await.unwrap();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(value("workqueue_unfinished_work_seconds"), 4.0);
    assert_eq!(value("workqueue_longest_running_processor_seconds"), 3.0);
    drop((a, b));
    assert_eq!(value("workqueue_unfinished_work_seconds"), 0.0);
    let waited = sink
        .histogram_snapshot("workqueue_queue_duration_seconds", &["deployment"])
        .unwrap();
    assert_eq!(
        (waited.count, waited.sum),
        (2, 7.0),
        "a waited 3 s; b was due at 1 s and waited 4 s"
    );
    assert_eq!(waited.buckets.len(), 11);
    let worked = sink
        .histogram_snapshot("workqueue_work_duration_seconds", &["deployment"])
        .unwrap();
    assert_eq!((worked.count, worked.sum), (2, 4.0));
    drop(queue);
    assert_eq!(
        sink.value("workqueue_depth", &["deployment"]),
        None,
        "they go with the queue"
    );
}

#[tokio::test(start_paused = true)]
async fn client_go_w11_a_queue_without_a_name_reports_nothing() {
    let sink = MemorySink::new();
    let queue = Queue::builder().metrics(Metrics::new(sink.clone())).build();
    queue.add("a");
    drop(queue.get().await);
    assert!(sink.series("workqueue_adds_total").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_always_finds_a_key_lets_others_run() {
    let queue = Queue::new();
    queue.add("a");
    let stop = StdArc::new(AtomicBool::new(false));
    let busy = tokio::spawn({
        let (queue, stop) = (queue.clone(), StdArc::clone(&stop));
        async move {
            while !stop.load(Ordering::Relaxed)
                && let Some(item) = queue.get().await
            {
                queue.add(item.key());
            }
        }
    });
    settle().await;
    stop.store(true, Ordering::Relaxed);
    busy.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn time_that_jumps_makes_everything_due_at_once() {
    let queue = Queue::new();
    for (key, delay) in [("c", 30), ("a", 10), ("b", 20)] {
        queue.add_after(key, Duration::from_secs(delay));
    }
    queue.add_after("never", Duration::MAX);
    advance(LONG * 10_000).await;
    let order: Vec<_> = std::iter::from_fn(|| queue.try_get())
        .map(|item| *item.key())
        .collect();
    assert_eq!(order, ["a", "b", "c"]);
    assert!(timeout(LONG, queue.get()).await.is_err());
}

fn is_send<T: Send>(value: T) -> T {
    value
}

#[test]
fn handles_items_and_futures_can_cross_threads() {
    fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<Queue<String>>();
    is_send_and_sync::<Item<String>>();
    let queue: Queue<String> = Queue::new();
    drop(is_send(queue.get()));
    drop(is_send(queue.drain(LONG)));
}
