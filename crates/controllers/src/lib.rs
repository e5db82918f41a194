//! The built-in controllers.
mod claim;
pub mod deployment;
mod install;
pub mod namespace;
mod pod;
pub mod replicaset;
mod selection;
pub mod serviceaccount;
mod setup;

pub use install::{Options, install};
pub use pod::{Phase, Pod};
pub use selection::{Name, Selection, UnknownControllers};
pub use setup::Setup;
