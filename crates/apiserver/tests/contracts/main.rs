//! The server's contracts, over its public interface.

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
