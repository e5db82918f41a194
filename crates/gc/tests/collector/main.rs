//! The collector against the embedded API server, in virtual time: what users see, and which
//! requests it costs.

#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

mod background;
mod cluster;
mod custom;
mod deleting;
mod faults;
mod foreground;
mod identities;
mod lifecycle;
mod orphan;
mod requests;
mod shared;
mod soak;
mod watching;
