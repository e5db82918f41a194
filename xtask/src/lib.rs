//! Development tasks, run as `cargo xtask <task>`.
//!
//! One module a task. [`envtest`] is public because the end-to-end tests find
//! the real control plane by the same rules that build it.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a task talks to the person who runs it"
)]

pub mod bench;
pub mod ci;
pub mod contracts;
pub mod envtest;
pub mod fuzz;
pub mod layers;
pub mod loom;
pub mod mutants;
pub mod release_check;
pub mod schemas;
mod shell;
mod tools;
mod workspace;
