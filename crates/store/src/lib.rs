//! Reflectors, snapshot stores with indexes and shared informers for Kubernetes objects.
#![doc = ""]

mod contents;
mod event;
mod handler;
mod index;
mod informer;
mod informers;
mod metrics;
mod pending;
pub mod reflector;
mod set_aside;
mod snapshot;
mod status;
mod store;
mod subscription;
mod trie;
mod watch_lists;
mod writer;

pub use event::{Deletion, Event};
pub use handler::{Handler, Registration};
pub use index::{AddIndexError, Index, Values};
pub use informer::{Informer, Stopped};
pub use informers::{InformerOptions, Informers, InformersBuilder};
pub use set_aside::{SetAside, SetAsideReason};
pub use snapshot::Snapshot;
pub use status::{Freshness, SyncError, SyncFailure, SyncPhase, SyncState};
pub use store::{Changes, Store, WaitError};
pub use subscription::Subscription;
pub use writer::{Put, Refused, Replaced, Writer};
