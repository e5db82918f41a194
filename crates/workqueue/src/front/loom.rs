//! Every interleaving of a few threads, by the model checker: `cargo xtask loom`.
//!
//! Nothing is delayed here: time is the paused clock's, in the other tests.

use std::pin::pin;
use std::sync::Arc as StdArc;
use std::task::{Context, Poll, Waker};

use loom::future::block_on;
use loom::model::Builder;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use super::Queue;

/// Threads change at will at most this often in one run: bugs that need more are rare, and the number of runs
/// grows with its power.
const PREEMPTIONS: usize = 3;

fn check(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(PREEMPTIONS);
    builder.check(model);
}

/// Runs keys until the end; answers how many.
fn work(queue: &Queue<u8>) -> usize {
    let mut runs = 0;
    while let Some(item) = block_on(queue.get()) {
        runs += 1;
        drop(item);
    }
    runs
}

#[test]
fn each_key_reaches_one_worker_and_the_end_reaches_all() {
    check(|| {
        let queue = Queue::new();
        let workers: Vec<_> = (0..2)
            .map(|_| {
                let queue = queue.clone();
                thread::spawn(move || work(&queue))
            })
            .collect();
        queue.add(1);
        queue.add(2);
        queue.shut_down();
        let runs: usize = workers
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .sum();
        assert_eq!(runs, 2);
        assert!(queue.shared().read(|state| state.machine.is_drained()));
    });
}

/// Two workers and two adds of one key: never both at it, and a run sees the last add.
#[test]
fn an_add_beside_done_is_one_more_run_with_one_worker() {
    check(|| {
        let queue = Queue::new();
        let (holders, level, seen) = (
            Arc::new(AtomicU32::new(0)),
            Arc::new(AtomicU32::new(1)),
            Arc::new(AtomicU32::new(0)),
        );
        queue.add(7);
        let workers: Vec<_> = (0..2)
            .map(|_| {
                let (queue, holders) = (queue.clone(), Arc::clone(&holders));
                let (level, seen) = (Arc::clone(&level), Arc::clone(&seen));
                thread::spawn(move || {
                    while let Some(item) = block_on(queue.get()) {
                        assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0, "two workers");
                        seen.fetch_max(level.load(Ordering::SeqCst), Ordering::SeqCst);
                        holders.fetch_sub(1, Ordering::SeqCst);
                        drop(item);
                    }
                })
            })
            .collect();
        level.store(2, Ordering::SeqCst);
        queue.add(7);
        queue.shut_down();
        for worker in workers {
            worker.join().unwrap();
        }
        assert_eq!(seen.load(Ordering::SeqCst), 2, "the last add was lost");
    });
}

/// The key is added beside done: whichever comes second wakes who waits, though the first worker takes no more.
#[test]
fn a_key_that_is_ready_again_at_done_reaches_another() {
    check(|| {
        let queue = Queue::new();
        queue.add(1);
        let item = queue.try_get().unwrap();
        let other = {
            let queue = queue.clone();
            thread::spawn(move || block_on(queue.get()).map(|item| *item.key()))
        };
        let holder = thread::spawn(move || drop(item));
        queue.add(1);
        holder.join().unwrap();
        assert_eq!(other.join().unwrap(), Some(1));
    });
}

/// A getter that is dropped while it is woken hands its wake-up on.
#[test]
fn a_get_that_is_dropped_leaves_the_key_to_another() {
    check(|| {
        let queue = Queue::new();
        let other = {
            let queue = queue.clone();
            thread::spawn(move || block_on(queue.get()).map(|item| *item.key()))
        };
        let fickle = {
            let queue = queue.clone();
            thread::spawn(move || {
                let mut get = pin!(queue.get());
                match get.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                    Poll::Ready(item) => {
                        // It came at once: done, and more for the other one.
                        drop(item);
                        queue.add(1);
                    }
                    Poll::Pending => {}
                }
            })
        };
        queue.add(1);
        fickle.join().unwrap();
        assert_eq!(other.join().unwrap(), Some(1));
    });
}

/// Adds beside a shutdown are refused or run, and nobody sleeps for ever.
#[test]
fn an_add_beside_shutdown_is_refused_or_run() {
    check(|| {
        let queue = Queue::new();
        let worker = {
            let queue = queue.clone();
            thread::spawn(move || work(&queue))
        };
        let stopper = {
            let queue = queue.clone();
            thread::spawn(move || queue.shut_down())
        };
        queue.add(1);
        stopper.join().unwrap();
        let accepted = queue.shared().read(|state| state.machine.adds()) as usize;
        assert_eq!(worker.join().unwrap(), accepted);
    });
}

/// A drain ends only after the work, in flight and queued, and it does end.
#[test]
fn a_drain_beside_done_ends_after_it() {
    check(|| {
        let queue = Queue::new();
        let done = Arc::new(AtomicU32::new(0));
        queue.add(1);
        queue.add(2);
        let worker = {
            let (queue, done) = (queue.clone(), Arc::clone(&done));
            thread::spawn(move || {
                // It takes no third one: nothing but done itself can end the drain.
                for _ in 0..2 {
                    let item = block_on(queue.get());
                    done.fetch_add(1, Ordering::SeqCst);
                    drop(item);
                }
            })
        };
        queue.shut_down();
        block_on(queue.drained());
        assert_eq!(done.load(Ordering::SeqCst), 2);
        worker.join().unwrap();
    });
}

/// Handles and an item go at the same time; the keys go with the last of them.
#[test]
fn dropping_handles_and_items_in_any_order_frees_the_keys() {
    check(|| {
        let key = StdArc::new(());
        let queue: Queue<StdArc<()>> = Queue::new();
        queue.add(StdArc::clone(&key));
        let item = queue.try_get().unwrap();
        queue.add(StdArc::clone(&key));
        let handle = queue.clone();
        let threads = [
            thread::spawn(move || drop(item)),
            thread::spawn(move || drop(handle)),
        ];
        drop(queue);
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(StdArc::strong_count(&key), 1);
    });
}
