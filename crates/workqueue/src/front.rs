//! The async queue: the machine behind a lock, and the tasks that wait for it.

mod builder;
mod clock;
mod drain;
mod intake;
mod item;
mod metering;
mod queue;
mod shared;
mod state;
mod sync;
mod turn;
mod waiters;

pub use builder::Builder;
pub use drain::DrainTimeout;
pub use item::Item;
pub use queue::Queue;

#[cfg(all(test, loom))]
mod loom;
#[cfg(all(test, not(loom)))]
mod tests;
