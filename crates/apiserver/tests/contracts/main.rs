//! The server's contracts, over its public interface.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod access;
mod custom;
mod deletions;
mod harness;
mod kinds;
mod lists;
mod metadata;
mod namespaces;
mod objects;
mod subresources;
mod watches;
