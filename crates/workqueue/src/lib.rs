//! A work queue for control loops: deduplicated keys, one worker a key, delays, rate limits and priorities.
//!
//! Events say *that* something about a key has changed, not what; workers take the key and read the current
//! state. So a queue of keys may merge events freely: a key that waits is not added twice, and a key that is
//! added while a worker has it runs once more afterwards. An add is never lost: after it, a worker starts on the key.
//!
//! This is the queue of Kubernetes controllers (client-go's `workqueue`), but it knows nothing of Kubernetes.
//!
//! # When to use it
//!
//! Whenever many events ask for work on fewer things, the work may fail, and two workers must not do the
//! same thing at the same time: reconcilers, cache refreshers, mirrors, crawlers.
//!
//! When not: if each message must be processed, use a channel; if work must survive a restart, use a broker.
//!
//! # Example
//!
//! It needs tokio with the features `macros` and `rt`.
//!
//! ```
//! use std::time::Duration;
//! use evenkeel_workqueue::Queue;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let queue: Queue<String> = Queue::builder().name("mirror").build();
//!
//! let worker = tokio::spawn({
//!     let queue = queue.clone();
//!     async move {
//!         let mut done = Vec::new();
//!         while let Some(item) = queue.get().await {
//!             match refresh(item.key()).await {
//!                 Ok(()) => {
//!                     done.push(item.key().clone());
//!                     item.succeed();
//!                 }
//!                 Err(_) => item.retry(),
//!             }
//!         }
//!         done
//!     }
//! });
//!
//! queue.add("a".to_owned());
//! queue.add("b".to_owned());
//! queue.add("a".to_owned());
//!
//! // Refuses more, waits until all that was added is done, and ends the workers.
//! queue.drain(Duration::from_secs(30)).await.unwrap();
//! assert_eq!(worker.await.unwrap(), ["a", "b"]);
//! # }
//! # async fn refresh(_: &str) -> Result<(), ()> { Ok(()) }
//! ```
//!
//! # Guarantees
//!
//! - A key is with one worker at a time. However often it is added meanwhile, that is one more run, which
//!   becomes ready when the worker is done.
//! - Done cannot be forgotten or said twice: [`Item`] is a guard. Dropping it in a panic counts as a failure.
//! - With [`Priority`], the default order, no ready key waits for ever behind more urgent ones; [`Fifo`] is strict; with
//!   [`Fair`] no group starves another. Each states its bound.
//! - Of several delays of one key the shortest counts. An add in between neither ends nor extends it.
//! - A failed key waits as its limiter says: by default 5 ms, doubling to 1000 s ([`ItemBackoff`](evenkeel_pace::ItemBackoff)).
//! - [Shutdown](Queue::shut_down) hands out what is ready and drops what is delayed, counted;
//!   [`drain`](Queue::drain) waits until queued work and work in flight are done;
//!   [`shut_down_now`](Queue::shut_down_now) starts no run any more.
//! - A [parked](Queue::park) key is held back, without holding a worker, until it is released or its bound ends.
//! - The queue has no task: one of the workers that wait keeps the time. Dropping the last handle frees everything.
//!
//! # Cancel safety
//!
//! [`get`](Queue::get) and [`drain`](Queue::drain) are cancel safe.
//!
//! # Cost
//!
//! A key that the queue knows is stored once and stands for itself as a number; of idle keys at most 64 are kept. In steady state
//! nothing is allocated. Keys are cloned when handed out: use keys that are cheap to clone, such as `Arc<str>`. The clock is read
//! only for delays and, if there is a sink for metrics, for durations.
//!
//! While workers are busy an add is a short lock of its own and a place in a buffer; whoever takes the queue's lock next does the
//! rest. So adds of an event handler wait neither for workers nor for each other's hashing, except one in 256 of a long
//! row that nobody fetches.
//!
//! # Metrics
//!
//! Of a queue with a [name](Builder::name) and [metrics](Builder::metrics), by client-go's names, with the label `name`:
//! `workqueue_depth`, `workqueue_adds_total`, `workqueue_retries_total`, `workqueue_queue_duration_seconds`,
//! `workqueue_work_duration_seconds`, `workqueue_unfinished_work_seconds` and
//! `workqueue_longest_running_processor_seconds`. All but the histograms are computed when somebody reads them.
//!
//! # Features
//!
//! - `tokio` (default): the async [`Queue`], which needs a runtime of tokio with time. Without it there is the state machine
//!   alone, [`Machine`], for other runtimes and for simulations: you give it the time, and ask it when to wake up.
//!
//! The types of limiters and of moments are those of `evenkeel-pace`, and metrics go to a sink of `evenkeel-observe`: depend on
//! those too if you choose a limiter, report metrics or drive a [`Machine`].
//!
//! # Coming from client-go
//!
//! `Get` and `Done` are [`get`](Queue::get) and the drop of the [`Item`]; `AddRateLimited` is
//! [`add_rate_limited`](Queue::add_rate_limited), or [`retry`](Item::retry) from the worker; `NumRequeues` is
//! [`failures`](Queue::failures); `ShutDownWithDrain` is [`drain`](Queue::drain), which also waits for keys that no
//! worker has taken yet and takes a deadline. There is no number of workers: spawn as many tasks
//! that call [`get`](Queue::get) as you want.
//!
//! The default limiter has no bucket over all keys, unlike client-go's: [`Builder::limiter`] shows how to add
//! one. The delays of all limiters of `evenkeel-pace` have bounds; a delay of your own is as long as you say.
//!
//! controller-runtime's priority queue is the default order: `AddWithOpts` is [`add_with`](Queue::add_with) with an [`Add`]. kube-rs has
//! no queue to compare: its `Controller` schedules by itself, and a [`Queue`] between a watcher and your tasks gives
//! you retries and priorities without it.

mod add;
mod core;
mod delaying;
#[cfg(feature = "tokio")]
mod front;
mod interner;
mod key;
mod machine;
mod order;
mod timers;

pub use add::{Add, Added};
#[cfg(feature = "tokio")]
pub use front::{Builder, DrainTimeout, Item, Queue};
pub use interner::Id;
pub use key::Key;
pub use machine::{Machine, Taken};
pub use order::{Fair, Fifo, Order, Priority};
