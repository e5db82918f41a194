//! What the controllers do, by contract: against the embedded server in process, with simulated
//! nodes and paused time.

#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "tests may fail loudly, and their helpers take what is at hand"
)]

mod census;
mod condition;
mod failure;
mod namespace;
mod ownership;
mod plane;
mod recreate;
mod replicaset;
mod restart;
mod revision;
mod rolling;
mod scaling;
mod serviceaccount;
