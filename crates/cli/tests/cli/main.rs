//! The binary as a user runs it: real processes, real sockets.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

mod apiserver;
mod bad_input;
#[cfg(unix)]
mod elect;
mod manager;
mod process;
#[cfg(unix)]
mod shutdown;
mod up;
