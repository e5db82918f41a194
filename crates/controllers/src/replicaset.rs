//! replicaset
#![allow(dead_code)]
mod rank;
mod status;
