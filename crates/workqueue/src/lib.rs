//! A work queue for control loops: deduplicated keys, one worker a key, delays and rate limits.

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
