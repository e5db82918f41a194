//! c
mod deployment;
mod pod;
mod replicaset;
