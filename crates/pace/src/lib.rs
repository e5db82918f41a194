//! Pacing as pure state machines: backoff, jitter, token buckets and seeded randomness.
//!
//! Nothing here reads a clock, sleeps or spawns. The caller passes the time in as a [`Moment`] and gets a
//! [`Duration`](std::time::Duration) to wait back, so the same code runs under tokio, in a simulation with
//! virtual time, and in an exhaustive test.
//!
//! # When to use it
//!
//! - [`Backoff`]: one thing that fails again and again (a watch, a connection).
//! - [`ItemBackoff`], [`FastSlow`]: many keys that fail on their own (work queues), behind the trait [`Limiter`].
//! - [`TokenBucket`]: an overall rate, with a bound on how long anybody waits.
//! - [`Rng`]: jitter that a seed reproduces.
//!
//! When not: to limit across processes, or where a wait must be fair between callers: a bucket serves
//! whoever asks first.
//!
//! # Example
//!
//! ```
//! use std::time::Duration;
//! use evenkeel_pace::{Backoff, ItemBackoff, Limiter, Moment, Rng};
//!
//! let mut rng = Rng::seeded(7);
//! let mut backoff = Backoff::new(Duration::from_millis(800), Duration::from_secs(30)).jitter(1.0);
//! let first = backoff.next(&mut rng);
//! assert!(first >= Duration::from_millis(800) && first < Duration::from_millis(1600));
//!
//! let mut limiter = ItemBackoff::default();
//! let now = Moment::ORIGIN;
//! assert_eq!(limiter.when(&"default/web", now), Duration::from_millis(5));
//! assert_eq!(limiter.when(&"default/web", now), Duration::from_millis(10));
//! limiter.forget(&"default/web");
//! assert_eq!(limiter.when(&"default/web", now), Duration::from_millis(5));
//! ```
//!
//! # Guarantees
//!
//! - No overflow and no panic for any duration, rate, factor or count: results saturate at the cap.
//! - The same seed and the same calls give the same delays.
//! - Every wait is bounded: by a backoff's cap, by a bucket's longest wait, or by [`Capped`].
//!
//! # Cost
//!
//! A step is a few integer operations. The keyed limiters hold one map entry for each key that has failed
//! and was not forgotten; entries that nobody asked about for long are dropped.

mod backoff;
mod bucket;
mod fast_slow;
mod item_backoff;
mod limiter;
mod moment;
mod rng;

pub use backoff::Backoff;
pub use bucket::TokenBucket;
pub use fast_slow::FastSlow;
pub use item_backoff::ItemBackoff;
pub use limiter::{Capped, Limiter, MaxOf};
pub use moment::Moment;
pub use rng::Rng;
