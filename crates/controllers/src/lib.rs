//! The built-in controllers.
mod claim;
pub mod deployment;
mod pod;
pub mod replicaset;
mod setup;

pub use pod::{Phase, Pod};
pub use setup::Setup;
