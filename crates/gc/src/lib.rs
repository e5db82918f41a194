//! The garbage collector.

mod collector;
mod decide;
mod driver;
mod error;
mod graph;
mod metrics;
mod patch;

pub use collector::{Builder, GarbageCollector, Inspector};
pub use decide::{AfterConflict, Decision, Deletion, FinalizerRemoval, Release, Target};
pub use graph::{ClaimId, Graph, KindId, Lookup, NodeId, Size, Verdict, Work};
pub use patch::{OwnersChange, OwnersPatch};
