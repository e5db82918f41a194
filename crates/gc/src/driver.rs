//! The graph in motion: informers feed it, workers carry out what it wants.

mod kinds;
mod lookup;
mod monitors;
mod report;
mod requests;
mod shared;
mod sweep;
mod worker;

pub(crate) use kinds::{Kinds, deletable, ignored_by_default};
pub(crate) use lookup::look_up;
pub(crate) use monitors::Monitors;
pub(crate) use shared::Shared;
pub(crate) use worker::work;
