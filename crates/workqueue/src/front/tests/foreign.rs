//! Code of others that misbehaves: orders, limiters and keys that panic, and arguments at the ends of their ranges.

use std::panic::catch_unwind;

use evenkeel_pace::Moment;

use super::*;
use crate::Fair;

/// A queue whose order panics at keys that begin with "bad".
fn picky() -> Queue<&'static str> {
    let order = Fair::new(|key: &&'static str| {
        assert!(!key.starts_with("bad"), "no group");
        0
    });
    Queue::builder().order(order).build()
}

fn panics<R>(act: impl FnOnce() -> R) -> bool {
    catch_unwind(AssertUnwindSafe(act)).is_err()
}

/// Whoever takes the lock next meets the panic; the adds before and behind the bad one are handed out all the same.
#[tokio::test(start_paused = true)]
async fn a_key_at_which_the_order_panics_takes_no_other_with_it() {
    let queue = picky();
    for key in ["a", "bad", "b", "bad too", "c"] {
        queue.add(key);
    }
    assert!(panics(|| queue.len()) && panics(|| queue.len()));
    assert_eq!((queue.len(), queue.in_flight()), (3, 0));
    let worker = worker(&queue);
    settle().await;
    assert!(queue.is_empty());
    // With a getter that waits, it is the add itself that panics; and the getter goes on waiting, without a spin.
    assert!(panics(|| queue.add("bad")) && panics(|| queue.add("bad")));
    queue.add_after("bad", millis(5));
    sleep(millis(1)).await;
    queue.add("d");
    settle().await;
    queue.shut_down();
    let got = worker.await.unwrap();
    let got: Vec<_> = got.into_iter().map(|(key, _)| key).collect();
    assert_eq!(got, ["a", "b", "c", "d"]);
    queue.drain(LONG).await.unwrap();
}

/// Panics instead of answering.
struct Broken;

impl<K: ?Sized> Limiter<K> for Broken {
    fn when(&mut self, _: &K, _: Moment) -> Duration {
        panic!("no delay");
    }

    fn forget(&mut self, _: &K) {}

    fn failures(&self, _: &K) -> u32 {
        0
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_at_which_the_limiter_panics_is_given_back() {
    let queue = Queue::builder().limiter(Broken).build();
    queue.add("a");
    let item = queue.get().await.unwrap();
    assert!(panics(|| item.retry()));
    assert_eq!((queue.len(), queue.in_flight()), (0, 0));

    // It was added meanwhile, and somebody waits for it: the panic keeps neither from the other.
    queue.add("a");
    let item = queue.get().await.unwrap();
    let waiting = tokio::spawn({
        let queue = queue.clone();
        async move { queue.get().await.map(|item| *item.key()) }
    });
    settle().await;
    queue.add("a");
    assert!(panics(|| item.retry()));
    let got = timeout(LONG, waiting).await.unwrap().unwrap();
    assert_eq!(got, Some("a"));
    assert!(panics(|| queue.add_rate_limited("b")));
    queue.drain(LONG).await.unwrap();
}

/// Does not know two keys, and says so by a panic.
struct Forgetful;

impl Limiter<&'static str> for Forgetful {
    fn when(&mut self, _: &&'static str, _: Moment) -> Duration {
        Duration::ZERO
    }

    fn forget(&mut self, key: &&'static str) {
        assert_ne!(*key, "worse");
    }

    fn failures(&self, key: &&'static str) -> u32 {
        assert_ne!(*key, "bad");
        3
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_whose_failures_cannot_be_counted_or_forgotten_is_not_lost() {
    let queue = Queue::builder().limiter(Forgetful).build();
    queue.add("bad");
    assert!(panics(|| queue.try_get()) && panics(|| queue.try_get()));
    assert_eq!((queue.len(), queue.in_flight()), (1, 0));
    queue.add_with("worse", Add::priority(1));
    let item = queue.get().await.unwrap();
    assert_eq!((*item.key(), item.failures()), ("worse", 3));
    assert!(panics(|| item.succeed()));
    assert_eq!((queue.len(), queue.in_flight()), (1, 0));
}

/// Says that the failed key waits for ever.
struct Endless;

impl<K: ?Sized> Limiter<K> for Endless {
    fn when(&mut self, _: &K, _: Moment) -> Duration {
        Duration::MAX
    }

    fn forget(&mut self, _: &K) {}

    fn failures(&self, _: &K) -> u32 {
        u32::MAX
    }
}

#[tokio::test(start_paused = true)]
async fn the_longest_delays_are_waited_for_and_the_shortest_are_none() {
    let queue = Queue::builder().limiter(Endless).build();
    queue.add_after("later", Duration::MAX);
    queue.add_rate_limited("later still");
    queue.add_after("now", Duration::ZERO);
    let item = queue.get().await.unwrap();
    assert_eq!(*item.key(), "now");
    item.retry_after(Duration::MAX);
    queue.park(&"parked", Duration::MAX);
    queue.add("parked");
    assert!(timeout(1000 * 24 * LONG, queue.get()).await.is_err());
    queue.park(&"parked", Duration::ZERO);
    let item = queue.get().await.unwrap();
    assert_eq!(*item.key(), "parked");
    item.retry();
    assert_eq!((queue.delayed(), queue.len()), (4, 0));
    queue.drain(Duration::MAX).await.unwrap();
    assert_eq!(queue.dropped(), 4);
}

#[tokio::test(start_paused = true)]
async fn the_ends_of_the_range_of_priorities_are_priorities() {
    let queue = Queue::new();
    let priorities = [0, i32::MIN, i32::MAX, -1, i32::MIN + 1, i32::MAX - 1, 1];
    for priority in priorities {
        queue.add_with(priority, Add::priority(priority));
    }
    queue.add_with(i32::MIN, Add::priority(i32::MIN));
    let got: Vec<_> = std::iter::from_fn(|| queue.try_get().map(|item| *item.key())).collect();
    let mut sorted = priorities;
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    assert_eq!(got, sorted);
}

/// What is dropped when the runtime is gone, or on a thread that never had one, is given back all the same.
#[test]
fn items_outlive_the_runtime_that_they_came_from() {
    let queue = Queue::new();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let (first, second) = runtime.block_on(async {
        queue.add("a");
        queue.add("b");
        tokio::spawn({
            let queue = queue.clone();
            async move { queue.get().await.map(drop) }
        });
        (queue.get().await.unwrap(), queue.get().await.unwrap())
    });
    drop(runtime);
    first.retry_after(LONG);
    assert!(std::thread::spawn(move || drop(second)).join().is_ok());
    assert_eq!((queue.in_flight(), queue.delayed()), (0, 1));
    queue.add("c");
    assert_eq!(queue.try_get().map(|item| *item.key()), Some("c"));
}
