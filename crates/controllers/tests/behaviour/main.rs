//! What the controllers do, by contract: against the embedded server in process, with simulated
//! nodes and paused time.

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
