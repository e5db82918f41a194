//! The multi-version store: one global revision, a sorted map and a bounded
//! window of changes per resource.

mod key;
mod record;
mod revisions;
mod shard;
mod window;

pub(crate) use key::{Key, KeyRange, object_key};
pub(crate) use record::{Draft, Record};
pub(crate) use revisions::Revisions;
pub(crate) use shard::{Raced, Shard};
pub(crate) use window::{Change, ChangeKind, Compacted, HistoryLimits};

#[cfg(test)]
mod tests;
