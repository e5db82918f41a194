//! The server's contracts, over its public interface.

mod harness;
mod lists;
mod objects;
mod watches;
