//! The built-in controllers.
mod claim;
pub mod deployment;
pub mod namespace;
mod pod;
pub mod replicaset;
pub mod serviceaccount;
mod setup;

pub use pod::{Phase, Pod};
pub use setup::Setup;
