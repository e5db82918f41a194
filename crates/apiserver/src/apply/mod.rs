//! Field ownership: server-side apply ([`apply`]) and the tracking of every other write
//! ([`track_update`]).
//!
//! Each manager owns a set of fields ([`set`]), kept in `metadata.managedFields` ([`managers`],
//! [`codec`]). A write is compared with the object before it ([`compare`]): who changes a field
//! takes it over. An applied configuration is merged into the object ([`merge`]) and what its
//! manager applied before and no longer does is removed ([`prune`]), unless another owns it.

mod codec;
mod compare;
mod conflict;
mod element;
mod enumerate;
mod last_applied;
mod managers;
mod merge;
mod prune;
mod reset;
mod set;
mod ssa;
mod track;
mod typed;

#[cfg(test)]
mod tests;

use evenkeel_meta::Timestamp;

pub(crate) use self::ssa::apply;
pub(crate) use self::track::{keep_times_if_unchanged, track_update};

/// Who writes, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writer<'a> {
    /// `fieldManager`, or the first part of the user agent.
    pub(crate) manager: &'a str,
    /// Such as `status`; empty for the object itself.
    pub(crate) subresource: &'a str,
    pub(crate) now: Timestamp,
}
