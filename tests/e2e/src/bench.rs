//! What the measuring programs share: a stage with one manager at a time, what the kernel counts,
//! and a table of figures.

pub mod proc;
pub mod stage;
pub mod table;
