//! Scenarios of client-go's and controller-runtime's own tests.

use tokio::task::JoinSet;

use super::*;

#[tokio::test(start_paused = true)]
async fn client_go_ts65_of_several_delays_the_earliest_fires_once() {
    let queue = Queue::new();
    for (key, delay) in [
        ("short first", 50),
        ("short first", 70),
        ("long first", 50),
        ("long first", 30),
        ("third", 1000),
        ("second", 500),
        ("first", 250),
    ] {
        queue.add_after(key, millis(delay));
    }
    let got = worker(&queue);
    sleep(millis(600)).await;
    // Shorter than what the worker sleeps for.
    queue.add_after("late", millis(10));
    sleep(millis(2000)).await;
    queue.shut_down();
    // Timers have a resolution of a millisecond, and are never early.
    let got = got.await.unwrap().into_iter();
    let got: Vec<_> = got
        .map(|(key, at)| (key, at.as_millis() / 10 * 10))
        .collect();
    assert_eq!(
        got,
        [
            ("long first", 30),
            ("short first", 50),
            ("first", 250),
            ("second", 500),
            ("late", 610),
            ("third", 1000)
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn client_go_ts68_metrics_count_each_run_and_a_key_that_was_run_is_freed() {
    let sink = MemorySink::new();
    let queue = Queue::builder()
        .name("q")
        .metrics(Metrics::new(sink.clone()))
        .build();
    let value = |name: &str| sink.value(name, &["q"]).unwrap();
    let key: StdArc<str> = "a".into();
    let weak = StdArc::downgrade(&key);
    queue.add_ref(&key);
    assert_eq!(
        (value("workqueue_adds_total"), value("workqueue_depth")),
        (1.0, 1.0)
    );
    advance(millis(500)).await;
    let item = queue.get().await.unwrap();
    assert_eq!(value("workqueue_depth"), 0.0);
    for _ in 0..5 {
        queue.add_ref(&key);
    }
    assert_eq!(
        (value("workqueue_adds_total"), value("workqueue_depth")),
        (2.0, 1.0)
    );
    advance(millis(250)).await;
    drop(item);
    drop(queue.get().await.unwrap());
    let sums = [
        "workqueue_queue_duration_seconds",
        "workqueue_work_duration_seconds",
    ]
    .map(|name| sink.histogram_snapshot(name, &["q"]).unwrap().sum);
    assert_eq!(
        sums,
        [0.75, 0.25],
        "the second run waited while the first went on"
    );
    drop(key);
    assert!(weak.upgrade().is_none(), "nobody keeps the key");
}

#[tokio::test(start_paused = true)]
async fn controller_runtime_t57_the_depth_is_right_whatever_way_a_key_became_ready() {
    let sink = MemorySink::new();
    let queue = Queue::builder()
        .name("q")
        .metrics(Metrics::new(sink.clone()))
        .build();
    let depth = || sink.value("workqueue_depth", &["q"]).unwrap();
    queue.add_after("a", millis(100));
    assert_eq!(depth(), 0.0);
    queue.add("a");
    assert_eq!(depth(), 1.0, "ready now");
    queue.add_with("a", Add::priority(7));
    assert_eq!(depth(), 1.0, "raised");
    advance(millis(150)).await;
    assert_eq!(depth(), 1.0, "the delay ended and the key waits already");
    assert_eq!(queue.try_get().unwrap().priority(), 7);
    assert_eq!(depth(), 0.0);
    queue.add_after("a", millis(100));
    advance(millis(150)).await;
    assert_eq!(depth(), 1.0, "due");
    queue.add("a");
    assert_eq!(depth(), 1.0);
    drop(queue.try_get());
    for priority in 0..40 {
        queue.add_with("a", Add::priority(priority));
        drop(queue.try_get());
        assert_eq!(depth(), 0.0, "at priority {priority}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn controller_runtime_t59_shutdown_ends_every_get() {
    for round in 0..50 {
        let queue: Queue<usize> = Queue::new();
        let mut working = JoinSet::new();
        for _ in 0..20 {
            let queue = queue.clone();
            working.spawn(async move { while queue.get().await.is_some() {} });
        }
        for key in 0..round {
            queue.add(key);
        }
        yield_now().await;
        queue.shut_down();
        let ended = timeout(Duration::from_secs(20), working.join_all()).await;
        assert!(ended.is_ok(), "a worker waits for ever in round {round}");
    }
}
