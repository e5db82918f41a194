//! Simulated nodes in a process of their own.
fn main() {}
